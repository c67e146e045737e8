"""Runs of five kinds that train in about a second each, with everything on that resuming may miss:
dropout, accumulation, moving average, averaging of checkpoints, the best of validations."""

import random
from pathlib import Path

from cli_workdir import ENCODER, SIZES, TRANSFORMER, run_file

WORDS = ("one", "two", "three", "four", "five", "six", "seven")
TRAIN = {"steps": 24, "evaluate_every": 6, "batch_tokens": 64, "accumulate": 2, "lr": 0.01}
PAIRS = {name: f"{name}.tsv" for name in ("train", "valid", "test")}
TEXTS = {name: {"file": f"{name}.txt", "format": "lines"} for name in ("train", "valid")}
BOOKS = {name: {"file": f"{name}.txt", "format": "text"} for name in ("train", "valid", "test")}
TAGS = {name: {"file": f"{name}.conll", "format": "conll"} for name in PAIRS}
RUN_FILES = {
    "translate": run_file(
        PAIRS, TRANSFORMER, train={**TRAIN, "ema": 0.9, "average": 2}, search={"max_length": 8}
    ),
    "recurrent": run_file(
        PAIRS, {"family": "recurrent", "d_model": 12}, train=TRAIN, search={"max_length": 8}
    ),
    "language": run_file(
        {**BOOKS, "block": 16}, {"family": "decoder", **SIZES, "layers": 1}, task="language",
        train={**TRAIN, "choose": "last"},
    ),
    "pretrain": run_file(TEXTS, ENCODER, task="pretrain", train={**TRAIN, "ema": 0.9}),
    "tag": run_file(TAGS, ENCODER, task="tag", train={**TRAIN, "keep": 1}),
}  # fmt: skip
"""The run file of each kind."""
USES = {
    "translate": (["translate", "run"], "one two\nthree\n"),
    "recurrent": (["translate", "run"], "one two\nthree\n"),
    "language": (["score", "run", "--data", "typed.txt"], ""),
    "pretrain": (["fill", "run", "one [MASK] three"], ""),
    "tag": (["predict", "run"], "one Two\nthree\n"),
}
"""A command that uses the run `run` of a kind, and its standard input."""
EVALUATED = ("translate", "recurrent", "language", "tag")
"""The kinds with test data."""


def write_kind(kind: str, folder: Path) -> None:
    """Writes the data and the run file `run.toml` of a kind."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "run.toml").write_text(RUN_FILES[kind], "utf-8")
    (folder / "typed.txt").write_text("one two\nthree\n", "utf-8")
    draw = random.Random(kind)
    for name, n in (("train", 80), ("valid", 12), ("test", 12)):
        rows = [draw.choices(WORDS, k=draw.randint(2, 5)) for _ in range(n)]
        lines = [" ".join(row) for row in rows]
        pairs = (f"{line}\t{' '.join(row[::-1])}\n" for line, row in zip(lines, rows, strict=True))
        tags = (f"{word} {'B-N' if word < 'p' else 'O'}\n" for row in rows for word in [*row, ""])
        (folder / f"{name}.tsv").write_text("".join(pairs), "utf-8")
        (folder / f"{name}.txt").write_text("".join(f"{line}\n" for line in lines), "utf-8")
        tagged = "".join("\n" if line.startswith(" ") else line for line in tags)
        (folder / f"{name}.conll").write_text(tagged, "utf-8")

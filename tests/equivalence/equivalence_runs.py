"""Small training runs: their data, their run file, and what of them is compared."""

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from equivalence_cases import SMALL, Case

from headway.run_config import RunConfig, read_config
from headway.runs import RunDir


def write_data(folder: Path, seed: int = 0) -> None:
    """Words spelled backwards, for training and validation; the words alone for language models;
    the words with their first letter as a label."""
    draw = random.Random(seed)
    for name, n in (("train", 200), ("valid", 12)):
        lines = ["".join(draw.choices("abcdefgh", k=draw.randint(1, 9))) for _ in range(n)]
        text = "".join(f"{line}\t{line[::-1]}\n" for line in lines)
        (folder / f"{name}.tsv").write_text(text, "utf-8")
        labels = "".join(f"{line},{line[0]}\n" for line in lines)
        (folder / f"{name}.csv").write_text(f"text,label\n{labels}", "utf-8")
        (folder / f"{name}.txt").write_text("".join(f"{line}\n" for line in lines), "utf-8")


def write_run_file(folder: Path, case: Case, train: dict[str, Any]) -> Path:
    """A run file with everything on that draws at random: dropout in model and tokenizer."""
    model = {**SMALL.get(case.family, {}), "family": case.family, **case.settings}
    if not case.counts:
        model["dropout"] = 0.2
    if case.family in ("transformer", "decoder", "encoder", "unilm"):
        model |= {"attention_dropout": 0.1, "activation_dropout": 0.1}
    task, kind = ("translate", "tsv") if case.has_source else ("language", "txt")
    if "step" not in case.abilities:
        task, kind = "classify", "csv"
    tables: dict[str, dict[str, Any]] = {
        "data": {"train": f"train.{kind}", "valid": f"valid.{kind}"},
        "text": {"kind": "bpe", "size": 280, "dropout": 0.2},
        "model": model,
        "train": train,
        "search": {"max_length": 12},
    }
    lines = [f'task = "{task}"', "seed = 7", 'device = "cpu"']
    for name, table in tables.items():
        lines += [f"[{name}]", *(f"{key} = {_toml(value)}" for key, value in table.items())]
    path = folder / f"{case.family}.toml"
    path.write_text("\n".join(lines) + "\n", "utf-8")
    return path


def _toml(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f'"{value}"' if isinstance(value, str) else str(value)


RUNNING = (
    'data.train={file="train.txt", format="text"}',
    "data.block=8",
    "text.dropout=0.0",
)
"""What makes a language model's run file one of running text, whose epochs are short."""


def config_of(
    folder: Path, case: Case, train: dict[str, Any], overrides: Sequence[str] = ()
) -> RunConfig:
    return read_config(write_run_file(folder, case, train), overrides)


def logged(out: Path, name: str) -> dict[int, float]:
    """A figure by step."""
    records = RunDir.open(out).log.read()
    return {record["step"]: record[name] for record in records if name in record}


def total_loss(out: Path) -> float:
    """Sum of the training loss over all updates, however often it was logged.

    A line holds the mean since the line before.
    """
    total, before = 0.0, 0
    for step, loss in logged(out, "loss").items():
        total += loss * (step - before)
        before = step
    return total

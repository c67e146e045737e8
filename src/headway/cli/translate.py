"""`headway translate`: one output line for each input line, in order, as it goes.

Input is taken in chunks, so that any amount of it fits; inside a chunk lines of like length are
searched together.
"""

import json
import sys
from collections.abc import Iterator
from contextlib import nullcontext
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import ConfigError, RunError
from .options import (
    COMPUTING,
    SEARCH,
    Alpha,
    Beam,
    Json,
    MaxLength,
    Run,
    Split,
    Threads,
    With,
    number,
    set_threads,
    whole,
)

if TYPE_CHECKING:
    from ..api import Request, Translation, Translator
    from ..api.pieces import TooLong

CHUNK_LINES = 4096
SAMPLING, TERMS, LOOKING = "Sampling", "Terms and beginnings", "Looking inside"

Files = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="FILE",
        help="Files of input lines, or .jsonl of requests; - or none: standard input.",
    ),
]
Jsonl = Annotated[
    bool,
    typer.Option(
        "--jsonl",
        help="Input lines are JSON objects: source and, as needed, require, forbid, prefix.",
    ),
]
NBest = Annotated[
    int | None,
    typer.Option(
        "--nbest",
        parser=whole,
        metavar="N",
        help="Outputs for each line, as: number from 0 ||| text ||| score.",
        rich_help_panel=SEARCH,
    ),
]
MinLength = Annotated[
    int | None,
    typer.Option(
        "--min-length",
        parser=whole,
        metavar="N",
        help="The shortest output, in tokens, its end counted.",
        rich_help_panel=SEARCH,
    ),
]
NoRepeat = Annotated[
    int | None,
    typer.Option(
        "--no-repeat",
        parser=whole,
        metavar="N",
        help="No N tokens come twice in the same order; 3 stops loops.",
        rich_help_panel=SEARCH,
    ),
]
Stop = Annotated[
    str | None,
    typer.Option(
        "--stop",
        metavar="RULE",
        help="When a search ends: finished (as many ends as the beam is wide) or safe (nothing "
        "alive could still win).",
        rich_help_panel=SEARCH,
    ),
]
Sample = Annotated[
    bool,
    typer.Option(
        "--sample",
        help="Draw outputs at random, as likely as the model finds them; --nbest is how many.",
        rich_help_panel=SAMPLING,
    ),
]
Temperature = Annotated[
    float | None,
    typer.Option(
        "--temperature",
        parser=number,
        metavar="NUMBER",
        help="Below 1 likely tokens become likelier, above 1 the choice more even.",
        rich_help_panel=SAMPLING,
    ),
]
TopK = Annotated[
    int | None,
    typer.Option(
        "--top-k",
        parser=whole,
        metavar="K",
        help="Draw among the K likeliest tokens.",
        rich_help_panel=SAMPLING,
    ),
]
TopP = Annotated[
    float | None,
    typer.Option(
        "--top-p",
        parser=number,
        metavar="P",
        help="Draw among the fewest tokens that are P probable together.",
        rich_help_panel=SAMPLING,
    ),
]
Seed = Annotated[
    int | None,
    typer.Option(
        "--seed",
        parser=whole,
        metavar="N",
        help="The same seed draws the same outputs.",
        rich_help_panel=SAMPLING,
    ),
]
GlossaryFile = Annotated[
    str | None,
    typer.Option(
        "--glossary",
        metavar="FILE",
        help="Lines of source term, tab, target term: required where the source term occurs.",
        rich_help_panel=TERMS,
    ),
]
Prefix = Annotated[
    str | None,
    typer.Option(
        "--prefix",
        metavar="TEXT",
        help="How the output begins; its last word may go on, unless a space ends it.",
        rich_help_panel=TERMS,
    ),
]
Align = Annotated[
    bool,
    typer.Option(
        "--align",
        help="Add source-target pairs of tokens that attention aligns: ||| 0-0 1-2.",
        rich_help_panel=LOOKING,
    ),
]
AlignLayer = Annotated[
    str | None,
    typer.Option(
        "--align-layer",
        metavar="N|mean",
        help="Which attention layer aligns, from 0 (or -1 backwards); else the mean of all.",
        rich_help_panel=LOOKING,
    ),
]
Trace = Annotated[
    Path | None,
    typer.Option(
        "--trace",
        metavar="FILE",
        help="Write every step of each search here, one JSON object per line.",
        rich_help_panel=LOOKING,
    ),
]
EngineName = Annotated[
    str,
    typer.Option(
        "--engine",
        metavar="NAME",
        help="headway, or ctranslate2 to compute with that library.",
        rich_help_panel=COMPUTING,
    ),
]
ComputeType = Annotated[
    str,
    typer.Option(
        "--compute-type",
        metavar="TYPE",
        help="Of ctranslate2: float32, int8, or default.",
        rich_help_panel=COMPUTING,
    ),
]


def translate(
    run: Run,
    files: Files = None,
    jsonl: Jsonl = False,
    split: Split = False,
    as_json: Json = False,
    beam: Beam = None,
    alpha: Alpha = None,
    nbest: NBest = None,
    min_length: MinLength = None,
    max_length: MaxLength = None,
    no_repeat: NoRepeat = None,
    stop: Stop = None,
    sample: Sample = False,
    temperature: Temperature = None,
    top_k: TopK = None,
    top_p: TopP = None,
    seed: Seed = None,
    glossary: GlossaryFile = None,
    prefix: Prefix = None,
    align: Align = False,
    align_layer: AlignLayer = None,
    trace: Trace = None,
    more: With = None,
    engine: EngineName = "headway",
    compute_type: ComputeType = "default",
    threads: Threads = None,
) -> None:
    """Translates lines of text with a trained run.

    Settings of the search that are not given are those of the run. A line break inside an output
    becomes a space; --json keeps it. A required term that is missing is a warning on standard
    error.

    Example: headway translate runs/mine --beam 8 news.en > news.de
    """
    from ..api import Glossary, load

    set_threads(threads)
    translator = load(run, *(more or []))
    search: dict[str, Any] = {
        "method": "sample" if sample else None,
        "beam": beam,
        "alpha": alpha,
        "n_best": nbest,
        "min_length": min_length,
        "max_length": max_length,
        "no_repeat": no_repeat,
        "stop": stop,
        "temperature": temperature,
        "top_k": top_k,
        "top_p": top_p,
        "seed": seed,
    }
    show = _Show(translator.search_config(**search).n_best, as_json)
    options: dict[str, Any] = {
        "glossary": Glossary.read(glossary) if glossary is not None else None,
        "align": _layer(align, align_layer),
        "trace": trace is not None,
        "engine": engine,
        "compute_type": compute_type,
    }
    too_long: TooLong = "split" if split else "refuse"
    with _writing(trace) as traces:
        for places, requests in _chunks(files or ["-"], jsonl, prefix or ""):
            found = translator.translate(
                requests, too_long, places, first=show.number, **options, **search
            )
            for place, request, translation in zip(places, requests, found, strict=True):
                has_terms = glossary is not None or bool(request.require)
                show(translation, has_terms, place)
                if traces is not None:
                    print(_trace_line(translator, place, translation), file=traces)
            sys.stdout.flush()


class _Show:
    """Prints translations in order and warns of terms that are missing."""

    def __init__(self, n_best: int, as_json: bool) -> None:
        self.n_best, self.as_json = n_best, as_json
        self.number = 0

    def __call__(self, translation: "Translation", has_terms: bool, place: str) -> None:
        if self.as_json:
            print(json.dumps(_record(translation, has_terms), ensure_ascii=False))
        else:
            for line in self._lines(translation):
                print(line)
        for term in translation.outputs[0].unmet:
            said = f'headway: warning: {place}: required "{term}" is missing'
            print(said, file=sys.stderr)
        self.number += 1

    def _lines(self, translation: "Translation") -> Iterator[str]:
        for output in translation.outputs:
            columns = [one_line(output.text)]
            if self.n_best > 1:
                columns = [str(self.number), *columns, f"{output.score:.6f}"]
            if output.alignment is not None:
                columns.append(" ".join(f"{s}-{t}" for t, s in enumerate(output.alignment)))
            yield " ||| ".join(columns)


def one_line(text: str) -> str:
    """The text without line breaks, so that outputs stay in step with inputs."""
    return text.replace("\r", " ").replace("\n", " ")


def _layer(align: bool, layer: str | None) -> bool | int:
    """Which layers align: none (False), all (True) or the one with that number."""
    if layer is None or layer == "mean":
        return align or layer is not None
    try:
        return int(layer)
    except ValueError:
        raise ConfigError(
            f"--align-layer {layer}: expected the number of a layer, or mean"
        ) from None


def _chunks(
    files: list[str], jsonl: bool, prefix: str
) -> Iterator[tuple[list[str], list["Request"]]]:
    """Places (`file:line`) and requests, some thousands at a time."""
    from ..api.request import Request, parse_request
    from ..data.lines import read_lines

    for file in files:
        name = "standard input" if file == "-" else file
        # A person who types wants an answer to every line.
        size = 1 if file == "-" and sys.stdin.isatty() else CHUNK_LINES
        is_jsonl = jsonl or file.endswith((".jsonl", ".jsonl.gz"))
        lines = read_lines(file)
        done = 0
        while chunk := list(islice(lines, size)):
            places = [f"{name}:{done + i}" for i in range(1, len(chunk) + 1)]
            if is_jsonl:
                requests = [parse_request(*pair) for pair in zip(chunk, places, strict=True)]
            else:
                requests = [Request(line) for line in chunk]
            yield places, [_with_prefix(request, prefix) for request in requests]
            done += len(chunk)


def _with_prefix(request: "Request", prefix: str) -> "Request":
    """The request with the prefix of the command line, unless it has one of its own or is blank."""
    from dataclasses import replace

    if not prefix or request.prefix or request.is_blank:
        return request
    return replace(request, prefix=prefix)


def _writing(path: Path | None) -> Any:
    """The file for traces, or nothing."""
    if path is None:
        return nullcontext()
    try:
        return path.open("w", encoding="utf-8")
    except OSError as error:
        raise RunError(f"--trace {path} cannot be written: {error.strerror}") from None


def _trace_line(translator: "Translator", place: str, translation: "Translation") -> str:
    """One search as JSON; tokens stand there as numbers and as a person reads them."""
    record: dict[str, Any] = {"place": place, "source": translation.source}
    if translation.trace is not None:
        record |= translation.trace.to_dict()
        for step in record["steps"]:
            step["text"] = translator.task.target.tokenizer.tokens(step["token"])
    return json.dumps(record, ensure_ascii=False)


def _record(translation: "Translation", has_terms: bool) -> dict[str, Any]:
    record: dict[str, Any] = {"source": translation.source}
    if translation.source_tokens is not None:
        record["source_tokens"] = translation.source_tokens
    record["outputs"] = []
    for output in translation.outputs:
        shown = {
            "text": output.text,
            "log_prob": output.log_prob,
            "score": output.score,
            "tokens": output.tokens,
        }
        if output.alignment is not None:
            shown["alignment"] = output.alignment
        if has_terms:
            shown["unmet"] = output.unmet
        record["outputs"].append(shown)
    return record

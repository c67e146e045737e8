"""`headway translate`: one output line for each input line, in order, chunk by chunk.

Input is read in chunks, so that it may have any size; within a chunk, lines of similar length are
searched together.
"""

import json
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import ConfigError, InputError
from .input_lines import LeftOut, OnError, input_chunks, left_out_lines, text_of
from .options import (
    COMPUTING,
    SAMPLING,
    Json,
    Run,
    Split,
    Threads,
    Weights,
    With,
    check_engine,
    set_threads,
    warn,
    writing,
)
from .search_options import NO_SEARCH_OPTIONS, SearchOptions, with_search_options

if TYPE_CHECKING:
    from ..inference.requests import TranslationRequest
    from ..inference.results import Translation
    from ..inference.translator import Translator
    from ..inspection.hypothesis import TextHypothesis
    from ..search import SearchConfig

JSONL = (".jsonl", ".jsonl.gz")
TERMS, LOOKING = "Terms and prefixes", "Looking inside"

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
Sample = Annotated[
    bool,
    typer.Option(
        "--sample",
        help="Sample outputs from the model's distribution; --nbest is their number.",
        rich_help_panel=SAMPLING,
    ),
]
GlossaryFile = Annotated[
    str | None,
    typer.Option(
        "--glossary",
        metavar="FILE",
        help="Lines of source term, tab, target term: required if the source term occurs.",
        rich_help_panel=TERMS,
    ),
]
Prefix = Annotated[
    str | None,
    typer.Option(
        "--prefix",
        metavar="TEXT",
        help="The start of the output; end it with a space if its last word is complete.",
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
        help="The attention layer that aligns, from 0 (or -1 backwards). Default: mean of all.",
        rich_help_panel=LOOKING,
    ),
]
Trace = Annotated[
    Path | None,
    typer.Option(
        "--trace",
        metavar="FILE",
        help="Write every step of each search to a file, one JSON object per line.",
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
        help="Precision of ctranslate2: float32, int8, or default.",
        rich_help_panel=COMPUTING,
    ),
]


@with_search_options("translate")
def translate(
    run: Run,
    files: Files = None,
    jsonl: Jsonl = False,
    split: Split = False,
    on_error: OnError = "stop",
    as_json: Json = False,
    sample: Sample = False,
    search: SearchOptions = NO_SEARCH_OPTIONS,
    glossary: GlossaryFile = None,
    prefix: Prefix = None,
    align: Align = False,
    align_layer: AlignLayer = None,
    trace: Trace = None,
    more: With = None,
    weights: Weights = None,
    engine: EngineName = "headway",
    compute_type: ComputeType = "default",
    threads: Threads = None,
) -> None:
    """Translates lines of text with a trained run.

    The run's search settings are the defaults. With --nbest, outputs are lines of: number from 0
    ||| text ||| score. A line break inside an output becomes a space; --json keeps it. A missing
    required term, and an exhaustive search that proves nothing, give a warning on standard error.

    Example: headway translate runs/mine --beam 8 news.en > news.de
    """
    from ..data.glossary import Glossary
    from ..inference.load import load_for
    from ..inference.translator import Translator

    set_threads(threads)
    check_engine(engine, compute_type)
    if trace is not None and split:
        raise ConfigError(
            "a trace shows one search, and split lines have several; leave out --trace or --split"
        )
    translator = load_for("translate", Translator, run, *(more or []), weights=weights)
    settings = search.settings(method="sample" if sample else None)
    terms = Glossary.read(glossary) if glossary is not None else None
    layer, too_long = _layer(align, align_layer), "split" if split else "refuse"
    options: dict[str, Any] = {"too_long": too_long, "glossary": terms, "align": layer}
    options |= {"engine": engine, "compute_type": compute_type, "on_error": on_error, **settings}

    def parse(line: str, location: str, file: str) -> "TranslationRequest":
        return _request(line, location, jsonl or file.endswith(JSONL), prefix or "")

    chunks = input_chunks(files or ["-"], on_error, parse)
    with left_out_lines() as left_out:
        config = translator.search_config(**settings)
        show = _Show(config, as_json, terms is not None, layer is not False, left_out)
        _translate(translator, chunks, show, trace, options)


def _translate(
    translator: "Translator",
    chunks: Iterator[tuple[list[str], list[Any]]],
    show: "_Show",
    trace: Path | None,
    options: dict[str, Any],
) -> None:
    """Translates chunk by chunk; prints each chunk before it reads the next."""
    with _Traces(trace, translator) if trace is not None else nullcontext() as traces:
        for locations, requests in chunks:
            translations = translator.translate(
                requests, places=locations, trace=trace is not None, first=show.number, **options
            )
            for location, request, translation in zip(
                locations, requests, translations, strict=True
            ):
                show(translation, request, location)
                if traces is not None:
                    traces.add(location, translation)
            print(end="", flush=True)


class _Show:
    """Prints translations in order; warns of missing terms and unproven outputs."""

    def __init__(
        self,
        config: "SearchConfig",
        as_json: bool,
        has_glossary: bool,
        is_aligned: bool,
        left_out: LeftOut,
    ) -> None:
        self.config, self.as_json, self.has_glossary = config, as_json, has_glossary
        self.is_aligned, self.left_out = is_aligned, left_out

    @property
    def number(self) -> int:
        """The number of the next translation, from 0."""
        return self.left_out.n_lines

    def __call__(self, translation: Any, request: Any, location: str) -> None:
        if isinstance(translation, InputError):
            self._print_empty(translation, getattr(request, "source", None))
        else:
            self._print(translation, request)
            self._warn(translation, location)
        self.left_out.add(translation)

    def _print(self, translation: "Translation", request: "TranslationRequest") -> None:
        if self.as_json:
            has_terms = self.has_glossary or bool(request.require)
            print(json.dumps(_record(translation, has_terms), ensure_ascii=False))
        else:
            print("\n".join(self._lines(translation.outputs)))

    def _print_empty(self, error: InputError, source: str | None) -> None:
        from ..inference.results import empty_hypothesis

        if self.as_json:
            print(json.dumps({"source": source, "error": text_of(error)}, ensure_ascii=False))
        else:
            print("\n".join(self._lines([empty_hypothesis(self.is_aligned)])))

    def _warn(self, translation: "Translation", location: str) -> None:
        best = translation.outputs[0]
        for term in best.unmet:
            warn(f'{location}: required "{term}" is missing')
        if best.proven is False:
            warn(
                f"{location}: not proven to be the best within max_nodes={self.config.max_nodes}; "
                "raise search.max_nodes"
            )

    def _lines(self, outputs: "Sequence[TextHypothesis]") -> Iterator[str]:
        for output in outputs:
            columns = [one_line(output.text)]
            if self.config.n_best > 1:
                columns = [str(self.number), *columns, f"{output.score:.6f}"]
            if output.alignment is not None:
                columns.append(" ".join(f"{s}-{t}" for t, s in enumerate(output.alignment)))
            yield " ||| ".join(columns)


def one_line(text: str) -> str:
    """The text with spaces for line breaks, so that output lines match input lines."""
    return text.replace("\r", " ").replace("\n", " ")


def _layer(align: bool, layer: str | None) -> bool | int:
    """The layers that align: none (False), all (True) or the layer of that index."""
    if layer is None or layer == "mean":
        return align or layer is not None
    try:
        return int(layer)
    except ValueError:
        raise ConfigError(
            f"--align-layer {layer}: expected the number of a layer, or mean"
        ) from None


def _request(line: str, location: str, is_jsonl: bool, prefix: str) -> "TranslationRequest":
    """The request of a line; the prefix is for one that has none and is not blank."""
    from dataclasses import replace

    from ..inference.requests import TranslationRequest, parse_request

    request = parse_request(line, location) if is_jsonl else TranslationRequest(line)
    if not prefix or request.prefix or request.is_blank:
        return request
    return replace(request, prefix=prefix)


class _Traces:
    """A file with a JSON line per search, with tokens as ids and as text."""

    def __init__(self, path: Path, translator: "Translator") -> None:
        self.path, self.tokenizer = path, translator.task.target.tokenizer
        with writing("--trace", path):
            self.file = path.open("w", encoding="utf-8")

    def __enter__(self) -> "_Traces":
        return self

    def __exit__(self, *_: object) -> None:
        with writing("--trace", self.path):  # closing writes the buffer
            self.file.close()

    def add(self, location: str, translation: "Translation | InputError") -> None:
        from ..inspection.hypothesis import trace_to_dict

        if isinstance(translation, InputError):
            record: dict[str, Any] = {"place": location, "error": text_of(translation)}
        else:
            record = {"place": location, "source": translation.source}
            if translation.trace is not None:
                record |= trace_to_dict(translation.trace, self.tokenizer)
        with writing("--trace", self.path):
            print(json.dumps(record, ensure_ascii=False), file=self.file)


def _record(translation: "Translation", has_terms: bool) -> dict[str, Any]:
    record: dict[str, Any] = {"source": translation.source}
    if translation.source_tokens is not None:
        record["source_tokens"] = translation.source_tokens
    record["outputs"] = []
    for output in translation.outputs:
        fields = output_record(output)
        if output.alignment is not None:
            fields["alignment"] = output.alignment
        if has_terms:
            fields["unmet"] = output.unmet
        if output.proven is not None:
            fields["proven"] = output.proven
        record["outputs"].append(fields)
    return record


def output_record(output: "TextHypothesis") -> dict[str, Any]:
    """The JSON fields of an output."""
    return {
        "text": output.text,
        "log_prob": output.log_prob,
        "score": output.score,
        "tokens": output.tokens,
        "token_log_probs": output.token_log_probs,
        "finished": output.finished,
    }

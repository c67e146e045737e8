"""`headway generate`: continues prompts with a language model; prints the text as it grows."""

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import ConfigError, InputError
from .input_lines import OnError, input_chunks, left_out_lines, text_of
from .options import Json, Run, Threads, Weights, With, set_threads, warn
from .search_options import NO_SEARCH_OPTIONS, SearchOptions, with_search_options
from .translate import one_line, output_record

if TYPE_CHECKING:
    from ..inference.language_model import Generation, LanguageModel

CHUNK_LINES = 32  # few, because outputs are much longer than prompts

Prompt = Annotated[
    str, typer.Argument(metavar="PROMPT", help="The start of the text; it may be empty.")
]
File = Annotated[
    str | None,
    typer.Option(
        "--file",
        metavar="FILE",
        help="The prompt is all of this file but its last line break; - is standard input.",
    ),
]
Lines = Annotated[
    bool,
    typer.Option(
        "--lines",
        help="Every line of --file is a prompt: one output line for each, in order.",
    ),
]
Cut = Annotated[
    bool,
    typer.Option(
        "--cut",
        help="Use only the end of a prompt that is too long, instead of refusing it.",
    ),
]


@with_search_options("generate")
def generate(
    run: Run,
    prompt: Prompt = "",
    file: File = None,
    lines: Lines = False,
    cut: Cut = False,
    on_error: OnError = "stop",
    as_json: Json = False,
    search: SearchOptions = NO_SEARCH_OPTIONS,
    more: With = None,
    weights: Weights = None,
    threads: Threads = None,
) -> None:
    """Continues a prompt with a language model.

    Samples with temperature 0.8 and seed 1 by default. The run's [search] applies if it has method
    = "sample"; options override both. --beam 1 is greedy. A single output is printed as it grows.
    Lengths do not count the prompt. --json prints one object for each prompt.

    Example: headway generate runs/book "Once upon a time" --temperature 0.7
    """
    from ..inference.language_model import LanguageModel, streams
    from ..inference.load import load_for

    set_threads(threads)
    if prompt and file is not None:
        raise ConfigError("PROMPT and --file both set the prompt; leave one of them out")
    if lines and file is None:
        raise ConfigError("--lines needs a file; add --file FILE, or --file - to type")
    if on_error == "keep" and not lines:
        raise ConfigError("--on-error keep is for several prompts; add --file FILE --lines")
    model = load_for("generate", LanguageModel, run, *(more or []), weights=weights)
    settings = search.settings()
    config, too_long = model.writing_config(**settings), "cut" if cut else "refuse"
    options: dict[str, Any] = {"too_long": too_long, **settings}
    if lines and file is not None:
        _write_lines(model, file, as_json, config.n_best, {**options, "on_error": on_error})
        return
    text = prompt if file is None else _whole(file)
    if streams(config) and not as_json:
        _stream(model, text, options)
    else:
        [result] = model.generate([text], places=["the prompt"], **options)
        print(_json(result) if as_json else "\n".join(_blocks(result)))
        _warn_of_unknowns(result, "the prompt")


def _stream(model: "LanguageModel", prompt: str, options: dict[str, Any]) -> None:
    """Prints the output while it grows."""
    pieces = model.stream(prompt, **options)
    print(prompt, end="", flush=True)
    try:
        while True:
            print(next(pieces), end="", flush=True)
    except StopIteration as end:
        result: Generation = end.value
    print()
    _warn_of_unknowns(result, "the prompt")


def _write_lines(
    model: "LanguageModel", file: str, as_json: bool, n_best: int, options: dict[str, Any]
) -> None:
    def parse(line: str, location: str, file: str) -> str:
        return line

    with left_out_lines() as left_out:
        for places, prompts in input_chunks([file], options["on_error"], parse, CHUNK_LINES):
            results = model.generate(prompts, places=places, first=left_out.n_lines, **options)
            for place, prompt, result in zip(places, prompts, results, strict=True):
                _write_line(prompt, result, place, left_out.n_lines, as_json, n_best)
                left_out.add(result)
            print(end="", flush=True)


def _write_line(
    prompt: Any, result: Any, location: str, number: int, as_json: bool, n_best: int
) -> None:
    if not isinstance(result, InputError):
        print(_json(result) if as_json else "\n".join(_lines(result, number, n_best)))
        _warn_of_unknowns(result, location)
    elif as_json:
        record = {"prompt": prompt if isinstance(prompt, str) else None, "error": text_of(result)}
        print(json.dumps(record, ensure_ascii=False))
    else:
        print("" if n_best == 1 else f"{number} |||  ||| {0:.6f}")


def _whole(file: str) -> str:
    """The text of a file without the line break that ends it."""
    from ..data.formats.lines import read_pieces

    return "".join(piece for piece, _ in read_pieces(file)).removesuffix("\n")


def _warn_of_unknowns(result: "Generation", location: str) -> None:
    if result.n_unknown:
        some = f"{result.n_unknown} tokens" if result.n_unknown > 1 else "1 token"
        warn(f"{location}: {some} unknown to the tokenizer, which the model cannot distinguish")


def _blocks(result: "Generation") -> Iterator[str]:
    """The texts, each with a heading if there are several."""
    n = len(result.outputs)
    for number, output in enumerate(result.outputs, 1):
        if n > 1:
            yield f"--- {number} of {n}, score {output.score:.6f}"
        yield result.prompt + output.text


def _lines(result: "Generation", number: int, n_best: int) -> Iterator[str]:
    """A line for each text; with several per prompt: number from 0 ||| text ||| score."""
    for output in result.outputs:
        text = one_line(result.prompt + output.text)
        yield text if n_best == 1 else f"{number} ||| {text} ||| {output.score:.6f}"


def _json(result: "Generation") -> str:
    outputs = [output_record(output) for output in result.outputs]
    return json.dumps({"prompt": result.prompt, "outputs": outputs}, ensure_ascii=False)

"""`headway generate`: what a language model writes after a prompt, on the screen as it comes."""

import json
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import ConfigError
from .options import Json, Run, Threads, With, set_threads, warn
from .search_options import NOTHING_SAID, SearchOptions, with_search_options
from .translate import one_line, output_record

if TYPE_CHECKING:
    from ..inference.language_model import Generation, LanguageModel

CHUNK_LINES = 32  # what is written after them is much longer than they are

Prompt = Annotated[
    str, typer.Argument(metavar="PROMPT", help="How the text begins; it may be empty.")
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
    as_json: Json = False,
    search: SearchOptions = NOTHING_SAID,
    more: With = None,
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
        raise ConfigError("PROMPT and --file both give the prompt; leave one of them out")
    if lines and file is None:
        raise ConfigError("--lines needs a file of them; give --file FILE, or - to type")
    model = load_for("generate", LanguageModel, run, *(more or []))
    settings = search.settings()
    config, too_long = model.writing_config(**settings), "cut" if cut else "refuse"
    options: dict[str, Any] = {"too_long": too_long, **settings}
    if lines and file is not None:
        _write_lines(model, file, as_json, config.n_best, options)
        return
    text = prompt if file is None else _whole(file)
    if streams(config) and not as_json:
        _stream(model, text, options)
    else:
        [found] = model.generate([text], places=["the prompt"], **options)
        print(_json(found) if as_json else "\n".join(_blocks(found)))
        _warn_of_unknowns(found, "the prompt")


def _stream(model: "LanguageModel", prompt: str, options: dict[str, Any]) -> None:
    """Prints what is written while it is written."""
    pieces = model.stream(prompt, **options)
    print(prompt, end="", flush=True)
    try:
        while True:
            print(next(pieces), end="", flush=True)
    except StopIteration as end:
        found: Generation = end.value
    print()
    _warn_of_unknowns(found, "the prompt")


def _write_lines(
    model: "LanguageModel", file: str, as_json: bool, n_best: int, options: dict[str, Any]
) -> None:
    from ..data.formats.lines import read_lines

    name = "standard input" if file == "-" else file
    prompts, done = read_lines(file), 0
    while chunk := list(islice(prompts, CHUNK_LINES)):
        places = [f"{name}:{done + i}" for i in range(1, len(chunk) + 1)]
        for place, found in zip(
            places, model.generate(chunk, places=places, first=done, **options), strict=True
        ):
            print(_json(found) if as_json else "\n".join(_lines(found, done, n_best)))
            _warn_of_unknowns(found, place)
            done += 1
        print(end="", flush=True)


def _whole(file: str) -> str:
    """The text of a file without the line break that ends it."""
    from ..data.formats.lines import read_pieces

    return "".join(piece for piece, _ in read_pieces(file)).removesuffix("\n")


def _warn_of_unknowns(found: "Generation", place: str) -> None:
    if found.n_unknown:
        some = f"{found.n_unknown} tokens" if found.n_unknown > 1 else "1 token"
        warn(f"{place}: {some} unknown to the tokenizer, which the model cannot tell apart")


def _blocks(found: "Generation") -> Iterator[str]:
    """The texts, each under a line of its own where there are several."""
    n = len(found.outputs)
    for number, output in enumerate(found.outputs, 1):
        if n > 1:
            yield f"--- {number} of {n}, score {output.score:.6f}"
        yield found.prompt + output.text


def _lines(found: "Generation", number: int, n_best: int) -> Iterator[str]:
    """The texts in a line each; of several as: number from 0 ||| text ||| score."""
    for output in found.outputs:
        text = one_line(found.prompt + output.text)
        yield text if n_best == 1 else f"{number} ||| {text} ||| {output.score:.6f}"


def _json(found: "Generation") -> str:
    outputs = [output_record(output) for output in found.outputs]
    return json.dumps({"prompt": found.prompt, "outputs": outputs}, ensure_ascii=False)

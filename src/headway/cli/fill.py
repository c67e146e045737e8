"""`headway fill`: predicts the masked tokens of a text."""

import json
from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from .options import Json, Run, Threads, Weights, set_threads, whole

if TYPE_CHECKING:
    from ..inference.masked_lm import FillResult

Text = Annotated[
    str,
    typer.Argument(metavar="TEXT", help="A text with [MASK] in place of words."),
]
Top = Annotated[
    int,
    typer.Option("--top", parser=whole, metavar="N", help="Number of words for each [MASK]."),
]


def fill(
    run: Run,
    text: Text,
    top: Top = 5,
    as_json: Json = False,
    weights: Weights = None,
    threads: Threads = None,
) -> None:
    """Predicts the most probable words for each [MASK] of a text.

    [MASK] in TEXT is the mask token, in this command only. Needs a run of task pretrain whose
    objective is masked, masked_next or unilm. Prints one line for each word: probability, tab,
    token. Several masks are predicted independently of each other.

    Example: headway fill runs/bert "a huge trout just [MASK] my line"
    """
    from ..inference.load import load_for
    from ..inference.masked_lm import Pretrained

    set_threads(threads)
    result = load_for("fill", Pretrained, run, weights=weights).fill(text, top)
    if as_json:
        print(json.dumps(asdict(result), ensure_ascii=False))
    else:
        print("\n".join(_lines(result)))


def _lines(result: "FillResult") -> Iterator[str]:
    n = len(result.gaps)
    for number, gap in enumerate(result.gaps, 1):
        if n > 1:
            yield f"--- [MASK] {number} of {n}"
        for filler in gap:
            # For white space, control characters and parts of letters, the token is printed.
            is_seen = filler.text.isprintable() and filler.text.strip("\ufffd ")
            yield f"{filler.probability:.6f}\t{filler.text if is_seen else filler.token}"

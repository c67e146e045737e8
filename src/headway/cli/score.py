"""`headway score`: what the model thinks of given pairs or texts."""

import json
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING

from .options import (
    Data,
    Format,
    Json,
    Run,
    Source,
    Target,
    Threads,
    With,
    refuse_options,
    set_threads,
)
from .pairs import read_pairs
from .texts import score_texts
from .translate import CHUNK_LINES

if TYPE_CHECKING:
    from ..api import Scored
    from ..data.read import Row


def score(
    run: Run,
    source: Source = None,
    target: Target = None,
    data: Data = None,
    form: Format = None,
    more: With = None,
    threads: Threads = None,
    as_json: Json = False,
) -> None:
    """Prints the log probabilities of given targets or texts.

    One line for each pair, or for each text of a language model: natural logarithm, tab, number of
    tokens, the end included. By default of the run's test set.

    Example: headway score runs/mine --source test.en --target test.de
    """
    from ..api import LanguageModel, Translator, load
    from ..api.loading import check_kind

    set_threads(threads)
    check_kind("score", (Translator, LanguageModel), run)
    translator = load(run, *(more or []))
    if isinstance(translator, LanguageModel):
        refuse_options(run, "language", {"--source": source, "--target": target})
        score_texts(translator, data, form, as_json)
        return
    for rows in _chunks(read_pairs(translator, source, target, data, form)):
        sources = [row.values[0] for row in rows]
        targets = [row.values[1] for row in rows]
        found = translator.score(sources, targets, [row.where for row in rows])
        for row, scored in zip(rows, found, strict=True):
            print(_json(row, scored) if as_json else _line(scored))


def _chunks(rows: Iterator["Row"]) -> Iterator[list["Row"]]:
    while chunk := list(islice(rows, CHUNK_LINES)):
        yield chunk


def _line(scored: "Scored") -> str:
    return f"{scored.log_prob:.6f}\t{len(scored.token_log_probs)}"


def _json(row: "Row", scored: "Scored") -> str:
    record = {
        "source": row.values[0],
        "target": row.values[1],
        "log_prob": scored.log_prob,
        "tokens": scored.tokens,
        "token_log_probs": scored.token_log_probs,
    }
    return json.dumps(record, ensure_ascii=False)

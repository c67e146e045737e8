"""`headway score`: log probabilities of pairs or texts."""

import json
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any

from ..errors import InputError
from .eval_data import read_test_rows
from .input_lines import CHUNK_LINES, OnError, left_out_lines, text_of
from .options import (
    Data,
    Format,
    Json,
    Run,
    Source,
    Target,
    Threads,
    Weights,
    With,
    refuse_options,
    set_threads,
)

if TYPE_CHECKING:
    from ..data.formats.read import Row
    from ..inference.results import ScoredText


def score(
    run: Run,
    source: Source = None,
    target: Target = None,
    data: Data = None,
    form: Format = None,
    on_error: OnError = "stop",
    more: With = None,
    weights: Weights = None,
    threads: Threads = None,
    as_json: Json = False,
) -> None:
    """Prints the log probabilities of existing targets or texts.

    One line for each pair, or for each text of a language model: natural logarithm, tab, number of
    tokens, end token included. Default: the run's test set.

    Example: headway score runs/mine --source test.en --target test.de
    """
    from ..inference.load import load, require_task, trained_classes

    set_threads(threads)
    classes = tuple(cls for cls in trained_classes().values() if cls.scored_inputs is not None)
    require_task("score", classes, run)
    model = load(run, *(more or []), weights=weights)
    takes_pairs = model.scored_inputs == "pairs"
    if not takes_pairs:
        refuse_options(run, model.config.task, {"--source": source, "--target": target})
    with left_out_lines() as left_out:
        for rows in _chunks(read_test_rows(model, source, target, data, form)):
            columns = [list(column) for column in zip(*(row.values for row in rows), strict=True)]
            options: dict[str, Any] = {}
            if takes_pairs:  # a language model scores texts of any length
                options = {"places": [row.where for row in rows], "on_error": on_error}
            for row, scored in zip(rows, model.score(*columns, **options), strict=True):
                texts = dict(zip(model.task.columns, row.values, strict=True))
                print(_json(texts, scored) if as_json else _line(scored))
                left_out.add(scored)


def _chunks(rows: Iterator["Row"]) -> Iterator[list["Row"]]:
    while chunk := list(islice(rows, CHUNK_LINES)):
        yield chunk


def _line(scored: "ScoredText | InputError") -> str:
    if isinstance(scored, InputError):
        return ""
    return f"{scored.log_prob:.6f}\t{len(scored.token_log_probs)}"


def _json(texts: dict[str, str], scored: "ScoredText | InputError") -> str:
    record: dict[str, Any] = {**texts}
    if isinstance(scored, InputError):
        record["error"] = text_of(scored)
    else:
        record["log_prob"] = scored.log_prob
        record["tokens"] = scored.tokens
        record["token_log_probs"] = scored.token_log_probs
    return json.dumps(record, ensure_ascii=False)

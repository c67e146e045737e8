"""From a text and what was made of it to an `Inspection`: forced passes, put into words.

What was made of it, by a search or by the user, comes from the caller.
"""

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

import numpy as np
from torch import Tensor

from ..data.codecs import TextCodec
from ..data.collate import pair_batch, text_batch
from ..errors import DataError
from ..search import SearchConfig
from ..search.trace import SearchTrace
from ..text import Tokenizer
from .close_look import Seen, look_closely
from .inspection import Background, Inspected, Inspection
from .results import Output, trace_in_words

TOP = 5
"""Words shown at each place."""
BLANK = "the text is blank, and there is nothing to look at; give some words"
Written = tuple[Output, list[int]]
"""An output and its tokens, its end included if it came."""


def check_not_blank(is_blank: bool) -> None:
    """Refuses a text in which there is nothing to see."""
    if is_blank:
        raise DataError(BLANK)


def inspect_pairs(
    model: Any,
    text: str,
    source: tuple[Tokenizer, np.ndarray],
    target: Tokenizer,
    written: Sequence[Written],
    looked: Collection[int] | None,
    background: Background,
    search: tuple[SearchConfig, SearchTrace | None] | None = None,
) -> Inspection:
    """A text and several outputs.

    Args:
        source: how the text is tokenised, and its ids.
        looked: numbers of the outputs that are looked at; None for all.
        search: how the outputs were found, unless they were given.
    """
    tokenizer, ids = source
    outputs, first = [], None
    for number, (output, tokens) in enumerate(written):
        output = replace(output, tokens=target.tokens(tokens))
        if not tokens or (looked is not None and number not in looked):
            outputs.append(Inspected(output))
            continue
        seen = look_closely(model, pair_batch([ids], [np.array(tokens)], target.specials["bos"]))
        first = first or seen
        parts = [part for part in seen.parts if part.kind != "encoder"]
        top = _top(seen.log_probs, target)
        outputs.append(Inspected(output, top, parts, seen.inputs.get("target")))
    config, trace = search or (None, None)
    return Inspection(
        "translate",
        text,
        tokenizer.tokens(ids.tolist()),
        outputs,
        background,
        _begin(target),
        [part for part in first.parts if part.kind == "encoder"] if first else [],
        first.inputs.get("source") if first else None,
        None if config is None else asdict(config),
        None if trace is None else trace_in_words(trace, target),
    )


def forced_output(
    model: Any, text: str, source: np.ndarray, ids: np.ndarray, bos: int, alpha: float
) -> Output:
    """An output that was given, with the model's opinion of it."""
    return _opinion(text, look_closely(model, pair_batch([source], [ids], bos)), ids, alpha)


def inspect_text(
    model: Any, text: str, codec: TextCodec, ids: np.ndarray, background: Background
) -> Inspection:
    """A text as a language model reads it."""
    seen = look_closely(model, text_batch([ids], codec.bos))
    tokens = codec.tokenizer.tokens(ids.tolist())
    output = replace(_opinion(text, seen, ids, alpha=1.0), tokens=tokens)
    top = _top(seen.log_probs, codec.tokenizer)
    inspected = Inspected(output, top, seen.parts, seen.inputs.get("target"))
    return Inspection("language", text, None, [inspected], background, _begin(codec.tokenizer))


def inspect_reading(
    task: str,
    model: Any,
    text: str,
    tokenizer: Tokenizer,
    batch: Mapping[str, Tensor],
    outputs: Sequence[Inspected],
    background: Background,
) -> Inspection:
    """A text as a model reads it, and what is told of it.

    Args:
        batch: of this text alone.
        outputs: best first.
    """
    seen = look_closely(model, batch)
    return Inspection(
        task,
        text,
        tokenizer.tokens(batch["src"][0].tolist()),
        list(outputs),
        background,
        _begin(tokenizer),
        seen.parts,
        seen.inputs.get("source"),
    )


def told(text: str, probability: float, **about: Any) -> Inspected:
    """Something that is told of a text, and how probable it is.

    Args:
        about: further attributes of `Inspected`.
    """
    log_prob = math.log(probability) if probability > 0 else -math.inf
    return Inspected(Output(text, log_prob, probability, [], [], True), parts=[], **about)


def _opinion(text: str, seen: Seen, ids: np.ndarray, alpha: float) -> Output:
    values = seen.log_probs[np.arange(len(ids)), ids]
    log_prob = float(values.sum())
    return Output(text, log_prob, log_prob / len(ids) ** alpha, [], values.tolist(), True)


def _top(log_probs: np.ndarray, tokenizer: Tokenizer) -> list[list[tuple[str, float]]]:
    """The likeliest words of each place."""
    return likeliest(log_probs, tokenizer.tokens)


def likeliest(
    log_probs: np.ndarray, names: Callable[[list[int]], list[str]]
) -> list[list[tuple[str, float]]]:
    """What is likeliest at each place, with probabilities that a person can read.

    Args:
        names: of numbers.

    Shape: (T, V) -> T lists.
    """
    n = min(TOP, log_probs.shape[1])
    best = np.argpartition(-log_probs, n - 1, axis=1)[:, :n]
    rows = []
    for unsorted, values in zip(best.tolist(), log_probs, strict=True):
        places = [place for _, place in sorted((-values[place], place) for place in unsorted)]
        words = names(places)
        chances = [float(f"{math.exp(values[place]):.6g}") for place in places]
        rows.append(list(zip(words, chances, strict=True)))
    return rows


def _begin(tokenizer: Tokenizer) -> str:
    return tokenizer.tokens([tokenizer.specials["bos"]])[0]

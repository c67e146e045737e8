"""Makes an `Inspection` of a text and its outputs: forced passes, with readable tokens.

The caller provides the outputs, from a search or from the user.
"""

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

import numpy as np
from torch import Tensor

from ..data.codecs.text import TextCodec
from ..data.collate import pair_batch, text_batch
from ..errors import DataError
from ..search import SearchConfig
from ..search.trace import SearchTrace
from ..text import Tokenizer
from .attention import ForwardTrace, first_elements, trace_forward
from .hypothesis import TextHypothesis, trace_to_dict
from .inspection import InspectedOutput, Inspection, RunSummary

TOP = 5
"""Number of tokens listed at each position."""
BLANK = "the text is blank, and there is nothing to look at; give some words"
Written = tuple[TextHypothesis, list[int]]
"""An output and its token ids, with the end token if it is finished."""


def check_not_blank(is_blank: bool) -> None:
    """Refuses a blank text.

    Raises:
        DataError: the text is blank.
    """
    if is_blank:
        raise DataError(BLANK)


def inspect_pairs(
    model: Any,
    text: str,
    source: tuple[Tokenizer, np.ndarray],
    target: Tokenizer,
    written: Sequence[Written],
    chosen: Collection[int] | None,
    background: RunSummary,
    search: tuple[SearchConfig, SearchTrace | None] | None = None,
) -> Inspection:
    """The inspection of a source text and its outputs.

    Args:
        source: tokenizer and token ids of the text.
        chosen: indices of the outputs that get a forced pass; None for all.
        search: settings and trace of the search; None if the user gave the output.
    """
    tokenizer, ids = source
    outputs, first = [], None
    for index, (output, tokens) in enumerate(written):
        output = replace(output, tokens=target.tokens(tokens))
        if not tokens or (chosen is not None and index not in chosen):
            outputs.append(InspectedOutput(output))
            continue
        batch = pair_batch([ids], [np.array(tokens)], target.specials["bos"])
        forward = trace_forward(model, batch)
        first = first or forward
        parts = [part for part in forward.parts if part.kind != "encoder"]
        top = likeliest(forward.log_probs, target.tokens)
        outputs.append(InspectedOutput(output, top, parts, forward.inputs.get("target")))
    config, trace = search or (None, None)
    return Inspection(
        "translate",
        text,
        tokenizer.tokens(ids.tolist()),
        outputs,
        background,
        _begin_token(target),
        [part for part in first.parts if part.kind == "encoder"] if first else [],
        first.inputs.get("source") if first else None,
        None if config is None else asdict(config),
        None if trace is None else trace_to_dict(trace, target),
    )


def forced_output(
    model: Any, text: str, source: np.ndarray, ids: np.ndarray, bos: int, alpha: float
) -> TextHypothesis:
    """A target of the user, with its scores by a forced pass."""
    return _scored(text, trace_forward(model, pair_batch([source], [ids], bos)), ids, alpha)


def inspect_text(
    model: Any, text: str, codec: TextCodec, ids: np.ndarray, background: RunSummary
) -> Inspection:
    """The inspection of a text by a language model."""
    tokenizer = codec.tokenizer
    forward = trace_forward(model, text_batch([ids], codec.bos))
    output = _scored(text, forward, ids, alpha=1.0)
    output = replace(output, tokens=tokenizer.tokens(ids.tolist()))
    top = likeliest(forward.log_probs, tokenizer.tokens)
    inspected = InspectedOutput(output, top, forward.parts, forward.inputs.get("target"))
    return Inspection("language", text, None, [inspected], background, _begin_token(tokenizer))


def inspect_encoder(
    task: str,
    model: Any,
    text: str,
    tokenizer: Tokenizer,
    batch: Mapping[str, Tensor],
    outputs: Sequence[InspectedOutput],
    background: RunSummary,
) -> Inspection:
    """The inspection of a text by an encoder, with the outputs of its head.

    Args:
        batch: the text as a batch of one.
        outputs: outputs of the head, best first.
    """
    tokens, begin = tokenizer.tokens(batch["src"][0].tolist()), _begin_token(tokenizer)
    return inspect_elements(task, model, text, tokens, begin, batch, outputs, background)


def inspect_elements(
    task: str,
    model: Any,
    text: str,
    names: list[str],
    begin: str,
    batch: Mapping[str, Tensor],
    outputs: Sequence[InspectedOutput],
    background: RunSummary,
) -> Inspection:
    """The inspection of any input by an encoder.

    Args:
        names: a name for each element of the sequence that the encoder reads, without padding at
            its end.
        begin: the name of the begin token; empty without one.
    """
    forward, n = trace_forward(model, batch), len(names)
    embedding, codes = forward.inputs.get("source", (None, None))
    return Inspection(
        task,
        text,
        names,
        list(outputs),
        background,
        begin,
        [first_elements(part, n) for part in forward.parts],
        None if embedding is None else (embedding[:n], None if codes is None else codes[:n]),
    )


def scored_output(text: str, probability: float, **about: Any) -> InspectedOutput:
    """An output of a head, scored by its probability.

    Args:
        about: further attributes of `InspectedOutput`.
    """
    log_prob = math.log(probability) if probability > 0 else -math.inf
    return InspectedOutput(
        TextHypothesis(text, log_prob, probability, [], [], True), parts=[], **about
    )


def _scored(text: str, forward: ForwardTrace, ids: np.ndarray, alpha: float) -> TextHypothesis:
    """A text with the log probabilities of its tokens."""
    values = forward.log_probs[np.arange(len(ids)), ids]
    log_prob = float(values.sum())
    return TextHypothesis(text, log_prob, log_prob / len(ids) ** alpha, [], values.tolist(), True)


def likeliest(
    log_probs: np.ndarray, names: Callable[[list[int]], list[str]]
) -> list[list[tuple[str, float]]]:
    """The likeliest tokens or tags at each position, with probabilities of six digits.

    Args:
        names: gives the names of ids.

    Shape: (T, V) -> T lists.
    """
    n = min(TOP, log_probs.shape[1])
    best = np.argpartition(-log_probs, n - 1, axis=1)[:, :n]
    rows = []
    for unsorted, values in zip(best.tolist(), log_probs, strict=True):
        ids = [id_ for _, id_ in sorted((-values[id_], id_) for id_ in unsorted)]
        probabilities = [float(f"{math.exp(values[id_]):.6g}") for id_ in ids]
        rows.append(list(zip(names(ids), probabilities, strict=True)))
    return rows


def _begin_token(tokenizer: Tokenizer) -> str:
    return tokenizer.tokens([tokenizer.specials["bos"]])[0]

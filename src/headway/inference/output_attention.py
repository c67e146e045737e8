"""The attention of a translator's outputs, from forced passes over them: maps and alignments.

`inspection/attention.py` makes the passes; here they are batched and get the tokens of their axes.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..inspection.attention import Attention, Layer, attention_maps
from ..inspection.hypothesis import TextHypothesis
from ..models import SequenceModel
from ..models.ensemble import Ensemble, members_of
from ..parallel import decode_batches
from ..search import Hypothesis
from ..tasks.translate import Translate
from .requests import Segment

BATCH_DIVISOR = 4
"""How many times smaller batches are than those of the search: attention weights take memory."""


def pair_attention(
    task: Translate,
    model: SequenceModel | Ensemble,
    src: Sequence[np.ndarray],
    tgt: Sequence[np.ndarray],
) -> Iterator[tuple[int, Attention]]:
    """The attention of encoded pairs, each with its index; batches hold similar lengths."""
    lengths = [max(len(s), len(t)) for s, t in zip(src, tgt, strict=True)]
    attending = [member for member in members_of(model) if isinstance(member, SequenceModel)]
    for rows in decode_batches(lengths, BATCH_DIVISOR):
        batch = [src[i] for i in rows], [tgt[i] for i in rows]
        pairs = attention_maps(attending, *batch, task.target.bos)
        for i, (maps, crossing) in zip(rows, pairs, strict=True):
            source = task.source.tokenizer.tokens(src[i].tolist())
            target = task.target.tokenizer.tokens(tgt[i].tolist())
            yield i, Attention(source, target, maps, crossing, task.source.begins)


def add_attention(
    task: Translate,
    model: SequenceModel | Ensemble,
    segments: Sequence[Segment],
    hypotheses: Sequence[Sequence[Hypothesis]],
    outputs: Sequence[Sequence[TextHypothesis]],
    layer: Layer | None,
    keep_weights: bool,
) -> list[list[TextHypothesis]]:
    """The outputs of each segment, with alignments or attention weights.

    Args:
        layer: the layers that give the alignment; None gives no alignment.
        keep_weights: whether outputs get the weights themselves.
    """
    pairs = [
        (segment.ids, np.array([*hypothesis.tokens, task.target.eos]))
        for segment, best in zip(segments, hypotheses, strict=True)
        for hypothesis in best
    ]
    changes: list[dict[str, Any]] = [{} for _ in pairs]
    src, tgt = [ids for ids, _ in pairs], [tokens for _, tokens in pairs]
    for i, attention in pair_attention(task, model, src, tgt):
        if layer is not None:
            changes[i]["alignment"] = attention.alignment(layer)
        if keep_weights:
            changes[i]["attention"] = attention
    change = iter(changes)
    return [[replace(output, **next(change)) for output in best] for best in outputs]

"""One forced pass of one model, with all that attention did in it, as arrays.

What attends to what is told by the shapes of its weights, as in `attention.py`; that weights are
the softmax of a product is believed only where the numbers say so.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor, nn

from ..models import SequenceModel
from ..nn.capture import Attended, Details, capture_details
from ..tasks.validation import device_of
from .attention import Kind, in_stream, told_apart

Side = Literal["source", "target"]
Inputs = tuple[np.ndarray, np.ndarray | None]
"""Embeddings of a sequence and the position codes that were added to them, (T, D) each."""

KINDS: dict[tuple[Side, Side], Kind] = {
    ("source", "source"): "encoder",
    ("target", "target"): "decoder",
    ("target", "source"): "cross",
}
CLOSE = 1e-3
"""How far weights that are computed again may lie from those that were used."""


@dataclass(frozen=True)
class Part:
    """One attention of one sequence or pair.

    Attributes:
        layer: among those of its kind.
        causal: whether a row sees no column behind its own.
        scale: the weights are `softmax(scale * query key^T)`; None where they are something else.
        out: what the heads' sums are multiplied by on their way out, and `bias` is added.

    Shape: weights (H, R, C), query (H, R, E), key (H, C, E), value (H, C, E'), out (D, H*E').
    """

    name: str
    kind: Kind
    layer: int
    causal: bool
    scale: float | None
    weights: np.ndarray = field(repr=False)
    query: np.ndarray = field(repr=False)
    key: np.ndarray = field(repr=False)
    value: np.ndarray = field(repr=False)
    out: np.ndarray | None = field(default=None, repr=False)
    bias: np.ndarray | None = field(default=None, repr=False)


@dataclass(frozen=True)
class Seen:
    """What one pass showed.

    Attributes:
        log_probs: of every word at every place of the target (T, V); none where a text was only
            read.
    """

    log_probs: np.ndarray
    parts: list[Part]
    inputs: dict[Side, Inputs]


@torch.inference_mode()
def look_closely(model: Any, batch: Mapping[str, Tensor]) -> Seen:
    """The pass over a batch of one: a pair, a text that is predicted, or one that is only read."""
    own = {side: batch[key].size(1) for side, key in _keys(batch).items()}
    batch = told_apart(batch) if len(own) > 1 else dict(batch)
    padded = {side: batch[key].size(1) for side, key in _keys(batch).items()}
    with capture_details(model) as details:
        device = device_of(model)
        placed = {name: value.to(device) for name, value in batch.items()}
        logits = _logits(model, placed)
    sizes = {padded[side]: (side, own[side]) for side in own}
    if len(own) > 1:
        details = _unstreamed(details, padded["source"], padded["target"])
    return Seen(
        logits.float().log_softmax(-1).cpu().numpy(),
        list(_parts(model, details, sizes)),
        _inputs(details, sizes),
    )


def _unstreamed(details: Details, n_source: int, n_target: int) -> Details:
    """What was seen of a model that reads source and target as one stream, as of two sequences.

    The words of a target share their weights out between both; in the two parts of these, the
    weights are no softmax.
    """
    both, found = n_source + n_target, Details()
    for name, one in details.attended.items():
        if one.weights.shape[2:] != (both, both):
            found.attended[name] = one
            continue
        for kind, (rows, columns) in in_stream(n_source).items():
            found.attended[f"{name}.{kind}"] = Attended(
                one.weights[:, :, rows, columns],
                one.query[:, :, rows],
                one.key[:, :, columns],
                one.value[:, :, columns],
                one.scale if kind == "encoder" else None,
            )
    for name, (embedded, codes) in details.embedded.items():
        if embedded.size(-2) != both:
            found.embedded[name] = embedded, codes
            continue
        for side, part in (("source", slice(n_source)), ("target", slice(n_source, None))):
            some = None if codes is None else codes[part]
            found.embedded[f"{name}.{side}"] = embedded[..., part, :], some
    return found


def _keys(batch: Mapping[str, Tensor]) -> dict[Side, str]:
    keys: dict[Side, str] = {"source": "src", "target": "tgt_in"}
    return {side: key for side, key in keys.items() if key in batch}


def _logits(model: Any, batch: Mapping[str, Tensor]) -> Tensor:
    """Of the one row of a batch (T, V); none of a text that is only read."""
    if "tgt_in" not in batch:
        # What a head says is the caller's to ask; a classifier need not be made of two parts.
        (model.backbone if hasattr(model, "backbone") else model.logits)(batch)
        return torch.zeros(0)
    if isinstance(model, SequenceModel):
        return model.output(model(batch))[0]
    state, rows = model.start(batch), []
    for token in batch["tgt_in"][0].tolist():
        logits, state = model.step(torch.full((1, 1, 1), token, device=device_of(model)), state)
        rows.append(logits[0, 0])
    return torch.stack(rows)


Sizes = Mapping[int, tuple[Side, int]]
"""By the padded length of a sequence: which one it is, and its own length."""


def _parts(model: nn.Module, details: Details, sizes: Sizes) -> list[Part]:
    parts: list[Part] = []
    for name, attended in details.attended.items():
        n_rows, n_columns = attended.weights.shape[2:]
        if n_rows not in sizes or n_columns not in sizes:
            continue  # neither sequence: nothing that could be labelled
        (rows, n_rows), (columns, n_columns) = sizes[n_rows], sizes[n_columns]
        kind = KINDS.get((rows, columns))
        if kind is None:
            continue
        layer = sum(part.kind == kind for part in parts)
        parts.append(_part(name, kind, layer, attended, n_rows, n_columns, model))
    return parts


def _part(
    name: str,
    kind: Kind,
    layer: int,
    attended: Attended,
    n_rows: int,
    n_columns: int,
    model: nn.Module,
) -> Part:
    weights = _array(attended.weights)[:, :n_rows, :n_columns]
    value = _array(attended.value)[:, :n_columns]
    part = Part(
        name,
        kind,
        layer,
        causal=kind == "decoder" and not np.triu(weights, 1).any(),
        scale=attended.scale,
        weights=weights,
        query=_array(attended.query)[:, :n_rows],
        key=_array(attended.key)[:, :n_columns],
        value=value,
    )
    out = getattr(_owner(model, name), "out", None)
    if isinstance(out, nn.Linear) and out.in_features == value.shape[0] * value.shape[2]:
        bias = None if out.bias is None else out.bias.float().cpu().numpy()
        part = replace(part, out=out.weight.float().cpu().numpy(), bias=bias)
    is_product = part.scale is not None and np.allclose(product_weights(part), weights, atol=CLOSE)
    return part if is_product else replace(part, scale=None)


def _owner(model: nn.Module, name: str) -> nn.Module:
    """What attends; of a stream, its name has the kind behind it."""
    found = dict(model.named_modules())
    return found[name] if name in found else found[name.rpartition(".")[0]]


def product_weights(part: Part) -> np.ndarray:
    """`softmax(scale * query key^T)`, of what lies before each row where the part is causal."""
    scores = (part.scale or 1.0) * part.query @ part.key.transpose(0, 2, 1)
    if part.causal:
        hidden = np.triu(np.ones(scores.shape[1:], bool), 1)
        scores = np.where(hidden, -np.inf, scores)
    raised = np.exp(scores - scores.max(-1, keepdims=True, initial=-np.inf))
    weights: np.ndarray = raised / raised.sum(-1, keepdims=True)
    return weights


def _inputs(details: Details, sizes: Sizes) -> dict[Side, Inputs]:
    found: dict[Side, Inputs] = {}
    for embedded, codes in details.embedded.values():
        if embedded.size(-2) in sizes:
            side, n = sizes[embedded.size(-2)]
            x = embedded.flatten(0, -3)[0, :n].float().cpu().numpy()
            found[side] = x, None if codes is None else codes[:n].float().cpu().numpy()
    return found


def _array(of_batch: Tensor) -> np.ndarray:
    """The one row of a batch."""
    found: np.ndarray = of_batch[0].detach().float().cpu().numpy()
    return found

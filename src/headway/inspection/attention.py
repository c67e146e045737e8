"""The attention of forced passes, as arrays: maps and alignments, or queries, keys and values.

Modules declare what they attend to (`attends`). Weights count as the softmax of a product only
where recomputing them gives the same numbers. `build.py` adds the tokens.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from ..data.collate import pair_batch
from ..errors import ConfigError, RunError
from ..models import SequenceModel
from ..nn.capture import Attended, Details, capture, capture_details
from ..tasks.base import device_of

Layer = int | Literal["mean"]
AttentionType = Literal["encoder", "decoder", "cross"]


@dataclass(frozen=True)
class Attention:
    """Weights by module name, each (heads, rows, columns), with the tokens on the axes.

    Attributes:
        crossing: names of the cross-attention maps, output in rows and input in columns, in the
            order of the layers; one list for each model of an ensemble.
        begins: whether the input starts with the begin token; it always ends with the end token.
    """

    source: list[str]
    target: list[str]
    maps: dict[str, np.ndarray]
    crossing: list[list[str]] = field(default_factory=list)
    begins: bool = False

    def cross(self, layer: Layer = "mean") -> np.ndarray:
        """The cross-attention weights (T, S), mean over heads, layers and models.

        Args:
            layer: a single layer; from 0, or from -1 backwards.

        Raises:
            RunError: the model has no cross-attention.
            ConfigError: the layer does not exist.
        """
        chosen = [_chosen(names, layer) for names in self.crossing or [[]]]
        return np.mean(
            [np.mean([self.maps[name].mean(0) for name in names], axis=0) for names in chosen],
            axis=0,
        )

    def alignment(self, layer: Layer = "mean") -> list[int]:
        """The index of the source token that each output token attends to most.

        Begin and end tokens are neither counted nor aligned.
        """
        weights = self.cross(layer)[: len(self.target) - 1, int(self.begins) : len(self.source) - 1]
        return [int(index) for index in weights.argmax(1)] if weights.size else []


def _chosen(names: Sequence[str], layer: Layer) -> Sequence[str]:
    if not names:
        raise RunError(
            "this model has no attention from output to input to look at; use a family that "
            "attends, such as transformer, or a recurrent model with attention"
        )
    if layer == "mean":
        return names
    if not -len(names) <= layer < len(names):
        raise ConfigError(
            f"no attention layer {layer}; the model has {len(names)}: "
            f"0 to {len(names) - 1}, or mean"
        )
    return [names[layer]]


Side = Literal["source", "target"]
Inputs = tuple[np.ndarray, np.ndarray | None]
"""Embeddings of a sequence, and the position codes added to them, (T, D) each."""

SIDES: dict[AttentionType, tuple[Side, Side]] = {
    "encoder": ("source", "source"),
    "cross": ("target", "source"),
    "decoder": ("target", "target"),
}
"""The sequences in rows and columns, by type of attention."""
KEYS: dict[Side, str] = {"source": "src", "target": "tgt_in"}
"""The tensors of the sequences in a batch."""
CLOSE = 1e-3
"""Largest allowed difference between recomputed and actual weights."""


@torch.inference_mode()
def attention_maps(
    models: Sequence[SequenceModel],
    sources: Sequence[np.ndarray],
    targets: Sequence[np.ndarray],
    bos: int,
) -> list[tuple[dict[str, np.ndarray], list[list[str]]]]:
    """Maps and names of cross-attention for each encoded pair, by one forced pass of each model.

    Names of several models start with the model's number, as in `1.decoder.0.cross`.
    """
    batch = pair_batch(sources, targets, bos)
    maps: dict[str, tuple[AttentionType, Tensor]] = {}
    crossing = []
    for number, model in enumerate(models):
        device = next(model.parameters()).device
        with capture(model) as weights:
            model({name: value.to(device) for name, value in batch.items()})
        prefix = f"{number}." if len(models) > 1 else ""
        own = {
            f"{prefix}{part.name}": (part.type, weights[part.module][:, :, part.rows, part.columns])
            for name in weights
            for part in _parts(model, name, batch)
        }
        maps |= {name: (type_, values.float().cpu()) for name, (type_, values) in own.items()}
        crossing.append([name for name, (type_, _) in own.items() if type_ == "cross"])
    return [
        (_pair_maps(maps, row, {"source": len(source), "target": len(target)}), crossing)
        for row, (source, target) in enumerate(zip(sources, targets, strict=True))
    ]


def _pair_maps(
    maps: Mapping[str, tuple[AttentionType, Tensor]], row: int, lengths: Mapping[Side, int]
) -> dict[str, np.ndarray]:
    """The maps of one pair of a batch, without padding."""
    cut = {}
    for name, (type_, weights) in maps.items():
        n_rows, n_columns = (lengths[side] for side in SIDES[type_])
        cut[name] = weights[row, :, :n_rows, :n_columns].numpy()
    return cut


class _Part(NamedTuple):
    """One type of attention of a module: all of it, or a part of a stream of both sequences."""

    name: str
    module: str
    type: AttentionType
    rows: slice = slice(None)
    columns: slice = slice(None)

    @property
    def is_whole(self) -> bool:
        return self.name == self.module


def _parts(model: nn.Module, name: str, batch: Mapping[str, Tensor]) -> list[_Part]:
    """The types of attention that a module computes for a batch."""
    attends: Any = getattr(model.get_submodule(name), "attends", "self")
    if attends != "self":
        return [_Part(name, name, attends)]
    if len(_lengths(batch)) > 1 and isinstance(model, SequenceModel) and model.is_one_stream:
        parts = _stream_parts(batch["src"].size(1))
        return [
            _Part(f"{name}.{type_}", name, type_, parts[rows], parts[columns])
            for type_, (rows, columns) in SIDES.items()
        ]
    return [_Part(name, name, "encoder" if "src" in batch else "decoder")]


def _stream_parts(n_source: int) -> dict[Side, slice]:
    """The positions of source and target in a stream of both."""
    return {"source": slice(n_source), "target": slice(n_source, None)}


def _lengths(batch: Mapping[str, Tensor]) -> dict[Side, int]:
    return {side: batch[key].size(1) for side, key in KEYS.items() if key in batch}


@dataclass(frozen=True)
class AttentionTrace:
    """One attention layer of one sequence or pair.

    Attributes:
        kind: the type of attention.
        layer: its number among the layers of its type.
        causal: whether a row attends to no later column.
        scale: the weights are `softmax(scale * query key^T)`; None if they are not.
        out: weight of the output projection, with `bias`.

    Shape: weights (H, R, C), query (H, R, E), key (H, C, E), value (H, C, E'), out (D, H*E').
    """

    name: str
    kind: AttentionType
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
class ForwardTrace:
    """The result of a forced pass.

    Attributes:
        log_probs: log probability of every token at every target position (T, V); empty for an
            encoder.
        parts: its attention layers.
        inputs: embeddings and position codes.
    """

    log_probs: np.ndarray
    parts: list[AttentionTrace]
    inputs: dict[Side, Inputs]


@torch.inference_mode()
def trace_forward(model: Any, batch: Mapping[str, Tensor]) -> ForwardTrace:
    """A forced pass over a batch of one: a pair, a text to predict, or a text to encode."""
    device = device_of(model)
    with capture_details(model) as details:
        logits = _logits(model, {name: value.to(device) for name, value in batch.items()})
    traces: list[AttentionTrace] = []
    for name, attended in details.attended.items():
        for part in _parts(model, name, batch):
            layer = sum(trace.kind == part.type for trace in traces)
            traces.append(_trace(model, part, layer, attended))
    log_probs = logits.float().log_softmax(-1).cpu().numpy()
    return ForwardTrace(log_probs, traces, _inputs(model, details, batch))


def _logits(model: Any, batch: Mapping[str, Tensor]) -> Tensor:
    """The logits of the one row of a batch (T, V); empty for a text that is only encoded."""
    if "tgt_in" not in batch:
        # The caller computes the head's outputs. Some classifiers have no separate backbone.
        (model.backbone if hasattr(model, "backbone") else model.logits)(batch)
        return torch.zeros(0)
    if isinstance(model, SequenceModel):
        return model.output(model(batch))[0]
    state, rows = model.start(batch), []
    for token in batch["tgt_in"][0].tolist():
        logits, state = model.step(torch.full((1, 1, 1), token, device=device_of(model)), state)
        rows.append(logits[0, 0])
    return torch.stack(rows)


def _trace(model: nn.Module, part: _Part, layer: int, attended: Attended) -> AttentionTrace:
    weights = _array(attended.weights)[:, part.rows, part.columns]
    value = _array(attended.value)[:, part.columns]
    # In a stream the weights of a target row are divided between source and target, so that
    # neither part is a softmax.
    is_softmax = part.is_whole or part.type == "encoder"
    trace = AttentionTrace(
        part.name,
        part.type,
        layer,
        causal=part.type == "decoder" and not np.triu(weights, 1).any(),
        scale=attended.scale if is_softmax else None,
        weights=weights,
        query=_array(attended.query)[:, part.rows],
        key=_array(attended.key)[:, part.columns],
        value=value,
    )
    out = getattr(model.get_submodule(part.module), "out", None)
    if isinstance(out, nn.Linear) and out.in_features == value.shape[0] * value.shape[2]:
        bias = None if out.bias is None else out.bias.float().cpu().numpy()
        trace = replace(trace, out=out.weight.float().cpu().numpy(), bias=bias)
    if trace.scale is None or np.allclose(product_weights(trace), weights, atol=CLOSE):
        return trace
    return replace(trace, scale=None)


def first_elements(part: AttentionTrace, n: int) -> AttentionTrace:
    """The attention within the first `n` elements of a sequence; those after them are padding."""
    if part.weights.shape[1] <= n:
        return part
    return replace(
        part,
        weights=part.weights[:, :n, :n],
        **{name: getattr(part, name)[:, :n] for name in ("query", "key", "value")},
    )


def rollout(parts: Sequence[AttentionTrace]) -> np.ndarray | None:
    """How much each element draws on each other through all layers (R, R); None without layers.

    The product over layers of the mean over heads plus the identity, rows adding up to 1
    (Abnar and Zuidema, 2020).
    """
    product: np.ndarray | None = None
    for part in parts:
        mixed = part.weights.mean(0) + np.eye(part.weights.shape[1])
        mixed = mixed / mixed.sum(-1, keepdims=True)
        product = mixed if product is None else mixed @ product
    return product


def product_weights(part: AttentionTrace) -> np.ndarray:
    """`softmax(scale * query key^T)`, with later columns masked if the part is causal."""
    scores = (part.scale or 1.0) * part.query @ part.key.transpose(0, 2, 1)
    if part.causal:
        hidden = np.triu(np.ones(scores.shape[1:], bool), 1)
        scores = np.where(hidden, -np.inf, scores)
    raised = np.exp(scores - scores.max(-1, keepdims=True, initial=-np.inf))
    weights: np.ndarray = raised / raised.sum(-1, keepdims=True)
    return weights


def _inputs(model: nn.Module, details: Details, batch: Mapping[str, Tensor]) -> dict[Side, Inputs]:
    """The embeddings of each sequence; models embed the source before the target."""
    lengths = _lengths(batch)
    inputs: dict[Side, Inputs] = {}
    embedded = list(details.embedded.values())
    if len(lengths) > 1 and isinstance(model, SequenceModel) and model.is_one_stream:
        parts = _stream_parts(lengths["source"])
        for x, codes in embedded:
            for side in lengths:
                side_codes = None if codes is None else codes[parts[side]]
                inputs[side] = _to_inputs(x[..., parts[side], :], side_codes)
        return inputs
    for side, (x, codes) in zip(lengths, embedded, strict=False):
        inputs[side] = _to_inputs(x, codes)
    return inputs


def _to_inputs(x: Tensor, codes: Tensor | None) -> Inputs:
    rows = x.flatten(0, -3)[0].float().cpu().numpy()
    return rows, None if codes is None else codes.float().cpu().numpy()


def _array(batch: Tensor) -> np.ndarray:
    """The one row of a batch."""
    row: np.ndarray = batch[0].detach().float().cpu().numpy()
    return row

"""Where an output looks in its input: attention of forced passes, and alignments read off it.

Any family is looked at in the same way: what attends from output to input is told by the shape of
its weights, not by its name.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import pad

from ..data.collate import pair_batch
from ..errors import ConfigError, RunError
from ..models import SequenceModel
from ..nn.capture import capture

Layer = int | Literal["mean"]
Kind = Literal["encoder", "decoder", "cross"]


@dataclass(frozen=True)
class Attention:
    """Weights by module name, each (heads, rows, columns), with the tokens on the axes.

    Attributes:
        crossing: names of the maps whose rows are the output and whose columns are the input, in
            the order of the layers; one list for each model of an ensemble.
        begins: whether the first token of the input is the begin mark; the last one always is the
            end mark.
    """

    source: list[str]
    target: list[str]
    maps: dict[str, np.ndarray]
    crossing: list[list[str]] = field(default_factory=list)
    begins: bool = False

    def cross(self, layer: Layer = "mean") -> np.ndarray:
        """What the output attends to in the input (T, S): mean over heads, layers and models.

        Args:
            layer: one layer in place of all; from 0, or from -1 backwards.

        Raises:
            RunError: nothing attends from output to input.
            ConfigError: there is no such layer.
        """
        chosen = [_chosen(names, layer) for names in self.crossing or [[]]]
        return np.mean(
            [np.mean([self.maps[name].mean(0) for name in names], axis=0) for names in chosen],
            axis=0,
        )

    def alignment(self, layer: Layer = "mean") -> list[int]:
        """The word of the input that each output token attends to most: its place without marks."""
        weights = self.cross(layer)[: len(self.target) - 1, int(self.begins) : len(self.source) - 1]
        return [int(place) for place in weights.argmax(1)] if weights.size else []


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


@torch.inference_mode()
def look(
    models: Sequence[SequenceModel],
    sources: Sequence[np.ndarray],
    targets: Sequence[np.ndarray],
    bos: int,
) -> list[tuple[dict[str, np.ndarray], list[list[str]]]]:
    """Maps and crossing names of encoded pairs, through one forced pass of each model.

    Names of several models have the model's number before them, as in `1.decoder.0.cross`.
    """
    batch = told_apart(pair_batch(sources, targets, bos))
    found: dict[str, Tensor] = {}
    crossing = []
    shape = (batch["tgt_in"].size(1), batch["src"].size(1))  # (T, S)
    for number, model in enumerate(models):
        device = next(model.parameters()).device
        with capture(model) as seen:
            model({name: value.to(device) for name, value in batch.items()})
        maps = dict(_told_apart(seen, *shape))
        mark = f"{number}." if len(models) > 1 else ""
        found |= {mark + name: weights.float().cpu() for name, weights in maps.items()}
        crossing.append([mark + name for name, w in maps.items() if tuple(w.shape[2:]) == shape])
    sizes = [dict(zip(shape, (len(t), len(s)), strict=True)) for s, t in _pairs(sources, targets)]
    return [(_cut(found, i, size), crossing) for i, size in enumerate(sizes)]


def _pairs(
    sources: Sequence[np.ndarray], targets: Sequence[np.ndarray]
) -> list[tuple[np.ndarray, np.ndarray]]:
    return list(zip(sources, targets, strict=True))


def _told_apart(
    maps: Mapping[str, Tensor], n_target: int, n_source: int
) -> Iterator[tuple[str, Tensor]]:
    """Maps of each sequence and between them, also of models that read both as one stream."""
    for name, weights in maps.items():
        if tuple(weights.shape[2:]) != (n_source + n_target,) * 2:
            yield name, weights
            continue
        for kind, (rows, columns) in in_stream(n_source).items():
            yield f"{name}.{kind}", weights[:, :, rows, columns]


def in_stream(n_source: int) -> dict[Kind, tuple[slice, slice]]:
    """Rows and columns of each attention, where the target stands behind the source."""
    source, target = slice(n_source), slice(n_source, None)
    return {"encoder": (source, source), "cross": (target, source), "decoder": (target, target)}


def told_apart(batch: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The batch with inputs and outputs of different widths, so that shapes of maps are clear."""
    if batch["src"].size(1) != batch["tgt_in"].size(1):
        return dict(batch)
    wider = {name: pad(batch[name], (0, 1)) for name in ("src", "src_valid")}
    return {**batch, **wider}


def _cut(maps: Mapping[str, Tensor], row: int, size: Mapping[int, int]) -> dict[str, np.ndarray]:
    """The maps of one sentence without its padding; `size` leads from padded to own length."""
    cut = {}
    for name, weights in maps.items():
        n_rows, n_columns = (size.get(width, width) for width in weights.shape[2:])
        cut[name] = weights[row, :, :n_rows, :n_columns].numpy()
    return cut

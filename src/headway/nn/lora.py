"""Low-rank adaptation (Hu et al. 2021): a trained low-rank update of a frozen matrix.

`W x` becomes `W x + (alpha / r) U D x`. `D (r, in)` starts at random and `U (out, r)` at zero, so
that the model is unchanged before the first update. A packed matrix (queries, keys and values) gets
one update. `merged` adds the updates to the weights. `models/finetuning.py` chooses the matrices.
"""

import math
from collections.abc import Mapping

import torch
from torch import Tensor, nn
from torch.nn.functional import linear

DOWN, UP, SCALE = ".lora.down", ".lora.up", ".lora.scale"


class LowRankUpdate(nn.Module):
    """`(alpha / r) U D x`."""

    scale: Tensor

    def __init__(self, n_in: int, n_out: int, rank: int, alpha: float) -> None:
        super().__init__()
        self.down = nn.Parameter(torch.empty(rank, n_in))
        nn.init.kaiming_uniform_(self.down, a=math.sqrt(5))  # as in nn.Linear
        self.up = nn.Parameter(torch.zeros(n_out, rank))
        # Saved with the weights, so that `merged` needs no settings.
        self.register_buffer("scale", torch.tensor(alpha / rank))

    def forward(self, x: Tensor) -> Tensor:
        return linear(linear(x, self.down), self.up) * self.scale


class Adapted(nn.Module):
    """A linear layer with frozen weights and a low-rank update; the weights keep their names."""

    def __init__(self, layer: nn.Linear, rank: int, alpha: float) -> None:
        super().__init__()
        self.in_features, self.out_features = layer.in_features, layer.out_features
        self.weight = layer.weight.requires_grad_(False)
        self.bias = None if layer.bias is None else layer.bias.requires_grad_(False)
        self.lora = LowRankUpdate(layer.in_features, layer.out_features, rank, alpha)

    def forward(self, x: Tensor) -> Tensor:
        output: Tensor = linear(x, self.weight, self.bias) + self.lora(x)
        return output


def merged(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Named weights with every low-rank update added to its matrix, as in a model without LoRA."""
    weights = {name: value for name, value in tensors.items() if ".lora." not in name}
    for name, up in tensors.items():
        if name.endswith(UP):
            owner = name.removesuffix(UP)
            update = up.double() @ tensors[owner + DOWN].double() * tensors[owner + SCALE]
            weight = tensors[f"{owner}.weight"]
            weights[f"{owner}.weight"] = (weight.double() + update).to(weight.dtype)
    return weights

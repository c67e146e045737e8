"""Low-rank adaptation (Hu et al. 2021): a frozen matrix learns by a product of two thin ones.

`W x` becomes `W x + (alpha / r) U D x`, where `D (r, in)` starts at random and `U (out, r)` at
zero, so that nothing has changed before the first update. A packed matrix (queries, keys and
values) is one matrix here. What was learned can be added to `W`, which is then an ordinary weight.
"""

import math
from collections.abc import Mapping

import torch
from torch import Tensor, nn
from torch.nn.functional import linear

DOWN, UP, SCALE = ".lora.down", ".lora.up", ".lora.scale"


class LowRank(nn.Module):
    """`(alpha / r) U D x`."""

    scale: Tensor

    def __init__(self, n_in: int, n_out: int, rank: int, alpha: float) -> None:
        super().__init__()
        self.down = nn.Parameter(torch.empty(rank, n_in))
        nn.init.kaiming_uniform_(self.down, a=math.sqrt(5))  # as a linear layer starts
        self.up = nn.Parameter(torch.zeros(n_out, rank))
        # With the weights, so that they can be put together without the settings.
        self.register_buffer("scale", torch.tensor(alpha / rank))

    def forward(self, x: Tensor) -> Tensor:
        return linear(linear(x, self.down), self.up) * self.scale


class Adapted(nn.Module):
    """A linear layer whose own weights are held fixed, under the names that they had."""

    def __init__(self, layer: nn.Linear, rank: int, alpha: float) -> None:
        super().__init__()
        self.in_features, self.out_features = layer.in_features, layer.out_features
        self.weight = layer.weight.requires_grad_(False)
        self.bias = None if layer.bias is None else layer.bias.requires_grad_(False)
        self.lora = LowRank(layer.in_features, layer.out_features, rank, alpha)

    def forward(self, x: Tensor) -> Tensor:
        found: Tensor = linear(x, self.weight, self.bias) + self.lora(x)
        return found


def merged(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Named weights with every adaptation added to its matrix: those of an ordinary model."""
    found = {name: value for name, value in tensors.items() if ".lora." not in name}
    for name, up in tensors.items():
        if name.endswith(UP):
            owner = name.removesuffix(UP)
            change = up.double() @ tensors[owner + DOWN].double() * tensors[owner + SCALE]
            weight = tensors[f"{owner}.weight"]
            found[f"{owner}.weight"] = (weight.double() + change).to(weight.dtype)
    return found

"""A model of ours with everything spelled out that a file of the library holds.

Beside its weights those are the biases it does without, as zeros, and positions that it computes,
as a table.
"""

from typing import Any

import torch
from torch import Tensor, nn

from .rows import Row


@torch.no_grad()
def spelled_out(model: nn.Module, rows: list[Row], n_positions: int) -> dict[str, Tensor]:
    """Every tensor that rows name, by our names, on the CPU.

    Args:
        n_positions: how many positions there are; learned ones have their own number.
    """
    config: Any = model.config
    own = {name: tensor.cpu() for name, tensor in model.state_dict().items()}
    for row in rows:
        owner, _, part = row.ours.rpartition(".")
        if row.ours in own:
            continue
        if part == "bias":
            own[row.ours] = torch.zeros(own[f"{owner}.weight"].size(0))
        else:
            own[row.ours] = position_table(model.get_submodule(owner), n_positions, config.d_model)
    return own


@torch.no_grad()
def position_table(positions: nn.Module, n_positions: int, d_model: int) -> Tensor:
    """What a module of positions adds at each of the first positions. Shape: (T, D)."""
    weight = getattr(positions, "weight", torch.empty(0))
    table: Tensor = positions(torch.zeros(n_positions, d_model, device=weight.device))
    return table.cpu().clone()

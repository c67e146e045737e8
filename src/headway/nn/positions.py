"""Positions: fixed sines, learned vectors, rotations of queries and keys.

Sinusoidal and learned codes are added to the embedding; rotary ones act inside self-attention.
Parameters do not grow with the input length, except for learned codes, which end at `max_length`.
"""

import torch
from torch import Tensor, nn

from ..errors import DataError


def sinusoidal(positions: Tensor, d_model: int, base: float = 10000.0) -> Tensor:
    """`PE(pos, 2i) = sin(pos / base^(2i/d))`, `PE(pos, 2i+1) = cos(same)`. (T,) -> (T, D)."""
    # Angles in double precision: at position 10,000 a float32 angle is already off by 1e-3.
    device = positions.device
    wide = (positions.cpu() if device.type == "mps" else positions).double()  # MPS has no doubles
    even = torch.arange(0, d_model, 2, device=wide.device).double()
    angles = wide[:, None] / base ** (even / d_model)
    codes = torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)  # (T, D) interleaved
    return codes[:, :d_model].float().to(device)


class Sines:
    """The fixed codes of positions, in a table that is remade longer when a longer input comes.

    The table is no buffer: processes that have seen different lengths hold different ones.
    """

    def __init__(self, width: int, base: float) -> None:
        self.width = width
        self.base = base
        self.table = sinusoidal(torch.arange(512), width, base)

    def of(self, x: Tensor, offset: int) -> Tensor:
        """For x (..., T, E) at positions offset .. offset + T - 1, in its type: (T, width)."""
        end = offset + x.size(-2)
        table = self.table  # threads may remake it meanwhile
        if end > table.size(0) or table.device != x.device:
            with torch.inference_mode(False):  # training goes on with what a search has remade
                positions = torch.arange(max(2 * end, table.size(0)), device=x.device)
                self.table = table = sinusoidal(positions, self.width, self.base)
        return table[offset:end].to(x.dtype)


class Sinusoidal(nn.Module):
    """Adds the fixed codes."""

    def __init__(self, d_model: int, base: float = 10000.0) -> None:
        super().__init__()
        self.sines = Sines(d_model, base)

    def forward(self, x: Tensor, offset: int = 0) -> Tensor:
        """x (..., T, D) at positions offset .. offset + T - 1."""
        return x + self.sines.of(x, offset)


class Learned(nn.Module):
    """Adds one trained vector per position, up to `max_length`."""

    def __init__(self, d_model: int, max_length: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(max_length, d_model))
        nn.init.normal_(self.weight, std=0.02)

    def forward(self, x: Tensor, offset: int = 0) -> Tensor:
        end = offset + x.size(-2)
        if end > self.weight.size(0):
            raise DataError(
                f"position {end} is beyond the {self.weight.size(0)} learned positions; "
                "shorten the input or train with a larger model.max_positions"
            )
        return x + self.weight[offset:end]


class NoPositions(nn.Module):
    """Adds nothing: the order is told elsewhere (rotary) or not at all."""

    def forward(self, x: Tensor, offset: int = 0) -> Tensor:
        return x


class Rotary(nn.Module):
    """Turns each pair of components (2i, 2i+1) by an angle that grows with the position.

    Su et al. 2021, eq. 34: dot products then depend on relative positions only.
    """

    def __init__(self, d_head: int, base: float = 10000.0) -> None:
        super().__init__()
        if d_head % 2:
            raise ValueError(f"rotary positions turn pairs; d_head={d_head} is odd; make it even")
        self.sines = Sines(d_head, base)

    def forward(self, x: Tensor, offset: int = 0) -> Tensor:
        """x (..., T, E) at positions offset .. offset + T - 1."""
        codes = self.sines.of(x, offset)
        sin, cos = codes[:, 0::2], codes[:, 1::2]  # (T, E/2)
        even, odd = x[..., 0::2], x[..., 1::2]
        return torch.stack([even * cos - odd * sin, even * sin + odd * cos], dim=-1).flatten(-2)

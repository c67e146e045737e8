"""Position encodings: sinusoidal, learned, rotary and relative.

Sinusoidal and learned codes are added to embeddings, rotary positions rotate queries and keys, and
relative positions add a bias to attention scores. All work at any length, except learned codes,
which end at `max_length`.
"""

import math

import torch
from torch import Tensor, nn
from torch.nn.functional import embedding

from ..errors import DataError

PositionIds = int | Tensor
"""Position of a sequence's first token, or of each token: (B, T) for x (B, ..., T, D)."""


def sinusoidal(positions: Tensor, d_model: int, base: float = 10000.0) -> Tensor:
    """`PE(pos, 2i) = sin(angle)`, `PE(pos, 2i+1) = cos(angle)`, `angle = pos / base^(2i/d)`.

    Shape: (T,) -> (T, D).
    """
    # Angles in double precision: at position 10,000 a float32 angle is off by 1e-3.
    device = positions.device
    wide = (positions.cpu() if device.type == "mps" else positions).double()  # MPS has no doubles
    even = torch.arange(0, d_model, 2, device=wide.device).double()
    angles = wide[:, None] / base ** (even / d_model)
    codes = torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)  # (T, D) interleaved
    return codes[:, :d_model].float().to(device)


class Sines:
    """A table of sinusoidal codes that grows with the longest input.

    The table is not a buffer, because processes that have seen different lengths differ in it.
    """

    def __init__(self, width: int, base: float) -> None:
        self.width = width
        self.base = base
        self.table = sinusoidal(torch.arange(512), width, base)

    def lookup(self, x: Tensor, position_ids: PositionIds) -> Tensor:
        """Codes for x (..., T, E) in its dtype: (T, width), or (B, ..., T, width)."""
        end = _end(x, position_ids)
        table = self.table  # another thread may replace it
        if end > table.size(0) or table.device != x.device:
            with torch.inference_mode(False):  # training may use a table that a search has made
                positions = torch.arange(max(2 * end, table.size(0)), device=x.device)
                self.table = table = sinusoidal(positions, self.width, self.base)
        return _rows(table, x, position_ids).to(x.dtype)


def _end(x: Tensor, position_ids: PositionIds) -> int:
    """The number of rows that a table needs."""
    if isinstance(position_ids, int):
        return position_ids + x.size(-2)
    return int(position_ids.max()) + 1 if position_ids.numel() else 0


def _rows(table: Tensor, x: Tensor, position_ids: PositionIds) -> Tensor:
    """Rows of a table, in a shape that broadcasts to x (B, ..., T, D)."""
    if isinstance(position_ids, int):
        return table[position_ids : position_ids + x.size(-2)]
    B, T = position_ids.shape
    return table[position_ids].view(B, *(1,) * (x.dim() - 3), T, -1)


class Sinusoidal(nn.Module):
    """Adds sinusoidal codes (Vaswani et al. 2017)."""

    def __init__(self, d_model: int, base: float = 10000.0) -> None:
        super().__init__()
        self.sines = Sines(d_model, base)

    def forward(self, x: Tensor, position_ids: PositionIds = 0) -> Tensor:
        """x (..., T, D) -> (..., T, D)."""
        return x + self.sines.lookup(x, position_ids)


class LearnedPositions(nn.Module):
    """Adds one learned vector per position, up to `max_length`."""

    def __init__(self, d_model: int, max_length: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(max_length, d_model))
        nn.init.normal_(self.weight, std=0.02)

    def forward(self, x: Tensor, position_ids: PositionIds = 0) -> Tensor:
        """x (..., T, D) -> (..., T, D)."""
        end = _end(x, position_ids)
        if end > self.weight.size(0):
            raise DataError(
                f"position {end} is beyond the {self.weight.size(0)} learned positions; "
                "shorten the input or train with a larger model.max_positions"
            )
        return x + _rows(self.weight, x, position_ids)


class GridSinusoidal(nn.Module):
    """Adds sinusoidal codes in two axes: half of the width for the row, half for the column."""

    def __init__(self, d_model: int, base: float = 10000.0) -> None:
        super().__init__()
        self.rows, self.columns = Sines(d_model // 2, base), Sines(d_model - d_model // 2, base)

    def forward(self, x: Tensor) -> Tensor:
        """x (B, rows, columns, D) -> (B, rows, columns, D)."""
        _, R, C, _ = x.shape
        rows, columns = self.rows.lookup(x[:, :, 0], 0), self.columns.lookup(x[:, 0], 0)
        codes = [rows[:, None].expand(R, C, -1), columns.expand(R, C, -1)]
        return x + torch.cat(codes, dim=-1)


class NoPositions(nn.Module):
    """Adds nothing, for models with rotary, relative or no positions."""

    def forward(self, x: Tensor, position_ids: PositionIds = 0) -> Tensor:
        return x


class Rotary(nn.Module):
    """Rotates each pair of components (2i, 2i+1) by an angle proportional to the position.

    Dot products then depend on relative positions only (Su et al. 2021, eq. 34).
    """

    def __init__(self, d_head: int, base: float = 10000.0) -> None:
        super().__init__()
        if d_head % 2:
            raise ValueError(f"rotary positions rotate pairs; d_head={d_head} is odd; make it even")
        self.sines = Sines(d_head, base)

    def forward(self, x: Tensor, position_ids: PositionIds = 0) -> Tensor:
        """x (..., T, E) -> (..., T, E)."""
        codes = self.sines.lookup(x, position_ids)
        sin, cos = codes[..., 0::2], codes[..., 1::2]  # (T, E/2)
        even, odd = x[..., 0::2], x[..., 1::2]
        return torch.stack([even * cos - odd * sin, even * sin + odd * cos], dim=-1).flatten(-2)


def bucket(distance: Tensor, n_buckets: int, farthest: int, both_ways: bool) -> Tensor:
    """The bucket of a distance (Raffel et al. 2020).

    The first half of the buckets hold one distance each, from 0. The second half grow
    logarithmically, and the last holds all distances from `farthest`.

    Args:
        distance: position of the key minus position of the query.
        both_ways: the second half of all buckets is for keys after the query; without it such keys
            count as distance 0, because queries do not see them.
    """
    if both_ways:
        n_buckets //= 2
        back = bucket(-distance.abs(), n_buckets, farthest, both_ways=False)
        return back + n_buckets * (distance > 0)
    far = -distance.clamp(max=0)
    n_exact = n_buckets // 2
    # In single precision and in this order, as in T5: some distances are on the border of two
    # buckets, and rounding decides.
    growth = (far.clamp(min=1).float() / n_exact).log() / math.log(farthest / n_exact)
    wide = n_exact + (growth * (n_buckets - n_exact)).long()
    return torch.where(far < n_exact, far, wide.clamp(max=n_buckets - 1))


class RelativeBias(nn.Module):
    """A learned bias of the scores for each head and bucket of distances (Raffel et al. 2020).

    All layers of a stack share it: it is computed once per pass and passed to each as `bias`.

    Args:
        both_ways: whether queries see keys after them.
    """

    def __init__(self, n_heads: int, n_buckets: int, farthest: int, both_ways: bool) -> None:
        super().__init__()
        self.farthest = farthest
        self.weight = nn.Parameter(torch.empty(n_buckets, n_heads))
        nn.init.normal_(self.weight, std=0.02)
        distances = torch.arange(-farthest, farthest + 1)
        buckets = bucket(distances, n_buckets, farthest, both_ways)
        self.register_buffer("buckets", buckets, persistent=False)

    def forward(self, queries: Tensor, keys: Tensor) -> Tensor:
        """The bias of query positions (..., Q) and key positions (..., K) -> (..., H, Q, K)."""
        distance = (keys[..., None, :] - queries[..., :, None]).clamp(-self.farthest, self.farthest)
        table = embedding(self.get_buffer("buckets"), self.weight)  # (2 * farthest + 1, H)
        return embedding(distance + self.farthest, table).movedim(-1, -3)

    def of_all(self, n: int) -> Tensor:
        """The bias of the self-attention of positions 0 to n - 1 (1, H, n, n)."""
        positions = torch.arange(n, device=self.weight.device)
        bias: Tensor = self(positions, positions)
        return bias[None]

    def of_newest(self, n: int, newest: Tensor, slots: Tensor) -> Tensor:
        """The bias of the newest tokens of `n` hypotheses to all slots of a KV cache.

        Args:
            newest: positions of the newest tokens (B, t), equal for all hypotheses.
            slots: positions of the slots (B, K).

        Shape: -> (B, H, N*t, K), or (B, H, 1, K) if t is 1.
        """
        bias: Tensor = self(newest, slots)  # (B, H, t, K)
        return bias if newest.size(1) == 1 else bias.repeat(1, 1, n, 1)

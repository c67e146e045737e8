"""Positions: fixed sines, learned vectors, rotations of queries and keys, biases of distances.

Sinusoidal and learned codes are added to the embedding; rotary ones act inside self-attention, and
relative ones on its scores. Parameters do not grow with the input length, except for learned codes,
which end at `max_length`.
"""

import math

import torch
from torch import Tensor, nn
from torch.nn.functional import embedding

from ..errors import DataError

Place = int | Tensor
"""Where a sequence begins, or each of its tokens stands: (B, T), for x (B, ..., T, D)."""


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

    def of(self, x: Tensor, place: Place) -> Tensor:
        """For x (..., T, E), in its type: (T, width), or what broadcasts to (B, ..., T, width)."""
        end = _end(x, place)
        table = self.table  # threads may remake it meanwhile
        if end > table.size(0) or table.device != x.device:
            with torch.inference_mode(False):  # training goes on with what a search has remade
                positions = torch.arange(max(2 * end, table.size(0)), device=x.device)
                self.table = table = sinusoidal(positions, self.width, self.base)
        return _rows(table, x, place).to(x.dtype)


def _end(x: Tensor, place: Place) -> int:
    """How many rows a table needs."""
    if isinstance(place, int):
        return place + x.size(-2)
    return int(place.max()) + 1 if place.numel() else 0


def _rows(table: Tensor, x: Tensor, place: Place) -> Tensor:
    if isinstance(place, int):
        return table[place : place + x.size(-2)]
    between = (1,) * (x.dim() - 3)
    return table[place].view(place.size(0), *between, place.size(1), -1)


class Sinusoidal(nn.Module):
    """Adds the fixed codes."""

    def __init__(self, d_model: int, base: float = 10000.0) -> None:
        super().__init__()
        self.sines = Sines(d_model, base)

    def forward(self, x: Tensor, place: Place = 0) -> Tensor:
        """x (..., T, D) -> the same with the codes of its places."""
        return x + self.sines.of(x, place)


class Learned(nn.Module):
    """Adds one trained vector per position, up to `max_length`."""

    def __init__(self, d_model: int, max_length: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(max_length, d_model))
        nn.init.normal_(self.weight, std=0.02)

    def forward(self, x: Tensor, place: Place = 0) -> Tensor:
        end = _end(x, place)
        if end > self.weight.size(0):
            raise DataError(
                f"position {end} is beyond the {self.weight.size(0)} learned positions; "
                "shorten the input or train with a larger model.max_positions"
            )
        return x + _rows(self.weight, x, place)


class NoPositions(nn.Module):
    """Adds nothing: the order is told elsewhere (rotary, relative) or not at all."""

    def forward(self, x: Tensor, place: Place = 0) -> Tensor:
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

    def forward(self, x: Tensor, place: Place = 0) -> Tensor:
        """x (..., T, E) -> the same, turned by the angles of its places."""
        codes = self.sines.of(x, place)
        sin, cos = codes[..., 0::2], codes[..., 1::2]  # (T, E/2)
        even, odd = x[..., 0::2], x[..., 1::2]
        return torch.stack([even * cos - odd * sin, even * sin + odd * cos], dim=-1).flatten(-2)


def bucket(distance: Tensor, n_buckets: int, farthest: int, both_ways: bool) -> Tensor:
    """The group that a distance belongs to (Raffel et al. 2020).

    Half of the groups are for one distance each, from 0 on. In the other half they grow with its
    logarithm, and the last takes in all from `farthest` on.

    Args:
        distance: place of the key minus place of the query.
        both_ways: the later half of all groups is for keys behind the query; otherwise these are
            not looked at, and count as near.
    """
    if both_ways:
        n_buckets //= 2
        back = bucket(-distance.abs(), n_buckets, farthest, both_ways=False)
        return back + n_buckets * (distance > 0)
    far = -distance.clamp(max=0)
    n_exact = n_buckets // 2
    # In single precision and in this order, as trained models have it: some distances lie on the
    # border of two groups, and rounding decides.
    growth = (far.clamp(min=1).float() / n_exact).log() / math.log(farthest / n_exact)
    wide = n_exact + (growth * (n_buckets - n_exact)).long()
    return torch.where(far < n_exact, far, wide.clamp(max=n_buckets - 1))


class RelativeBias(nn.Module):
    """A number for each head and group of distances, which is added to the scores.

    One serves all layers of a stack: it is made once per pass and handed to each as `bias`.

    Args:
        both_ways: whether queries see keys behind them.
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
        """Of places (..., Q) and (..., K) -> (..., H, Q, K)."""
        distance = (keys[..., None, :] - queries[..., :, None]).clamp(-self.farthest, self.farthest)
        table = embedding(self.get_buffer("buckets"), self.weight)  # (2 * farthest + 1, H)
        return embedding(distance + self.farthest, table).movedim(-1, -3)

    def of_all(self, n: int) -> Tensor:
        """Of `n` places among themselves (1, H, n, n)."""
        places = torch.arange(n, device=self.weight.device)
        found: Tensor = self(places, places)
        return found[None]

    def of_newest(self, n: int, newest: Tensor, places: Tensor) -> Tensor:
        """Of the newest tokens of each of `n` hypotheses to all slots.

        Shape: newest (B, t), places (B, K) -> (B, H, N*t, K), or (B, H, 1, K) where it is the same
            for all hypotheses.
        """
        found: Tensor = self(newest, places)  # (B, H, t, K)
        return found if newest.size(1) == 1 else found.repeat(1, 1, n, 1)

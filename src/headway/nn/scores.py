"""Attention scores: how well a query fits each key, before the softmax.

Eight parts with one shape, for the recurrent decoder and for multi-head attention alike. What
depends on the keys alone is computed by `prepare`, once per memory; `score` does the rest for every
query. Masks, softmax, weights and looking at them are left to `attend`.
"""

import math
from abc import abstractmethod
from collections.abc import Callable, Mapping
from functools import partial
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn.functional import linear, normalize, pad
from torch.utils.checkpoint import checkpoint

ScoreName = Literal[
    "basic", "cosine", "dot", "scaled_dot", "general", "concat", "additive", "location"
]
CHUNK = 2**24
"""Numbers that additive and concat hold at once: one for each query, key and unit."""


class Score(nn.Module):
    """A score function; each head has parameters of its own."""

    @abstractmethod
    def prepare(self, keys: Tensor) -> Tensor:
        """What of the score depends on the keys alone, key by key.

        Shape: (B, H, K, E) -> (B, H, K, E'), so that a cache can grow and rows can leave.
        """

    @abstractmethod
    def score(self, query: Tensor, prepared: Tensor) -> Tensor:
        """Shape: query (B, H, Q, E), prepared as `prepare` made it -> (B, H, Q, K)."""

    def as_product(self, query: Tensor) -> tuple[Tensor, float | None]:
        """`(x, s)` such that the score is `s * x^T prepared`, for who looks; s is None if none is.

        Shape: (B, H, Q, E) -> (B, H, Q, E).
        """
        return query, None


class Dot(Score):
    """`q^T h_i`.

    The basic score `x_i^T q` is this product too: there, the items are keys and values at once.
    """

    def prepare(self, keys: Tensor) -> Tensor:
        return keys

    def score(self, query: Tensor, prepared: Tensor) -> Tensor:
        return query @ prepared.mT

    def as_product(self, query: Tensor) -> tuple[Tensor, float | None]:
        return query, 1.0


class ScaledDot(Dot):
    """`q^T h_i / sqrt(E)` (Vaswani et al. 2017); `attend` has a fused kernel for it."""

    def score(self, query: Tensor, prepared: Tensor) -> Tensor:
        return query @ prepared.mT / math.sqrt(query.size(-1))

    def as_product(self, query: Tensor) -> tuple[Tensor, float | None]:
        return query, query.size(-1) ** -0.5


class Cosine(Dot):
    """`cos(q, h_i)`; with a vector of zeros it is zero."""

    def prepare(self, keys: Tensor) -> Tensor:
        return _unit(keys)

    def score(self, query: Tensor, prepared: Tensor) -> Tensor:
        return _unit(query) @ prepared.mT

    def as_product(self, query: Tensor) -> tuple[Tensor, float | None]:
        return _unit(query), 1.0


class General(Dot):
    """`q^T W h_i` (Luong et al. 2015)."""

    def __init__(self, width: int, n_heads: int = 1) -> None:
        super().__init__()
        self.weight = _weight(n_heads, width, width)

    def prepare(self, keys: Tensor) -> Tensor:
        return _project(keys, self.weight)


class Additive(Score):
    """`v^T tanh(W1 q + W2 h_i)` (Bahdanau et al. 2015), with as many units as a head is wide."""

    def __init__(self, width: int, n_heads: int = 1) -> None:
        super().__init__()
        self.query_weight = _weight(n_heads, width, width)
        self.key_weight = _weight(n_heads, width, width)
        self.v = _vector(n_heads, width)

    def prepare(self, keys: Tensor) -> Tensor:
        return _project(keys, self.key_weight)

    def score(self, query: Tensor, prepared: Tensor) -> Tensor:
        return _score_sums(_project(query, self.query_weight), prepared, self.v)


class Concat(Score):
    """`v^T tanh(W [q; h_i])`: additive, with both halves in one matrix."""

    def __init__(self, width: int, n_heads: int = 1) -> None:
        super().__init__()
        self.weight = _weight(n_heads, width, 2 * width)
        self.v = _vector(n_heads, width)

    def prepare(self, keys: Tensor) -> Tensor:
        return _project(keys, self.weight[..., -keys.size(-1) :])

    def score(self, query: Tensor, prepared: Tensor) -> Tensor:
        return _score_sums(_project(query, self.weight[..., : query.size(-1)]), prepared, self.v)


class Location(Score):
    """`W q`: one score for each place in the memory, whatever stands there.

    A place beyond the `n_places` that have a row in `W` is never looked at.
    """

    def __init__(self, width: int, n_heads: int, n_places: int) -> None:
        super().__init__()
        self.weight = _weight(n_heads, n_places, width)

    def prepare(self, keys: Tensor) -> Tensor:
        """Of the keys only their number is of interest: (B, H, K, 0)."""
        return keys[..., :0]

    def score(self, query: Tensor, prepared: Tensor) -> Tensor:
        K = prepared.size(-2)
        known = _project(query, self.weight[:, :K])  # (B, H, Q, at most K)
        beyond = K - known.size(-1)
        return pad(known, (0, beyond), value=-torch.inf) if beyond else known


SCORES: Mapping[str, Callable[[int, int, int], Score]] = {
    "basic": lambda width, n_heads, n_places: Dot(),
    "cosine": lambda width, n_heads, n_places: Cosine(),
    "dot": lambda width, n_heads, n_places: Dot(),
    "scaled_dot": lambda width, n_heads, n_places: ScaledDot(),
    "general": lambda width, n_heads, n_places: General(width, n_heads),
    "concat": lambda width, n_heads, n_places: Concat(width, n_heads),
    "additive": lambda width, n_heads, n_places: Additive(width, n_heads),
    "location": Location,
}
"""Builders, from the width of queries and keys, the heads, and the places that location knows."""


def _score_sums(query: Tensor, keys: Tensor, v: Tensor) -> Tensor:
    """`v^T tanh(query + key)` of every pair.

    All pairs with all units are held at once up to `CHUNK` numbers; beyond, queries go in groups
    that are computed a second time on the way back.

    Shape: (B, H, Q, A), (B, H, K, A), (H, A) -> (B, H, Q, K).
    """
    group = max(1, CHUNK // max(1, keys.numel()))
    if query.size(2) <= group:
        return _score_group(query, keys, v)
    groups = query.split(group, dim=2)
    if not torch.is_grad_enabled():
        return torch.cat([_score_group(some, keys, v) for some in groups], dim=2)
    again = partial(checkpoint, _score_group, use_reentrant=False, preserve_rng_state=False)
    return torch.cat([again(some, keys, v) for some in groups], dim=2)


def _score_group(query: Tensor, keys: Tensor, v: Tensor) -> Tensor:
    units = (query.unsqueeze(3) + keys.unsqueeze(2)).tanh_()  # (B, H, Q, K, A)
    if v.size(0) == 1:
        return units @ v.squeeze(0)
    return (units.flatten(2, 3) @ v.unsqueeze(-1)).view(units.shape[:-1])


def _project(x: Tensor, weight: Tensor) -> Tensor:
    """Each head by its own matrix. Shape: (B, H, T, E), (H, A, E) -> (B, H, T, A)."""
    if weight.size(0) == 1:
        # The loop of a recurrent decoder comes this way; `weight[0]` would cost a copy each time.
        return linear(x, weight.squeeze(0))
    return torch.einsum("bhte,hae->bhta", x, weight)


def _unit(x: Tensor) -> Tensor:
    return normalize(x, dim=-1, eps=1e-6)


def _weight(n_heads: int, n_rows: int, n_columns: int) -> nn.Parameter:
    """Glorot's bounds for each head on its own."""
    weight = torch.empty(n_heads, n_rows, n_columns)
    for head in weight:
        nn.init.xavier_uniform_(head)
    return nn.Parameter(weight)


def _vector(n_heads: int, width: int) -> nn.Parameter:
    """As a linear layer with one output begins."""
    bound = width**-0.5
    return nn.Parameter(torch.empty(n_heads, width).uniform_(-bound, bound))

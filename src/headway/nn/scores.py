"""Attention scores: how well a query fits each key, before the softmax.

All scores share one interface, for recurrent decoders and multi-head attention; the table `SCORES`
lists them. `prepare` computes what depends on the keys alone, once per memory; `score` runs for
every query. Masks, softmax and recording are in `attend`.
"""

import math
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, Literal

import torch
from annotated_types import Ge
from torch import Tensor, nn
from torch.nn.functional import linear, normalize, pad
from torch.utils.checkpoint import checkpoint

CHUNK = 2**24
"""Numbers that `additive` and `concat` hold at once: one for each query, key and unit."""


class AttentionScore(nn.Module):
    """A score function; each head has its own parameters."""

    @abstractmethod
    def prepare(self, keys: Tensor) -> Tensor:
        """The part of the score that depends on the keys alone, computed for each key separately.

        Shape: (B, H, K, E) -> (B, H, K, E'), so that a cache can hold it.
        """

    def prepared_width(self, width: int) -> int:
        """The width E' of prepared keys, for caches, from the width E of keys."""
        return width

    @abstractmethod
    def score(self, query: Tensor, prepared: Tensor) -> Tensor:
        """The scores. Shape: query (B, H, Q, E), prepared (B, H, K, E') -> (B, H, Q, K)."""

    def as_product(self, query: Tensor) -> tuple[Tensor, float | None]:
        """`(x, s)` such that the score is `s * x^T prepared`; s is None if it is not a product.

        Shape: (B, H, Q, E) -> (B, H, Q, E').
        """
        return query, None


class Dot(AttentionScore):
    """`q^T h_i`.

    The `basic` score `x_i^T q` is the same product, with the items as keys and as values.
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
    """`cos(q, h_i)`; 0 if one of them is a zero vector."""

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


class LowRankBilinear(Dot):
    """`(U q)^T (V h_i)`: the bilinear score with a matrix `W = U^T V` of low rank.

    It is low-rank bilinear pooling (Kim et al. 2017) without the nonlinearity. With `rank` below
    half the width it has fewer weights than `General`.
    """

    def __init__(self, width: int, n_heads: int = 1, rank: int = 16) -> None:
        super().__init__()
        self.query_weight = _weight(n_heads, rank, width)  # U
        self.key_weight = _weight(n_heads, rank, width)  # V

    def prepare(self, keys: Tensor) -> Tensor:
        return _project(keys, self.key_weight)

    def prepared_width(self, width: int) -> int:
        return self.key_weight.size(1)

    def score(self, query: Tensor, prepared: Tensor) -> Tensor:
        return _project(query, self.query_weight) @ prepared.mT

    def as_product(self, query: Tensor) -> tuple[Tensor, float | None]:
        return _project(query, self.query_weight), 1.0


class Additive(AttentionScore):
    """`v^T tanh(W1 q + W2 h_i)` (Bahdanau et al. 2015), with one unit per column of a head."""

    def __init__(self, width: int, n_heads: int = 1) -> None:
        super().__init__()
        self.query_weight = _weight(n_heads, width, width)
        self.key_weight = _weight(n_heads, width, width)
        self.v = _vector(n_heads, width)

    def prepare(self, keys: Tensor) -> Tensor:
        return _project(keys, self.key_weight)

    def score(self, query: Tensor, prepared: Tensor) -> Tensor:
        return _score_sums(_project(query, self.query_weight), prepared, self.v)


class Concat(AttentionScore):
    """`v^T tanh(W [q; h_i])`: the additive score with both matrices in one."""

    def __init__(self, width: int, n_heads: int = 1) -> None:
        super().__init__()
        self.weight = _weight(n_heads, width, 2 * width)
        self.v = _vector(n_heads, width)

    def prepare(self, keys: Tensor) -> Tensor:
        return _project(keys, self.weight[..., -keys.size(-1) :])

    def score(self, query: Tensor, prepared: Tensor) -> Tensor:
        return _score_sums(_project(query, self.weight[..., : query.size(-1)]), prepared, self.v)


class Location(AttentionScore):
    """`W q`: one score for each position of the memory, independent of its content.

    `W` has a row for each of `n_positions`; positions beyond get no attention.
    """

    def __init__(self, width: int, n_heads: int, n_positions: int) -> None:
        super().__init__()
        self.weight = _weight(n_heads, n_positions, width)

    def prepare(self, keys: Tensor) -> Tensor:
        """Empty keys (B, H, K, 0): only their number matters."""
        return keys[..., :0]

    def prepared_width(self, width: int) -> int:
        return 0

    def score(self, query: Tensor, prepared: Tensor) -> Tensor:
        K = prepared.size(-2)
        scores = _project(query, self.weight[:, :K])  # (B, H, Q, at most K)
        n_beyond = K - scores.size(-1)
        return pad(scores, (0, n_beyond), value=-torch.inf) if n_beyond else scores


@dataclass(frozen=True)
class LowRankSettings:
    """The bilinear score with a matrix of low rank."""

    name: Literal["low_rank"] = "low_rank"
    """The score."""
    rank: Annotated[int, Ge(1)] = 16
    """Rank of each head's matrix."""


@dataclass(frozen=True)
class ScoreContext:
    """Arguments of a score's builder.

    Attributes:
        width: of a head's queries and keys.
        n_positions: of the memory, for scores with weights for each position.
        settings: an instance of the score's own settings class, if it has one.
    """

    width: int
    n_heads: int = 1
    n_positions: int = 0
    settings: Any = None


@dataclass(frozen=True)
class ScoreSpec:
    """A row of `SCORES`.

    Attributes:
        formula: for the reference of the run file; q is a query, h a key.
        settings: dataclass of the score's own settings, `name` among them, all with defaults; a
            run file gives them as a table, `score = { name = "low_rank", rank = 16 }`.
        unfit_in_heads: why multi-head attention refuses the score, and what to use instead.
    """

    formula: str
    build: Callable[[ScoreContext], AttentionScore]
    settings: type | None = None
    unfit_in_heads: str = ""


SCORES: dict[str, ScoreSpec] = {
    "basic": ScoreSpec(
        "q^T h",
        lambda c: Dot(),
        unfit_in_heads="uses the items themselves as keys and values, but heads project them; "
        'use score = "dot"',
    ),
    "cosine": ScoreSpec("cos(q, h)", lambda c: Cosine()),
    "dot": ScoreSpec("q^T h", lambda c: Dot()),
    "scaled_dot": ScoreSpec("q^T h / sqrt(d)", lambda c: ScaledDot()),
    "general": ScoreSpec("q^T W h", lambda c: General(c.width, c.n_heads)),
    "low_rank": ScoreSpec(
        "(U q)^T (V h)",
        lambda c: LowRankBilinear(c.width, c.n_heads, c.settings.rank),
        settings=LowRankSettings,
    ),
    "concat": ScoreSpec("v^T tanh(W [q; h])", lambda c: Concat(c.width, c.n_heads)),
    "additive": ScoreSpec("v^T tanh(W1 q + W2 h)", lambda c: Additive(c.width, c.n_heads)),
    "location": ScoreSpec(
        "W q",
        lambda c: Location(c.width, c.n_heads, c.n_positions),
        unfit_in_heads="depends on the position of a key alone, not on its content; "
        'try score = "scaled_dot"',
    ),
}


def make_score(setting: Any, width: int, n_heads: int = 1, n_positions: int = 0) -> AttentionScore:
    """The score that a setting describes, with fresh weights.

    Args:
        setting: a name of `SCORES`, or an instance of the settings class of one.

    Raises:
        ValueError: no score has this name.
    """
    settings = with_score_settings(setting)
    own = None if isinstance(settings, str) else settings
    return SCORES[score_name(setting)].build(ScoreContext(width, n_heads, n_positions, own))


def score_name(setting: Any) -> str:
    """The name in `SCORES` of a score, from its name or its settings.

    Raises:
        ValueError: no score has this name.
    """
    name = setting if isinstance(setting, str) else setting.name
    if name not in SCORES:
        raise ValueError(f"no score {name!r}; expected one of {', '.join(SCORES)}")
    return str(name)


def with_score_settings(setting: Any) -> Any:
    """The default settings of a score given by name, or the name if it has no settings."""
    own = SCORES[score_name(setting)].settings
    return own() if isinstance(setting, str) and own is not None else setting


def _score_sums(query: Tensor, keys: Tensor, v: Tensor) -> Tensor:
    """`v^T tanh(query + key)` of every pair.

    Beyond `CHUNK` numbers, queries are split into groups, which the backward pass computes again.

    Shape: (B, H, Q, A), (B, H, K, A), (H, A) -> (B, H, Q, K).
    """
    group = max(1, CHUNK // max(1, keys.numel()))
    if query.size(2) <= group:
        return _score_group(query, keys, v)
    groups = query.split(group, dim=2)
    if not torch.is_grad_enabled():
        return torch.cat([_score_group(queries, keys, v) for queries in groups], dim=2)
    score = partial(checkpoint, _score_group, use_reentrant=False, preserve_rng_state=False)
    return torch.cat([score(queries, keys, v) for queries in groups], dim=2)


def _score_group(query: Tensor, keys: Tensor, v: Tensor) -> Tensor:
    units = (query.unsqueeze(3) + keys.unsqueeze(2)).tanh_()  # (B, H, Q, K, A)
    if v.size(0) == 1:
        return units @ v.squeeze(0)
    return (units.flatten(2, 3) @ v.unsqueeze(-1)).view(units.shape[:-1])


def _project(x: Tensor, weight: Tensor) -> Tensor:
    """Projects each head by its own matrix. Shape: (B, H, T, E), (H, A, E) -> (B, H, T, A)."""
    if weight.size(0) == 1:
        # For the loops of recurrent decoders: `weight[0]` would cost a copy in every backward step.
        return linear(x, weight.squeeze(0))
    return torch.einsum("bhte,hae->bhta", x, weight)


def _unit(x: Tensor) -> Tensor:
    return normalize(x, dim=-1, eps=1e-6)


def _weight(n_heads: int, n_rows: int, n_columns: int) -> nn.Parameter:
    """Glorot weights, initialised for each head by itself (H, rows, columns)."""
    weight = torch.empty(n_heads, n_rows, n_columns)
    for head in weight:
        nn.init.xavier_uniform_(head)
    return nn.Parameter(weight)


def _vector(n_heads: int, width: int) -> nn.Parameter:
    """A vector for each head, initialised as a linear layer with one output (H, width)."""
    bound = width**-0.5
    return nn.Parameter(torch.empty(n_heads, width).uniform_(-bound, bound))

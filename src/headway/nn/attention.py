"""Multi-head attention as modules: self-attention and attention to a memory.

Projections are packed, so that one matrix product serves queries, keys and values. Both modules
offer the teacher-forced pass over a whole sequence and the cached step over the newest tokens. Keys
are held as the score has prepared them.
"""

from torch import Tensor, nn

from .attend import attend
from .masks import Mask
from .positions import Rotary
from .scores import ScaledDot, Score
from .step import Past


class SelfAttention(nn.Module):
    """Queries, keys and values from one sequence.

    Args:
        d_value: width of a head's values; `d_head` by default.
        rotary: turns queries and keys by their positions.
        score: scaled dot by default; one that goes by the place of a key has no meaning here,
            where the keys of all hypotheses share their slots.
    """

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        d_head: int,
        d_value: int | None = None,
        bias: bool = True,
        dropout: float = 0.0,
        rotary: Rotary | None = None,
        score: Score | None = None,
    ) -> None:
        super().__init__()
        self.n_heads, self.d_head, self.d_value = n_heads, d_head, d_value or d_head
        self.dropout = dropout
        self.rotary = rotary
        self.score = score or ScaledDot()
        self.qkv = nn.Linear(d_model, n_heads * (2 * d_head + self.d_value), bias)
        self.out = nn.Linear(n_heads * self.d_value, d_model, bias)
        _initialise(self.qkv, [n_heads * d_head, n_heads * d_head, n_heads * self.d_value])
        _initialise(self.out, [d_model])

    def forward(self, x: Tensor, mask: Mask | None = None, bias: Tensor | None = None) -> Tensor:
        """x (B, T, D), mask and bias broadcastable to (B, H, T, T) -> (B, T, D)."""
        query, key, value = self._project(x, 0, x.size(1))
        dropout = self.dropout if self.training else 0.0
        heads = attend(query, key, value, mask, bias, dropout, owner=self, score=self.score)
        return self.out(heads.transpose(1, 2).flatten(2))

    def step(
        self, x: Tensor, past: Past, layer: int, mask: Mask, bias: Tensor | None = None
    ) -> Tensor:
        """The newest positions x (B, N, t, D) of all hypotheses, which join the past.

        Args:
            mask: which slots of the past each position sees (B, 1, N*t, K), its own included.
            bias: of the slots, broadcastable to (B, H, N*t, K).
        """
        _, N, t, _ = x.shape
        query, key, value = self._project(x.flatten(1, 2), past.length - t, t)  # (B, H, N*t, E)
        key, value = past.write(layer, key, value)
        heads = attend(query, key, value, mask, bias, owner=self, score=self.score)
        return self.out(heads.transpose(1, 2).flatten(2)).unflatten(1, (N, t))

    @property
    def widths(self) -> tuple[tuple[int, int], tuple[int, int]]:
        """What a `Past` needs to know: heads and width of keys and of values."""
        return (self.n_heads, self.d_head), (self.n_heads, self.d_value)

    def _project(self, x: Tensor, offset: int, t: int) -> tuple[Tensor, Tensor, Tensor]:
        """x (B, T, D) -> (B, H, T, E) each; every `t` positions begin at `offset` again."""
        H, E = self.n_heads, self.d_head
        parts = self.qkv(x).split([H * E, H * E, H * self.d_value], dim=-1)
        query, key, value = (_heads(part, H) for part in parts)
        if self.rotary is not None:
            query, key = (
                self.rotary(part.unflatten(2, (-1, t)), offset).flatten(2, 3)
                for part in (query, key)
            )
        return query, self.score.prepare(key), value


class CrossAttention(nn.Module):
    """Queries from one sequence, keys and values from another (the memory)."""

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        d_head: int,
        d_value: int | None = None,
        bias: bool = True,
        dropout: float = 0.0,
        score: Score | None = None,
    ) -> None:
        super().__init__()
        self.n_heads, self.d_head, self.d_value = n_heads, d_head, d_value or d_head
        self.dropout = dropout
        self.score = score or ScaledDot()
        self.query = nn.Linear(d_model, n_heads * d_head, bias)
        self.kv = nn.Linear(d_model, n_heads * (d_head + self.d_value), bias)
        self.out = nn.Linear(n_heads * self.d_value, d_model, bias)
        _initialise(self.query, [n_heads * d_head])
        _initialise(self.kv, [n_heads * d_head, n_heads * self.d_value])
        _initialise(self.out, [d_model])

    def project(self, memory: Tensor) -> tuple[Tensor, Tensor]:
        """Keys and values of the memory (B, S, D), once per sentence -> (B, H, S, E) each."""
        H = self.n_heads
        key, value = self.kv(memory).split([H * self.d_head, H * self.d_value], dim=-1)
        return self.score.prepare(_heads(key, H)), _heads(value, H)

    def forward(self, x: Tensor, key: Tensor, value: Tensor, mask: Mask | None = None) -> Tensor:
        """x (B, T, D) attends to projected keys and values -> (B, T, D)."""
        query = _heads(self.query(x), self.n_heads)
        dropout = self.dropout if self.training else 0.0
        heads = attend(query, key, value, mask, None, dropout, owner=self, score=self.score)
        return self.out(heads.transpose(1, 2).flatten(2))

    def step(self, x: Tensor, key: Tensor, value: Tensor, mask: Mask | None) -> Tensor:
        """x (B, N, t, D): the beams are folded into the query axis, the memory is not copied."""
        _, N, t, _ = x.shape
        return self(x.flatten(1, 2), key, value, mask).unflatten(1, (N, t))


def _heads(x: Tensor, n_heads: int) -> Tensor:
    """(B, T, H*E) -> (B, H, T, E)."""
    return x.unflatten(2, (n_heads, -1)).transpose(1, 2)


def _initialise(linear: nn.Linear, parts: list[int]) -> None:
    """Glorot's bounds for each packed part on its own, so that packing does not shrink them."""
    for part in linear.weight.data.split(parts):
        nn.init.xavier_uniform_(part)
    if linear.bias is not None:
        nn.init.zeros_(linear.bias)

"""Multi-head attention modules: self-attention and cross-attention.

Projections are packed: one matrix product computes queries, keys and values. Both modules have a
teacher-forced pass over a whole sequence and a cached step over the newest tokens. Caches hold the
keys as prepared by the score. The attention function itself is in `attend`.
"""

from torch import Tensor, nn

from .attend import Attends, attend
from .decoding import KVCache
from .masks import Mask
from .positions import Rotary
from .scores import AttentionScore, ScaledDot


class SelfAttention(nn.Module):
    """Queries, keys and values from one sequence.

    Attributes:
        attends: `self` in an encoder; a `DecoderLayer` sets it to `decoder`.

    Args:
        d_value: width of a head's values; `d_head` by default.
        rotary: rotates queries and keys by their positions.
        score: scaled dot by default. Scores by key position are meaningless here, because all
            hypotheses share the slots of one cache.
    """

    attends: Attends = "self"

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        d_head: int,
        d_value: int | None = None,
        bias: bool = True,
        dropout: float = 0.0,
        rotary: Rotary | None = None,
        score: AttentionScore | None = None,
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
        self, x: Tensor, past: KVCache, layer: int, mask: Mask, bias: Tensor | None = None
    ) -> Tensor:
        """Attends from the newest positions x (B, N, t, D) and writes them to the cache.

        Args:
            mask: which slots of the cache each position sees (B, 1, N*t, K), its own included.
            bias: added to the scores of the slots, broadcastable to (B, H, N*t, K).
        """
        _, N, t, _ = x.shape
        query, key, value = self._project(x.flatten(1, 2), past.length - t, t)  # (B, H, N*t, E)
        key, value = past.write(layer, key, value)
        heads = attend(query, key, value, mask, bias, owner=self, score=self.score)
        return self.out(heads.transpose(1, 2).flatten(2)).unflatten(1, (N, t))

    @property
    def widths(self) -> tuple[tuple[int, int], tuple[int, int]]:
        """Heads and width of prepared keys, and of values: the layer's entry for a `KVCache`."""
        d_key = self.score.prepared_width(self.d_head)
        return (self.n_heads, d_key), (self.n_heads, self.d_value)

    def _project(self, x: Tensor, offset: int, t: int) -> tuple[Tensor, Tensor, Tensor]:
        """x (B, T, D) -> (B, H, T, E) each; positions restart at `offset` after every `t`."""
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
    """Queries from one sequence, keys and values from the memory of another."""

    attends: Attends = "cross"

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        d_head: int,
        d_value: int | None = None,
        bias: bool = True,
        dropout: float = 0.0,
        score: AttentionScore | None = None,
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
        """Prepared keys and values of the memory (B, S, D) -> (B, H, S, E') each.

        They are the same at every step, so a search computes them once per sentence.
        """
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
        """x (B, N, t, D) -> (B, N, t, D); beams are folded into queries, so no memory is copied."""
        _, N, t, _ = x.shape
        return self(x.flatten(1, 2), key, value, mask).unflatten(1, (N, t))


def _heads(x: Tensor, n_heads: int) -> Tensor:
    """(B, T, H*E) -> (B, H, T, E)."""
    return x.unflatten(2, (n_heads, -1)).transpose(1, 2)


def _initialise(linear: nn.Linear, parts: list[int]) -> None:
    """Glorot initialisation of each packed part by itself: packing must not shrink its bounds."""
    for part in linear.weight.data.split(parts):
        nn.init.xavier_uniform_(part)
    if linear.bias is not None:
        nn.init.zeros_(linear.bias)

"""Multi-head attention as modules: self-attention and attention to a memory.

Projections are packed, so that one matrix product serves queries, keys and values. Both modules
offer the teacher-forced pass over a whole sequence and the cached step over the newest tokens.
"""

from torch import Tensor, nn

from .attend import attend
from .positions import Rotary
from .step import Growing


class SelfAttention(nn.Module):
    """Queries, keys and values from one sequence.

    Args:
        d_value: width of a head's values; `d_head` by default.
        rotary: turns queries and keys by their positions.
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
    ) -> None:
        super().__init__()
        self.n_heads, self.d_head, self.d_value = n_heads, d_head, d_value or d_head
        self.dropout = dropout
        self.rotary = rotary
        self.qkv = nn.Linear(d_model, n_heads * (2 * d_head + self.d_value), bias)
        self.out = nn.Linear(n_heads * self.d_value, d_model, bias)
        _initialise(self.qkv, [n_heads * d_head, n_heads * d_head, n_heads * self.d_value])
        _initialise(self.out, [d_model])

    def forward(self, x: Tensor, mask: Tensor | None = None, bias: Tensor | None = None) -> Tensor:
        """x (B, T, D), mask and bias broadcastable to (B, H, T, T) -> (B, T, D)."""
        query, key, value = self._project(x, 0)
        dropout = self.dropout if self.training else 0.0
        heads = attend(query, key, value, mask, bias, dropout, owner=self)  # (B, H, T, E')
        return self.out(heads.transpose(1, 2).flatten(2))

    def step(self, x: Tensor, keys: Growing, values: Growing, mask: Tensor | None) -> Tensor:
        """The newest positions x (B, N, t, D), which join the caches of (B, N) hypotheses."""
        B, N, t, _ = x.shape
        query, key, value = self._project(x.flatten(0, 1), keys.length)
        key = keys.append(key.unflatten(0, (B, N))).flatten(0, 1)
        value = values.append(value.unflatten(0, (B, N))).flatten(0, 1)
        heads = attend(query, key, value, mask, owner=self)  # (B*N, H, t, E')
        return self.out(heads.transpose(1, 2).reshape(B, N, t, -1))

    def caches(self, rows: int) -> tuple[Growing, Growing]:
        """Empty keys and values for `rows` sentences."""
        weight = self.out.weight
        return (
            Growing.empty(weight, rows, self.n_heads, self.d_head),
            Growing.empty(weight, rows, self.n_heads, self.d_value),
        )

    def _project(self, x: Tensor, offset: int) -> tuple[Tensor, Tensor, Tensor]:
        H, E = self.n_heads, self.d_head
        query, key, value = self.qkv(x).split([H * E, H * E, H * self.d_value], dim=-1)
        query, key, value = _heads(query, H), _heads(key, H), _heads(value, H)  # (B, H, T, E)
        if self.rotary is not None:
            query, key = self.rotary(query, offset), self.rotary(key, offset)
        return query, key, value


class CrossAttention(nn.Module):
    """Queries from one sequence, keys and values from another (the memory).

    Args:
        d_memory: width of the memory; `d_model` by default.
    """

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        d_head: int,
        d_value: int | None = None,
        d_memory: int | None = None,
        bias: bool = True,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.n_heads, self.d_head, self.d_value = n_heads, d_head, d_value or d_head
        self.dropout = dropout
        self.query = nn.Linear(d_model, n_heads * d_head, bias)
        self.kv = nn.Linear(d_memory or d_model, n_heads * (d_head + self.d_value), bias)
        self.out = nn.Linear(n_heads * self.d_value, d_model, bias)
        _initialise(self.query, [n_heads * d_head])
        _initialise(self.kv, [n_heads * d_head, n_heads * self.d_value])
        _initialise(self.out, [d_model])

    def project(self, memory: Tensor) -> tuple[Tensor, Tensor]:
        """Keys and values of the memory (B, S, D), once per sentence -> (B, H, S, E) each."""
        H = self.n_heads
        key, value = self.kv(memory).split([H * self.d_head, H * self.d_value], dim=-1)
        return _heads(key, H), _heads(value, H)

    def forward(self, x: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None) -> Tensor:
        """x (B, T, D) attends to projected keys and values -> (B, T, D)."""
        query = _heads(self.query(x), self.n_heads)
        dropout = self.dropout if self.training else 0.0
        heads = attend(query, key, value, mask, None, dropout, owner=self)
        return self.out(heads.transpose(1, 2).flatten(2))

    def step(self, x: Tensor, key: Tensor, value: Tensor, mask: Tensor | None) -> Tensor:
        """x (B, N, t, D): the beams are folded into the query axis, the memory is not copied."""
        _, N, t, _ = x.shape
        return self(x.flatten(1, 2), key, value, mask).unflatten(1, (N, t))


def _heads(x: Tensor, n_heads: int) -> Tensor:
    """(B, T, H*E) -> (B, H, T, E)."""
    return x.unflatten(-1, (n_heads, -1)).transpose(1, 2)


def _initialise(linear: nn.Linear, parts: list[int]) -> None:
    """Glorot's bounds for each packed part on its own, so that packing does not shrink them."""
    for part in linear.weight.data.split(parts):
        nn.init.xavier_uniform_(part)
    if linear.bias is not None:
        nn.init.zeros_(linear.bias)

"""Transformer layers: norms, residual connections, feed-forward, encoder and decoder layers.

Pre-norm and post-norm are two modules chosen in the constructor, so that `forward` does not branch.
Attention is in `attention`; stacks of layers are built by the model families.
"""

from collections.abc import Callable, Mapping

import torch
from torch import Tensor, nn
from torch.nn.functional import gelu, relu, silu

from .attention import CrossAttention, SelfAttention
from .decoding import KVCache
from .dropout import Dropout
from .masks import Mask

ACTIVATIONS: Mapping[str, Callable[[Tensor], Tensor]] = {
    "relu": relu,
    "gelu": gelu,
    "gelu_tanh": lambda x: gelu(x, approximate="tanh"),
    "silu": silu,
}


class RMSNorm(nn.Module):
    """`x / sqrt(mean(x^2) + eps) * gain` (Zhang and Sennrich 2019)."""

    def __init__(self, d_model: int, eps: float = 1e-5) -> None:
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(d_model))

    def forward(self, x: Tensor) -> Tensor:
        return torch.rms_norm(x, self.weight.shape, self.weight, self.eps)


def make_norm(name: str, d_model: int, eps: float) -> nn.Module:
    """The norm called `layer` or `rms`."""
    return {"layer": nn.LayerNorm, "rms": RMSNorm}[name](d_model, eps=eps)


def make_dense(n_in: int, n_out: int) -> nn.Linear:
    """A linear layer with Glorot weights and a bias of 0."""
    linear = nn.Linear(n_in, n_out)
    nn.init.xavier_uniform_(linear.weight)
    nn.init.zeros_(linear.bias)
    return linear


class PreNorm(nn.Module):
    """`x + dropout(f(norm(x)))`."""

    def __init__(self, norm: nn.Module, dropout: float) -> None:
        super().__init__()
        self.norm = norm
        self.dropout = Dropout(dropout)

    def forward(self, x: Tensor, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        return self.dropout.add(x, sublayer(self.norm(x)))


class PostNorm(nn.Module):
    """`norm(x + dropout(f(x)))`, as in Vaswani et al. 2017."""

    def __init__(self, norm: nn.Module, dropout: float) -> None:
        super().__init__()
        self.norm = norm
        self.dropout = Dropout(dropout)

    def forward(self, x: Tensor, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        return self.norm(self.dropout.add(x, sublayer(x)))


RESIDUALS: Mapping[str, type[PreNorm] | type[PostNorm]] = {"pre": PreNorm, "post": PostNorm}


class FeedForward(nn.Module):
    """Position-wise `W2 act(W1 x)`; gated: `W2 (act(Wg x) * W1 x)` (Shazeer 2020)."""

    def __init__(
        self, d_model: int, d_ff: int, activation: str, gated: bool, bias: bool, dropout: float
    ) -> None:
        super().__init__()
        self.activation = ACTIVATIONS[activation]
        self.inner = nn.Linear(d_model, d_ff, bias)
        self.gate = nn.Linear(d_model, d_ff, bias) if gated else None
        self.outer = nn.Linear(d_ff, d_model, bias)
        self.dropout = Dropout(dropout)
        for linear in self.children():
            if isinstance(linear, nn.Linear):
                nn.init.xavier_uniform_(linear.weight)
                if bias:
                    nn.init.zeros_(linear.bias)

    def forward(self, x: Tensor) -> Tensor:
        inner = self.inner(x)
        if self.gate is None:
            inner = self.activation(inner)
        else:
            inner = self.activation(self.gate(x)) * inner
        return self.outer(self.dropout(inner))


class EncoderLayer(nn.Module):
    """Self-attention, then feed-forward; with a causal mask, a layer of a language model."""

    def __init__(
        self, attention: SelfAttention, feed: FeedForward, residual: Callable[[], nn.Module]
    ) -> None:
        super().__init__()
        self.attention, self.feed = attention, feed
        self.attention_residual, self.feed_residual = residual(), residual()

    def forward(self, x: Tensor, mask: Mask | None, bias: Tensor | None = None) -> Tensor:
        x = self.attention_residual(x, lambda y: self.attention(y, mask, bias))
        return self.feed_residual(x, self.feed)

    def step(
        self, x: Tensor, past: KVCache, layer: int, mask: Mask, bias: Tensor | None = None
    ) -> Tensor:
        """The newest positions x (B, N, t, D) with their KV cache -> (B, N, t, D)."""
        x = self.attention_residual(x, lambda y: self.attention.step(y, past, layer, mask, bias))
        return self.feed_residual(x, self.feed)


class DecoderLayer(nn.Module):
    """Masked self-attention, cross-attention to the memory, then feed-forward."""

    def __init__(
        self,
        attention: SelfAttention,
        cross: CrossAttention,
        feed: FeedForward,
        residual: Callable[[], nn.Module],
    ) -> None:
        super().__init__()
        self.attention, self.cross, self.feed = attention, cross, feed
        attention.attends = "decoder"
        self.attention_residual = residual()
        self.cross_residual = residual()
        self.feed_residual = residual()

    def forward(
        self,
        x: Tensor,
        memory: Tensor,
        causal: Mask,
        memory_mask: Mask | None,
        bias: Tensor | None = None,
    ) -> Tensor:
        """x (B, T, D), memory (B, S, D) -> (B, T, D); `bias` is added in self-attention only."""
        key, value = self.cross.project(memory)
        x = self.attention_residual(x, lambda y: self.attention(y, causal, bias))
        x = self.cross_residual(x, lambda y: self.cross(y, key, value, memory_mask))
        return self.feed_residual(x, self.feed)

    def step(
        self,
        x: Tensor,
        past: KVCache,
        layer: int,
        mask: Mask,
        memory: tuple[Tensor, Tensor],
        memory_mask: Mask | None,
        bias: Tensor | None = None,
    ) -> Tensor:
        """The newest positions x (B, N, t, D), with KV cache and memory -> (B, N, t, D)."""
        x = self.attention_residual(x, lambda y: self.attention.step(y, past, layer, mask, bias))
        x = self.cross_residual(x, lambda y: self.cross.step(y, *memory, memory_mask))
        return self.feed_residual(x, self.feed)

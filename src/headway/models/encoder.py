"""The encoder-only Transformer: a text in, a label out.

Layers of self-attention that see the whole text (the encoder of Vaswani et al. 2017), pooled to one
vector, and a linear head. Settings are named as those of the encoder-decoder; what they share is in
`nn`.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

import torch
from annotated_types import Ge, Gt, Lt
from torch import Tensor, nn
from torch.nn.functional import embedding, pad

from ..nn import masks
from ..nn.attention import SelfAttention
from ..nn.dropout import Dropout
from ..nn.layers import RESIDUALS, EncoderLayer, FeedForward, make_norm
from ..nn.pooling import mean_pool
from ..nn.positions import Learned, NoPositions, Rotary, Sinusoidal
from .family import Family, LabelModel, Vocabularies, make_head
from .transformer import PRESETS


@dataclass(frozen=True)
class EncoderConfig:
    """Encoder-only Transformer, which gives labels."""

    family: Literal["encoder"] = "encoder"
    """The model family."""
    preset: Literal["auto", "tiny", "small", "base", "big"] = "auto"
    """Sizes that go together; `auto` goes by the number of training examples. Every key below that
    is given wins over the preset."""
    d_model: Annotated[int, Ge(1)] | None = None
    """Width of the model."""
    d_ff: Annotated[int, Ge(1)] | None = None
    """Inner width of the feed-forward layers."""
    n_heads: Annotated[int, Ge(1)] | None = None
    """Attention heads."""
    d_head: Annotated[int, Ge(1)] | None = None
    """Width of a head; `d_model / n_heads` if left out."""
    layers: Annotated[int, Ge(1)] | None = None
    """Number of layers."""
    pooling: Literal["mean", "first"] = "mean"
    """What the label is told from: the mean of all states, or that of a learned first position."""
    dropout: Annotated[float, Ge(0), Lt(1)] | None = None
    """Rate of dropping in embeddings, residual branches and before the head, in training."""
    attention_dropout: Annotated[float, Ge(0), Lt(1)] = 0.0
    """Rate of dropping attention weights; above zero the fused kernel is not used."""
    activation_dropout: Annotated[float, Ge(0), Lt(1)] = 0.0
    """Rate of dropping inside the feed-forward layers."""
    residual: Literal["pre", "post"] = "pre"
    """Where the norm stands: `pre` learns faster and needs no long warm-up, `post` is the
    original."""
    norm: Literal["layer", "rms"] = "layer"
    """Layer normalisation or root-mean-square normalisation."""
    norm_eps: Annotated[float, Gt(0)] = 1e-5
    """Added to the variance."""
    activation: Literal["relu", "gelu", "gelu_tanh", "silu"] = "gelu"
    """Between the feed-forward layers; `gelu` is exact, `gelu_tanh` its approximation."""
    gated: bool = False
    """Multiply by a second projection (ReGLU, GEGLU, SwiGLU)."""
    bias: bool = True
    """Biases on the linear layers."""
    positions: Literal["sinusoidal", "learned", "rotary", "none"] = "sinusoidal"
    """How order is told."""
    position_base: Annotated[float, Gt(1)] = 10000.0
    """Base of the wavelengths of sinusoidal and rotary positions."""
    max_positions: Annotated[int, Ge(1)] = 1024
    """Number of learned positions."""
    scale_embeddings: bool = True
    """Multiply embeddings by `sqrt(d_model)`."""

    def __post_init__(self) -> None:
        if self.d_model and self.n_heads and not self.d_head and self.d_model % self.n_heads:
            fitting = [h for h in range(1, self.d_model + 1) if self.d_model % h == 0]
            nearest = min(fitting, key=lambda h: (abs(h - (self.n_heads or 1)), -h))
            raise ValueError(
                f"d_model={self.d_model} is not divisible by n_heads={self.n_heads}; "
                f"try n_heads={nearest}, or give d_head"
            )

    def resolve(self, n_examples: int, vocabularies: Vocabularies) -> "EncoderConfig":
        """Every size filled in, from the preset or from the amount of data."""
        preset = self.preset
        if preset == "auto":
            preset = (
                "tiny" if n_examples < 200_000 else "small" if n_examples < 2_000_000 else "base"
            )
        sizes = PRESETS[preset]
        chosen = replace(
            self,
            preset=preset,
            d_model=self.d_model or sizes["d_model"],
            d_ff=self.d_ff or sizes["d_ff"],
            n_heads=self.n_heads or sizes["n_heads"],
            layers=self.layers or sizes["layers"],
            dropout=sizes["dropout"] if self.dropout is None else self.dropout,
        )
        d_head = chosen.d_head or chosen.d_model // chosen.n_heads  # type: ignore[operator]
        return replace(chosen, d_head=d_head)


class Backbone(nn.Module):
    """Embeddings and layers, from resolved settings."""

    def __init__(self, config: EncoderConfig, size: int) -> None:
        super().__init__()
        c: Any = config  # resolved: no size is None
        self.config = config
        self.embed_scale = math.sqrt(c.d_model) if c.scale_embeddings else 1.0
        # Normal with standard deviation 1/sqrt(D): times sqrt(D) they have unit variance.
        self.embedding = nn.Parameter(torch.randn(size, c.d_model) * c.d_model**-0.5)
        first = torch.randn(c.d_model) * c.d_model**-0.5
        self.first = nn.Parameter(first) if c.pooling == "first" else None
        self.positions = self._make_positions()
        self.dropout = Dropout(c.dropout)
        self.layers = nn.ModuleList(self._layer() for _ in range(c.layers))
        # With pre-norm the last residual sum has not been normalised yet.
        self.norm = self._norm() if c.residual == "pre" else nn.Identity()

    def forward(self, src: Tensor, src_valid: Tensor) -> tuple[Tensor, Tensor]:
        """The states of a text, behind that of the learned first position if there is one.

        Shape: src, src_valid (B, S) -> states (B, S', D), valid (B, S').
        """
        x, valid = embedding(src, self.embedding), src_valid
        if self.first is not None:
            x = torch.cat([self.first.expand(x.size(0), 1, -1), x], dim=1)
            valid = pad(valid, (1, 0), value=True)
        x = self.dropout(self.positions(x * self.embed_scale, 0))
        mask = masks.padding(valid)
        for layer in self.layers:
            x = layer(x, mask)
        return self.norm(x), valid

    def _make_positions(self) -> nn.Module:
        c: Any = self.config
        if c.positions == "sinusoidal":
            return Sinusoidal(c.d_model, c.position_base)
        if c.positions == "learned":
            # The first position is one more than a text has.
            return Learned(c.d_model, c.max_positions + int(self.first is not None))
        return NoPositions()

    def _norm(self) -> nn.Module:
        c: Any = self.config
        return make_norm(c.norm, c.d_model, c.norm_eps)

    def _layer(self) -> EncoderLayer:
        c: Any = self.config
        rotary = Rotary(c.d_head, c.position_base) if c.positions == "rotary" else None
        attention = SelfAttention(
            c.d_model, c.n_heads, c.d_head, None, c.bias, c.attention_dropout, rotary
        )
        feed = FeedForward(c.d_model, c.d_ff, c.activation, c.gated, c.bias, c.activation_dropout)
        return EncoderLayer(attention, feed, lambda: RESIDUALS[c.residual](self._norm(), c.dropout))


class Encoder(LabelModel):
    """Backbone, pooling and head."""

    def __init__(self, config: EncoderConfig, vocabularies: Vocabularies) -> None:
        super().__init__()
        c: Any = config
        self.config = config
        self.backbone = Backbone(config, vocabularies.source)
        self.dropout = Dropout(c.dropout)
        self.output = make_head(vocabularies.target, c.d_model)

    def forward(self, batch: Mapping[str, Tensor]) -> Tensor:
        """Pooled states (B, D)."""
        states, valid = self.backbone(batch["src"], batch["src_valid"])
        is_first = self.config.pooling == "first"
        pooled: Tensor = self.dropout(states[:, 0] if is_first else mean_pool(states, valid))
        return pooled


ENCODER = Family("encoder", EncoderConfig, Encoder, frozenset({"classify", "attend"}))

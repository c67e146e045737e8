"""The decoder-only Transformer (Radford et al. 2018): a language model.

Layers of causal self-attention and feed-forward, no source. Settings are named as those of the
encoder-decoder; what the two share is in `nn`.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

from annotated_types import Ge, Gt, Lt
from torch import Tensor, nn
from torch.nn.functional import embedding

from ..nn import masks
from ..nn.attention import SelfAttention
from ..nn.dropout import Dropout
from ..nn.layers import RESIDUALS, EncoderLayer, FeedForward, make_norm
from ..nn.positions import Learned, NoPositions, Rotary, Sinusoidal
from ..nn.step import Past, State
from .family import Family, Output, SequenceModel, Vocabularies, make_embedding
from .transformer import PRESETS


@dataclass(frozen=True)
class DecoderConfig:
    """Decoder-only Transformer, a language model."""

    family: Literal["decoder"] = "decoder"
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
    dropout: Annotated[float, Ge(0), Lt(1)] | None = None
    """Rate of dropping in embeddings and residual branches, in training."""
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
    output_bias: bool = False
    """A bias per word on the output layer."""
    positions: Literal["sinusoidal", "learned", "rotary", "none"] = "rotary"
    """How order is told."""
    position_base: Annotated[float, Gt(1)] = 10000.0
    """Base of the wavelengths of sinusoidal and rotary positions."""
    max_positions: Annotated[int, Ge(1)] = 1024
    """Number of learned positions."""
    scale_embeddings: bool = True
    """Multiply embeddings by `sqrt(d_model)`."""
    share: bool = True
    """Whether the embeddings and the output layer are one matrix."""

    def __post_init__(self) -> None:
        if self.d_model and self.n_heads and not self.d_head and self.d_model % self.n_heads:
            fitting = [h for h in range(1, self.d_model + 1) if self.d_model % h == 0]
            nearest = min(fitting, key=lambda h: (abs(h - (self.n_heads or 1)), -h))
            raise ValueError(
                f"d_model={self.d_model} is not divisible by n_heads={self.n_heads}; "
                f"try n_heads={nearest}, or give d_head"
            )

    def resolve(self, n_examples: int, vocabularies: Vocabularies) -> "DecoderConfig":
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


class Decoder(SequenceModel):
    """Embeddings, causal layers and output layer, from resolved settings."""

    def __init__(self, config: DecoderConfig, vocabularies: Vocabularies) -> None:
        super().__init__()
        c: Any = config  # resolved: no size is None
        self.config = config
        self.embed_scale = math.sqrt(c.d_model) if c.scale_embeddings else 1.0
        self.embedding = make_embedding(vocabularies.target, c.d_model)
        final = self.embedding if c.share else make_embedding(vocabularies.target, c.d_model)
        self.output = Output(final, c.output_bias)
        self.positions = self._make_positions()
        self.dropout = Dropout(c.dropout)
        self.layers = nn.ModuleList(self._layer() for _ in range(c.layers))
        # With pre-norm the last residual sum has not been normalised yet.
        self.norm = self._norm() if c.residual == "pre" else nn.Identity()

    def forward(self, batch: Mapping[str, Tensor]) -> Tensor:
        """Teacher-forced hidden states (B, T, D), from `tgt_in` alone."""
        tgt = batch["tgt_in"]
        mask = masks.causal(tgt.size(1), tgt.size(1), tgt.device)
        x = self._embed(tgt, 0)
        for layer in self.layers:
            x = layer(x, mask)
        return self.norm(x)

    def start(self, batch: Mapping[str, Tensor], prefix: Tensor | None = None) -> State:
        """Nothing but an empty past for each row of the batch's tensors."""
        rows = next(iter(batch.values())).size(0)
        widths = [layer.attention.widths for layer in self._layers()]
        state = State({}, {"past": Past(widths, rows, self.embedding)})
        return state if prefix is None else self.step(prefix[:, None], state)[1]

    def step(self, tokens: Tensor, state: State) -> tuple[Tensor, State]:
        """tokens (B, N, t) -> logits of the next one (B, N, V)."""
        past = state.cache["past"]
        assert isinstance(past, Past)
        x = self._embed(tokens, past.length)
        mask = past.open(tokens.size(1), tokens.size(2))
        for i, layer in enumerate(self._layers()):
            x = layer.step(x, past, i, mask)
        return self.output(self.norm(x[:, :, -1])), state.successor(state.cache)

    def _embed(self, tokens: Tensor, offset: int) -> Tensor:
        x = embedding(tokens, self.embedding) * self.embed_scale
        return self.dropout(self.positions(x, offset))

    def _layers(self) -> list[EncoderLayer]:
        return [layer for layer in self.layers if isinstance(layer, EncoderLayer)]

    def _make_positions(self) -> nn.Module:
        c: Any = self.config
        if c.positions == "sinusoidal":
            return Sinusoidal(c.d_model, c.position_base)
        if c.positions == "learned":
            return Learned(c.d_model, c.max_positions)
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


DECODER = Family(
    "decoder",
    DecoderConfig,
    Decoder,
    frozenset({"step", "score", "attend"}),
    source="none",
)

"""The encoder-decoder Transformer (Vaswani et al. 2017) and its usual variants.

Settings, module and how it is stepped. The parts are in `nn`; this file puts them together.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

from annotated_types import Ge, Gt, Lt
from torch import Tensor, nn
from torch.nn.functional import embedding

from ..nn import masks
from ..nn.attention import CrossAttention, SelfAttention
from ..nn.dropout import Dropout
from ..nn.layers import RESIDUALS, DecoderLayer, EncoderLayer, FeedForward, make_norm
from ..nn.positions import Learned, NoPositions, Rotary, Sinusoidal
from ..nn.scores import SCORES, Score, ScoreName
from ..nn.step import Past, State
from .family import Family, Output, SequenceModel, Vocabularies, make_embeddings

UNFIT = {
    "basic": "takes the items as keys and values at once, where heads project them; "
    'with projections it is score = "dot"',
    "location": "goes by the place of a key alone, which tells nothing within a sentence that is "
    'being written; try score = "scaled_dot", or model.family = "recurrent"',
}
"""Scores that have no meaning in heads, each with the reason."""

PRESETS: dict[str, dict[str, Any]] = {
    "tiny": {"d_model": 128, "d_ff": 256, "n_heads": 4, "layers": 4, "dropout": 0.1},
    "small": {"d_model": 256, "d_ff": 1024, "n_heads": 4, "layers": 4, "dropout": 0.1},
    "base": {"d_model": 512, "d_ff": 2048, "n_heads": 8, "layers": 6, "dropout": 0.1},
    "big": {"d_model": 1024, "d_ff": 4096, "n_heads": 16, "layers": 6, "dropout": 0.3},
}


@dataclass(frozen=True)
class TransformerConfig:
    """Encoder-decoder Transformer."""

    family: Literal["transformer"] = "transformer"
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
    """Width of a head's queries and keys; `d_model / n_heads` if left out."""
    d_value: Annotated[int, Ge(1)] | None = None
    """Width of a head's values; `d_head` if left out."""
    encoder_layers: Annotated[int, Ge(1)] | None = None
    """Layers of the encoder."""
    decoder_layers: Annotated[int, Ge(1)] | None = None
    """Layers of the decoder."""
    dropout: Annotated[float, Ge(0), Lt(1)] | None = None
    """Rate of dropping in embeddings and residual branches, in training."""
    attention_dropout: Annotated[float, Ge(0), Lt(1)] = 0.0
    """Rate of dropping attention weights; above zero the fused kernel is not used."""
    score: ScoreName = "scaled_dot"
    """How queries are compared with keys, in every attention: `dot`, `scaled_dot`, `cosine`,
    `general`, `additive` or `concat`. `scaled_dot` has a fused kernel; `additive` and `concat` hold
    a number for each query, key and unit and are many times slower."""
    activation_dropout: Annotated[float, Ge(0), Lt(1)] = 0.0
    """Rate of dropping inside the feed-forward layers."""
    residual: Literal["pre", "post"] = "pre"
    """Where the norm stands: `pre` learns faster and needs no long warm-up, `post` is the
    original."""
    norm: Literal["layer", "rms"] = "layer"
    """Layer normalisation or root-mean-square normalisation."""
    norm_eps: Annotated[float, Gt(0)] = 1e-5
    """Added to the variance."""
    activation: Literal["relu", "gelu", "gelu_tanh", "silu"] = "relu"
    """Between the feed-forward layers; `gelu` is exact, `gelu_tanh` its approximation."""
    gated: bool = False
    """Multiply by a second projection (ReGLU, GEGLU, SwiGLU)."""
    bias: bool = True
    """Biases on the linear layers."""
    output_bias: bool = False
    """A bias per word on the output layer."""
    positions: Literal["sinusoidal", "learned", "rotary", "none"] = "sinusoidal"
    """How order is told."""
    position_base: Annotated[float, Gt(1)] = 10000.0
    """Base of the wavelengths of sinusoidal and rotary positions."""
    max_positions: Annotated[int, Ge(1)] = 1024
    """Number of learned positions."""
    scale_embeddings: bool = True
    """Multiply embeddings by `sqrt(d_model)`."""
    share: Literal["auto", "all", "target", "none"] = "auto"
    """Which embeddings are one matrix: source, target and output (`all`), target and output
    (`target`) or none; `auto` shares all when the vocabulary is shared."""

    def __post_init__(self) -> None:
        if self.d_model and self.n_heads and not self.d_head and self.d_model % self.n_heads:
            fitting = [h for h in range(1, self.d_model + 1) if self.d_model % h == 0]
            nearest = min(fitting, key=lambda h: (abs(h - (self.n_heads or 1)), -h))
            raise ValueError(
                f"d_model={self.d_model} is not divisible by n_heads={self.n_heads}; "
                f"try n_heads={nearest}, or give d_head"
            )
        if self.score in UNFIT:
            raise ValueError(f'score = "{self.score}" {UNFIT[self.score]}')

    def resolve(self, n_examples: int, vocabularies: Vocabularies) -> "TransformerConfig":
        """Every size filled in, from the preset or from the amount of data."""
        preset = self.preset
        if preset == "auto":
            preset = (
                "tiny" if n_examples < 200_000 else "small" if n_examples < 2_000_000 else "base"
            )
        sizes = PRESETS[preset]
        share = self.share
        if share == "auto":
            share = "all" if vocabularies.shared else "target"
        chosen = replace(
            self,
            preset=preset,
            share=share,
            d_model=self.d_model or sizes["d_model"],
            d_ff=self.d_ff or sizes["d_ff"],
            n_heads=self.n_heads or sizes["n_heads"],
            encoder_layers=self.encoder_layers or sizes["layers"],
            decoder_layers=self.decoder_layers or sizes["layers"],
            dropout=sizes["dropout"] if self.dropout is None else self.dropout,
        )
        d_head = chosen.d_head or chosen.d_model // chosen.n_heads  # type: ignore[operator]
        return replace(chosen, d_head=d_head, d_value=chosen.d_value or d_head)


class Transformer(SequenceModel):
    """Encoder, decoder and output layer, from resolved settings."""

    def __init__(self, config: TransformerConfig, vocabularies: Vocabularies) -> None:
        super().__init__()
        c: Any = config  # resolved: no size is None
        self.config = config
        self.embed_scale = math.sqrt(c.d_model) if c.scale_embeddings else 1.0
        source, target, final = make_embeddings(c.share, vocabularies, c.d_model)
        self.source_embedding, self.target_embedding = source, target
        self.output = Output(final, c.output_bias)
        self.positions = self._make_positions()
        # Learned codes of the two sides are apart; fixed ones are the same function.
        self.target_positions = self._make_positions()
        self.dropout = Dropout(c.dropout)
        self.encoder = nn.ModuleList(self._encoder_layer() for _ in range(c.encoder_layers))
        self.decoder = nn.ModuleList(self._decoder_layer() for _ in range(c.decoder_layers))
        # With pre-norm the last residual sum has not been normalised yet.
        self.encoder_norm = self._norm() if c.residual == "pre" else nn.Identity()
        self.decoder_norm = self._norm() if c.residual == "pre" else nn.Identity()

    def forward(self, batch: Mapping[str, Tensor]) -> Tensor:
        """Teacher-forced hidden states (B, T, D)."""
        memory = self.encode(batch["src"], batch["src_valid"])
        return self.decode(batch["tgt_in"], memory, batch["src_valid"])

    def encode(self, src: Tensor, src_valid: Tensor) -> Tensor:
        """src (B, S) -> memory (B, S, D)."""
        mask = masks.padding(src_valid)
        x = self._embed(src, self.source_embedding, self.positions, 0)
        for layer in self.encoder:
            x = layer(x, mask)
        return self.encoder_norm(x)

    def decode(self, tgt: Tensor, memory: Tensor, src_valid: Tensor) -> Tensor:
        """tgt (B, T) after BOS, memory (B, S, D) -> hidden (B, T, D)."""
        mask = masks.causal(tgt.size(1), tgt.size(1), tgt.device)
        memory_mask = masks.padding(src_valid)
        x = self._embed(tgt, self.target_embedding, self.target_positions, 0)
        for layer in self.decoder:
            x = layer(x, memory, mask, memory_mask)
        return self.decoder_norm(x)

    def start(self, batch: Mapping[str, Tensor], prefix: Tensor | None = None) -> State:
        """Encodes, and projects keys and values of every decoder layer once per sentence."""
        encoded = self.encode(batch["src"], batch["src_valid"])
        memory = {"valid": batch["src_valid"]}
        for i, layer in enumerate(self._decoder_layers()):
            key, value = layer.cross.project(encoded)
            memory[f"{i}.key"], memory[f"{i}.value"] = key.contiguous(), value.contiguous()
        widths = [layer.attention.widths for layer in self._decoder_layers()]
        state = State(memory, {"past": Past(widths, encoded.size(0), encoded)})
        return state if prefix is None else self.step(prefix[:, None], state)[1]

    def step(self, tokens: Tensor, state: State) -> tuple[Tensor, State]:
        """tokens (B, N, t) -> logits of the next one (B, N, V)."""
        memory, past = state.memory, state.cache["past"]
        assert isinstance(past, Past)
        x = self._embed(tokens, self.target_embedding, self.target_positions, past.length)
        mask = past.open(tokens.size(1), tokens.size(2))
        memory_mask = masks.Shared(masks.padding(memory["valid"]))
        for i, layer in enumerate(self._decoder_layers()):
            cross = memory[f"{i}.key"], memory[f"{i}.value"]
            x = layer.step(x, past, i, mask, cross, memory_mask)
        hidden = self.decoder_norm(x[:, :, -1])  # (B, N, D)
        return self.output(hidden), state.successor(state.cache)

    def _embed(self, tokens: Tensor, weight: Tensor, positions: nn.Module, offset: int) -> Tensor:
        x = embedding(tokens, weight) * self.embed_scale
        return self.dropout(positions(x, offset))

    def _decoder_layers(self) -> Iterator[DecoderLayer]:
        for layer in self.decoder:
            assert isinstance(layer, DecoderLayer)
            yield layer

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

    def _residual(self) -> nn.Module:
        c: Any = self.config
        return RESIDUALS[c.residual](self._norm(), c.dropout)

    def _feed(self) -> FeedForward:
        c: Any = self.config
        return FeedForward(c.d_model, c.d_ff, c.activation, c.gated, c.bias, c.activation_dropout)

    def _self_attention(self) -> SelfAttention:
        c: Any = self.config
        rotary = Rotary(c.d_head, c.position_base) if c.positions == "rotary" else None
        return SelfAttention(
            c.d_model,
            c.n_heads,
            c.d_head,
            c.d_value,
            c.bias,
            c.attention_dropout,
            rotary,
            self._score(),
        )

    def _score(self) -> Score:
        c: Any = self.config
        return SCORES[c.score](c.d_head, c.n_heads, 0)

    def _encoder_layer(self) -> EncoderLayer:
        return EncoderLayer(self._self_attention(), self._feed(), self._residual)

    def _decoder_layer(self) -> DecoderLayer:
        c: Any = self.config
        cross = CrossAttention(
            c.d_model,
            c.n_heads,
            c.d_head,
            c.d_value,
            c.bias,
            c.attention_dropout,
            self._score(),
        )
        return DecoderLayer(self._self_attention(), cross, self._feed(), self._residual)


TRANSFORMER = Family(
    "transformer", TransformerConfig, Transformer, frozenset({"step", "score", "attend"})
)

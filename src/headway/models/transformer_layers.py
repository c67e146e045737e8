"""The settings that all Transformer families share, and the factory of their layers.

A family adds its own settings, the number of layers and their connections. The layers are in `nn`.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Annotated, Any, ClassVar, Literal, Self

import torch
from annotated_types import Ge, Gt, Le, Lt
from torch import Tensor, nn

from ..file_limits import MODEL_SIZE
from ..nn import masks
from ..nn.attention import CrossAttention, SelfAttention
from ..nn.decoding import KVCache
from ..nn.layers import RESIDUALS, DecoderLayer, EncoderLayer, FeedForward, make_norm
from ..nn.positions import LearnedPositions, NoPositions, RelativeBias, Rotary, Sinusoidal
from ..nn.scores import SCORES, AttentionScore, make_score, score_name, with_score_settings
from .family import Size, VocabularySizes
from .score_setting import ScoreSetting

Rate = Annotated[float, Ge(0), Lt(1)]
Activation = Literal["relu", "gelu", "gelu_tanh", "silu"]
Positions = Literal["sinusoidal", "learned", "rotary", "relative", "none"]

PRESETS: dict[str, dict[str, Any]] = {
    "tiny": {"d_model": 128, "d_ff": 256, "n_heads": 4, "layers": 4, "dropout": 0.1},
    "small": {"d_model": 256, "d_ff": 1024, "n_heads": 4, "layers": 4, "dropout": 0.1},
    "base": {"d_model": 512, "d_ff": 2048, "n_heads": 8, "layers": 6, "dropout": 0.1},
    "big": {"d_model": 1024, "d_ff": 4096, "n_heads": 16, "layers": 6, "dropout": 0.3},
    # For windows of series.
    "series": {"d_model": 64, "d_ff": 128, "n_heads": 4, "layers": 3, "dropout": 0.2},
    # Devlin et al. 2019; the smaller ones: Turc et al. 2019.
    "bert-tiny": {"d_model": 128, "d_ff": 512, "n_heads": 2, "layers": 2, "dropout": 0.1},
    "bert-mini": {"d_model": 256, "d_ff": 1024, "n_heads": 4, "layers": 4, "dropout": 0.1},
    "bert-small": {"d_model": 512, "d_ff": 2048, "n_heads": 8, "layers": 4, "dropout": 0.1},
    "bert-base": {"d_model": 768, "d_ff": 3072, "n_heads": 12, "layers": 12, "dropout": 0.1},
    "bert-large": {"d_model": 1024, "d_ff": 4096, "n_heads": 16, "layers": 24, "dropout": 0.1},
}


@dataclass(frozen=True)
class LayerSettings:
    """Settings of every Transformer family; a family may change a default."""

    unfit_scores: ClassVar[Mapping[str, str]] = {}
    """Scores that this family refuses, each with a reason, besides those that `SCORES` refuses."""

    family: str
    """The model family."""
    preset: Literal["auto", "tiny", "small", "base", "big", "series"] = "auto"
    """A set of sizes; `auto` chooses by the number of training examples. A key that is set
    overrides the preset."""
    d_model: Size | None = None
    """Width of the model."""
    d_ff: Size | None = None
    """Inner width of the feed-forward layers."""
    n_heads: Size | None = None
    """Attention heads."""
    d_head: Size | None = None
    """Width of a head's queries and keys. Default: `d_model / n_heads`."""
    d_value: Size | None = None
    """Width of a head's values. Default: `d_head`."""
    dropout: Rate | None = None
    """Dropout rate of embeddings and residual branches."""
    attention_dropout: Rate = 0.0
    """Dropout rate of attention weights. Above zero, the fused kernel is not used."""
    activation_dropout: Rate = 0.0
    """Dropout rate inside the feed-forward layers."""
    score: ScoreSetting = "scaled_dot"
    """The attention score: how queries are compared with keys. `basic` and `location` are for
    recurrent models only. `additive` and `concat` store a number for each query, key and unit, and
    are many times slower. The others are products; they use the fused kernel if prepared keys are
    as wide as values. A score with settings is a table: `{ name = "low_rank", rank = 16 }`."""
    residual: Literal["pre", "post"] = "pre"
    """Position of the norm: `pre` learns faster and needs no long warm-up, `post` is the
    original."""
    norm: Literal["layer", "rms"] = "layer"
    """Layer normalisation or root-mean-square normalisation."""
    norm_eps: Annotated[float, Gt(0)] = 1e-5
    """Added to the variance."""
    activation: Activation = "relu"
    """Activation of the feed-forward layers; `gelu` is exact, `gelu_tanh` is its approximation."""
    gated: bool = False
    """Multiply by a second projection (ReGLU, GEGLU, SwiGLU)."""
    bias: bool = True
    """Biases on the linear layers."""
    positions: Positions = "sinusoidal"
    """Position encodings. `relative` adds a learned bias to the scores, by head and by distance
    between query and key, as in T5."""
    position_base: Annotated[float, Gt(1)] = 10000.0
    """Base of the wavelengths of sinusoidal and rotary positions."""
    position_buckets: Annotated[int, Ge(4), Le(MODEL_SIZE)] = 32
    """Number of distance buckets of relative positions. Small distances have a bucket each; large
    ones share."""
    position_distance: Size = 128
    """All relative positions at or beyond this distance share one bucket."""
    max_positions: Size = 1024
    """Number of learned positions."""
    scale_embeddings: bool = True
    """Multiply embeddings by `sqrt(d_model)`."""
    embedding_norm: bool = False
    """A norm after the sum of embeddings and positions, as in BERT and BART."""

    def __post_init__(self) -> None:
        if self.d_model and self.n_heads and not self.d_head and self.d_model % self.n_heads:
            fitting = [h for h in range(1, self.d_model + 1) if self.d_model % h == 0]
            nearest = min(fitting, key=lambda h: (abs(h - (self.n_heads or 1)), -h))
            raise ValueError(
                f"d_model={self.d_model} is not divisible by n_heads={self.n_heads}; "
                f"try n_heads={nearest}, or give d_head"
            )
        name = score_name(self.score)
        if unfit := self.unfit_scores.get(name) or SCORES[name].unfit_in_heads:
            raise ValueError(f'score = "{name}" {unfit}')
        if self.position_distance <= self.position_buckets // 2:
            raise ValueError(
                f"position_distance={self.position_distance} is too small: with "
                f"position_buckets={self.position_buckets}, the first "
                f"{self.position_buckets // 2} distances have a bucket each; try "
                f"position_distance={4 * self.position_buckets}"
            )

    def resolve(self, n_examples: int, vocabularies: VocabularySizes) -> Self:
        """The settings with every size, from the preset or from the number of examples.

        `preset` stays `auto` if every size was set.
        """
        preset = self.preset
        if preset == "auto":
            preset = (
                "tiny" if n_examples < 200_000 else "small" if n_examples < 2_000_000 else "base"
            )
        sizes = dict(PRESETS[preset])
        sizes["encoder_layers"] = sizes["decoder_layers"] = sizes["layers"]
        left_open = [field.name for field in fields(self) if getattr(self, field.name) is None]
        usual = {name: sizes[name] for name in left_open if name in sizes}
        chosen = replace(self, preset=preset if usual else self.preset, **usual)
        d_head = chosen.d_head or chosen.d_model // chosen.n_heads  # type: ignore[operator]
        score = with_score_settings(chosen.score)
        return replace(chosen, d_head=d_head, d_value=chosen.d_value or d_head, score=score)


def sequence_mask_and_bias(
    bias: RelativeBias | None, mask: Tensor, position_ids: Tensor | None = None
) -> tuple[masks.Mask, Tensor | None]:
    """Mask and bias of a whole sequence, for all layers of a stack.

    Args:
        position_ids: positions of its tokens (B, K). Default: 0, 1, 2, ...

    Shape: mask (B, 1, Q|1, K) -> bias (B|1, H, K, K).
    """
    if bias is None:
        return mask, None
    if position_ids is None:
        return masks.Shared(mask), bias.of_all(mask.size(-1))
    return masks.Shared(mask), bias(position_ids, position_ids)


def step_mask_and_bias(
    bias: RelativeBias | None, past: KVCache, tokens: Tensor
) -> tuple[masks.Mask, Tensor | None]:
    """Mask and bias of the newest tokens (B, N, t), for which it allocates slots in the cache."""
    _, n, t = tokens.shape[:3]
    mask = past.allocate(n, t)
    if bias is None:
        return mask, None
    return mask, bias.of_newest(n, newest_positions(past, tokens), past.positions)


def newest_positions(past: KVCache, tokens: Tensor) -> Tensor:
    """Positions (B, t) of the newest tokens (B, N, t); they are equal for all hypotheses."""
    _, n, t = tokens.shape[:3]
    positions = past.positions
    return positions[:, positions.size(1) - n * t :][:, :t]


class LayerMaker:
    """Makes the parts of a Transformer from resolved settings; each call makes a new part."""

    def __init__(self, settings: LayerSettings) -> None:
        self.settings: Any = settings  # resolved: no size is None

    @property
    def embed_scale(self) -> float:
        c = self.settings
        return math.sqrt(c.d_model) if c.scale_embeddings else 1.0

    @property
    def embed_std(self) -> float:
        """Initial standard deviation of embeddings: after scaling they have unit variance.

        Unscaled embeddings are initialised small, as in BERT and GPT-2, because the same matrix is
        the output layer.
        """
        c = self.settings
        return c.d_model**-0.5 if c.scale_embeddings else 0.02

    def embedding_norm(self) -> nn.Module:
        return self.norm() if self.settings.embedding_norm else nn.Identity()

    def positions(self, are_given: bool = False) -> nn.Module:
        """The module that adds positions to embeddings.

        Args:
            are_given: whether an input module has added sinusoidal ones.
        """
        c = self.settings
        if c.positions == "sinusoidal" and not are_given:
            return Sinusoidal(c.d_model, c.position_base)
        if c.positions == "learned":
            return LearnedPositions(c.d_model, c.max_positions)
        return NoPositions()

    def position_bias(self, causal: bool) -> RelativeBias | None:
        """The bias that a stack adds to its self-attention scores, if positions are relative."""
        c = self.settings
        if c.positions != "relative":
            return None
        return RelativeBias(c.n_heads, c.position_buckets, c.position_distance, not causal)

    def norm(self) -> nn.Module:
        c = self.settings
        return make_norm(c.norm, c.d_model, c.norm_eps)

    def final_norm(self) -> nn.Module:
        """The norm at the end of a stack; pre-norm leaves the last residual sum without one."""
        return self.norm() if self.settings.residual == "pre" else nn.Identity()

    def residual(self) -> nn.Module:
        return RESIDUALS[self.settings.residual](self.norm(), self.settings.dropout)

    def feed(self) -> FeedForward:
        c = self.settings
        return FeedForward(c.d_model, c.d_ff, c.activation, c.gated, c.bias, c.activation_dropout)

    def score(self) -> AttentionScore:
        c = self.settings
        return make_score(c.score, c.d_head, c.n_heads)

    def self_attention(self) -> SelfAttention:
        c = self.settings
        rotary = Rotary(c.d_head, c.position_base) if c.positions == "rotary" else None
        attention = SelfAttention(*self._heads(), rotary, self.score())
        self._scale_initial_queries(attention.qkv)
        return attention

    def cross_attention(self) -> CrossAttention:
        attention = CrossAttention(*self._heads(), self.score())
        self._scale_initial_queries(attention.query)
        return attention

    @torch.no_grad()
    def _scale_initial_queries(self, linear: nn.Linear) -> None:
        """Scales the initial queries instead of the scores if scores are not scaled, as in T5."""
        c = self.settings
        if score_name(c.score) == "dot":
            linear.weight[: c.n_heads * c.d_head] *= c.d_head**-0.5

    def encoder_layer(self) -> EncoderLayer:
        return EncoderLayer(self.self_attention(), self.feed(), self.residual)

    def decoder_layer(self) -> DecoderLayer:
        cross = self.cross_attention()  # first: this order defines the weights of a seed
        return DecoderLayer(self.self_attention(), cross, self.feed(), self.residual)

    def _heads(self) -> tuple[int, int, int, int | None, bool, float]:
        """The first arguments of both attention classes."""
        c = self.settings
        return c.d_model, c.n_heads, c.d_head, c.d_value, c.bias, c.attention_dropout

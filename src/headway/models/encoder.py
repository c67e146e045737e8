"""The encoder-only Transformer: states of all tokens, a pooled vector of the text, and a head.

It is the encoder of Vaswani et al. 2017, and with a `bert-` preset that of Devlin et al. 2019.
Settings and layers that it shares with the other Transformers are in `transformer_layers.py`, the
heads in `heads.py`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

import torch
from annotated_types import Ge, Gt, Le
from torch import Tensor, nn
from torch.nn.functional import embedding

from ..file_limits import MODEL_SIZE
from ..nn import masks
from ..nn.dropout import Dropout
from ..nn.pooling import Pooler, Squash, mean_pool
from ..nn.positions import PositionIds
from .family import Family, VocabularySizes, make_embedding
from .heads import AnyEncoder, attach_head
from .transformer_layers import (
    Activation,
    LayerMaker,
    LayerSettings,
    Positions,
    Rate,
    Size,
    sequence_mask_and_bias,
)

Preset = Literal[
    "auto",
    "tiny",
    "small",
    "base",
    "big",
    "bert-tiny",
    "bert-mini",
    "bert-small",
    "bert-base",
    "bert-large",
]

Segments = Annotated[int, Ge(0), Le(MODEL_SIZE)] | None

USUAL: dict[str, Any] = {
    "residual": "pre",
    "norm_eps": 1e-5,
    "positions": "sinusoidal",
    "max_positions": 1024,
    "scale_embeddings": True,
    "embedding_norm": False,
    "segments": 0,
    "pooling": "mean",
    "pooler": False,
}
"""Defaults of open settings, without a `bert-` preset."""

BERT: dict[str, Any] = {
    "residual": "post",
    "norm_eps": 1e-12,
    "positions": "learned",
    "max_positions": 512,
    "scale_embeddings": False,
    "embedding_norm": True,
    "segments": 2,
    "pooling": "first",
    "pooler": True,
}
"""Defaults of open settings, with a `bert-` preset."""


@dataclass(frozen=True)
class EncoderSettings(LayerSettings):
    """Settings of a Transformer encoder."""

    usual: ClassVar[Mapping[str, Any]] = USUAL

    preset: Preset = "auto"  # type: ignore[assignment]
    """A set of sizes; `auto` chooses by the number of training examples. A `bert-` preset makes the
    model a BERT and changes the defaults of some keys below. A key that is set overrides the
    preset."""
    dropout: Rate | None = None
    """Dropout rate of embeddings, residual branches and before the head."""
    residual: Literal["auto", "pre", "post"] = "auto"  # type: ignore[assignment]
    """Position of the norm: `pre` learns faster and needs no long warm-up, `post` is the original.
    `auto` is `post` for BERT, else `pre`."""
    norm_eps: Annotated[float, Gt(0)] | None = None  # type: ignore[assignment]
    """Added to the variance. Default: 1e-12 for BERT, else 1e-5."""
    activation: Activation = "gelu"
    positions: Positions | Literal["auto"] = "auto"  # type: ignore[assignment]
    """Position encodings; `auto` is `learned` for BERT, else `sinusoidal`."""
    max_positions: Size | None = None  # type: ignore[assignment]
    """Number of learned positions. Default: 512 for BERT, else 1024."""
    scale_embeddings: bool | None = None  # type: ignore[assignment]
    """Multiply embeddings by `sqrt(d_model)`. Default: false for BERT, else true."""
    embedding_norm: bool | None = None  # type: ignore[assignment]
    """A norm after the sum of the embeddings. Default: true for BERT, else false."""
    layers: Size | None = None
    """Number of layers."""
    segments: Segments = None
    """Number of segment embeddings, added to the tokens of the first and the second text of a pair.
    Default: 2 for BERT, else 0."""
    pooling: Literal["auto", "mean", "first"] = "auto"
    """The vector of a text: the `mean` of all states, or the state of the `first` token. `auto` is
    `first` for BERT, else `mean`."""
    pooler: bool | None = None
    """A dense layer and an activation after pooling. Default: true for BERT, else false."""
    pooler_activation: Squash = "tanh"
    """Activation of the pooler: `tanh` as in BERT, `relu` as in DistilBERT's classifiers."""

    def __post_init__(self) -> None:
        super().__post_init__()
        usual = BERT if self.preset.startswith("bert-") else self.usual
        for name, value in usual.items():
            if getattr(self, name) in (None, "auto"):
                object.__setattr__(self, name, value)


@dataclass(frozen=True)
class EncoderConfig(EncoderSettings):
    """Encoder-only Transformer."""

    family: Literal["encoder"] = "encoder"


class TransformerBackbone(nn.Module):
    """Embeddings, layers and pooling, from resolved settings."""

    def __init__(self, config: EncoderSettings, size: int) -> None:
        super().__init__()
        c: Any = config  # resolved: no size is None
        self.config = config
        make = LayerMaker(config)
        self.embed_scale = make.embed_scale
        self.embedding = make_embedding(size, c.d_model, make.embed_std)
        self.positions = make.positions()
        self.segments = make_embedding(c.segments, c.d_model, 0.02) if c.segments else None
        self.embedding_norm = make.embedding_norm()
        self.dropout = Dropout(c.dropout)
        self.layers = nn.ModuleList(make.encoder_layer() for _ in range(c.layers))
        self.position_bias = make.position_bias(causal=False)
        self.norm = make.final_norm()
        self.pooler = Pooler(c.d_model, c.pooler_activation) if c.pooler else nn.Identity()

    def forward(self, batch: Mapping[str, Tensor]) -> tuple[Tensor, Tensor]:
        """States of the tokens (B, S, D) and a vector of each text (B, D)."""
        valid = batch["src_valid"]
        x = self.embed(batch["src"], batch.get("segment"))
        mask, bias = sequence_mask_and_bias(self.position_bias, masks.padding(valid))
        for layer in self.layers:
            x = layer(x, mask, bias)
        states = self.norm(x)
        is_first = self.config.pooling == "first"
        pooled = states[:, 0] if is_first else mean_pool(states, valid)
        return states, self.pooler(pooled)

    def embed(
        self, tokens: Tensor, segment: Tensor | None, position_ids: PositionIds = 0
    ) -> Tensor:
        """tokens and segment (..., T) -> (..., T, D); without `segment` all are in the first."""
        x = embedding(tokens, self.embedding) * self.embed_scale
        if self.segments is not None:
            segment = torch.zeros_like(tokens) if segment is None else segment
            # A model with one segment (RoBERTa) uses it for both texts of a pair.
            x = x + embedding(segment.clamp(max=self.segments.size(0) - 1), self.segments)
        return self.dropout(self.embedding_norm(self.positions(x, position_ids)))


def build(config: EncoderSettings, vocabularies: VocabularySizes) -> AnyEncoder:
    """The encoder with its head, from resolved settings."""
    backbone = TransformerBackbone(config, vocabularies.source)
    norm = LayerMaker(config).norm()
    return attach_head(backbone, vocabularies, config.dropout or 0.0, config.activation, norm)


ENCODER = Family(
    "encoder",
    EncoderConfig,
    build,
    frozenset({"read", "classify", "attend"}),
    encoder=("backbone.",),
)

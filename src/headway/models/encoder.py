"""The encoder-only Transformer: it reads a text, and a head says what is in it.

Layers of self-attention that see the whole text (the encoder of Vaswani et al. 2017), pooled to one
vector; with the presets of BERT it is that of Devlin et al. 2019. What it shares with the other
Transformers is in `transformer_layers.py`, the heads are in `heads.py`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

import torch
from annotated_types import Ge, Gt
from torch import Tensor, nn
from torch.nn.functional import embedding

from ..nn import masks
from ..nn.dropout import Dropout
from ..nn.pooling import Pooler, Squash, mean_pool
from ..nn.positions import Place
from .family import Family, Vocabularies, make_embedding
from .heads import AnyReader, make_reader
from .transformer_layers import (
    Activation,
    LayerMaker,
    LayerSettings,
    Positions,
    Rate,
    Size,
    of_sequence,
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

Segments = Annotated[int, Ge(0)] | None

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
"""What is left open, without a preset of BERT."""

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
"""And with one."""


@dataclass(frozen=True)
class EncoderSettings(LayerSettings):
    """Settings of a Transformer that reads texts."""

    usual: ClassVar[Mapping[str, Any]] = USUAL

    preset: Preset = "auto"  # type: ignore[assignment]
    """Sizes that go together; `auto` goes by the number of training examples. Those that begin with
    `bert-` make a BERT of the model: keys below say where that changes their default. Every key
    below that is given wins over the preset."""
    dropout: Rate | None = None
    """Rate of dropping in embeddings, residual branches and before the head, in training."""
    residual: Literal["auto", "pre", "post"] = "auto"  # type: ignore[assignment]
    """Where the norm stands: `pre` learns faster and needs no long warm-up, `post` is the original;
    `auto` is `post` for BERT, else `pre`."""
    norm_eps: Annotated[float, Gt(0)] | None = None  # type: ignore[assignment]
    """Added to the variance; left out, it is 1e-12 for BERT, else 1e-5."""
    activation: Activation = "gelu"
    positions: Positions | Literal["auto"] = "auto"  # type: ignore[assignment]
    """How order is told; `auto` is `learned` for BERT, else `sinusoidal`."""
    max_positions: Size | None = None  # type: ignore[assignment]
    """Number of learned positions; left out, they are 512 for BERT, else 1024."""
    scale_embeddings: bool | None = None  # type: ignore[assignment]
    """Multiply embeddings by `sqrt(d_model)`; left out, it is false for BERT, else true."""
    embedding_norm: bool | None = None  # type: ignore[assignment]
    """A norm after the sum of the embeddings; left out, it is true for BERT, else false."""
    layers: Size | None = None
    """Number of layers."""
    segments: Segments = None
    """Kinds of parts that a text may have (the two of a pair), each with an embedding that is
    added to its tokens; left out, they are 2 for BERT, else 0."""
    pooling: Literal["auto", "mean", "first"] = "auto"
    """The vector of a text: the `mean` of all states, or that of the `first` token; `auto` is
    `first` for BERT, else `mean`."""
    pooler: bool | None = None
    """A dense layer and an activation over that vector; left out, it is true for BERT, else
    false."""
    pooler_activation: Squash = "tanh"
    """Of the pooler: `tanh` as BERT has it, `relu` as DistilBERT has it before labels."""

    def __post_init__(self) -> None:
        super().__post_init__()
        usual = BERT if self.preset.startswith("bert-") else self.usual
        for name, value in usual.items():
            if getattr(self, name) in (None, "auto"):
                object.__setattr__(self, name, value)


@dataclass(frozen=True)
class EncoderConfig(EncoderSettings):
    """Encoder-only Transformer, which reads texts."""

    family: Literal["encoder"] = "encoder"


class Backbone(nn.Module):
    """Embeddings and layers, from resolved settings."""

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
        """States of the tokens (B, S, D), and of each text one vector (B, D)."""
        valid = batch["src_valid"]
        x = self.embed(batch["src"], batch.get("segment"))
        mask, bias = of_sequence(self.position_bias, masks.padding(valid))
        for layer in self.layers:
            x = layer(x, mask, bias)
        states = self.norm(x)
        is_first = self.config.pooling == "first"
        pooled = states[:, 0] if is_first else mean_pool(states, valid)
        return states, self.pooler(pooled)

    def embed(self, tokens: Tensor, segment: Tensor | None, place: Place = 0) -> Tensor:
        """tokens and segment (..., T) -> (..., T, D); without `segment` all are of the first."""
        x = embedding(tokens, self.embedding) * self.embed_scale
        if self.segments is not None:
            kinds = torch.zeros_like(tokens) if segment is None else segment
            # A model that knows one kind (RoBERTa) reads both texts of a pair as of that kind.
            x = x + embedding(kinds.clamp(max=self.segments.size(0) - 1), self.segments)
        return self.dropout(self.embedding_norm(self.positions(x, place)))


def build(config: EncoderSettings, vocabularies: Vocabularies) -> AnyReader:
    """From resolved settings."""
    backbone = Backbone(config, vocabularies.source)
    norm = LayerMaker(config).norm()
    return make_reader(backbone, vocabularies, config.dropout or 0.0, config.activation, norm)


ENCODER = Family(
    "encoder",
    EncoderConfig,
    build,
    frozenset({"read", "classify", "attend"}),
    encoder=("backbone.",),
)

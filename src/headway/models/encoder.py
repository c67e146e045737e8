"""The encoder-only Transformer: states of all tokens, a pooled vector of the text, and a head.

It is the encoder of Vaswani et al. 2017, and with a `bert-` preset that of Devlin et al. 2019.
Settings and layers that it shares with the other Transformers are in `transformer_layers.py`, the
heads in `heads.py`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, Literal, Self

import torch
from annotated_types import Ge, Gt, Le
from torch import Tensor, nn
from torch.nn.functional import embedding

from ..errors import DataError
from ..file_limits import MODEL_SIZE
from ..nn import masks
from ..nn.dropout import Dropout
from ..nn.inputs import VectorInput, VectorInputConfig
from ..nn.pooling import Pooler, Squash, all_states, mean_pool
from ..nn.positions import PositionIds
from .counting.ridge import MOST_INPUTS, RidgeConfig, Shortcut, n_inputs
from .embeddings import embed, is_grid, make_source, read_source, resolve_input
from .family import EncoderModel, Family, Vectors, VocabularySizes, make_embedding
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
    "series",
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
    Default: 2 for BERT, else 0. A forecast of several columns, one at a time, has one for each
    column."""
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
    pooling: Literal["auto", "mean", "first", "all"] = "auto"  # type: ignore[assignment]
    """The vector of an input: the `mean` of all states, the state of the `first` token, or, for
    vectors of one length, `all` states one after the other. `auto` is `first` for BERT, else
    `mean`."""
    input: VectorInputConfig | None = None
    """For vectors in place of tokens: how the model reads them."""
    shortcut: bool | None = None
    """For forecasts: adds the ridge regression of the training windows to the output, so that the
    layers learn what it lacks. Default: true, if a window has at most 8,192 inputs for it."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.pooling == "all" and self.pooler:
            raise ValueError(
                'pooling = "all" gives all states to the head, and pooler = true has a layer for '
                "one; set pooler = false"
            )

    def _has_shortcut(self, vectors: Vectors | None) -> bool:
        """Whether the model has a shortcut.

        Raises:
            ValueError: it is set, and there is nothing to forecast, or too much.
        """
        n = n_inputs(RidgeConfig(), vectors) if vectors is not None and vectors.targets else 0
        if self.shortcut and not 0 < n <= MOST_INPUTS:
            raise ValueError(
                f"shortcut = true is for forecasts with at most {MOST_INPUTS} inputs of a window, "
                f"and this model has {n}; leave it out"
            )
        return 0 < n <= MOST_INPUTS if self.shortcut is None else self.shortcut

    def resolve(self, n_examples: int, vocabularies: VocabularySizes) -> Self:
        """The settings with every size, and `input` for vectors."""
        if not all(_size_of(vocabularies)):
            got = "of several lengths" if vocabularies.vectors else "tokens"
            if self.pooling == "all":
                raise ValueError(
                    f'pooling = "all" needs vectors of one length, and these are {got}; set '
                    'pooling = "mean" or "first"'
                )
        resolved = replace(
            super().resolve(n_examples, vocabularies), input=resolve_input(self.input, vocabularies)
        )
        resolved = replace(resolved, shortcut=self._has_shortcut(vocabularies.vectors))
        if vocabularies.vectors is None:
            return resolved
        columns = vocabularies.vectors.columns
        segments = columns if columns > 1 else 0
        if self.segments not in (0, segments) and not self.preset.startswith("bert-"):
            raise ValueError(
                f"segments = {self.segments} is for pairs of texts, and this task reads vectors; "
                "leave it out"
            )
        return replace(resolved, segments=segments)


def _size_of(vocabularies: VocabularySizes) -> tuple[int, ...]:
    """The size of all inputs; 0 in an axis without a fixed length."""
    return vocabularies.vectors.size if vocabularies.vectors else (0,)


class TransformerBackbone(nn.Module):
    """Embeddings, layers and pooling, from resolved settings.

    Attributes:
        width: of the vector of a text.
    """

    def __init__(self, config: EncoderSettings, vocabularies: VocabularySizes) -> None:
        super().__init__()
        c: Any = config  # resolved: no size is None
        self.config = config
        make = LayerMaker(config)
        self.embed_scale = make.embed_scale
        # (V, D), or a module that reads vectors
        self.embedding: Any = make_source(c, vocabularies, make.embed_std)
        self.width: int = c.d_model
        if c.pooling == "all":
            assert isinstance(self.embedding, VectorInput)  # `resolve` has made sure
            self.width *= self.embedding.length
        self.positions = make.positions(is_grid(vocabularies.vectors))
        self.segments = make_embedding(c.segments, c.d_model, 0.02) if c.segments else None
        self.embedding_norm = make.embedding_norm()
        self.dropout = Dropout(c.dropout)
        self.layers = nn.ModuleList(make.encoder_layer() for _ in range(c.layers))
        self.position_bias = make.position_bias(causal=False)
        self.norm = make.final_norm()
        self.pooler = Pooler(c.d_model, c.pooler_activation) if c.pooler else nn.Identity()

    def forward(self, batch: Mapping[str, Tensor]) -> tuple[Tensor, Tensor]:
        """States of the tokens (B, S, D) and a vector of each text (B, D)."""
        x, valid = self.read(batch)
        mask, bias = sequence_mask_and_bias(self.position_bias, masks.padding(valid))
        for layer in self.layers:
            x = layer(x, mask, bias)
        states = self.norm(x)
        return states, self.pooler(self._pool(states, valid))

    def read(self, batch: Mapping[str, Tensor]) -> tuple[Tensor, Tensor]:
        """The input of the first layer (B, S, D), and its mask (B, S)."""
        x, valid = read_source(batch, self.embedding, self.embed_scale)
        if self.segments is not None:
            x = self._add_segments(x, batch.get("segment", torch.zeros_like(batch["src"])))
        return self._finish(x, 0), valid

    def embed(self, tokens: Tensor, segment: Tensor, position_ids: PositionIds = 0) -> Tensor:
        """tokens and segment (..., T) -> (..., T, D)."""
        x = embed(tokens, self.embedding, self.embed_scale)
        if self.segments is not None:
            x = self._add_segments(x, segment)
        return self._finish(x, position_ids)

    def _add_segments(self, x: Tensor, segment: Tensor) -> Tensor:
        assert self.segments is not None
        # A model with one segment (RoBERTa) uses it for both texts of a pair.
        return x + embedding(segment.clamp(max=self.segments.size(0) - 1), self.segments)

    def _finish(self, x: Tensor, position_ids: PositionIds) -> Tensor:
        return self.dropout(self.embedding_norm(self.positions(x, position_ids)))

    def _pool(self, states: Tensor, valid: Tensor) -> Tensor:
        """The vector of each input. Shape: (B, S, D), (B, S) -> (B, width)."""
        if self.config.pooling == "first":
            return states[:, 0]
        if self.config.pooling == "mean":
            return mean_pool(states, valid)
        if states.size(1) * states.size(2) != self.width:
            raise DataError(
                f"an input has {states.size(1)} patches, and this model reads "
                f"{self.width // states.size(2)}; give it inputs of the length of its training data"
            )
        return all_states(states, valid)


def build(config: EncoderSettings, vocabularies: VocabularySizes) -> AnyEncoder:
    """The encoder with its head, from resolved settings."""
    backbone = TransformerBackbone(config, vocabularies)
    norm = LayerMaker(config).norm()
    model = attach_head(backbone, vocabularies, config.dropout or 0.0, config.activation, norm)
    if getattr(config, "shortcut", False) and isinstance(model, EncoderModel):
        assert vocabularies.vectors is not None  # `resolve` has made sure
        values = vocabularies.vectors.targets * vocabularies.vectors.horizon
        model.shortcut = Shortcut(vocabularies, values)
        nn.init.zeros_(model.output.weight)  # the layers add nothing to it at first
    return model


ENCODER = Family(
    "encoder",
    EncoderConfig,
    build,
    frozenset({"read", "classify", "attend", "vectors"}),
    encoder=("backbone.",),
)

"""The encoder-only Transformer: a text in, a label out.

Layers of self-attention that see the whole text (the encoder of Vaswani et al. 2017), pooled to one
vector, and a linear head; what it shares with the other Transformers is in `transformer_layers.py`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch.nn.functional import embedding, pad

from ..nn import masks
from ..nn.dropout import Dropout
from ..nn.pooling import mean_pool
from .family import Family, LabelModel, Vocabularies, make_embedding, make_head
from .transformer_layers import Activation, LayerMaker, LayerSettings, Rate, Size


@dataclass(frozen=True)
class EncoderConfig(LayerSettings):
    """Encoder-only Transformer, which gives labels."""

    family: Literal["encoder"] = "encoder"
    dropout: Rate | None = None
    """Rate of dropping in embeddings, residual branches and before the head, in training."""
    activation: Activation = "gelu"
    layers: Size | None = None
    """Number of layers."""
    pooling: Literal["mean", "first"] = "mean"
    """What the label is told from: the mean of all states, or that of a learned first position."""


class Backbone(nn.Module):
    """Embeddings and layers, from resolved settings."""

    def __init__(self, config: EncoderConfig, size: int) -> None:
        super().__init__()
        c: Any = config  # resolved: no size is None
        make = LayerMaker(config)
        self.embed_scale = make.embed_scale
        self.embedding = make_embedding(size, c.d_model)
        has_first = c.pooling == "first"
        first = torch.randn(c.d_model) * c.d_model**-0.5
        self.first = nn.Parameter(first) if has_first else None
        # The first position is one more than a text has.
        self.positions = make.positions(n_more=int(has_first))
        self.dropout = Dropout(c.dropout)
        self.layers = nn.ModuleList(make.encoder_layer() for _ in range(c.layers))
        self.norm = make.final_norm()

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

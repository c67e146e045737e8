"""The encoder-only Transformer: it reads a text, and a head says what is in it.

Layers of self-attention that see the whole text (the encoder of Vaswani et al. 2017), pooled to one
vector; what it shares with the other Transformers is in `transformer_layers.py`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from torch import Tensor, nn
from torch.nn.functional import embedding

from ..nn import masks
from ..nn.dropout import Dropout
from ..nn.pooling import mean_pool
from .family import Family, Reader, Vocabularies, make_embedding
from .transformer_layers import Activation, LayerMaker, LayerSettings, Rate, Size


@dataclass(frozen=True)
class EncoderConfig(LayerSettings):
    """Encoder-only Transformer, which reads texts."""

    family: Literal["encoder"] = "encoder"
    dropout: Rate | None = None
    """Rate of dropping in embeddings, residual branches and before the head, in training."""
    activation: Activation = "gelu"
    layers: Size | None = None
    """Number of layers."""
    pooling: Literal["mean", "first"] = "mean"
    """The vector of a text: the mean of all states, or that of the first token."""


class Backbone(nn.Module):
    """Embeddings and layers, from resolved settings."""

    def __init__(self, config: EncoderConfig, size: int) -> None:
        super().__init__()
        c: Any = config  # resolved: no size is None
        self.config = config
        make = LayerMaker(config)
        self.embed_scale = make.embed_scale
        self.embedding = make_embedding(size, c.d_model)
        self.positions = make.positions()
        self.dropout = Dropout(c.dropout)
        self.layers = nn.ModuleList(make.encoder_layer() for _ in range(c.layers))
        self.norm = make.final_norm()

    def forward(self, batch: Mapping[str, Tensor]) -> tuple[Tensor, Tensor]:
        """States of the tokens (B, S, D), and of each text one vector (B, D)."""
        valid = batch["src_valid"]
        x = embedding(batch["src"], self.embedding) * self.embed_scale
        x = self.dropout(self.positions(x, 0))
        mask = masks.padding(valid)
        for layer in self.layers:
            x = layer(x, mask)
        states = self.norm(x)
        is_first = self.config.pooling == "first"
        return states, states[:, 0] if is_first else mean_pool(states, valid)


def build(config: EncoderConfig, vocabularies: Vocabularies) -> Reader:
    """From resolved settings."""
    backbone = Backbone(config, vocabularies.source)
    return Reader(backbone, vocabularies.target, config.dropout or 0.0)


ENCODER = Family("encoder", EncoderConfig, build, frozenset({"read", "classify", "attend"}))

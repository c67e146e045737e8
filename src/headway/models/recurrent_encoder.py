"""The recurrent encoder with a head: RNN, GRU or LSTM.

It is the encoder of `recurrent.py`; the head predicts from its last state or from the mean of all.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

from annotated_types import Ge, Lt
from torch import Tensor, nn

from ..nn.dropout import Dropout
from ..nn.inputs import VectorInputConfig
from ..nn.pooling import mean_pool
from ..nn.recurrent import Encoder
from ..nn.recurrent_cells import N_PARTS
from .embeddings import make_source, read_source, resolve_input
from .family import Family, Size, VocabularySizes
from .heads import AnyEncoder, attach_head


@dataclass(frozen=True)
class RecurrentEncoderConfig:
    """Recurrent encoder."""

    family: Literal["recurrent_encoder"] = "recurrent_encoder"
    """The model family."""
    cell: Literal["rnn", "gru", "lstm"] = "gru"
    """The recurrent cell of the layers."""
    layers: Size = 1
    """Number of layers."""
    bidirectional: bool = True
    """Whether the text is read in both directions, each with half the width."""
    pooling: Literal["last", "mean"] = "last"
    """The vector of a text: the last state (backwards, that of the first word), or the mean of all
    states."""
    d_model: Size = 256
    """Width of embeddings and states."""
    dropout: Annotated[float, Ge(0), Lt(1)] = 0.1
    """Dropout rate of embeddings, between layers and before the head."""
    input: VectorInputConfig | None = None
    """For vectors in place of tokens: how the model reads them."""

    def __post_init__(self) -> None:
        if self.bidirectional and self.d_model % 2:
            raise ValueError(
                f"d_model={self.d_model} is odd and cannot be halved for two directions; "
                f"try d_model={self.d_model + 1}, or bidirectional = false"
            )

    def resolve(self, n_examples: int, vocabularies: VocabularySizes) -> "RecurrentEncoderConfig":
        return replace(self, input=resolve_input(self.input, vocabularies))


class RecurrentBackbone(nn.Module):
    """Embeddings and layers."""

    def __init__(self, config: RecurrentEncoderConfig, vocabularies: VocabularySizes) -> None:
        super().__init__()
        c = self.config = config
        self.width = c.d_model
        self.embed_scale = c.d_model**0.5
        self.embedding: Any = make_source(c, vocabularies)  # (V, D), or a module for vectors
        self.dropout = Dropout(c.dropout)
        self.encoder = Encoder(c.cell, c.d_model, c.layers, c.bidirectional, c.dropout)

    def forward(self, batch: Mapping[str, Tensor]) -> tuple[Tensor, Tensor]:
        """States of the tokens (B, S, D) and a vector of each text (B, D)."""
        x, valid = read_source(batch, self.embedding, self.embed_scale)
        states, last = self.encoder(self.dropout(x), valid)
        if self.config.pooling == "mean":
            return states, mean_pool(states, valid)
        return states, last[:, -N_PARTS[self.config.cell]]  # for an LSTM the output, not the cell


def build(config: RecurrentEncoderConfig, vocabularies: VocabularySizes) -> AnyEncoder:
    return attach_head(RecurrentBackbone(config, vocabularies), vocabularies, config.dropout)


RECURRENT_ENCODER = Family(
    "recurrent_encoder",
    RecurrentEncoderConfig,
    build,
    frozenset({"read", "classify", "vectors"}),
    encoder=("backbone.",),
)

"""What stands on the backbone of a model that reads, and who chooses it.

The usual head is that of `EncoderModel`. This file adds the two that BERT is pre-trained with
(Devlin et al. 2019): which word a token was, and whether the second of two texts follows the first.
"""

from collections.abc import Mapping

from torch import Tensor, nn

from ..nn.layers import ACTIVATIONS, make_dense
from .family import EncoderModel, Head, OutputLayer, VocabularySizes, make_embedding

MASKED = "masked"
"""What the head for hidden words is called in every model that has one."""
MASKED_HEADS: tuple[Head, ...] = ("masked", "masked_next")
"""The kinds of heads that it is part of."""


class MaskedHead(nn.Module):
    """From states of tokens to what the output layer reads: `norm(activation(W x + b))`.

    The output layer is the matrix of the embeddings, with a bias for each word.

    Args:
        embedding: of the words (V, D).
    """

    def __init__(self, embedding: nn.Parameter, activation: str, norm: nn.Module) -> None:
        super().__init__()
        self.dense = make_dense(embedding.size(1), embedding.size(1))
        self.activation = ACTIVATIONS[activation]
        self.norm = norm
        self.output = OutputLayer(embedding, bias=True)

    def forward(self, states: Tensor) -> Tensor:
        """Shape: (..., D) -> (..., D), for `output`."""
        found: Tensor = self.norm(self.activation(self.dense(states)))
        return found


class MaskedLMModel(nn.Module):
    """A model that is asked for the words in the place of tokens; batches are those of a
    `EncoderModel`.

    A loss takes states and vectors from one pass, `masked` and its output layer for the tokens it
    asks about, and `next` for the pairs.

    Args:
        has_next: whether it is also asked if the second text of a pair follows the first.
    """

    def __init__(self, backbone: nn.Module, masked: MaskedHead, has_next: bool) -> None:
        super().__init__()
        self.backbone = backbone
        self.config = backbone.config
        self.masked = masked
        width = masked.output.weight.size(1)
        self.next = OutputLayer(make_embedding(2, width), bias=True) if has_next else None

    def forward(self, batch: Mapping[str, Tensor]) -> tuple[Tensor, Tensor]:
        """States of the tokens (B, S, D), and of each text one vector (B, D)."""
        states, pooled = self.backbone(batch)
        return states, pooled

    def token_logits(self, batch: Mapping[str, Tensor]) -> Tensor:
        """Of every word in the place of each token (B, S, V)."""
        return self.masked.output(self.masked(self(batch)[0]))

    def logits(self, batch: Mapping[str, Tensor]) -> Tensor:
        """Whether the second text follows the first (0) or is another (1): (B, 2)."""
        if self.next is None:
            raise TypeError("this model has no head for pairs; build it with head masked_next")
        return self.next(self(batch)[1])


class HeadlessEncoder(nn.Module):
    """An encoder without a head, as imported; its batches are those of an `EncoderModel`."""

    def __init__(self, backbone: nn.Module) -> None:
        super().__init__()
        self.backbone = backbone
        self.config = backbone.config

    def forward(self, batch: Mapping[str, Tensor]) -> tuple[Tensor, Tensor]:
        """States of the tokens (B, S, D), and of each text one vector (B, D)."""
        states, pooled = self.backbone(batch)
        return states, pooled


AnyReader = EncoderModel | MaskedLMModel | HeadlessEncoder


def make_reader(
    backbone: nn.Module,
    vocabularies: VocabularySizes,
    dropout: float,
    activation: str = "gelu",
    norm: nn.Module | None = None,
) -> AnyReader:
    """The head that `vocabularies` asks for, on a backbone that has an `embedding` (V, D).

    Args:
        dropout: before the usual head.
        activation: within the masked head, and its norm.
    """
    if vocabularies.head == "linear":
        return EncoderModel(backbone, vocabularies.target, dropout)
    if vocabularies.head == "none":
        return HeadlessEncoder(backbone)
    embedding = backbone.get_parameter("embedding")
    masked = MaskedHead(embedding, activation, norm or nn.LayerNorm(embedding.size(1)))
    return MaskedLMModel(backbone, masked, has_next=vocabularies.head == "masked_next")

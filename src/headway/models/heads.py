"""The heads of an encoder, and the choice between them.

`EncoderModel` has the linear head. This file adds the two heads of BERT's pre-training (Devlin et
al. 2019): masked language modelling, and next-sentence prediction.
"""

from collections.abc import Mapping

from torch import Tensor, nn

from ..nn.layers import ACTIVATIONS, make_dense
from .family import EncoderModel, Head, OutputLayer, VocabularySizes, make_embedding

MASKED = "masked"
"""Name of the masked-LM head in every model that has one."""
MASKED_HEADS: tuple[Head, ...] = ("masked", "masked_next")
"""Values of `VocabularySizes.head` that include the masked-LM head."""


class MaskedHead(nn.Module):
    """Transforms token states for the output layer: `norm(activation(W x + b))`.

    The output layer is the embedding matrix, with a bias for each token of the vocabulary.

    Args:
        embedding: the token embeddings (V, D).
    """

    def __init__(self, embedding: nn.Parameter, activation: str, norm: nn.Module) -> None:
        super().__init__()
        self.dense = make_dense(embedding.size(1), embedding.size(1))
        self.activation = ACTIVATIONS[activation]
        self.norm = norm
        self.output = OutputLayer(embedding, bias=True)

    def forward(self, states: Tensor) -> Tensor:
        """Shape: (..., D) -> (..., D), for `output`."""
        transformed: Tensor = self.norm(self.activation(self.dense(states)))
        return transformed


class MaskedLMModel(nn.Module):
    """A masked language model, with the batches of an `EncoderModel`.

    A loss calls the model once for states and pooled vectors, then `masked` and its output layer
    for the masked positions, and `next` for pairs of texts.

    Args:
        has_next: whether the model also has a head for next-sentence prediction.
    """

    def __init__(self, backbone: nn.Module, masked: MaskedHead, has_next: bool) -> None:
        super().__init__()
        self.backbone = backbone
        self.config = backbone.config
        self.masked = masked
        width = masked.output.weight.size(1)
        self.next = OutputLayer(make_embedding(2, width), bias=True) if has_next else None

    def forward(self, batch: Mapping[str, Tensor]) -> tuple[Tensor, Tensor]:
        """States of the tokens (B, S, D) and a vector of each text (B, D)."""
        states, pooled = self.backbone(batch)
        return states, pooled

    def token_logits(self, batch: Mapping[str, Tensor]) -> Tensor:
        """Logits of the vocabulary at every position (B, S, V)."""
        return self.masked.output(self.masked(self(batch)[0]))

    def logits(self, batch: Mapping[str, Tensor]) -> Tensor:
        """Next-sentence logits (B, 2): the second text follows the first (0), or not (1)."""
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
        """States of the tokens (B, S, D) and a vector of each text (B, D)."""
        states, pooled = self.backbone(batch)
        return states, pooled


AnyEncoder = EncoderModel | MaskedLMModel | HeadlessEncoder


def attach_head(
    backbone: nn.Module,
    vocabularies: VocabularySizes,
    dropout: float,
    activation: str = "gelu",
    norm: nn.Module | None = None,
) -> AnyEncoder:
    """A model with the head `vocabularies.head`, from a backbone with an `embedding` (V, D).

    Args:
        dropout: before the linear head.
        activation: of the masked-LM head.
        norm: of the masked-LM head.
    """
    if vocabularies.head == "linear":
        return EncoderModel(backbone, vocabularies.target, dropout)
    if vocabularies.head == "none":
        return HeadlessEncoder(backbone)
    embedding = backbone.get_parameter("embedding")
    masked = MaskedHead(embedding, activation, norm or nn.LayerNorm(embedding.size(1)))
    return MaskedLMModel(backbone, masked, has_next=vocabularies.head == "masked_next")

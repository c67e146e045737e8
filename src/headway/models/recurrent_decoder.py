"""Recurrent language models: RNN, GRU or LSTM, trained to predict the next token.

It is the decoder of `recurrent.py` without an encoder. Its state starts with zeros and is its only
memory of a text.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from annotated_types import Ge, Lt
from torch import Tensor
from torch.nn.functional import embedding

from ..nn.decoding import DecoderState, RecurrentCache
from ..nn.dropout import Dropout
from ..nn.recurrent import Bottleneck, Stack
from .family import Family, OutputLayer, SequenceModel, Size, VocabularySizes, make_embedding


@dataclass(frozen=True)
class RecurrentDecoderConfig:
    """Recurrent language model."""

    family: Literal["recurrent_decoder"] = "recurrent_decoder"
    """The model family."""
    cell: Literal["rnn", "gru", "lstm"] = "gru"
    """The recurrent cell of the layers."""
    layers: Size = 1
    """Number of layers."""
    d_model: Size = 256
    """Width of embeddings and states."""
    dropout: Annotated[float, Ge(0), Lt(1)] = 0.1
    """Dropout rate of embeddings, between layers and before the output layer."""
    share: bool = True
    """Whether the embeddings and the output layer are one matrix."""

    def resolve(self, n_examples: int, vocabularies: VocabularySizes) -> "RecurrentDecoderConfig":
        return self


class RecurrentDecoder(SequenceModel):
    """Embeddings, recurrent layers and output layer, from settings."""

    def __init__(self, config: RecurrentDecoderConfig, vocabularies: VocabularySizes) -> None:
        super().__init__()
        c = self.config = config
        self.embed_scale = c.d_model**0.5
        self.embedding = make_embedding(vocabularies.target, c.d_model)
        final = self.embedding if c.share else make_embedding(vocabularies.target, c.d_model)
        self.output = OutputLayer(final, bias=True)
        self.dropout = Dropout(c.dropout)
        self.decoder = Bottleneck(Stack(c.cell, c.d_model, c.d_model, c.layers, c.dropout))

    def forward(self, batch: Mapping[str, Tensor]) -> Tensor:
        """Teacher-forced hidden states (B, T, D), from `tgt_in` alone."""
        tokens = batch["tgt_in"]
        hidden, _ = self.decoder(self._embed(tokens[:, None]), {}, self._begin(tokens.size(0)))
        return self.dropout(hidden[:, 0])

    def start(self, batch: Mapping[str, Tensor], prefix: Tensor | None = None) -> DecoderState:
        """Zeros for each row of the batch, whose content is not used."""
        rows = next(iter(batch.values())).size(0)
        state = DecoderState({}, {"carry": RecurrentCache(self._begin(rows))})
        return state if prefix is None else self.step(prefix[:, None], state)[1]

    def step(self, tokens: Tensor, state: DecoderState) -> tuple[Tensor, DecoderState]:
        """tokens (B, N, t) -> logits of the next one (B, N, V)."""
        carry: Any = state.cache["carry"]
        hidden, after = self.decoder(self._embed(tokens), {}, carry.value)
        return self.output(hidden[:, :, -1]), state.successor({"carry": RecurrentCache(after)})

    def _begin(self, rows: int) -> Tensor:
        """The carry (B, 1, C, D) before the first token."""
        stack = self.decoder.stack
        width = len(stack.layers) * stack.n_parts
        return self.decoder.begin(self.embedding.new_zeros(rows, width, self.config.d_model))

    def _embed(self, tokens: Tensor) -> Tensor:
        return self.dropout(embedding(tokens, self.embedding) * self.embed_scale)


RECURRENT_DECODER = Family(
    "recurrent_decoder",
    RecurrentDecoderConfig,
    RecurrentDecoder,
    frozenset({"step", "score"}),
    source="none",
)

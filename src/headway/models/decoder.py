"""The decoder-only Transformer (Radford et al. 2018): a language model without a source.

Settings and layers that it shares with the other Transformers are in `transformer_layers.py`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from torch import Tensor, nn
from torch.nn.functional import embedding

from ..nn import masks
from ..nn.decoding import DecoderState, KVCache
from ..nn.dropout import Dropout
from ..nn.layers import EncoderLayer
from .family import Family, OutputLayer, SequenceModel, VocabularySizes, make_embedding
from .transformer_layers import (
    Activation,
    LayerMaker,
    LayerSettings,
    Positions,
    Size,
    sequence_mask_and_bias,
    step_mask_and_bias,
)


@dataclass(frozen=True)
class DecoderConfig(LayerSettings):
    """Decoder-only Transformer, a language model."""

    family: Literal["decoder"] = "decoder"
    activation: Activation = "gelu"
    positions: Positions = "rotary"
    layers: Size | None = None
    """Number of layers."""
    output_bias: bool = False
    """A bias per token on the output layer."""
    share: bool = True
    """Whether the embeddings and the output layer are one matrix."""


class Decoder(SequenceModel):
    """Embeddings, causal layers and output layer, from resolved settings."""

    def __init__(self, config: DecoderConfig, vocabularies: VocabularySizes) -> None:
        super().__init__()
        c: Any = config  # resolved: no size is None
        self.config = config
        make = LayerMaker(config)
        self.embed_scale = make.embed_scale
        self.embedding = make_embedding(vocabularies.target, c.d_model, make.embed_std)
        final = self.embedding if c.share else make_embedding(vocabularies.target, c.d_model)
        self.output = OutputLayer(final, c.output_bias)
        self.positions = make.positions()
        self.embedding_norm = make.embedding_norm()
        self.dropout = Dropout(c.dropout)
        self.layers = nn.ModuleList(make.encoder_layer() for _ in range(c.layers))
        self.position_bias = make.position_bias(causal=True)
        self.norm = make.final_norm()

    def forward(self, batch: Mapping[str, Tensor]) -> Tensor:
        """Teacher-forced hidden states (B, T, D), from `tgt_in` alone."""
        tgt = batch["tgt_in"]
        causal = masks.causal(tgt.size(1), tgt.size(1), tgt.device)
        mask, bias = sequence_mask_and_bias(self.position_bias, causal)
        x = self._embed(tgt, 0)
        for layer in self.layers:
            x = layer(x, mask, bias)
        return self.norm(x)

    def start(self, batch: Mapping[str, Tensor], prefix: Tensor | None = None) -> DecoderState:
        """An empty KV cache, with as many rows as the batch's tensors."""
        rows = next(iter(batch.values())).size(0)
        widths = [layer.attention.widths for layer in self._layers()]
        state = DecoderState({}, {"past": KVCache(widths, rows, self.embedding)})
        return state if prefix is None else self.step(prefix[:, None], state)[1]

    def step(self, tokens: Tensor, state: DecoderState) -> tuple[Tensor, DecoderState]:
        """tokens (B, N, t) -> logits of the next one (B, N, V)."""
        past = state.cache["past"]
        assert isinstance(past, KVCache)
        x = self._embed(tokens, past.length)
        mask, bias = step_mask_and_bias(self.position_bias, past, tokens)
        for i, layer in enumerate(self._layers()):
            x = layer.step(x, past, i, mask, bias)
        return self.output(self.norm(x[:, :, -1])), state.successor(state.cache)

    def _embed(self, tokens: Tensor, offset: int) -> Tensor:
        x = embedding(tokens, self.embedding) * self.embed_scale
        return self.dropout(self.embedding_norm(self.positions(x, offset)))

    def _layers(self) -> list[EncoderLayer]:
        return [layer for layer in self.layers if isinstance(layer, EncoderLayer)]


DECODER = Family(
    "decoder",
    DecoderConfig,
    Decoder,
    frozenset({"step", "score", "attend"}),
    source="none",
)

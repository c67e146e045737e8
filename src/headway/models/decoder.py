"""The decoder-only Transformer (Radford et al. 2018): a language model.

Layers of causal self-attention and feed-forward, no source; what it shares with the other
Transformers is in `transformer_layers.py`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from torch import Tensor, nn
from torch.nn.functional import embedding

from ..nn import masks
from ..nn.dropout import Dropout
from ..nn.layers import EncoderLayer
from ..nn.step import Past, State
from .family import Family, Output, SequenceModel, Vocabularies, make_embedding
from .transformer_layers import (
    Activation,
    LayerMaker,
    LayerSettings,
    Positions,
    Size,
    of_sequence,
    of_step,
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
    """A bias per word on the output layer."""
    share: bool = True
    """Whether the embeddings and the output layer are one matrix."""


class Decoder(SequenceModel):
    """Embeddings, causal layers and output layer, from resolved settings."""

    def __init__(self, config: DecoderConfig, vocabularies: Vocabularies) -> None:
        super().__init__()
        c: Any = config  # resolved: no size is None
        self.config = config
        make = LayerMaker(config)
        self.embed_scale = make.embed_scale
        self.embedding = make_embedding(vocabularies.target, c.d_model, make.embed_std)
        final = self.embedding if c.share else make_embedding(vocabularies.target, c.d_model)
        self.output = Output(final, c.output_bias)
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
        mask, bias = of_sequence(self.position_bias, causal)
        x = self._embed(tgt, 0)
        for layer in self.layers:
            x = layer(x, mask, bias)
        return self.norm(x)

    def start(self, batch: Mapping[str, Tensor], prefix: Tensor | None = None) -> State:
        """Nothing but an empty past for each row of the batch's tensors."""
        rows = next(iter(batch.values())).size(0)
        widths = [layer.attention.widths for layer in self._layers()]
        state = State({}, {"past": Past(widths, rows, self.embedding)})
        return state if prefix is None else self.step(prefix[:, None], state)[1]

    def step(self, tokens: Tensor, state: State) -> tuple[Tensor, State]:
        """tokens (B, N, t) -> logits of the next one (B, N, V)."""
        past = state.cache["past"]
        assert isinstance(past, Past)
        x = self._embed(tokens, past.length)
        mask, bias = of_step(self.position_bias, past, tokens)
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

"""The convolutional encoder-decoder with attention in every decoder layer (Gehring et al. 2017).

Settings, module and how it is stepped; the layers are in `nn/convolution.py`. Weight normalisation
and the scaling of the encoder's gradients are left out: they serve plain gradient descent, and
Adam's steps do not depend on the scale of a gradient.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Literal

from annotated_types import Ge, Lt
from torch import Tensor, nn
from torch.nn.functional import embedding

from ..nn import masks
from ..nn.convolution import (
    HALF,
    ConvolutionalDecoderLayer,
    ConvolutionalEncoderLayer,
    Recent,
    make_linear,
)
from ..nn.dropout import Dropout
from ..nn.positions import Learned, Sinusoidal
from ..nn.step import State
from .family import Family, Output, SequenceModel, Vocabularies, make_embeddings


@dataclass(frozen=True)
class ConvolutionalConfig:
    """Convolutional encoder-decoder with attention."""

    family: Literal["convolutional"] = "convolutional"
    """The model family."""
    d_model: Annotated[int, Ge(1)] = 256
    """Width of embeddings and states."""
    encoder_layers: Annotated[int, Ge(1)] = 4
    """Layers of the encoder; each lets a position see `kernel - 1` more."""
    decoder_layers: Annotated[int, Ge(1)] = 4
    """Layers of the decoder; all of them attend to the source."""
    kernel: Annotated[int, Ge(1)] = 3
    """Positions a convolution reads at once: around each one in the encoder, up to it in the
    decoder."""
    dropout: Annotated[float, Ge(0), Lt(1)] = 0.1
    """Rate of dropping in embeddings, inputs of convolutions and before the output layer, in
    training."""
    positions: Literal["sinusoidal", "learned"] = "sinusoidal"
    """How order is told beyond the reach of the convolutions; `learned` is the original."""
    max_positions: Annotated[int, Ge(1)] = 1024
    """Number of learned positions."""
    share: Literal["auto", "all", "target", "none"] = "auto"
    """Which embeddings are one matrix: source, target and output (`all`), target and output
    (`target`) or none; `auto` shares all when the vocabulary is shared."""

    def resolve(self, n_examples: int, vocabularies: Vocabularies) -> "ConvolutionalConfig":
        if self.share != "auto":
            return self
        return replace(self, share="all" if vocabularies.shared else "target")


class Convolutional(SequenceModel):
    """Two stacks of gated convolutions between embeddings and output layer."""

    def __init__(self, config: ConvolutionalConfig, vocabularies: Vocabularies) -> None:
        super().__init__()
        D, k, dropout = config.d_model, config.kernel, config.dropout
        self.config = config
        self.scale = math.sqrt(D)
        source, target, final = make_embeddings(config.share, vocabularies, D)
        self.source_embedding, self.target_embedding = source, target
        self.output = Output(final, bias=True)
        self.source_positions, self.target_positions = self._positions(), self._positions()
        self.dropout = Dropout(dropout)
        # The paper's linear maps between embeddings and convolutions; here of the same width.
        self.source_in, self.source_out = make_linear(D, D, 1.0 - dropout), make_linear(D, D)
        self.target_in, self.target_out = make_linear(D, D, 1.0 - dropout), make_linear(D, D)
        self.encoder = nn.ModuleList(
            ConvolutionalEncoderLayer(D, k, dropout) for _ in range(config.encoder_layers)
        )
        self.decoder = nn.ModuleList(
            ConvolutionalDecoderLayer(D, k, dropout) for _ in range(config.decoder_layers)
        )

    def forward(self, batch: Mapping[str, Tensor]) -> Tensor:
        """Teacher-forced hidden states (B, T, D): all positions as one step of one hypothesis."""
        memory = self.encode(batch["src"], batch["src_valid"])
        mask = masks.padding(batch["src_valid"])
        tokens = batch["tgt_in"][:, None]
        hidden, _ = self.decode(tokens, memory, mask, self._before(memory[0]))
        return hidden[:, 0]

    def encode(self, src: Tensor, src_valid: Tensor) -> tuple[Tensor, Tensor]:
        """src (B, S) -> keys `z` and values `z + e` for all layers of the decoder, (B, 1, S, D).

        The paper multiplies what a query attends to by `sqrt(m)`, for m words of a source: a mean
        of m has 1/m of their variance. It is the same to do so with the values, once.
        """
        embedded = self._embed(src, self.source_embedding, self.source_positions, 0)
        x = self.source_in(embedded)
        for layer in self.encoder:
            x = layer(x, src_valid)
        key = self.source_out(x)
        root = src_valid.sum(1)[:, None, None].sqrt().to(key.dtype)
        value = (key + embedded) * (HALF * root)
        return key[:, None], value[:, None]

    def decode(
        self, tokens: Tensor, memory: tuple[Tensor, Tensor], mask: masks.Mask, past: Recent
    ) -> tuple[Tensor, Recent]:
        """tokens (B, N, t) after the past -> hidden (B, N, t, D) and the past with them."""
        embedded = self._embed(tokens, self.target_embedding, self.target_positions, past.length)
        x, inputs = self.target_in(embedded), []
        for layer, earlier in zip(self.decoder, past.inputs, strict=True):
            x, recent = layer(x, earlier, embedded, memory, mask)
            inputs.append(recent)
        return self.dropout(self.target_out(x)), Recent(inputs, past.length + tokens.size(2))

    def start(self, batch: Mapping[str, Tensor], prefix: Tensor | None = None) -> State:
        """Encodes, once per sentence."""
        key, value = self.encode(batch["src"], batch["src_valid"])
        memory = {"key": key, "value": value, "valid": batch["src_valid"]}
        state = State(memory, {"past": self._before(key)})
        return state if prefix is None else self.step(prefix[:, None], state)[1]

    def step(self, tokens: Tensor, state: State) -> tuple[Tensor, State]:
        """tokens (B, N, t) -> logits of the next one (B, N, V)."""
        memory, past = state.memory, state.cache["past"]
        assert isinstance(past, Recent)
        mask = masks.Shared(masks.padding(memory["valid"]))
        hidden, past = self.decode(tokens, (memory["key"], memory["value"]), mask, past)
        return self.output(hidden[:, :, -1]), state.successor({"past": past})

    def _before(self, key: Tensor) -> Recent:
        """The past before the first token: zeros, for one hypothesis per sentence."""
        shape = (key.size(0), 1, self.config.kernel - 1, key.size(-1))
        return Recent([key.new_zeros(shape) for _ in self.decoder], 0)

    def _embed(self, tokens: Tensor, weight: Tensor, positions: nn.Module, offset: int) -> Tensor:
        return self.dropout(positions(embedding(tokens, weight) * self.scale, offset))

    def _positions(self) -> nn.Module:
        c = self.config
        if c.positions == "learned":
            return Learned(c.d_model, c.max_positions)
        return Sinusoidal(c.d_model)


CONVOLUTIONAL = Family(
    "convolutional",
    ConvolutionalConfig,
    Convolutional,
    frozenset({"step", "score", "attend"}),
    encoder=("encoder.", "source_"),
)

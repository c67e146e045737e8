"""The convolutional encoder-decoder with attention in every decoder layer (Gehring et al. 2017).

This file has the settings and the model; the layers are in `nn/convolution.py`. Weight
normalisation and the scaling of the encoder's gradients are left out: they help plain gradient
descent, but Adam's steps do not depend on the scale of a gradient.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

from annotated_types import Ge, Lt
from torch import Tensor, nn

from ..nn import masks
from ..nn.convolution import (
    HALF,
    ConvolutionalDecoderLayer,
    ConvolutionalEncoderLayer,
    ConvolutionCache,
    make_linear,
)
from ..nn.decoding import DecoderState
from ..nn.dropout import Dropout
from ..nn.inputs import VectorInputConfig
from ..nn.positions import LearnedPositions, NoPositions, Sinusoidal
from .embeddings import (
    embed,
    is_grid,
    make_embeddings,
    read_source,
    resolve_input,
    resolve_share,
)
from .family import Family, OutputLayer, SequenceModel, Size, VocabularySizes


@dataclass(frozen=True)
class ConvolutionalConfig:
    """Convolutional encoder-decoder with attention."""

    family: Literal["convolutional"] = "convolutional"
    """The model family."""
    d_model: Size = 256
    """Width of embeddings and states."""
    encoder_layers: Size = 4
    """Layers of the encoder. Each widens the receptive field by `kernel - 1` positions."""
    decoder_layers: Size = 4
    """Layers of the decoder. Each attends to the source."""
    kernel: Size = 3
    """Width of the convolutions in positions: centred in the encoder, causal in the decoder."""
    dropout: Annotated[float, Ge(0), Lt(1)] = 0.1
    """Dropout rate of embeddings, of the inputs of convolutions and before the output layer."""
    positions: Literal["sinusoidal", "learned"] = "sinusoidal"
    """Position encodings, for distances beyond the receptive field; `learned` as in the paper."""
    max_positions: Size = 1024
    """Number of learned positions."""
    share: Literal["auto", "all", "target", "none"] = "auto"
    """Which embeddings are one matrix: source, target and output (`all`), target and output
    (`target`) or none; `auto` shares all when the vocabulary is shared."""
    input: VectorInputConfig | None = None
    """For vectors in place of tokens: how the encoder reads them."""

    def resolve(self, n_examples: int, vocabularies: VocabularySizes) -> "ConvolutionalConfig":
        share = resolve_share(self.share, vocabularies)
        return replace(self, share=share, input=resolve_input(self.input, vocabularies))


class Convolutional(SequenceModel):
    """Encoder and decoder of gated convolutions, with embeddings and output layer."""

    def __init__(self, config: ConvolutionalConfig, vocabularies: VocabularySizes) -> None:
        super().__init__()
        D, k, dropout = config.d_model, config.kernel, config.dropout
        self.config = config
        self.scale = math.sqrt(D)
        source, target, final = make_embeddings(config, vocabularies)
        self.source_embedding: Any = source  # (V, D), or a module that reads vectors
        self.target_embedding: Any = target
        self.output = OutputLayer(final, bias=True)
        self.source_positions = self._positions(is_grid(vocabularies.vectors))
        self.target_positions = self._positions()
        self.dropout = Dropout(dropout)
        # The paper's linear maps between embeddings and convolutions; here all widths are equal.
        self.source_in, self.source_out = make_linear(D, D, 1.0 - dropout), make_linear(D, D)
        self.target_in, self.target_out = make_linear(D, D, 1.0 - dropout), make_linear(D, D)
        self.encoder = nn.ModuleList(
            ConvolutionalEncoderLayer(D, k, dropout) for _ in range(config.encoder_layers)
        )
        self.decoder = nn.ModuleList(
            ConvolutionalDecoderLayer(D, k, dropout) for _ in range(config.decoder_layers)
        )

    def forward(self, batch: Mapping[str, Tensor]) -> Tensor:
        """Teacher-forced hidden states (B, T, D), computed as one step of one hypothesis."""
        key, value, valid = self.encode(batch)
        tokens = batch["tgt_in"][:, None]
        hidden, _ = self.decode(tokens, (key, value), masks.padding(valid), self._before(key))
        return hidden[:, 0]

    def encode(self, batch: Mapping[str, Tensor]) -> tuple[Tensor, Tensor, Tensor]:
        """Keys `z` and values `z + e` for all layers of the decoder, and their mask.

        The paper multiplies each context by `sqrt(m)` for m source tokens, because a mean of m
        vectors has 1/m of their variance. Scaling the values once is equivalent.

        Shape: -> (B, 1, S, D) twice, (B, S).
        """
        embedded, valid = read_source(batch, self.source_embedding, self.scale)
        embedded = self.dropout(self.source_positions(embedded, 0))
        x = self.source_in(embedded)
        for layer in self.encoder:
            x = layer(x, valid)
        key = self.source_out(x)
        root = valid.sum(1)[:, None, None].sqrt().to(key.dtype)
        value = (key + embedded) * (HALF * root)
        return key[:, None], value[:, None], valid

    def decode(
        self,
        tokens: Tensor,
        memory: tuple[Tensor, Tensor],
        mask: masks.Mask,
        past: ConvolutionCache,
    ) -> tuple[Tensor, ConvolutionCache]:
        """tokens (B, N, t) -> hidden (B, N, t, D) and the cache that includes them."""
        embedded = embed(tokens, self.target_embedding, self.scale)
        embedded = self.dropout(self.target_positions(embedded, past.length))
        x, inputs = self.target_in(embedded), []
        for layer, earlier in zip(self.decoder, past.inputs, strict=True):
            x, recent = layer(x, earlier, embedded, memory, mask)
            inputs.append(recent)
        return self.dropout(self.target_out(x)), ConvolutionCache(
            inputs, past.length + tokens.size(2)
        )

    def start(self, batch: Mapping[str, Tensor], prefix: Tensor | None = None) -> DecoderState:
        """Encodes the source, once per sentence."""
        key, value, valid = self.encode(batch)
        memory = {"key": key, "value": value, "valid": valid}
        state = DecoderState(memory, {"past": self._before(key)})
        return state if prefix is None else self.step(prefix[:, None], state)[1]

    def step(self, tokens: Tensor, state: DecoderState) -> tuple[Tensor, DecoderState]:
        """tokens (B, N, t) -> logits of the next one (B, N, V)."""
        memory, past = state.memory, state.cache["past"]
        assert isinstance(past, ConvolutionCache)
        mask = masks.Shared(masks.padding(memory["valid"]))
        hidden, past = self.decode(tokens, (memory["key"], memory["value"]), mask, past)
        return self.output(hidden[:, :, -1]), state.successor({"past": past})

    def _before(self, key: Tensor) -> ConvolutionCache:
        """The cache before the first token: zeros, for one hypothesis per sentence."""
        shape = (key.size(0), 1, self.config.kernel - 1, key.size(-1))
        return ConvolutionCache([key.new_zeros(shape) for _ in self.decoder], 0)

    def _positions(self, are_given: bool = False) -> nn.Module:
        c = self.config
        if c.positions == "learned":
            return LearnedPositions(c.d_model, c.max_positions)
        return NoPositions() if are_given else Sinusoidal(c.d_model)


CONVOLUTIONAL = Family(
    "convolutional",
    ConvolutionalConfig,
    Convolutional,
    frozenset({"step", "score", "attend", "vectors", "values"}),
    encoder=("encoder.", "source_"),
)

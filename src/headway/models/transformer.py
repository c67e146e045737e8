"""The encoder-decoder Transformer (Vaswani et al. 2017) and its usual variants.

This file has the settings, the module and its decoding step; the layers are in `nn`.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, Self

from torch import Tensor, nn

from ..nn import masks
from ..nn.decoding import DecoderState, KVCache
from ..nn.dropout import Dropout
from ..nn.inputs import VectorInputConfig
from ..nn.layers import DecoderLayer
from .embeddings import (
    embed,
    is_grid,
    make_embeddings,
    read_source,
    resolve_input,
    resolve_share,
)
from .family import Family, OutputLayer, SequenceModel, VocabularySizes
from .transformer_layers import (
    LayerMaker,
    LayerSettings,
    Size,
    sequence_mask_and_bias,
    step_mask_and_bias,
)


@dataclass(frozen=True)
class TransformerConfig(LayerSettings):
    """Encoder-decoder Transformer."""

    unfit_scores: ClassVar[Mapping[str, str]] = {
        "location": "depends on the position of a key alone, which says nothing about a partial "
        'output; try score = "scaled_dot", or model.family = "recurrent"',
    }

    family: Literal["transformer"] = "transformer"
    encoder_layers: Size | None = None
    """Number of encoder layers."""
    decoder_layers: Size | None = None
    """Number of decoder layers."""
    output_bias: bool = False
    """A bias per token on the output layer."""
    scale_output: bool = False
    """Multiply hidden states by `1/sqrt(d_model)` before the output layer, as T5 does if it
    shares the matrix of the embeddings."""
    share: Literal["auto", "all", "inputs", "target", "none"] = "auto"
    """Which embeddings are one matrix: source, target and output (`all`), source and target
    (`inputs`), target and output (`target`) or none; `auto` shares all when the vocabulary is
    shared."""
    input: VectorInputConfig | None = None
    """For vectors in place of tokens: how the encoder reads them."""

    def resolve(self, n_examples: int, vocabularies: VocabularySizes) -> Self:
        """The settings with all sizes, `share` and `input` filled in."""
        return replace(
            super().resolve(n_examples, vocabularies),
            share=resolve_share(self.share, vocabularies),
            input=resolve_input(self.input, vocabularies),
        )


class Transformer(SequenceModel):
    """Encoder, decoder and output layer, from resolved settings."""

    def __init__(self, config: TransformerConfig, vocabularies: VocabularySizes) -> None:
        super().__init__()
        c: Any = config  # resolved: no size is None
        self.config = config
        make = LayerMaker(config)
        self.embed_scale = make.embed_scale
        self.output_scale = c.d_model**-0.5 if c.scale_output else 1.0
        # With scaled outputs, embeddings start with unit variance, as in T5.
        std = 1.0 if c.scale_output else make.embed_std
        source, target, final = make_embeddings(c, vocabularies, std)
        self.source_embedding: Any = source  # (V, D), or a module that reads vectors
        self.target_embedding: Any = target
        self.output = OutputLayer(final, c.output_bias)
        # Learned positions of source and target are separate; fixed ones are the same function.
        self.positions = make.positions(is_grid(vocabularies.vectors))
        self.target_positions = make.positions()
        self.source_embedding_norm = make.embedding_norm()
        self.target_embedding_norm = make.embedding_norm()
        self.dropout = Dropout(c.dropout)
        self.encoder = nn.ModuleList(make.encoder_layer() for _ in range(c.encoder_layers))
        self.decoder = nn.ModuleList(make.decoder_layer() for _ in range(c.decoder_layers))
        self.encoder_position_bias = make.position_bias(causal=False)
        self.decoder_position_bias = make.position_bias(causal=True)
        self.encoder_norm, self.decoder_norm = make.final_norm(), make.final_norm()

    def forward(self, batch: Mapping[str, Tensor]) -> Tensor:
        """Teacher-forced hidden states (B, T, D)."""
        memory, valid = self.encode(batch)
        return self.decode(batch["tgt_in"], memory, valid)

    def encode(self, batch: Mapping[str, Tensor]) -> tuple[Tensor, Tensor]:
        """The memory (B, S, D) and its mask (B, S)."""
        x, valid = read_source(batch, self.source_embedding, self.embed_scale)
        mask, bias = sequence_mask_and_bias(self.encoder_position_bias, masks.padding(valid))
        x = self.dropout(self.source_embedding_norm(self.positions(x, 0)))
        for layer in self.encoder:
            x = layer(x, mask, bias)
        return self.encoder_norm(x), valid

    def decode(self, tgt: Tensor, memory: Tensor, valid: Tensor) -> Tensor:
        """tgt (B, T) after BOS, memory (B, S, D) -> hidden (B, T, D)."""
        causal = masks.causal(tgt.size(1), tgt.size(1), tgt.device)
        mask, bias = sequence_mask_and_bias(self.decoder_position_bias, causal)
        memory_mask = masks.padding(valid)
        x = self._embed(tgt, 0)
        for layer in self.decoder:
            x = layer(x, memory, mask, memory_mask, bias)
        return self._finish(x)

    def start(self, batch: Mapping[str, Tensor], prefix: Tensor | None = None) -> DecoderState:
        """Encodes the source and projects all keys and values of it, once per sentence."""
        encoded, valid = self.encode(batch)
        memory = {"valid": valid}
        for i, layer in enumerate(self._decoder_layers()):
            key, value = layer.cross.project(encoded)
            memory[f"{i}.key"], memory[f"{i}.value"] = key.contiguous(), value.contiguous()
        widths = [layer.attention.widths for layer in self._decoder_layers()]
        state = DecoderState(memory, {"past": KVCache(widths, encoded.size(0), encoded)})
        return state if prefix is None else self.step(prefix[:, None], state)[1]

    def step(self, tokens: Tensor, state: DecoderState) -> tuple[Tensor, DecoderState]:
        """tokens (B, N, t) -> logits of the next one (B, N, V)."""
        memory, past = state.memory, state.cache["past"]
        assert isinstance(past, KVCache)
        x = self._embed(tokens, past.length)
        mask, bias = step_mask_and_bias(self.decoder_position_bias, past, tokens)
        memory_mask = masks.Shared(masks.padding(memory["valid"]))
        for i, layer in enumerate(self._decoder_layers()):
            cross = memory[f"{i}.key"], memory[f"{i}.value"]
            x = layer.step(x, past, i, mask, cross, memory_mask, bias)
        hidden = self._finish(x[:, :, -1])  # (B, N, D)
        return self.output(hidden), state.successor(state.cache)

    def _embed(self, tokens: Tensor, offset: int) -> Tensor:
        """Embeddings of target tokens (..., T) at positions from `offset` on, (..., T, D)."""
        x = embed(tokens, self.target_embedding, self.embed_scale)
        return self.dropout(self.target_embedding_norm(self.target_positions(x, offset)))

    def _finish(self, x: Tensor) -> Tensor:
        """Final norm and scale, between the last layer and the output layer."""
        hidden: Tensor = self.decoder_norm(x)
        return hidden if self.output_scale == 1.0 else hidden * self.output_scale

    def _decoder_layers(self) -> Iterator[DecoderLayer]:
        for layer in self.decoder:
            assert isinstance(layer, DecoderLayer)
            yield layer


TRANSFORMER = Family(
    "transformer",
    TransformerConfig,
    Transformer,
    frozenset({"step", "score", "attend", "vectors", "values"}),
    encoder=("encoder.", "encoder_", "positions.", "source_embedding"),
)

"""One network that encodes and decodes (UniLM, Dong et al. 2019).

The mask decides whether it reads a text in both directions, a text left to right, or a target after
its source. It is the Transformer of `encoder.py`; its layers see source and target as one stream,
`source eos | bos target`. To decode, the source passes through the layers once; its keys and values
precede those of the target in the cache. The paper masks words of the target and predicts them.
Here the next token is predicted at every position, as in other decoders: decoding needs that.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self

import torch
from torch import Tensor

from ..nn import masks
from ..nn.decoding import DecoderState, KVCache
from ..nn.layers import EncoderLayer
from . import encoder
from .encoder import USUAL, EncoderSettings
from .family import Family, OutputLayer, SequenceModel, VocabularySizes
from .heads import AnyEncoder
from .transformer_layers import newest_positions, sequence_mask_and_bias, step_mask_and_bias

SOURCE, TARGET = 0, 1
"""Segments."""


@dataclass(frozen=True)
class UnilmModelConfig(EncoderSettings):
    """One Transformer that is an encoder, a language model, and a sequence-to-sequence model."""

    usual: ClassVar[Mapping[str, Any]] = {**USUAL, "segments": 2}
    one_stream: ClassVar[bool] = True
    """Whether learned positions count source and target together."""

    family: Literal["unilm"] = "unilm"
    positions: Literal["auto", "sinusoidal", "learned", "relative", "none"] = "auto"
    segments: encoder.Segments = None
    """Number of segment embeddings, added to the tokens of the two texts of a pair, or of source
    and target. Default: 2."""
    output_bias: bool = False
    """A bias per token on the output layer, which is the embedding matrix."""

    def resolve(self, n_examples: int, vocabularies: VocabularySizes) -> Self:
        """The settings with every size."""
        if vocabularies.head == "words" and not vocabularies.shared:
            raise ValueError(
                'family = "unilm" needs one vocabulary for source and target; set text.shared = '
                'true, or family = "transformer"'
            )
        return super().resolve(n_examples, vocabularies)


class UnilmModel(SequenceModel):
    """An encoder backbone with its embeddings as output layer, from resolved settings.

    Batches without `src` are those of a language model.
    """

    is_one_stream = True

    def __init__(self, config: UnilmModelConfig, vocabularies: VocabularySizes) -> None:
        super().__init__()
        self.config = config
        self.backbone = encoder.TransformerBackbone(config, vocabularies)
        self.output = OutputLayer(self.backbone.embedding, config.output_bias)

    def forward(self, batch: Mapping[str, Tensor]) -> Tensor:
        """Teacher-forced hidden states (B, T, D)."""
        backbone, tgt = self.backbone, batch["tgt_in"]
        src = batch.get("src", tgt[:, :0])
        valid = batch.get("src_valid", torch.ones_like(src, dtype=torch.bool))
        S, T = src.size(1), tgt.size(1)
        segment = torch.cat([torch.full_like(src, SOURCE), torch.full_like(tgt, TARGET)], dim=1)
        position_ids = _position_ids(valid, T)
        x = backbone.embed(torch.cat([src, tgt], dim=1), segment, position_ids)
        pattern = masks.sequence_to_sequence(valid, T)
        mask, bias = sequence_mask_and_bias(backbone.position_bias, pattern, position_ids)
        for layer in backbone.layers:
            x = layer(x, mask, bias)
        hidden: Tensor = backbone.norm(x[:, S:])
        return hidden

    def start(self, batch: Mapping[str, Tensor], prefix: Tensor | None = None) -> DecoderState:
        """Encodes the source; all hypotheses see its keys and values."""
        rows = next(iter(batch.values())).size(0)
        widths = [layer.attention.widths for layer in self._layers()]
        past = KVCache(widths, rows, self.backbone.embedding)
        if "src" in batch:
            self._encode(batch["src"], batch["src_valid"], past)
        state = DecoderState({}, {"past": past})
        return state if prefix is None else self.step(prefix[:, None], state)[1]

    def step(self, tokens: Tensor, state: DecoderState) -> tuple[Tensor, DecoderState]:
        """tokens (B, N, t) -> logits of the next one (B, N, V)."""
        backbone, past = self.backbone, state.cache["past"]
        assert isinstance(past, KVCache)
        mask, bias = step_mask_and_bias(backbone.position_bias, past, tokens)
        x = backbone.embed(tokens, torch.full_like(tokens, TARGET), newest_positions(past, tokens))
        for i, layer in enumerate(self._layers()):
            x = layer.step(x, past, i, mask, bias)
        return self.output(backbone.norm(x[:, :, -1])), state.successor(state.cache)

    def _encode(self, src: Tensor, src_valid: Tensor, past: KVCache) -> None:
        """Fills the first slots of the cache. Shape: (B, S) each."""
        bias = self.backbone.position_bias
        mask = past.prefill(src_valid)
        among = None if bias is None else bias.of_all(src.size(1))
        x = self.backbone.embed(src[:, None], torch.full_like(src[:, None], SOURCE))
        for i, layer in enumerate(self._layers()):
            x = layer.step(x, past, i, mask, among)

    def _layers(self) -> list[EncoderLayer]:
        return [layer for layer in self.backbone.layers if isinstance(layer, EncoderLayer)]


def _position_ids(src_valid: Tensor, n_target: int) -> Tensor:
    """Positions of all tokens; a target starts after its own source. (B, S) -> (B, S+T)."""
    B, S = src_valid.shape
    source, target = (torch.arange(n, device=src_valid.device) for n in (S, n_target))
    return torch.cat([source.expand(B, S), src_valid.sum(1)[:, None] + target], dim=1)


def build(config: UnilmModelConfig, vocabularies: VocabularySizes) -> UnilmModel | AnyEncoder:
    """A decoder of tokens, or the same backbone with another head, from resolved settings."""
    if vocabularies.head == "words":
        return UnilmModel(config, vocabularies)
    return encoder.build(config, vocabularies)


UNILM = Family(
    "unilm",
    UnilmModelConfig,
    build,
    frozenset({"step", "score", "attend", "read", "classify"}),
    source="optional",
    encoder=("backbone.",),
)

"""One network that reads and writes (UniLM, Dong et al. 2019).

It reads a text in both directions, a text left to right, or a target behind its source, as the mask
says. It is the Transformer of `encoder.py`, whose layers see source and target as one stream,
`source end | begin target`. To write, the source goes through the layers once; its keys and values
stand before those of the target. The paper hides words of the target and asks for them; here the
next token is asked for at every place, as in any other model that writes, so that a model learns
what it is used for. Between source and target is the begin mark, from which every search begins.
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
from .heads import AnyReader
from .transformer_layers import newest, of_sequence, of_step

SOURCE, TARGET = 0, 1
"""Segments."""


@dataclass(frozen=True)
class UnilmModelConfig(EncoderSettings):
    """One Transformer that reads, writes, and writes behind a source."""

    usual: ClassVar[Mapping[str, Any]] = {**USUAL, "segments": 2}
    one_stream: ClassVar[bool] = True
    """Learned positions count source and target together."""

    family: Literal["unilm"] = "unilm"
    positions: Literal["auto", "sinusoidal", "learned", "relative", "none"] = "auto"
    segments: encoder.Segments = None
    """Kinds of parts that a text may have, each with an embedding that is added to its tokens: the
    two of a pair, or source and target; left out, they are 2."""
    output_bias: bool = False
    """A bias per word on the output layer, which is the matrix of the embeddings."""

    def resolve(self, n_examples: int, vocabularies: VocabularySizes) -> Self:
        """Every size filled in."""
        if vocabularies.head == "words" and not vocabularies.shared:
            raise ValueError(
                'family = "unilm" reads and writes one stream of one vocabulary; set text.shared = '
                'true, or family = "transformer"'
            )
        return super().resolve(n_examples, vocabularies)


class UnilmModel(SequenceModel):
    """A backbone that reads, and its embeddings as output layer, from resolved settings.

    Without `src`, batches are those of a language model. States of a text that is read are those
    of the backbone, and `output` tells the words from these too.
    """

    is_one_stream = True

    def __init__(self, config: UnilmModelConfig, size: int) -> None:
        super().__init__()
        self.config = config
        self.backbone = encoder.TransformerBackbone(config, size)
        self.output = OutputLayer(self.backbone.embedding, config.output_bias)

    def forward(self, batch: Mapping[str, Tensor]) -> Tensor:
        """Teacher-forced hidden states (B, T, D)."""
        backbone, tgt = self.backbone, batch["tgt_in"]
        src = batch.get("src", tgt[:, :0])
        valid = batch.get("src_valid", torch.ones_like(src, dtype=torch.bool))
        S, T = src.size(1), tgt.size(1)
        segment = torch.cat([torch.full_like(src, SOURCE), torch.full_like(tgt, TARGET)], dim=1)
        places = _places(valid, T)
        x = backbone.embed(torch.cat([src, tgt], dim=1), segment, places)
        pattern = masks.sequence_to_sequence(valid, T)
        mask, bias = of_sequence(backbone.position_bias, pattern, places)
        for layer in backbone.layers:
            x = layer(x, mask, bias)
        hidden: Tensor = backbone.norm(x[:, S:])
        return hidden

    def start(self, batch: Mapping[str, Tensor], prefix: Tensor | None = None) -> DecoderState:
        """Reads the source, whose keys and values every hypothesis will see."""
        rows = next(iter(batch.values())).size(0)
        widths = [layer.attention.widths for layer in self._layers()]
        past = KVCache(widths, rows, self.backbone.embedding)
        if "src" in batch:
            self._read(batch["src"], batch["src_valid"], past)
        state = DecoderState({}, {"past": past})
        return state if prefix is None else self.step(prefix[:, None], state)[1]

    def step(self, tokens: Tensor, state: DecoderState) -> tuple[Tensor, DecoderState]:
        """tokens (B, N, t) -> logits of the next one (B, N, V)."""
        backbone, past = self.backbone, state.cache["past"]
        assert isinstance(past, KVCache)
        mask, bias = of_step(backbone.position_bias, past, tokens)
        x = backbone.embed(tokens, torch.full_like(tokens, TARGET), newest(past, tokens))
        for i, layer in enumerate(self._layers()):
            x = layer.step(x, past, i, mask, bias)
        return self.output(backbone.norm(x[:, :, -1])), state.successor(state.cache)

    def _read(self, src: Tensor, src_valid: Tensor, past: KVCache) -> None:
        """Fills the first slots of the past. Shape: (B, S) each."""
        bias = self.backbone.position_bias
        mask = past.prefill(src_valid)
        among = None if bias is None else bias.of_all(src.size(1))
        x = self.backbone.embed(src[:, None], torch.full_like(src[:, None], SOURCE))
        for i, layer in enumerate(self._layers()):
            x = layer.step(x, past, i, mask, among)

    def _layers(self) -> list[EncoderLayer]:
        return [layer for layer in self.backbone.layers if isinstance(layer, EncoderLayer)]


def _places(src_valid: Tensor, n_target: int) -> Tensor:
    """Where tokens stand: a target begins where its own source ends. (B, S) -> (B, S+T)."""
    B, S = src_valid.shape
    source, target = (torch.arange(n, device=src_valid.device) for n in (S, n_target))
    return torch.cat([source.expand(B, S), src_valid.sum(1)[:, None] + target], dim=1)


def build(config: UnilmModelConfig, vocabularies: VocabularySizes) -> UnilmModel | AnyReader:
    """From resolved settings: what writes words, or the same backbone under another head."""
    if vocabularies.head == "words":
        return UnilmModel(config, vocabularies.source)
    return encoder.build(config, vocabularies)


UNILM = Family(
    "unilm",
    UnilmModelConfig,
    build,
    frozenset({"step", "score", "attend", "read", "classify"}),
    source="optional",
    encoder=("backbone.",),
)

"""Pre-training of models from text to text: a damaged passage goes in, what is missing comes out.

The models are those of `translate`, with one vocabulary for both sides, and are trained as there:
teacher-forced, to the end mark. BART restores the whole passage, T5 the spans that were taken out.
"""

from abc import abstractmethod
from typing import Any

import numpy as np
from torch import Tensor

from ..data.codecs import TextCodec
from ..data.collate import pair_batch
from ..data.corruption import (
    corrupt_spans,
    delete_tokens,
    infill,
    mask_tokens,
    permute_sentences,
)
from ..data.store import Store
from ..models import Output, Vocabularies
from ..search import SearchConfig, greedy
from .loss import Batch
from .pretrain import Asked, Passage, Pretrain, metrics_of


class Denoise(Pretrain):
    """A text from a damaged one."""

    needs = frozenset({"step", "score"})
    family = "transformer"
    parts = ("token",)
    metrics = metrics_of(*parts)
    validated = ("loss", "token_accuracy")

    def __init__(self, codec: TextCodec) -> None:
        super().__init__(codec)
        self.target = TextCodec(codec.tokenizer)

    @property
    def vocabularies(self) -> Vocabularies:
        size = self.codec.tokenizer.size
        return Vocabularies(size, size, shared=True, head="words")

    @abstractmethod
    def damage(self, passage: Passage) -> tuple[np.ndarray, np.ndarray]:
        """What goes in and what is to come out, without marks."""

    def batch(
        self, store: Store, indices: np.ndarray, draw: tuple[int, ...] | None = None
    ) -> dict[str, Tensor]:
        """Shape: src, src_valid (B, S), tgt_in, tgt_out, tgt_valid (B, T)."""
        pairs = [self.damage(passage) for passage in self.passages(store, indices, draw)]
        return pair_batch(
            [self.codec.single(source) for source, _ in pairs],
            [self.target.single(target) for _, target in pairs],
            self.target.bos,
        )

    def asked(self, batch: Batch) -> dict[str, Asked]:
        valid = batch["tgt_valid"]
        return {"token": (batch["tgt_out"][valid], valid.nonzero()[:, 0])}

    def told(self, model: Any, batch: Batch) -> dict[str, tuple[Output, Tensor]]:
        return {"token": (model.output, model(batch)[batch["tgt_valid"]])}

    def samples(self, model: Any, batch: Batch, search: SearchConfig) -> list[tuple[str, str, str]]:
        limits = batch["tgt_valid"].sum(1)  # no longer than the right answer
        codec = self.target
        found = greedy(model, batch, bos=codec.bos, eos=codec.eos, config=search, limits=limits)
        return [
            (
                self.shown(batch["src"][row][batch["src_valid"][row]].tolist()),
                self.shown(best.tokens),
                self.shown(batch["tgt_out"][row][batch["tgt_valid"][row]].tolist()),
            )
            for row, best in enumerate(found)
        ]


class Bart(Denoise):
    """The passage from one with tokens masked, deleted or filled in, and sentences permuted."""

    def damage(self, passage: Passage) -> tuple[np.ndarray, np.ndarray]:
        c, rng, tokens = self.config, passage.rng, passage.tokens
        mask = self.alphabet.mask
        assert mask is not None
        if c.permute:
            tokens = permute_sentences(tokens, passage.begins, rng)
        tokens = delete_tokens(tokens, rng, c.delete)
        tokens = mask_tokens(tokens, rng, mask, c.mask)
        return infill(tokens, rng, mask, c.infill, c.span), passage.tokens


class T5(Denoise):
    """The spans that sentinels stand for."""

    @classmethod
    def extra_specials(cls) -> tuple[str, ...]:
        return tuple(f"sentinel_{number}" for number in range(cls.config.sentinels))

    def damage(self, passage: Passage) -> tuple[np.ndarray, np.ndarray]:
        c, sentinels = self.config, self.alphabet.sentinels
        return corrupt_spans(passage.tokens, passage.rng, sentinels, c.rate, c.span)

"""Pre-training of models from text to text: a damaged passage goes in, what is missing comes out.

The models are those of `translate`, with one vocabulary for both sides, and are trained as there:
teacher-forced, to the end mark. BART restores the whole passage, T5 the spans that were taken out.
"""

from abc import abstractmethod
from typing import Any, Self

import numpy as np
from torch import Tensor

from ...data.codecs.text import TextCodec
from ...data.collate import pair_batch
from ...data.corruption import corrupt_spans, delete_tokens, infill, mask_tokens, permute_sentences
from ...data.store import Store
from ...models import OutputLayer, VocabularySizes
from ...search import SearchConfig, TokenBytes, greedy, make_logits_rules
from ..base import Batch
from .base import Labels, Pretrain, TextPassage, metrics_of
from .config import BartConfig, T5Config


class Denoise(Pretrain):
    """A text from a damaged one."""

    needs = frozenset({"step", "score"})
    family = "transformer"
    parts = ("token",)
    metrics = metrics_of(*parts)
    validated = ("loss", "token_accuracy")

    target: TextCodec

    def with_codecs(self, codec: TextCodec) -> Self:
        task = super().with_codecs(codec)
        task.target = TextCodec(codec.tokenizer)
        return task

    @property
    def vocabularies(self) -> VocabularySizes:
        size = self.codec.tokenizer.size
        return VocabularySizes(size, size, shared=True, head="words")

    @abstractmethod
    def damage(self, passage: TextPassage) -> tuple[np.ndarray, np.ndarray]:
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

    def labels(self, batch: Batch) -> dict[str, Labels]:
        valid = batch["tgt_valid"]
        return {"token": (batch["tgt_out"][valid], valid.nonzero()[:, 0])}

    def output_states(self, model: Any, batch: Batch) -> dict[str, tuple[OutputLayer, Tensor]]:
        return {"token": (model.output, model(batch)[batch["tgt_valid"]])}

    def samples(self, model: Any, batch: Batch, search: SearchConfig) -> list[tuple[str, str, str]]:
        limits = batch["tgt_valid"].sum(1)  # no longer than the right answer
        codec = self.target
        asked: Any = {"config": search, "limits": limits, "eos": codec.eos}
        rules = make_logits_rules(
            batch, **asked, spellings=lambda: TokenBytes(codec.tokenizer.spellings())
        )
        found = greedy(model, batch, bos=codec.bos, **asked, rules=rules)
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

    config_class = BartConfig
    config: BartConfig

    def damage(self, passage: TextPassage) -> tuple[np.ndarray, np.ndarray]:
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

    config_class = T5Config
    config: T5Config

    @property
    def extra_specials(self) -> tuple[str, ...]:
        return tuple(f"sentinel_{number}" for number in range(self.config.sentinels))

    def damage(self, passage: TextPassage) -> tuple[np.ndarray, np.ndarray]:
        c, sentinels = self.config, self.alphabet.sentinels
        return corrupt_spans(passage.tokens, passage.rng, sentinels, c.rate, c.span)

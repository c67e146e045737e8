"""Pre-training of text-to-text models: the input is a corrupted passage, the output restores it.

Models and loss are those of `translate`, with one vocabulary for both sides: teacher-forced
cross-entropy up to EOS. BART restores the whole passage, T5 the removed spans.
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
from .base import Labels, Pretrain, TextPassage
from .config import BartConfig, T5Config


class Denoise(Pretrain):
    """Restores a text from a corrupted one."""

    needs = frozenset({"step", "score"})
    family = "transformer"
    parts = ("token",)
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
    def corrupt(self, passage: TextPassage) -> tuple[np.ndarray, np.ndarray]:
        """Input and target of a passage, without special tokens."""

    def batch(
        self, store: Store, indices: np.ndarray, draw: tuple[int, ...] | None = None
    ) -> dict[str, Tensor]:
        """Shape: src, src_valid (B, S), tgt_in, tgt_out, tgt_valid (B, T)."""
        pairs = [self.corrupt(passage) for passage in self.passages(store, indices, draw)]
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
        limits = batch["tgt_valid"].sum(1)  # no longer than the reference
        codec = self.target
        arguments: Any = {"config": search, "limits": limits, "eos": codec.eos}
        rules = make_logits_rules(
            batch, **arguments, spellings=lambda: TokenBytes(codec.tokenizer.spellings())
        )
        outputs = greedy(model, batch, bos=codec.bos, **arguments, rules=rules)
        return [
            (
                self.to_text(batch["src"][row][batch["src_valid"][row]].tolist()),
                self.to_text(best.tokens),
                self.to_text(batch["tgt_out"][row][batch["tgt_valid"][row]].tolist()),
            )
            for row, best in enumerate(outputs)
        ]


class Bart(Denoise):
    """Restores a passage with tokens masked, deleted or infilled, and sentences permuted."""

    config_class = BartConfig
    config: BartConfig

    def corrupt(self, passage: TextPassage) -> tuple[np.ndarray, np.ndarray]:
        c, rng, tokens = self.config, passage.rng, passage.tokens
        mask = self.alphabet.mask
        assert mask is not None
        if c.permute:
            tokens = permute_sentences(tokens, passage.sentence_starts, rng)
        tokens = delete_tokens(tokens, rng, c.delete)
        tokens = mask_tokens(tokens, rng, mask, c.mask)
        return infill(tokens, rng, mask, c.infill, c.span), passage.tokens


class T5(Denoise):
    """Predicts the spans that sentinels replace."""

    config_class = T5Config
    config: T5Config

    @property
    def extra_specials(self) -> tuple[str, ...]:
        return tuple(f"sentinel_{number}" for number in range(self.config.sentinels))

    def corrupt(self, passage: TextPassage) -> tuple[np.ndarray, np.ndarray]:
        c, sentinels = self.config, self.alphabet.sentinels
        return corrupt_spans(passage.tokens, passage.rng, sentinels, c.rate, c.span)

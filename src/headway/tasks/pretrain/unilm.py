"""Pre-training of one network that is encoder and decoder (UniLM, Dong et al. 2019).

Each passage has one of three patterns, chosen at random: its masked tokens are predicted, with the
whole passage visible; its next tokens are predicted from the start; or those of its second part,
with the first part as source. The paper masks tokens of the target too; here every next token of
the target is predicted, as when the model is used.
"""

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
import torch
from torch import Tensor

from ...data.codecs.text import TextCodec
from ...data.collate import pad, pair_batch
from ...data.corruption import PATTERNS, draw_pattern, mask_words, pair_border
from ...data.store import Store
from ...models import OutputLayer, VocabularySizes
from ...search import SearchConfig
from ..base import Batch
from .base import Labels, Pretrain, TextPassage
from .config import UnilmConfig

BIDIRECTIONAL, LEFT_TO_RIGHT, SEQUENCE = range(len(PATTERNS))


class Unilm(Pretrain):
    """Predicts masked tokens of a source, or the next tokens of a target."""

    config_class = UnilmConfig
    needs = frozenset({"step", "score", "read"})
    family = "unilm"
    parts = ("masked", "token")
    validated: ClassVar[tuple[str, ...]] = ("loss", "masked_accuracy", "token_accuracy")

    config: UnilmConfig
    target: TextCodec

    def with_codecs(self, codec: TextCodec) -> Self:
        task = super().with_codecs(codec)
        task.target = TextCodec(codec.tokenizer)
        return task

    @property
    def n_special(self) -> int:
        # Source and target are one stream: an end token, and a begin token before each of them.
        return 2 + int(self.codec.tokenizer.frame.begin)

    @property
    def vocabularies(self) -> VocabularySizes:
        size = self.codec.tokenizer.size
        return VocabularySizes(size, size, shared=True, head="words")

    def batch(
        self, store: Store, indices: np.ndarray, draw: tuple[int, ...] | None = None
    ) -> dict[str, Tensor]:
        """A bidirectional passage has no target; a passage with a target may have no source.

        Shape: src, src_valid, words (the original tokens), is_masked (B, S), tgt_in, tgt_out,
        tgt_valid (B, T).
        """
        rows = [self._row(passage) for passage in self.passages(store, indices, draw)]
        batch = pair_batch(
            [source for source, _, _, _ in rows],
            [target for _, target, _, _ in rows],
            self.target.bos,
        )
        words, _ = pad([source for _, _, source, _ in rows])
        is_masked = np.zeros(words.shape, bool)
        for row, (_, _, _, positions) in enumerate(rows):
            is_masked[row, positions] = True
        named = {"words": words, "is_masked": is_masked}
        return batch | {name: torch.from_numpy(value) for name, value in named.items()}

    def _row(self, passage: TextPassage) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Source and target of a passage, its source before masking, and the masked positions."""
        c, tokens = self.config, passage.tokens
        empty, no_positions = tokens[:0], np.empty(0, np.int64)
        pattern = draw_pattern(passage.rng, c.shares)
        if pattern == BIDIRECTIONAL:
            whole = self.codec.single(tokens)
            settings = {"rate": c.rate, "masked": c.masked, "random": c.random}
            masked, positions = mask_words(
                whole, passage.rng, self.alphabet, whole_words=c.whole_words, **settings
            )
            return masked, empty, whole, positions
        border = pair_border(passage.sentence_starts, passage.rng) if pattern == SEQUENCE else 0
        source = self.codec.single(tokens[:border]) if border else empty
        return source, self.target.single(tokens[border:]), source, no_positions

    def labels(self, batch: Batch) -> dict[str, Labels]:
        is_masked, valid = batch["is_masked"], batch["tgt_valid"]
        return {
            "masked": (batch["words"][is_masked], is_masked.nonzero()[:, 0]),
            "token": (batch["tgt_out"][valid], valid.nonzero()[:, 0]),
        }

    def output_states(self, model: Any, batch: Batch) -> dict[str, tuple[OutputLayer, Tensor]]:
        has_target = batch["tgt_valid"].any(1)
        sources, targets = _rows(batch, ~has_target), _rows(batch, has_target)
        masked = token = model.output.weight.new_zeros(0, model.output.weight.size(1))
        if len(sources["src"]):
            masked = model.backbone(sources)[0][sources["is_masked"]]
        if len(targets["src"]):
            token = model(targets)[targets["tgt_valid"]]
        return {"masked": (model.output, masked), "token": (model.output, token)}

    def samples(self, model: Any, batch: Batch, search: SearchConfig) -> list[tuple[str, str, str]]:
        outputs, labels = self.output_states(model, batch), self.labels(batch)
        samples = []
        for row in range(len(batch["src"])):
            part = "token" if batch["tgt_valid"][row].any() else "masked"
            targets, rows = labels[part]
            output, states = outputs[part]
            best = output(states[rows == row]).argmax(-1)
            source = batch["src"][row][batch["src_valid"][row]].tolist()
            right = targets[rows == row]
            samples.append(
                (self.to_text(source), self._part_text(best, part), self._part_text(right, part))
            )
        return samples

    def _part_text(self, ids: Tensor, part: str) -> str:
        if part == "token":
            return self.to_text(ids.tolist())
        return " | ".join(self.codec.tokenizer.tokens(ids.tolist()))


def _rows(batch: Batch, chosen: Tensor) -> Mapping[str, Tensor]:
    """Some rows of a batch, without columns that are padding in all of them."""
    widths = {
        side: int(batch[f"{side}_valid"][chosen].sum(1).max()) if chosen.any() else 0
        for side in ("src", "tgt")
    }
    side_of = {"words": "src", "is_masked": "src"}
    return {
        name: value[chosen, : widths[side_of.get(name) or name[:3]]]
        for name, value in batch.items()
    }

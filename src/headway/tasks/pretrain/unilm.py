"""Pre-training of one network that reads and writes (UniLM, Dong et al. 2019).

Each passage has one of three patterns, drawn for it: it is read whole, with words of it hidden that
are asked for; it is written from its beginning on; or its second part is written, behind the first
as a source. The paper hides words of what is written too; here its next token is asked for at every
place, which is what the model is then used for.
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
from .base import Labels, Pretrain, TextPassage, metrics_of
from .config import UnilmConfig

BIDIRECTIONAL, LEFT_TO_RIGHT, SEQUENCE = range(len(PATTERNS))


class Unilm(Pretrain):
    """Hidden words of a text that is read, or the next token of one that is written."""

    config_class = UnilmConfig
    needs = frozenset({"step", "score", "read"})
    family = "unilm"
    parts = ("masked", "token")
    metrics = metrics_of(*parts)
    validated: ClassVar[tuple[str, ...]] = ("loss", "masked_accuracy", "token_accuracy")

    config: UnilmConfig
    target: TextCodec

    def with_codecs(self, codec: TextCodec) -> Self:
        task = super().with_codecs(codec)
        task.target = TextCodec(codec.tokenizer)
        return task

    @property
    def n_marks(self) -> int:
        # Source and target are one stream: an end mark, and a begin mark before each of them.
        return 2 + int(self.codec.tokenizer.frame.begin)

    @property
    def vocabularies(self) -> VocabularySizes:
        size = self.codec.tokenizer.size
        return VocabularySizes(size, size, shared=True, head="words")

    def batch(
        self, store: Store, indices: np.ndarray, draw: tuple[int, ...] | None = None
    ) -> dict[str, Tensor]:
        """A passage that is read has no target, and one that is written may have no source.

        Shape: src, src_valid, words (as they were), is_masked (B, S), tgt_in, tgt_out, tgt_valid
        (B, T).
        """
        rows = [self._row(passage) for passage in self.passages(store, indices, draw)]
        batch = pair_batch(
            [source for source, _, _, _ in rows],
            [target for _, target, _, _ in rows],
            self.target.bos,
        )
        words, _ = pad([source for _, _, source, _ in rows])
        is_masked = np.zeros(words.shape, bool)
        for row, (_, _, _, places) in enumerate(rows):
            is_masked[row, places] = True
        named = {"words": words, "is_masked": is_masked}
        return batch | {name: torch.from_numpy(value) for name, value in named.items()}

    def _row(self, passage: TextPassage) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """What is read and what is written, and of what is read how it was and what is hidden."""
        c, tokens = self.config, passage.tokens
        nothing, nowhere = tokens[:0], np.empty(0, np.int64)
        pattern = draw_pattern(passage.rng, c.shares)
        if pattern == BIDIRECTIONAL:
            whole = self.codec.single(tokens)
            settings = {"rate": c.rate, "masked": c.masked, "random": c.random}
            seen, places = mask_words(
                whole, passage.rng, self.alphabet, whole_words=c.whole_words, **settings
            )
            return seen, nothing, whole, places
        border = pair_border(passage.begins, passage.rng) if pattern == SEQUENCE else 0
        source = self.codec.single(tokens[:border]) if border else nothing
        return source, self.target.single(tokens[border:]), source, nowhere

    def labels(self, batch: Batch) -> dict[str, Labels]:
        is_masked, valid = batch["is_masked"], batch["tgt_valid"]
        return {
            "masked": (batch["words"][is_masked], is_masked.nonzero()[:, 0]),
            "token": (batch["tgt_out"][valid], valid.nonzero()[:, 0]),
        }

    def output_states(self, model: Any, batch: Batch) -> dict[str, tuple[OutputLayer, Tensor]]:
        is_written = batch["tgt_valid"].any(1)
        read, written = _rows(batch, ~is_written), _rows(batch, is_written)
        masked = token = model.output.weight.new_zeros(0, model.output.weight.size(1))
        if len(read["src"]):
            masked = model.backbone(read)[0][read["is_masked"]]
        if len(written["src"]):
            token = model(written)[written["tgt_valid"]]
        return {"masked": (model.output, masked), "token": (model.output, token)}

    def samples(self, model: Any, batch: Batch, search: SearchConfig) -> list[tuple[str, str, str]]:
        outputs, labels = self.output_states(model, batch), self.labels(batch)
        found = []
        for row in range(len(batch["src"])):
            part = "token" if batch["tgt_valid"][row].any() else "masked"
            targets, rows = labels[part]
            output, states = outputs[part]
            best = output(states[rows == row]).argmax(-1)
            source = batch["src"][row][batch["src_valid"][row]].tolist()
            found.append(
                (self.shown(source), self._said(best, part), self._said(targets[rows == row], part))
            )
        return found

    def _said(self, ids: Tensor, part: str) -> str:
        if part == "token":
            return self.shown(ids.tolist())
        return " | ".join(self.codec.tokenizer.tokens(ids.tolist()))


def _rows(batch: Batch, chosen: Tensor) -> Mapping[str, Tensor]:
    """Some rows of a batch, no wider than they need to be."""
    widths = {
        side: int(batch[f"{side}_valid"][chosen].sum(1).max()) if chosen.any() else 0
        for side in ("src", "tgt")
    }
    side_of = {"words": "src", "is_masked": "src"}
    return {
        name: value[chosen, : widths[side_of.get(name) or name[:3]]]
        for name, value in batch.items()
    }

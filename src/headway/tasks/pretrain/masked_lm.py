"""Pre-training of encoders: masked tokens, and whether a text follows another (BERT).

A passage is `bos text eos`. For pairs it is cut in two, and the second half may come from another
document: `bos a eos b eos`, with segments.
"""

from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from ...data.blocks import BLOCK, SENTENCE
from ...data.collate import pad, source_batch
from ...data.corruption import mask_words, pair_border
from ...data.store import Store
from ...errors import DataError
from ...models import OutputLayer, VocabularySizes
from ...search import SearchConfig
from ..base import Batch
from .base import Labels, Pretrain, TextPassage
from .config import MaskedConfig, MaskedNextConfig, NextConfig

FOLLOWS, OTHER, NO_PAIR = 0, 1, -1  # as BERT numbers them
TRUE_SHARE = 0.5
NAMES = ("follows", "another")


class Masked(Pretrain):
    """Predicts masked tokens."""

    config: MaskedConfig
    needs = frozenset({"read"})
    starts_with_bos = True
    family = "encoder"
    parts: ClassVar[tuple[str, ...]] = ("masked",)
    validated: ClassVar[tuple[str, ...]] = ("loss", "masked_accuracy")

    @property
    def vocabularies(self) -> VocabularySizes:
        size = self.codec.tokenizer.size
        return VocabularySizes(size, size, shared=True, head="masked")

    def batch(
        self, store: Store, indices: np.ndarray, draw: tuple[int, ...] | None = None
    ) -> dict[str, Tensor]:
        """Shape: src, src_valid, words (the original tokens), is_masked (B, S)."""
        rows = [
            (self.codec.single(passage.tokens), passage.rng)
            for passage in self.passages(store, indices, draw)
        ]
        return self._mask(rows)

    def _mask(self, rows: list[tuple[np.ndarray, np.random.Generator]]) -> dict[str, Tensor]:
        """A batch of inputs with masked tokens; special tokens are never masked."""
        c = self.config
        settings = {"rate": c.rate, "masked": c.masked, "random": c.random}
        masked = [
            mask_words(ids, rng, self.alphabet, whole_words=c.whole_words, **settings)
            for ids, rng in rows
        ]
        batch = source_batch([ids for ids, _ in masked])
        words, _ = pad([ids for ids, _ in rows])
        is_masked = np.zeros(words.shape, bool)
        for row, (_, positions) in enumerate(masked):
            is_masked[row, positions] = True
        named = {"words": words, "is_masked": is_masked}
        return batch | {name: torch.from_numpy(value) for name, value in named.items()}

    def labels(self, batch: Batch) -> dict[str, Labels]:
        is_masked = batch["is_masked"]
        return {"masked": (batch["words"][is_masked], is_masked.nonzero()[:, 0])}

    def output_states(self, model: Any, batch: Batch) -> dict[str, tuple[OutputLayer, Tensor]]:
        states, _ = model(batch)
        return {"masked": (model.masked.output, model.masked(states[batch["is_masked"]]))}

    def samples(self, model: Any, batch: Batch, search: SearchConfig) -> list[tuple[str, str, str]]:
        output, states = self.output_states(model, batch)["masked"]
        targets, rows = self.labels(batch)["masked"]
        best = output(states).argmax(-1)
        return [
            (
                self.to_text(batch["src"][row][batch["src_valid"][row]].tolist()),
                self._join_tokens(best[rows == row]),
                self._join_tokens(targets[rows == row]),
            )
            for row in range(len(batch["src"]))
        ]

    def _join_tokens(self, ids: Tensor) -> str:
        return " | ".join(self.codec.tokenizer.tokens(ids.tolist()))


class Next(Pretrain):
    """Predicts whether the second half of a passage follows the first."""

    config_class = NextConfig
    needs = frozenset({"read"})
    starts_with_bos = True
    family = "encoder"
    parts = ("next",)
    validated = ("loss", "next_accuracy")

    @property
    def extra_specials(self) -> tuple[str, ...]:
        return ()

    @property
    def n_special(self) -> int:
        return n_pair_special(self)

    def check(self, store: Store) -> None:
        check_documents(store)

    @property
    def vocabularies(self) -> VocabularySizes:
        return VocabularySizes(self.codec.tokenizer.size, len(NAMES), shared=False)

    def batch(
        self, store: Store, indices: np.ndarray, draw: tuple[int, ...] | None = None
    ) -> dict[str, Tensor]:
        """Shape: src, src_valid, segment (B, S), next (B,)."""
        pairs = [make_pair(self, store, p) for p in self.passages(store, indices, draw)]
        batch = source_batch([ids for ids, _, _ in pairs], [segment for _, segment, _ in pairs])
        return batch | {"next": torch.tensor([label for _, _, label in pairs])}

    def labels(self, batch: Batch) -> dict[str, Labels]:
        return {"next": pair_labels(batch)}

    def output_states(self, model: Any, batch: Batch) -> dict[str, tuple[OutputLayer, Tensor]]:
        _, pooled = model(batch)
        return {"next": (model.output, model.dropout(pooled[batch["next"] != NO_PAIR]))}

    def samples(self, model: Any, batch: Batch, search: SearchConfig) -> list[tuple[str, str, str]]:
        best = model.logits(batch).argmax(-1).tolist()
        return [
            (
                self.to_text(batch["src"][row][batch["src_valid"][row]].tolist()),
                NAMES[best[row]],
                NAMES[label],
            )
            for row, label in enumerate(batch["next"].tolist())
            if label != NO_PAIR
        ]


class MaskedNext(Masked):
    """Predicts masked tokens, and whether the second half of a passage follows the first."""

    config_class = MaskedNextConfig
    parts = ("masked", "next")
    validated = ("loss", "masked_accuracy", "next_accuracy")

    @property
    def n_special(self) -> int:
        return n_pair_special(self)

    def check(self, store: Store) -> None:
        check_documents(store)

    @property
    def vocabularies(self) -> VocabularySizes:
        size = self.codec.tokenizer.size
        return VocabularySizes(size, size, shared=True, head="masked_next")

    def batch(
        self, store: Store, indices: np.ndarray, draw: tuple[int, ...] | None = None
    ) -> dict[str, Tensor]:
        """Shape: src, src_valid, segment, words (original tokens), is_masked (B, S), next (B,)."""
        passages = list(self.passages(store, indices, draw))
        pairs = [make_pair(self, store, passage) for passage in passages]
        batch = self._mask(
            [(ids, passage.rng) for (ids, _, _), passage in zip(pairs, passages, strict=True)]
        )
        segment, _ = pad([segment for _, segment, _ in pairs])
        labels = torch.tensor([label for _, _, label in pairs])
        return batch | {"segment": torch.from_numpy(segment), "next": labels}

    def labels(self, batch: Batch) -> dict[str, Labels]:
        return super().labels(batch) | {"next": pair_labels(batch)}

    def output_states(self, model: Any, batch: Batch) -> dict[str, tuple[OutputLayer, Tensor]]:
        states, pooled = model(batch)
        masked = model.masked(states[batch["is_masked"]])
        return {
            "masked": (model.masked.output, masked),
            "next": (model.next, pooled[batch["next"] != NO_PAIR]),
        }


def check_documents(store: Store) -> None:
    """Refuses a single document: there is no other document to take a second half from."""
    if len(store.documents) < 3:  # edges: the start of each document, and the end
        raise DataError(
            "all of the text is one document, and next-sentence prediction needs another one; "
            'separate documents (format = "documents"), or choose another pretrain.objective'
        )


def n_pair_special(task: Pretrain) -> int:
    """The number of special tokens of a pair."""
    frame = task.codec.tokenizer.frame
    return int(frame.begin) + frame.between + 1


def pair_labels(batch: Batch) -> Labels:
    """The labels of rows that are pairs."""
    rows = (batch["next"] != NO_PAIR).nonzero()[:, 0]
    return batch["next"][rows], rows


def make_pair(
    task: Pretrain, store: Store, passage: TextPassage
) -> tuple[np.ndarray, np.ndarray, int]:
    """A passage as a pair a, b with special tokens: ids, segments, and whether b follows a.

    `pair_border` chooses the cut. Half of the time b is replaced by text of another document, which
    starts where a passage of that document would be cut. It has as many tokens as b; if b ends its
    document, as many as fit, or up to the end of the other document. So neither starts nor ends nor
    lengths reveal the label. A passage of one token has no second half and is not a pair.
    """
    border = pair_border(passage.sentence_starts, passage.rng)
    if not border:
        return *task.codec.pair(passage.tokens, passage.tokens[:0]), NO_PAIR
    first, second = np.split(passage.tokens, [border])
    if passage.rng.random() < TRUE_SHARE:
        return *task.codec.pair(first, second), FOLLOWS
    return *task.codec.pair(first, _other_text(store, passage, border)), OTHER


def _other_text(store: Store, passage: TextPassage, border: int) -> np.ndarray:
    """Replaces a passage's second half; all passages of other documents are equally likely."""
    edges = store.documents
    own = int(np.searchsorted(edges, passage.index, side="right"))
    start, end = int(edges[own - 1]), int(edges[own])
    is_last = passage.index == end - 1
    length = (store.notes[BLOCK] if is_last else len(passage.tokens)) - border
    other = int(passage.rng.integers(len(store) - (end - start)))
    other += end - start if other >= start else 0
    cut = pair_border(store[SENTENCE][other], passage.rng)
    stop = min(other + 2, int(edges[np.searchsorted(edges, other, side="right")]))
    return store["text"].joined(other, stop)[cut : cut + length]

"""A tag for each word of a sentence: what `task = "tag"` means.

Named entities, slots, parts of speech. The model gives every token the probabilities of the tags;
only those at the first token of each word are learned and read, and of all sequences of tags the
likeliest that is well formed is the answer.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from ..data.batches import Batches
from ..data.codecs import Codec, TextCodec, TextConfig, learn_codec
from ..data.collate import source_batch
from ..data.corpora import DataConfig
from ..data.store import Store
from ..data.tags import TagCodec
from ..data.words import WordsCodec, first_tokens
from ..metrics.entities import (
    Reading,
    entity_f1,
    entity_precision,
    entity_recall,
    tag_accuracy,
)
from ..metrics.score import Score
from ..models import Vocabularies
from ..search import SearchConfig
from .decoding import decode_batches
from .loss import Batch, Objective, ReadingObjective
from .members import members_of
from .task import Rows, Task
from .validation import SAMPLES, TOKENS, Validation, Validator, device_of
from .well_formed import best_sequence

UNTOLD = -100
"""The label of a token at which no tag is told."""


class Tag(Task):
    """The task with its codecs."""

    name = "tag"
    columns = ("words", "tags")
    needs = frozenset({"read"})
    family = "encoder"
    lengths = ("words",)
    metrics = ("entity_f1", "precision", "recall", "strict_f1", "accuracy")
    validated = metrics

    def __init__(self, codec: TextCodec, tags: TagCodec) -> None:
        self.codec = codec
        self.words = WordsCodec(codec)
        self.tags = tags
        self._may_follow = tags.may_follow()

    @classmethod
    def learn(cls, rows: Rows, text: TextConfig) -> "Tag":  # type: ignore[override]
        """Learns the tokenizer from the sentences, and which tags there are in which scheme."""
        tags = TagCodec.learn(row[1] for row in rows())
        sentences = (" ".join(row[0].split()) for row in rows())
        return cls(learn_codec(sentences, text, reads=True), tags)

    @classmethod
    def adopt(cls, folder: Path, rows: Rows) -> "Tag":
        tags = TagCodec.learn(row[1] for row in rows())
        return cls(TextCodec.load(folder / "tokenizer.json", reads=True), tags)

    def save(self, folder: Path) -> None:
        """`tokenizer.json` and `tags.json`."""
        self.codec.save(folder / "tokenizer.json")
        self.tags.save(folder / "tags.json")

    @classmethod
    def load(cls, folder: Path) -> "Tag":
        tags = TagCodec.load(folder / "tags.json")
        return cls(TextCodec.load(folder / "tokenizer.json", reads=True), tags)

    @property
    def codecs(self) -> dict[str, Codec]:
        return {"words": self.words, "tags": self.tags}

    def complaint(self, values: Sequence[str]) -> str | None:
        """As `data.rules` has it: every word has a tag."""
        n_words, n_tags = (len(value.split()) for value in values)
        if n_words == n_tags:
            return None
        return f"{n_words} words and {n_tags} tags; expected a tag for each word"

    @property
    def vocabularies(self) -> Vocabularies:
        return Vocabularies(self.codec.tokenizer.size, len(self.tags), shared=False)

    def describe(self) -> dict[str, Any]:
        sizes = self.vocabularies
        return {
            "kind": self.codec.tokenizer.settings.kind,
            "source": sizes.source,
            "target": sizes.target,
            "shared": False,
            "tags": list(self.tags.tags),
            "scheme": self.tags.scheme,
        }

    def batch(
        self, store: Store, indices: np.ndarray, draw: tuple[int, ...] | None = None
    ) -> dict[str, Tensor]:
        """Shape: src, src_valid, label (B, S); the label is UNTOLD but at first tokens of words."""
        sentences = [store["words"][i] for i in indices]
        if draw is not None and self.codec.is_random:
            drawn = zip(sentences, indices, strict=True)
            sentences = [self.words.redraw(words, (*draw, int(i))) for words, i in drawn]
        batch = source_batch([words[:, 0] for words in sentences])
        label = torch.full(batch["src"].shape, UNTOLD)
        for row, (words, i) in enumerate(zip(sentences, indices, strict=True)):
            tags = store["tags"][i].astype(np.int64)
            label[row, first_tokens(words)] = torch.from_numpy(tags)
        return {**batch, "label": label}

    def objective(self, model: Any, label_smoothing: float) -> "TagLoss":
        return TagLoss(model, label_smoothing)

    def validator(
        self, store: Store, data: DataConfig, metric: str, sample: int, search: SearchConfig
    ) -> "TagValidator":
        return TagValidator(self, store, metric)

    @torch.inference_mode()
    def probabilities(self, model: Any, sentences: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Of each tag for each word of encoded sentences, in the order given; of an ensemble the
        mean. Shape: (words, tags) each."""
        device, members = device_of(model), members_of(model)
        found: list[np.ndarray] = [np.empty(0)] * len(sentences)
        for rows in decode_batches([len(words) for words in sentences], 1):
            batch = source_batch([sentences[row][:, 0] for row in rows])
            batch = {name: value.to(device) for name, value in batch.items()}
            each = [one.token_logits(batch).double().softmax(-1) for one in members]
            mean = torch.stack(each).mean(0).cpu().numpy()  # (B, S, V)
            for values, row in zip(mean, rows, strict=True):
                found[row] = values[first_tokens(sentences[row])]
        return found

    def best(self, probabilities: np.ndarray) -> np.ndarray:
        """The numbers of the likeliest well-formed tags. Shape: (words, tags) -> (words,)."""
        return best_sequence(np.log(np.maximum(probabilities, 1e-300)), self._may_follow)

    def judge(
        self,
        name: str,
        outputs: Sequence[Sequence[str]],
        references: Sequence[Sequence[str]],
        resamples: int = 0,
    ) -> Score:
        """One metric of tags against the right ones."""
        is_plain = self.tags.scheme == "plain"
        if name == "accuracy":
            return tag_accuracy(outputs, references)
        if name == "strict_f1":
            return entity_f1(outputs, references, self.tags.scheme, resamples)
        if name in ENTITY_METRICS:
            reading: Reading = "plain" if is_plain else "lenient"
            return ENTITY_METRICS[name](outputs, references, reading, resamples)
        raise self.unknown_metric(name)


ENTITY_METRICS = {
    "entity_f1": entity_f1,
    "precision": entity_precision,
    "recall": entity_recall,
}


class TagLoss(ReadingObjective):
    """Model and label-smoothed cross-entropy of words; without smoothing in evaluation mode."""

    def __init__(self, model: Any, smoothing: float) -> None:
        super().__init__()
        self.model = model
        self.weights = {"loss": 1.0}
        self.smoothing = smoothing

    def counts(self, batch: Batch) -> dict[str, int]:
        return {"loss": int((batch["label"] != UNTOLD).sum())}

    def sums(self, batch: Batch) -> dict[str, Tensor]:
        logits = self.model.token_logits(batch)  # (B, S, V)
        total = cross_entropy(
            logits.flatten(0, 1).float(),
            batch["label"].flatten(),
            reduction="sum",
            ignore_index=UNTOLD,
            label_smoothing=self.smoothing if self.training else 0.0,
        )
        return {"loss": total}


class TagValidator(Validator):
    """Loss, F1 of entities and accuracy over all of the set, and a few examples."""

    def __init__(self, task: Tag, store: Store, metric: str) -> None:
        super().__init__(metric, task.prefers_less(metric))
        self.task = task
        self.store = store
        self.references = [task.tags.tags_of(store["tags"][i]) for i in range(len(store))]

    def batches(self) -> Iterator[Batch]:
        for indices in Batches(self.store, self.task.lengths, TOKENS, seed=0).epoch(0):
            yield self.task.batch(self.store, indices)

    def measure(self, objective: Objective, loss: float, limited: bool) -> Validation:
        task, n = self.task, len(self.store)
        sentences = [self.store["words"][i] for i in range(n)]
        found = task.probabilities(objective.model, sentences)
        outputs = [task.tags.tags_of(task.best(one)) for one in found]
        figures = {
            name: task.judge(name, outputs, self.references).value for name in task.validated
        }
        samples = [
            (
                task.words.decode(sentences[i]),
                " ".join(outputs[i]),
                " ".join(self.references[i]),
            )
            for i in range(0, n, max(1, n // SAMPLES))
        ]
        return Validation(figures, samples[:SAMPLES])

"""`task = "tag"`: a tag for each word, for named entities, slots or parts of speech.

The model predicts the probabilities of the tags for every token. Only the first token of each word
counts. The output is the most likely well-formed sequence of tags (`viterbi.py`).
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from ..data.codecs.codec import Codec
from ..data.codecs.tags import MistypedTagError, TagCodec
from ..data.codecs.text import TextCodec, TextConfig, fit_codec
from ..data.codecs.words import WordsCodec, first_tokens
from ..data.collate import source_batch
from ..data.config import DataConfig
from ..data.store import Store
from ..errors import DataError, batch_in_memory
from ..metrics.entities import TAG_METRICS, Reading, tag_accuracy
from ..metrics.score import Score
from ..models import VocabularySizes
from ..models.ensemble import members_of
from ..parallel import LARGE_INPUTS, decode_batches
from ..search import SearchConfig
from .base import Batch, EncoderObjective, Rows, Task, device_of, size_of
from .sequence_prediction import PredictionValidator
from .viterbi import best_sequence

NEAR = 3
"""Words shown on each side of a mistyped tag."""
IGNORED = -100
"""The label of tokens without a tag: all but the first token of each word."""


class Tag(Task):
    """A tag for each word of a sentence."""

    name = "tag"
    trained_class = "headway.inference.tagger:Tagger"
    columns = ("words", "tags")
    needs = frozenset({"read"})
    family = "encoder"
    lengths = ("words",)
    metric_table = TAG_METRICS

    words: WordsCodec
    tags: TagCodec
    _may_follow: np.ndarray

    def with_codecs(self, codec: TextCodec, tags: TagCodec) -> Self:
        """The task with these codecs."""
        task = self.without_codecs()
        task.codec, task.words = codec, WordsCodec(codec)
        task.tags, task._may_follow = tags, tags.may_follow()
        return task

    def fit_codecs(self, rows: Rows, text: TextConfig) -> Self:
        """Trains the tokenizer on the sentences; collects the tags and infers their scheme."""
        tags = _fit_tags(rows)
        sentences = (" ".join(row[0].split()) for row in rows())
        return self.with_codecs(fit_codec(sentences, text, reads=True), tags)

    def adopt_codecs(self, folder: Path, rows: Rows) -> Self:
        tags = _fit_tags(rows)
        return self.with_codecs(TextCodec.load(folder / "tokenizer.json", reads=True), tags)

    def with_classes_of(self, rows: Rows) -> Self:
        return self.with_codecs(self.codec, _fit_tags(rows))

    def save_codecs(self, folder: Path) -> None:
        """Writes `tokenizer.json` and `tags.json`."""
        self.codec.save(folder / "tokenizer.json")
        self.tags.save(folder / "tags.json")

    def load_codecs(self, folder: Path) -> Self:
        tags = TagCodec.load(folder / "tags.json")
        return self.with_codecs(TextCodec.load(folder / "tokenizer.json", reads=True), tags)

    @property
    def codecs(self) -> dict[str, Codec]:
        return {"words": self.words, "tags": self.tags}

    def complaint(self, values: Sequence[str]) -> str | None:
        """See `data.row_rules`: every word needs a tag."""
        n_words, n_tags = (len(value.split()) for value in values)
        if n_words == n_tags:
            return None
        return f"{n_words} words and {n_tags} tags; expected a tag for each word"

    @property
    def vocabularies(self) -> VocabularySizes:
        return VocabularySizes(self.codec.tokenizer.size, len(self.tags), shared=False)

    def describe(self) -> dict[str, Any]:
        return {
            **super().describe(),
            "tags": list(self.tags.tags),
            "scheme": self.tags.scheme,
        }

    def remarks(self, store: Store) -> list[str]:
        return [f"{len(self.tags)} tags, {self.tags.scheme}"]

    def batch(
        self, store: Store, indices: np.ndarray, draw: tuple[int, ...] | None = None
    ) -> dict[str, Tensor]:
        """Shape: src, src_valid, label (B, S); IGNORED except at first tokens of words."""
        sentences = [store["words"][i] for i in indices]
        if draw is not None and self.codec.is_random:
            drawn = zip(sentences, indices, strict=True)
            sentences = [self.words.redraw(words, (*draw, int(i))) for words, i in drawn]
        batch = source_batch([words[:, 0] for words in sentences])
        label = torch.full(batch["src"].shape, IGNORED)
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
        """The probability of each tag for each word of encoded sentences, in their order.

        For an ensemble: the mean over its members. Shape: (words, tags) each.
        """
        device, members = device_of(model), members_of(model)
        probabilities: list[np.ndarray] = [np.empty(0)] * len(sentences)
        for rows in decode_batches([len(words) for words in sentences], 1):
            batch = source_batch([sentences[row][:, 0] for row in rows])
            batch = {name: value.to(device) for name, value in batch.items()}
            with batch_in_memory("a prediction", *size_of(batch), LARGE_INPUTS):
                by_member = [m.token_logits(batch).double().softmax(-1) for m in members]
                mean = torch.stack(by_member).mean(0).cpu().numpy()  # (B, S, V)
            for values, row in zip(mean, rows, strict=True):
                probabilities[row] = values[first_tokens(sentences[row])]
        return probabilities

    def best(self, probabilities: np.ndarray) -> np.ndarray:
        """The indices of the most likely well-formed tags. Shape: (words, tags) -> (words,)."""
        return best_sequence(np.log(np.maximum(probabilities, 1e-300)), self._may_follow)

    def judge(
        self,
        name: str,
        outputs: Sequence[Sequence[str]],
        references: Sequence[Sequence[str]],
        resamples: int = 0,
    ) -> Score:
        """The score of predicted tags against reference tags by one metric."""
        metric, scheme = self.find_metric(name), self.tags.scheme
        if metric.function is tag_accuracy:
            return metric(outputs, references)
        is_strict = name == "strict_f1" or scheme == "plain"
        reading: Reading = scheme if is_strict else "lenient"
        return metric.function(outputs, references, reading, resamples)


def _fit_tags(rows: Rows) -> TagCodec:
    """The codec of the training data's tags; a mistyped tag is shown in its sentence."""
    try:
        return TagCodec.fit(row[1] for row in rows())
    except MistypedTagError as error:
        words, tags = next(row for row in rows() if error.tag in row[1].split())
        at = tags.split().index(error.tag)
        near = " ".join(words.split()[max(0, at - NEAR) : at + NEAR + 1])
        raise DataError(f"{error} ({error.tag!r} is in: {near})") from None


class TagLoss(EncoderObjective):
    """Model and label-smoothed cross-entropy of the words' tags."""

    def counts(self, batch: Batch) -> dict[str, int]:
        return {"loss": int((batch["label"] != IGNORED).sum())}

    def sums(self, batch: Batch) -> dict[str, Tensor]:
        logits = self.model.token_logits(batch)  # (B, S, V)
        total = cross_entropy(
            logits.flatten(0, 1).float(),
            batch["label"].flatten(),
            reduction="sum",
            ignore_index=IGNORED,
            label_smoothing=self.smoothing,
        )
        return {"loss": total}


class TagValidator(PredictionValidator):
    """Loss, entity F1 and accuracy."""

    def __init__(self, task: Tag, store: Store, metric: str) -> None:
        super().__init__(task, store, metric)
        self.references = [task.tags.tags_of(store["tags"][i]) for i in range(len(store))]

    def outputs(self, model: Any) -> list[list[str]]:
        sentences = [self.store["words"][i] for i in range(len(self.store))]
        predicted = self.task.probabilities(model, sentences)
        return [self.task.tags.tags_of(self.task.best(values)) for values in predicted]

    def source(self, index: int) -> str:
        text: str = self.task.words.decode(self.store["words"][index])
        return text

    def text(self, output: Sequence[str]) -> str:
        return " ".join(output)

"""One output for a text or a pair of texts: the base of `classify` and `regress`.

A subclass names the codec of its output and defines the loss and the outputs. `tag` also uses the
validator.
"""

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import torch
from torch import Tensor

from ..data.batching import Batches
from ..data.codecs.text import Codec, TextConfig
from ..data.store import Store
from ..errors import batch_in_memory
from ..metrics.score import Score
from ..models import VocabularySizes
from ..models.ensemble import members_of
from ..parallel import LARGE_INPUTS
from .base import (
    SAMPLES,
    TOKENS,
    Batch,
    Objective,
    Rows,
    Task,
    Validation,
    Validator,
    device_of,
    size_of,
)
from .text_inputs import TextInputs


class TextPrediction(Task):
    """One output for each text or pair of texts; the last column holds it.

    Attributes:
        output_codec: the class of the output's codec, which is fitted to the training data.
        output_file: the file of this codec in a run directory.
        output_dtype: the type of outputs in a batch.
        texts: the inputs, once there are codecs.
        output: the codec of the output, once there are codecs.
    """

    optional = frozenset({"text2"})
    family = "encoder"
    output_codec: ClassVar[Any]
    output_file: ClassVar[str]
    output_dtype: ClassVar[type[np.generic]]

    texts: TextInputs
    output: Any

    def with_codecs(self, texts: TextInputs, output: Any) -> Self:
        """The task with these codecs."""
        task = self.without_codecs()
        task.texts, task.output = texts, output
        task.codec = texts.codec
        task.columns = tuple(task.codecs)
        task.lengths = texts.lengths
        return task

    def fit_codecs(self, rows: Rows, text: TextConfig) -> Self:
        """Trains the tokenizer on the texts and fits the codec of the output."""
        output = self.output_codec.fit(row[-1] for row in rows())
        return self.with_codecs(TextInputs.fit(rows, text), output)

    def adopt_codecs(self, folder: Path, rows: Rows) -> Self:
        output = self.output_codec.fit(row[-1] for row in rows())
        return self.with_codecs(TextInputs.adopt(folder, rows), output)

    def save_codecs(self, folder: Path) -> None:
        """Writes the files of the texts, and `output_file`."""
        self.texts.save(folder)
        self.output.save(folder / self.output_file)

    def load_codecs(self, folder: Path) -> Self:
        output = self.output_codec.load(folder / self.output_file)
        return self.with_codecs(TextInputs.load(folder), output)

    @property
    def codecs(self) -> dict[str, Codec]:
        return {**self.texts.codecs, self.columns[-1]: self.output}

    def sizes(self, lengths: Mapping[str, Any]) -> Mapping[str, Any]:
        return self.texts.sizes(lengths)

    @property
    def n_outputs(self) -> int:
        """The number of logits for each text."""
        return 1

    @property
    def vocabularies(self) -> VocabularySizes:
        return VocabularySizes(self.codec.tokenizer.size, self.n_outputs, shared=False)

    def batch(
        self, store: Store, indices: np.ndarray, draw: tuple[int, ...] | None = None
    ) -> dict[str, Tensor]:
        """Shape: src, src_valid and, for pairs, segment (B, S); the output (B,)."""
        column = self.columns[-1]
        outputs, _ = store[column].take(indices)
        return {
            **self.texts.batch(store, indices, draw),
            column: torch.from_numpy(outputs.astype(self.output_dtype)),
        }

    @abstractmethod
    def outputs_of(self, logits: Tensor) -> Tensor:
        """The outputs of one model; those of an ensemble are the mean over its members.

        Shape: (B, n_outputs) -> (B, ...).
        """

    @torch.inference_mode()
    def predict(self, model: Any, texts: Sequence[np.ndarray]) -> np.ndarray:
        """The outputs for encoded texts, in their order (n, ...)."""
        shape = self.outputs_of(torch.empty(0, self.n_outputs)).shape[1:]
        outputs = np.empty((len(texts), *shape))
        for rows, batch in self.texts.batches(texts, device_of(model)):
            with batch_in_memory("a prediction", *size_of(batch), LARGE_INPUTS):
                by_member = [self.outputs_of(m.logits(batch).double()) for m in members_of(model)]
                outputs[rows] = torch.stack(by_member).mean(0).cpu().numpy()
        return outputs

    def judge(
        self, name: str, outputs: Sequence[Any], references: Sequence[Any], resamples: int = 0
    ) -> Score:
        """The score of outputs by a metric of `metric_table`."""
        return self.find_metric(name)(outputs, references, resamples=resamples)


class PredictionValidator(Validator):
    """Loss and all metrics of a task over the whole set, and a few samples.

    A subclass provides the references and the predictions of a model.
    """

    references: Sequence[Any]

    def __init__(self, task: Any, store: Store, metric: str) -> None:
        super().__init__(metric, task.prefers_less(metric))
        self.task = task
        self.store = store

    def batches(self) -> Iterator[Batch]:
        sized = self.task.sized(self.store)
        for indices in Batches(sized, self.task.lengths, TOKENS, seed=0).epoch(0):
            yield self.task.batch(self.store, indices)

    @abstractmethod
    def outputs(self, model: Any) -> Sequence[Any]:
        """The prediction for each example."""

    @abstractmethod
    def source(self, index: int) -> str:
        """The text of an example."""

    def text(self, output: Any) -> str:
        """An output as text."""
        return str(output)

    def measure(self, objective: Objective, loss: float, limited: bool) -> Validation:
        outputs, references, n = self.outputs(objective.model), self.references, len(self.store)
        figures = {
            name: self.task.judge(name, outputs, references).value for name in self.task.validated
        }
        samples = [
            (self.source(i), self.text(outputs[i]), self.text(references[i]))
            for i in range(0, n, max(1, n // SAMPLES))
        ]
        return Validation(figures, samples[:SAMPLES])

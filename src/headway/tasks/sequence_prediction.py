"""One output for a sequence, a text or a series: the base of `classify` and `regress`.

A subclass names the codec of its output and defines the loss and the outputs. What the model reads
is left to `inputs.py`. `tag` also uses the validator.
"""

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import torch
from torch import Tensor

from ..data.batching import Batches
from ..data.codecs.codec import Codec
from ..data.codecs.text import TextConfig
from ..data.config import Corpus, holds_series
from ..data.store import Store
from ..errors import ConfigError, batch_in_memory
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
from .config import SeriesConfig
from .inputs import Inputs
from .series_inputs import SeriesInputs
from .text_inputs import TextInputs

INPUTS: tuple[type[Inputs], ...] = (TextInputs, SeriesInputs)


class SequencePrediction(Task):
    """One output for each text, pair of texts or series; the last column holds it.

    Attributes:
        output_codec: the class of the output's codec, which is fitted to the training data.
        output_file: the file of this codec in a run directory.
        output_dtype: the type of outputs in a batch.
        inputs: what the model reads, once there are codecs.
        output: the codec of the output, once there are codecs.
    """

    config_class = SeriesConfig
    optional = frozenset({"text2"})
    family = "encoder"
    output_codec: ClassVar[Any]
    output_file: ClassVar[str]
    output_dtype: ClassVar[type[np.generic]]

    config: SeriesConfig
    inputs: Inputs
    output: Any

    def narrowed(self, corpora: Sequence[Corpus]) -> Self:
        """The task with the columns of texts, or that of series.

        Raises:
            ConfigError: some corpora have series and others texts.
        """
        kinds = {holds_series(corpus) for corpus in corpora}
        if len(kinds) == 2:
            raise ConfigError(
                "some corpora of data.train have series and others texts; train a run on each"
            )
        chosen = SeriesInputs if True in kinds else TextInputs
        others = {name for kind in INPUTS if kind is not chosen for name in kind.columns}
        task = self.without_codecs()
        task.columns = tuple(name for name in task.columns if name not in others)
        return task._reading(chosen)

    def columns_of(self, corpora: Sequence[Corpus], root: Path) -> tuple[str, ...]:
        kinds = [kind for kind in INPUTS if kind.columns[0] in self.columns]
        task = self if len(kinds) == 1 else self.narrowed(corpora)
        return super(SequencePrediction, task).columns_of(corpora, root)

    def _reading(self, kind: type[Inputs]) -> Self:
        """This task, with the needs, defaults and notes of its inputs."""
        self.needs = type(self).needs | kind.needs
        self.model_defaults = kind.model_defaults
        self.fitting = kind.fitting
        return self

    @property
    def _kind(self) -> type[Inputs]:
        """The type of inputs of the task's columns."""
        return next(kind for kind in INPUTS if kind.columns[0] in self.columns)

    def with_codecs(self, inputs: Inputs, output: Any) -> Self:
        """The task with these codecs."""
        task = self.without_codecs()._reading(type(inputs))
        task.inputs, task.output = inputs, output
        inputs.config = self.config
        if inputs.codec is not None:
            task.codec = inputs.codec
        task.columns = tuple(task.codecs)
        task.lengths = inputs.lengths
        return task

    def fit_codecs(self, rows: Rows, text: TextConfig) -> Self:
        """Fits the codecs of the inputs and of the output."""
        output = self.output_codec.fit(row[-1] for row in rows())
        return self.with_codecs(self._kind.fit(rows, text), output)

    def adopt_codecs(self, folder: Path, rows: Rows) -> Self:
        if not self._kind.is_in(folder):
            raise ConfigError(
                f"init has other inputs than {self._kind.noun}; name a run that reads the same, or "
                "leave init out"
            )
        output = self.output_codec.fit(row[-1] for row in rows())
        return self.with_codecs(self._kind.adopt(folder, rows), output)

    def save_codecs(self, folder: Path) -> None:
        """Writes the files of the inputs, and `output_file`."""
        self.inputs.save(folder)
        self.output.save(folder / self.output_file)

    def load_codecs(self, folder: Path) -> Self:
        output = self.output_codec.load(folder / self.output_file)
        kind = SeriesInputs if SeriesInputs.is_in(folder) else TextInputs
        return self.with_codecs(kind.load(folder), output)

    @property
    def codecs(self) -> dict[str, Codec]:
        return {**self.inputs.codecs, self.columns[-1]: self.output}

    def sizes(self, lengths: Mapping[str, Any]) -> Mapping[str, Any]:
        return self.inputs.sizes(lengths)

    @property
    def n_outputs(self) -> int:
        """The number of logits for each input."""
        return 1

    @property
    def vocabularies(self) -> VocabularySizes:
        inputs = self.inputs
        return VocabularySizes(
            inputs.n_tokens, self.n_outputs, shared=False, vectors=inputs.vectors
        )

    def describe(self) -> dict[str, Any]:
        return {"target": self.n_outputs, "shared": False, **self.inputs.describe()}

    def batch_tokens(self, store: Store) -> int | None:
        return self.inputs.batch_tokens(store)

    def batch(
        self, store: Store, indices: np.ndarray, draw: tuple[int, ...] | None = None
    ) -> dict[str, Tensor]:
        """Shape: src (B, S), or (B, S, F) of vectors; src_valid and, for pairs of texts, segment
        (B, S); the output (B,)."""
        column = self.columns[-1]
        outputs, _ = store[column].take(indices)
        return {
            **self.inputs.batch(store, indices, draw),
            column: torch.from_numpy(outputs.astype(self.output_dtype)),
        }

    @abstractmethod
    def outputs_of(self, logits: Tensor) -> Tensor:
        """The outputs of one model; those of an ensemble are the mean over its members.

        Shape: (B, n_outputs) -> (B, ...).
        """

    @torch.inference_mode()
    def predict(self, model: Any, encoded: Sequence[np.ndarray]) -> np.ndarray:
        """The outputs for encoded inputs, in their order (n, ...)."""
        shape = self.outputs_of(torch.empty(0, self.n_outputs)).shape[1:]
        outputs = np.empty((len(encoded), *shape))
        for rows, batch in self.inputs.batches(encoded, device_of(model)):
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


class SequenceValidator(PredictionValidator):
    """A validator of a `SequencePrediction`."""

    task: SequencePrediction

    @property
    def encoded(self) -> list[np.ndarray]:
        """The encoded input of each example."""
        return [self.task.inputs.stored(self.store, i) for i in range(len(self.store))]

    def source(self, index: int) -> str:
        return self.task.inputs.to_text(self.store, index)

"""The interface of tasks: `Task`, `Objective` and `Validator`.

A task defines its columns and their codecs, which columns belong together, its batches, its loss,
and the metrics of a validation. The codec of a column determines its content.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import torch
from torch import Tensor, nn

from ..config.messages import did_you_mean
from ..data.batching import HasLengths
from ..data.codecs.codec import Codec
from ..data.codecs.text import TextCodec, TextConfig
from ..data.config import Corpus, DataConfig
from ..data.formats.read import has_column
from ..data.held_out import DividedData, hold_out
from ..data.leakage import LeakCheck
from ..data.prepare import Prepared
from ..data.row_rules import IndependentColumns
from ..data.store import Store
from ..errors import ConfigError, batch_in_memory
from ..metrics.metric import Metric
from ..models import Family, VocabularySizes
from ..models.family import Ability
from ..nn.rng import use_generator
from ..search import SearchConfig

Batch = Mapping[str, Tensor]


class Objective(nn.Module):
    """Model and loss in one module, which is trained, compiled and distributed as a whole.

    Attributes:
        weights: the weight of each part of the loss. Default: one part, named `loss`.

    Args:
        label_smoothing: used in training only.
    """

    model: Any

    def __init__(
        self,
        model: Any,
        label_smoothing: float = 0.0,
        weights: Mapping[str, float] | None = None,
    ) -> None:
        super().__init__()
        self.model = model
        self.weights: Mapping[str, float] = {"loss": 1.0} if weights is None else weights
        self._label_smoothing = label_smoothing

    @property
    def smoothing(self) -> float:
        """The current label smoothing: 0 in evaluation mode."""
        return self._label_smoothing if self.training else 0.0

    @abstractmethod
    def counts(self, batch: Batch) -> dict[str, int]:
        """The number of terms of each part."""

    def tokens(self, batch: Batch) -> int:
        """Number of tokens in a batch, for the speed: usually the count of the first part."""
        return next(iter(self.counts(batch).values()))

    @abstractmethod
    def sums(self, batch: Batch) -> dict[str, Tensor]:
        """The sum of each part."""

    def forward(self, batch: Batch, seed: int | None = None) -> dict[str, Tensor]:
        """The sum of each part, with random draws from `seed`."""
        if seed is None:
            return self.sums(batch)
        device = next(self.model.parameters()).device
        with use_generator(torch.Generator(device).manual_seed(seed)):
            return self.sums(batch)


class EncoderObjective(Objective):
    """Objective of an encoder: `tokens` counts the source tokens."""

    def tokens(self, batch: Batch) -> int:
        return int(batch["src_valid"].sum())


SAMPLES = 3
TOKENS = 4096
"""Tokens in a batch of a validation, padding included."""
LONG_VALIDATION = "shorten the longest examples of data.valid, or train a smaller model"


@dataclass(frozen=True)
class Validation:
    """Figures by name (`valid_loss`, `bleu`, ...) and a few samples (source, output, reference)."""

    figures: dict[str, float]
    samples: list[tuple[str, str, str]]


class Validator(ABC):
    """Validates models on a prepared set.

    Attributes:
        metric: the metric that decides which weights are best.
        lower_is_better: whether a lower value is better.
    """

    def __init__(self, metric: str, lower_is_better: bool) -> None:
        self.metric = metric
        self.lower_is_better = lower_is_better

    @torch.inference_mode()
    def __call__(self, objective: Objective, limited: bool = False) -> Validation:
        """Validates the model with its current weights.

        Args:
            limited: outputs end at the length of their reference, so that an untrained model takes
                as long as a trained one.
        """
        was_training = objective.training
        objective.eval()
        try:
            return self.examine(objective, limited)
        finally:
            objective.train(was_training)

    def examine(self, objective: Objective, limited: bool) -> Validation:
        """The loss, the metrics and a few samples."""
        loss = self._loss(objective)
        measured = self.measure(objective, loss, limited)
        return Validation({"valid_loss": loss, **measured.figures}, measured.samples)

    def goodness(self, validation: Validation) -> float:
        """The value of the deciding metric, negated if lower is better."""
        value = validation.figures["valid_loss" if self.metric == "loss" else self.metric]
        return -value if self.lower_is_better else value

    @abstractmethod
    def batches(self) -> Iterator[Batch]:
        """Batches of the whole set, with each target once."""

    def measure(self, objective: Objective, loss: float, limited: bool) -> Validation:
        """Metrics and samples; none by default."""
        return Validation({}, [])

    def _loss(self, objective: Objective) -> float:
        sums, counts = dict.fromkeys(objective.weights, 0.0), dict.fromkeys(objective.weights, 0)
        device = device_of(objective.model)
        for made in self.batches():
            batch = {name: value.to(device) for name, value in made.items()}
            with batch_in_memory("a validation", *size_of(batch), LONG_VALIDATION):
                for name, value in objective(batch).items():
                    sums[name] += value.item()
            for name, count in objective.counts(batch).items():
                counts[name] += count
        weights = objective.weights.items()
        return sum(weight * sums[name] / max(counts[name], 1) for name, weight in weights)


def size_of(batch: Batch) -> tuple[int, int]:
    """Number of examples in a batch, and the length of the longest."""
    sizes = [tensor.shape for tensor in batch.values()]
    n, lengths = max((size[0] for size in sizes), default=0), [s[1] for s in sizes if len(s) > 1]
    return n, max(lengths, default=1)


def device_of(model: Any) -> torch.device:
    """The device of a model; the CPU for a model without tensors."""
    if not isinstance(model, nn.Module):
        return torch.device("cpu")
    tensors = (*model.parameters(), *model.buffers())
    return tensors[0].device if tensors else torch.device("cpu")


Rows = Callable[[], Iterator[Sequence[Any]]]
"""Each call starts a new pass over the training data."""


class Task(IndependentColumns, ABC):
    """The purpose of a model; also the rule that checks a row (`data.row_rules`).

    `RunConfig.make_task` makes a task without codecs. `fit_codecs`, `load_codecs` and
    `adopt_codecs` each return a copy with codecs; batches, losses and predictions need them.

    The first line of a task's docstring is its meaning in the reference of the run file.

    Attributes:
        trained_class: the class of its trained runs, a `headway.inference.base.TrainedModel`;
            named as `module:class`, so that training does not import it.
        config_class: the class of its own settings, the table of a run file with the task's name;
            None if it has none.
        columns: the columns of the data, in order; with codecs, only those that the data have.
        optional: columns that may be missing.
        needs: abilities that a family must have.
        has_source: whether a batch has a source besides the target.
        split_by: the column by whose text rows are divided into training and validation data. By
            default the first.
        in_sentences: whether every row is a document, stored in blocks with the starts of its
            sentences.
        starts_with_bos: whether source texts start with BOS, whatever `[text]` says.
        family: the default model family.
        lengths: the sizes that count as a batch's tokens, first the size to sort by; columns, or
            keys of `sizes`.
        label_smoothing: its default.
        fitting: the note shown while codecs are fitted.
        usual_lr: the default of `train.lr`; None leaves it to the size of the model.
        is_calibrated: whether a trained run gets the tensors of `calibrate`.
        compares_examples: whether `leaks` compares the training examples with those of the test
            set, which are prepared for it.
        model_defaults: defaults of `[model]` that fit the task, by family, in place of the
            family's own.
        codec: the codec of source texts, once there are codecs.

    Args:
        config: its own settings. Default: their defaults.
        max_length: `data.max_length`, the longest input in tokens.
    """

    name: ClassVar[str]
    trained_class: ClassVar[str | type]
    config_class: ClassVar[type | None] = None
    columns: tuple[str, ...]
    optional: ClassVar[frozenset[str]] = frozenset()
    needs: frozenset[Ability] = frozenset()
    has_source: ClassVar[bool] = True
    split_by: ClassVar[str | None] = None
    in_sentences: ClassVar[bool] = False
    starts_with_bos: ClassVar[bool] = False
    family: ClassVar[str]
    lengths: tuple[str, ...]
    label_smoothing: ClassVar[float] = 0.0
    model_defaults: Mapping[str, Mapping[str, Any]] = {}
    fitting: str = "learning the vocabulary"
    is_calibrated: ClassVar[bool] = False
    compares_examples: ClassVar[bool] = False
    usual_lr: ClassVar[float | None] = None
    codec: TextCodec

    def __init__(self, config: Any = None, max_length: int = DataConfig.max_length) -> None:
        if config is None and self.config_class is not None:
            config = self.config_class()
        self.config = config
        self.max_length = max_length

    def hold_out(
        self, data: DataConfig, columns: Sequence[str], root: Path, seed: int
    ) -> DividedData | None:
        """Validation data from the training data; None if the run file has an entry for them."""
        return hold_out(data, columns, self.split_by, root, seed)

    def training_values(self, values: Sequence[Any], corpus: Corpus) -> Sequence[Any]:
        """The part of a row's values to which codecs may be fitted; by default all of them."""
        return values

    def examples(
        self,
        prepared: Prepared,
        corpora: Sequence[Corpus],
        key: str,
        training: Sequence[Corpus] = (),
    ) -> Prepared:
        """The examples of prepared corpora; by default each stored row is one.

        Args:
            key: the set: `train`, `valid` or `test`.
            training: the training corpora, which may be other parts of the same files.
        """
        return prepared

    def leak_check(self, held_out: Mapping[str, Sequence[Corpus]], root: Path) -> LeakCheck | None:
        """The check of training rows against held-out rows; None if rows cannot be compared."""
        return LeakCheck(held_out, self.codecs, root)

    def leaks(self, training: Store, held_out: Mapping[str, Store]) -> str | None:
        """A line about examples that cannot be compared by rows; None if `leak_check` has one."""
        return None

    def batch_tokens(self, store: Store) -> int | None:
        """The default of `train.batch_tokens`; None leaves it to the size of the model."""
        return None

    def without_codecs(self) -> Self:
        """A new task with the same settings."""
        return type(self)(self.config, self.max_length)

    def fits(self, family: Family) -> bool:
        """Whether models of a family can be trained for this task."""
        without = "none" if self.has_source else "needed"
        return self.needs <= family.abilities and family.source != without

    def family_problem(self, family: Family) -> str | None:
        """Why the settings of the task do not go with a family that fits it; None if they do."""
        return None

    def ensemble_problem(self, other: Self, runs: tuple[str, str]) -> str | None:
        """Why models of this task and of another run's cannot be averaged; None if they can.

        Args:
            runs: the names of this run and of the other, for the message.
        """
        for column in self.columns:
            theirs = other.codecs.get(column)
            if theirs is None or self.codecs[column].fingerprint() != theirs.fingerprint():
                return (
                    f"{runs[1]} has another {column} vocabulary than {runs[0]}, and an ensemble "
                    "needs one and the same; train both on the same data with the same [text], or "
                    f"one with init = {runs[0]!r}"
                )
        return None

    @property
    @abstractmethod
    def metric_table(self) -> Mapping[str, Metric]:
        """The metrics of `evaluate`, by name."""

    @property
    def metrics(self) -> tuple[str, ...]:
        """The names of the metrics."""
        return tuple(self.metric_table)

    @property
    def validated(self) -> tuple[str, ...]:
        """The metrics that a validation may use besides the loss, first the default."""
        return self.metrics

    def metric(self, name: str) -> str:
        """The metric that `train.metric` names."""
        return self.validated[0] if name == "auto" else name

    def fitting_metric(self, store: Store) -> str:
        """The metric that `train.metric = "auto"` means for some validation data."""
        return self.validated[0]

    def comparison_metric(self, references: Iterable[str]) -> str:
        """The metric for comparing runs on some references, the values of the last column.

        It is never the loss, which depends on the vocabulary.
        """
        return next(name for name in self.validated if name != "loss")

    def prefers_less(self, metric: str) -> bool:
        """Whether a lower value of a metric is better."""
        return metric == "loss" or self.find_metric(metric).lower_is_better

    def find_metric(self, name: str) -> Metric:
        """The metric of a name.

        Raises:
            ConfigError: the task does not have it.
        """
        if name not in self.metric_table:
            raise ConfigError(
                f"no metric {name!r} for task {self.name!r}; expected one of "
                f"{', '.join(self.metrics)}{did_you_mean(name, self.metrics)}"
            )
        return self.metric_table[name]

    def narrowed(self, corpora: Sequence[Corpus]) -> Self:
        """The task for training data of these descriptions; files are not read.

        A task with alternative columns keeps those that the data have.
        """
        return self

    def columns_of(self, corpora: Sequence[Corpus], root: Path) -> tuple[str, ...]:
        """The required columns, and each optional column that some corpus has."""
        return tuple(
            column
            for column in self.columns
            if column not in self.optional
            or any(has_column(corpus, column, root) for corpus in corpora)
        )

    @abstractmethod
    def fit_codecs(self, rows: Rows, text: TextConfig) -> Self:
        """The task with codecs fitted to the training data.

        Args:
            text: how tokenizers are trained.
        """

    def adopt_codecs(self, folder: Path, rows: Rows) -> Self:
        """The task with the tokenizer that another run has saved to `folder`.

        Its other codecs are fitted to the training data.
        """
        return self.load_codecs(folder)

    def with_classes_of(self, rows: Rows) -> Self:
        """The task with codecs that also know the classes of more rows than it was fitted to."""
        return self

    @abstractmethod
    def save_codecs(self, folder: Path) -> None:
        """Writes the codecs."""

    @abstractmethod
    def load_codecs(self, folder: Path) -> Self:
        """The task with the codecs that `save_codecs` wrote."""

    @property
    @abstractmethod
    def codecs(self) -> Mapping[str, Codec]:
        """The codec of each column, in their order."""

    @property
    @abstractmethod
    def vocabularies(self) -> VocabularySizes:
        """The vocabulary sizes for building a model."""

    def describe(self) -> dict[str, Any]:
        """The vocabulary as plain data: `kind` (the type of the tokenizer) and sizes."""
        sizes = self.vocabularies
        return {
            "kind": self.codec.tokenizer.settings.kind,
            "source": sizes.source,
            "target": sizes.target,
            "shared": sizes.shared,
        }

    def block(self, data: DataConfig) -> int:
        """The number of tokens in a stored block of running text or of a document.

        Raises:
            ConfigError: a block has no room for text.
        """
        return data.block

    def check(self, store: Store) -> None:
        """Checks prepared training data once.

        Raises:
            DataError: the model could not learn from them.
        """

    def remarks(self, store: Store) -> list[str]:
        """Lines about prepared training data for the log: likely mistakes, detected schemes."""
        return []

    @abstractmethod
    def batch(
        self, store: Store, indices: np.ndarray, draw: tuple[int, ...] | None = None
    ) -> dict[str, Tensor]:
        """The tensors of some examples.

        Args:
            draw: in training, the seed of random segmentations: (seed, epoch).
        """

    def sized(self, store: Store) -> HasLengths:
        """A view of a store that has the lengths named by `lengths`."""
        return store if set(self.lengths) <= set(store.columns) else _Sized(self, store)

    def initialise(self, model: Any, training: Store) -> bool:
        """Sets initial weights that the training data determine; whether there are some.

        A model with such weights is validated before the first update, too.
        """
        return False

    def calibrate(self, model: Any, training: Store, validation: Store | None) -> dict[str, Tensor]:
        """Tensors computed once from the kept weights, if `is_calibrated`; the run keeps them."""
        return {}

    def warnings_of_calibration(self, calibration: Mapping[str, Tensor]) -> list[str]:
        """What users should know of the tensors of `calibrate`."""
        return []

    @abstractmethod
    def objective(self, model: Any, label_smoothing: float) -> Objective:
        """The module to train: model and loss."""

    @abstractmethod
    def validator(
        self, store: Store, data: DataConfig, metric: str, sample: int, search: SearchConfig
    ) -> Validator:
        """A validator on a prepared set.

        Args:
            metric: the metric that decides: `loss` or one of `validated`.
            sample: number of examples to decode, if the task decodes.
            search: greedy, with the run's limits.
        """

    def sequences(self, store: Store) -> Iterable[Any]:
        """The input of counting models: sequences that end with EOS, or (sequence, label) pairs."""
        raise NotImplementedError(f"task {self.name!r} has no input for counting models")


class _Sized:
    """A store whose lengths are the sizes of a task."""

    def __init__(self, task: Task, store: Store) -> None:
        self._task, self._store = task, store

    def __len__(self) -> int:
        return len(self._store)

    def lengths(self, column: str, start: int = 0, stop: int | None = None) -> np.ndarray:
        store = self._store
        stored = {name: store.lengths(name, start, stop) for name in self._task.codecs}
        sizes: np.ndarray = self._task.sizes(stored)[column]
        return sizes

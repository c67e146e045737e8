"""What every task has: the one interface through which a run is put together.

A task knows its columns and their codecs, what columns are together, how a batch is made, what is
learned and what a validation measures. Nothing here knows text: a column holds whatever its codec
encodes.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from torch import Tensor

from ..data.batches import HasLengths
from ..data.codecs import Codec
from ..data.corpora import Corpus, DataConfig
from ..data.read import has_column
from ..data.rules import Apart
from ..data.store import Store
from ..errors import ConfigError
from ..models import Family, Vocabularies
from ..models.family import Ability
from ..search import SearchConfig
from .loss import Objective
from .validation import Validator

Rows = Callable[[], Iterator[Sequence[str]]]
"""Begins a new pass over the training data each time it is called."""


class Task(Apart, ABC):
    """A task with its codecs, learned or loaded; as `data.rules` it says what fits together.

    Attributes:
        columns: what a row of the data holds, in order; of a task with codecs without those that
            its data have not.
        optional: columns that data may go without.
        settings: sections of the run file by which codecs are learned; `learn` takes them by these
            names.
        needs: abilities that it asks of a family.
        has_source: whether a batch holds a source beside what is predicted.
        in_sentences: whether every row is a document, stored in blocks with the beginnings of its
            sentences.
        begins: whether texts that are read begin with the begin mark, whatever `[text]` says.
        family: what is trained where the run file names no model.
        lengths: the sizes that count against a batch's tokens, the one to sort by first; columns,
            or what `sizes` gives.
        label_smoothing: where the run file says nothing.
        metrics: what `evaluate` measures.
        validated: what a validation may be judged by beside the loss; the first is the usual one.
        lower_is_better: of these.
    """

    name: ClassVar[str]
    columns: tuple[str, ...]
    optional: ClassVar[frozenset[str]] = frozenset()
    settings: ClassVar[tuple[str, ...]] = ("text",)
    needs: ClassVar[frozenset[Ability]]
    has_source: ClassVar[bool] = True
    in_sentences: ClassVar[bool] = False
    begins: ClassVar[bool] = False
    family: ClassVar[str]
    lengths: tuple[str, ...]
    label_smoothing: ClassVar[float] = 0.0
    metrics: ClassVar[tuple[str, ...]]
    validated: ClassVar[tuple[str, ...]]
    lower_is_better: ClassVar[frozenset[str]] = frozenset()

    @classmethod
    def fits(cls, family: Family) -> bool:
        """Whether models of a family can be trained for it."""
        without = "none" if cls.has_source else "needed"
        return cls.needs <= family.abilities and family.source != without

    @classmethod
    def metric(cls, name: str) -> str:
        """The metric that `train.metric` names."""
        return cls.validated[0] if name == "auto" else name

    @classmethod
    def prefers_less(cls, metric: str) -> bool:
        """Whether less of a metric is better."""
        return metric == "loss" or metric in cls.lower_is_better

    @classmethod
    def unknown_metric(cls, name: str) -> ConfigError:
        """What to say of a metric the task does not have."""
        return ConfigError(
            f"no metric {name!r} for task {cls.name!r}; expected one of {', '.join(cls.metrics)}"
        )

    @classmethod
    def columns_of(cls, corpora: Sequence[Corpus], root: Path) -> tuple[str, ...]:
        """The columns that data have: all that must be there, and what else one of them has."""
        return tuple(
            column
            for column in cls.columns
            if column not in cls.optional
            or any(has_column(corpus, column, root) for corpus in corpora)
        )

    @classmethod
    @abstractmethod
    def learn(cls, rows: Rows, **settings: Any) -> Self:
        """The task with codecs learned from the training data.

        Args:
            settings: those that `settings` names.
        """

    @classmethod
    def adopt(cls, folder: Path, rows: Rows) -> Self:
        """The task with the tokenizer that another run has saved to `folder`.

        What else there is to learn from the training data is learned from them.
        """
        return cls.load(folder)

    @abstractmethod
    def save(self, folder: Path) -> None:
        """Writes the codecs."""

    @classmethod
    @abstractmethod
    def load(cls, folder: Path) -> Self:
        """What `save` wrote."""

    @property
    @abstractmethod
    def codecs(self) -> Mapping[str, Codec]:
        """By column, in the order of the columns."""

    @property
    @abstractmethod
    def vocabularies(self) -> Vocabularies:
        """The sizes a model is built by."""

    @abstractmethod
    def describe(self) -> dict[str, Any]:
        """The vocabulary in plain data, for people: `kind` and sizes."""

    def block(self, data: DataConfig) -> int:
        """Tokens of a block of running text or of a document, as stored.

        Raises:
            ConfigError: there is no room in it.
        """
        return data.block

    def check(self, store: Store) -> None:
        """Looks at prepared data once.

        Raises:
            DataError: they are nothing to learn from.
        """

    @abstractmethod
    def batch(
        self, store: Store, indices: np.ndarray, draw: tuple[int, ...] | None = None
    ) -> dict[str, Tensor]:
        """The tensors of some examples.

        Args:
            draw: in training, what random segmentations depend on (seed, epoch).
        """

    def sized(self, store: Store) -> HasLengths:
        """A store with the lengths that `lengths` names."""
        return store if set(self.lengths) <= set(store.columns) else _Sized(self, store)

    @abstractmethod
    def objective(self, model: Any, label_smoothing: float) -> Objective:
        """Model and loss in one."""

    @abstractmethod
    def validator(
        self, store: Store, data: DataConfig, metric: str, sample: int, search: SearchConfig
    ) -> Validator:
        """What validates models on a prepared set.

        Args:
            metric: what runs are judged by: `loss` or one of `validated`.
            sample: how many examples are decoded, where some are.
            search: greedy, with the run's limits.
        """

    def sequences(self, store: Store) -> Iterable[Any]:
        """What a family counts that learns by counting: sequences, each with its end mark, or pairs
        of one and the number of its label."""
        raise NotImplementedError(f"nothing can be counted for task {self.name!r}")


class _Sized:
    """A store whose lengths are the sizes of a task."""

    def __init__(self, task: Task, store: Store) -> None:
        self._task, self._store = task, store

    def __len__(self) -> int:
        return len(self._store)

    def lengths(self, column: str, start: int = 0, stop: int | None = None) -> np.ndarray:
        store = self._store
        stored = {name: store.lengths(name, start, stop) for name in self._task.codecs}
        found: np.ndarray = self._task.sizes(stored)[column]
        return found

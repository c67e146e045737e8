"""The interface of the inputs of `classify` and `regress`: what a model reads of an example.

The columns of the data decide: texts (`text_inputs.py`) or series (`series_inputs.py`). A task does
not know which.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import torch
from torch import Tensor

from ..data.codecs.codec import Codec
from ..data.codecs.text import TextCodec, TextConfig
from ..data.series import Series
from ..data.store import Store
from ..models import Vectors
from ..models.family import Ability
from ..parallel import decode_batches
from .base import Rows
from .config import SeriesConfig


class Inputs(ABC):
    """The inputs of a model with their codecs, fitted to the training data.

    An input is a value as users give it; its encoding is one array.

    Attributes:
        columns: the columns of the data that hold them.
        noun, plural: an input in messages, and several.
        needs: abilities that a family must have to read them.
        model_defaults: defaults of `[model]` that fit them, as in `Task`.
        is_limited: whether `data.max_length` limits their length.
        fitting: the note shown while codecs are fitted.
        codec: the codec of texts; None if they are none.
        numbers: the columns of a series that have numbers.
        config: the settings of series.
        n_tokens: size of the vocabulary; 0 if they are no texts.
        vectors: the vectors that a model reads; None if it reads tokens.
        lengths: the sizes that count as a batch's tokens.
        begin: the name of the begin token; empty if there is none.
    """

    columns: ClassVar[tuple[str, ...]]
    noun: ClassVar[str]
    plural: ClassVar[str]
    needs: ClassVar[frozenset[Ability]] = frozenset()
    model_defaults: ClassVar[Mapping[str, Mapping[str, Any]]] = {}
    is_limited: ClassVar[bool] = True
    fitting: ClassVar[str] = "learning the vocabulary"
    codec: TextCodec | None = None
    numbers: tuple[str, ...] = ()
    config: SeriesConfig = SeriesConfig()
    n_tokens: int = 0
    vectors: Vectors | None = None
    lengths: tuple[str, ...]
    begin: str = ""

    @classmethod
    @abstractmethod
    def fit(cls, rows: Rows, text: TextConfig) -> Self:
        """The inputs with codecs fitted to rows: all columns but the last.

        Raises:
            DataError: nothing can be learned from them.
        """

    @classmethod
    @abstractmethod
    def adopt(cls, folder: Path, rows: Rows) -> Self:
        """The inputs with the codecs that another run has saved to `folder`."""

    @classmethod
    @abstractmethod
    def is_in(cls, folder: Path) -> bool:
        """Whether a folder has saved inputs of this type."""

    @classmethod
    @abstractmethod
    def load(cls, folder: Path) -> Self:
        """The inputs that `save` wrote."""

    @abstractmethod
    def save(self, folder: Path) -> None:
        """Writes the codecs."""

    @property
    @abstractmethod
    def codecs(self) -> dict[str, Codec]:
        """The codec of each column."""

    @abstractmethod
    def describe(self) -> dict[str, Any]:
        """The vocabulary, or the columns of series, as plain data."""

    def public_info(self) -> dict[str, Any]:
        """What a server tells its clients about the inputs."""
        return {}

    def as_series(self, value: Any) -> Series | None:
        """An input as a series with all of its facts; None if it is a text."""
        return None

    def spans(self, encoded: np.ndarray, model: Any) -> list[tuple[int, int]]:
        """The first and last step of each patch of a series, from 0; none for a text.

        A class vector has no steps.

        Args:
            model: the settings of the model.
        """
        return []

    def sizes(self, lengths: Mapping[str, Any]) -> Mapping[str, Any]:
        """The lengths that `data.max_length` limits; see `data.row_rules`."""
        return lengths

    def batch_tokens(self, store: Store) -> int | None:
        """The default of `train.batch_tokens`; None leaves it to the size of the model."""
        return None

    @abstractmethod
    def batch(
        self, store: Store, indices: np.ndarray, draw: tuple[int, ...] | None = None
    ) -> dict[str, Tensor]:
        """The tensors of some examples.

        Args:
            draw: in training, the seed of random changes: (seed, epoch).
        """

    @abstractmethod
    def stored(self, store: Store, index: int) -> np.ndarray:
        """The encoding of an example."""

    @abstractmethod
    def to_text(self, store: Store, index: int) -> str:
        """An example as text, for the log."""

    @abstractmethod
    def title(self, value: Any) -> str:
        """An input as text, for a page; blank if it is."""

    @abstractmethod
    def element_names(self, encoded: np.ndarray, model: Any) -> list[str]:
        """A name for each element of the sequence that a model reads.

        Args:
            model: the settings of the model.
        """

    @abstractmethod
    def from_text(self, text: str) -> Any:
        """The input that `to_text` has made into a text; None if the text does not say."""

    @abstractmethod
    def check(self, value: Any, location: str) -> None:
        """Refuses an input of another type than the training data have.

        Raises:
            DataError: the message begins with the location.
        """

    def is_blank(self, values: Sequence[Any]) -> bool:
        """Whether all columns of an input are blank."""
        codecs = self.codecs.values()
        return all(codec.is_blank(value) for codec, value in zip(codecs, values, strict=True))

    def plain(self, values: Sequence[Any]) -> dict[str, Any]:
        """The columns of an input as plain data."""
        return dict(zip(self.codecs, values, strict=True))

    @abstractmethod
    def encode(self, values: Sequence[Any]) -> list[np.ndarray]:
        """The encoding of each input."""

    @abstractmethod
    def truncate(self, value: Any, max_length: int) -> np.ndarray:
        """The encoding of an input that is too long, truncated."""

    @abstractmethod
    def tensors(self, encoded: Sequence[np.ndarray]) -> dict[str, Tensor]:
        """A batch of encodings."""

    def batches(
        self, encoded: Sequence[np.ndarray], device: torch.device
    ) -> Iterator[tuple[list[int], dict[str, Tensor]]]:
        """Batches of encodings of similar length, each with the indices of its rows."""
        for rows in decode_batches([len(array) for array in encoded], 1):
            batch = self.tensors([encoded[row] for row in rows])
            yield rows, {name: value.to(device) for name, value in batch.items()}

"""Trained runs that say one thing of a text or a pair of texts: how these are encoded."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from torch import Tensor

from ..errors import DataError
from ..tasks.texts import BETWEEN, Text, Texts
from .pieces import check_length
from .predictor import Predictor, TooLong

CUT = "shorten it, or have it cut off (--cut)"


class TextPredictor(Predictor):
    """Of a text, or of a pair if the training data have pairs."""

    task: Any

    @property
    def is_pair(self) -> bool:
        """Whether an input is a pair of texts."""
        return self._texts.is_pair

    @property
    def _texts(self) -> Texts:
        texts: Texts = self.task.texts
        return texts

    def encode(
        self,
        texts: Sequence[Text],
        too_long: TooLong = "refuse",
        places: Sequence[str] | None = None,
    ) -> list[np.ndarray]:
        """The encoding of each text or pair.

        Raises:
            DataError: one is too long, or is no pair where one is needed.
        """
        for number, text in enumerate(texts):
            self._check_kind(text, self._place(number, places))
        encoded = self._texts.encode(texts)
        for number, ids in enumerate(encoded):
            if len(ids) > self.max_length and too_long == "cut":
                encoded[number] = self._texts.cut(texts[number], self.max_length)
            place = self._place(number, places)
            check_length(len(encoded[number]), self.max_length, place, CUT)
        return encoded

    def length(self, given: Text, place: str, remedy: str) -> int:
        self._check_kind(given, place)
        [encoded] = self._texts.encode([given])
        check_length(len(encoded), self.max_length, place, remedy)
        return len(encoded)

    def read(self, given: Text) -> dict[str, Tensor]:
        """A batch of one."""
        return self._texts.tensors(self._texts.encode([given]))

    def _check_kind(self, text: Any, place: str) -> None:
        n = 1 if isinstance(text, str) else len(text)
        if n != 1 + self.is_pair or isinstance(text, str) == self.is_pair:
            got = f"{n} texts" if n > 1 else "a single text"
            expected = "a pair of texts" if self.is_pair else "a single text"
            raise DataError(f"{place}: got {got}, expected {expected}, as the training data have")

    def logged(self, text: str) -> Text | None:
        """The input behind a text of the log; None where that cannot be told."""
        if not self.is_pair:
            return text
        sides = text.split(BETWEEN)
        return (sides[0], sides[1]) if len(sides) == 2 else None

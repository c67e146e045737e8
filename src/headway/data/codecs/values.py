"""The codec of values: numbers, standardised to mean 0 and deviation 1 over the training data.

Models learn such targets best.
"""

import hashlib
import json
import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TypeVar

import numpy as np
from torch import Tensor

from ...errors import DataError, RunError
from ..store import Column
from .codec import WrittenCodec

Numbers = TypeVar("Numbers", float, np.ndarray, Tensor)
LARGEST = 1e30
"""The largest size of a number: squares of errors must fit into float32."""


class ValueCodec(WrittenCodec):
    """Standardised numbers, written as `3`, `-0.5` or `1e-3`, of at most `LARGEST` in size.

    Any other text encodes to an empty array, and `complaint` gives the reason.

    Args:
        mean: the mean of the training data.
        deviation: their standard deviation, above 0.
    """

    marks = 0

    def __init__(self, mean: float, deviation: float) -> None:
        self.mean = mean
        self.deviation = deviation

    @classmethod
    def fit(cls, texts: Iterable[str]) -> "ValueCodec":
        """The codec with mean and deviation of the numbers; other texts are skipped here.

        Raises:
            DataError: all numbers are equal.
        """
        n, mean, squares = 0, 0.0, 0.0  # Welford's algorithm: one pass
        for value in map(_usable, texts):
            if value is not None:
                n += 1
                step = value - mean
                mean += step / n
                squares += step * (value - mean)
        if n and not squares:
            raise DataError(
                f"all training examples have the value {mean:g}, and there is nothing to learn; "
                "give examples of several values"
            )
        return cls(mean, math.sqrt(squares / n) if n else 1.0)

    def column(self, name: str) -> Column:
        return Column(name, "float32")

    def clean(self, text: str) -> str:
        value = number(text)
        return text.strip() if value is None else repr(value)

    def encode_batch(self, texts: Sequence[str]) -> list[np.ndarray]:
        values = map(_usable, texts)
        return [
            np.array([] if value is None else [self.scale(value)], np.float32) for value in values
        ]

    def decode(self, values: Sequence[float]) -> str:
        [value] = values
        return f"{self.unscale(float(value)):g}"

    def scale(self, value: Numbers) -> Numbers:
        """The standardised value, which the model learns."""
        return (value - self.mean) / self.deviation

    def unscale(self, value: Numbers) -> Numbers:
        """The value in the units of the data."""
        return value * self.deviation + self.mean

    def complaint(self, text: str) -> str | None:
        if _usable(text) is not None:
            return None
        if number(text) is not None:
            return (
                f"the value {text.strip()} is too large; numbers may be at most {LARGEST:g}: "
                "correct it, or use a larger unit"
            )
        if not text.strip():
            return "the value is empty; give a number, or leave the line out"
        return f"the value {text.strip()!r} is no number; expected one such as 3.5"

    def fingerprint(self) -> str:
        content = f"{self.mean!r} {self.deviation!r}"
        return hashlib.blake2b(content.encode(), digest_size=16).hexdigest()

    def save(self, path: Path) -> None:
        content = {"mean": self.mean, "deviation": self.deviation}
        path.write_text(json.dumps(content, indent=1) + "\n", "utf-8")

    @classmethod
    def load(cls, path: Path) -> "ValueCodec":
        try:
            content = json.loads(path.read_text("utf-8"))
            mean, deviation = float(content["mean"]), float(content["deviation"])
        except (OSError, ValueError, TypeError, KeyError) as error:
            raise RunError(f"{path} cannot be read ({error}); restore it from a copy") from None
        if not math.isfinite(mean) or not 0 < deviation < math.inf:
            raise RunError(f"{path} holds no mean and deviation; restore it from a copy")
        return cls(mean, deviation)


def number(text: str) -> float | None:
    """The finite number in a text; None if it is something else."""
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) and "_" not in text else None


def _usable(text: str) -> float | None:
    """The number in a text, if it is not too large to learn."""
    value = number(text)
    return value if value is not None and abs(value) <= LARGEST else None

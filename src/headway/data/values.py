"""The codec of a value: a number, scaled so that those of the training data have mean 0 and
deviation 1, which is what a model learns best."""

import hashlib
import json
import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TypeVar

import numpy as np

from headway.data.store import Column
from headway.errors import DataError, RunError

Numbers = TypeVar("Numbers", float, np.ndarray)


class ValueCodec:
    """Numbers, scaled; `3`, `-0.5` and `1e-3` are some, infinity is none.

    What is no number encodes to nothing, and `complaint` says why.

    Args:
        mean: of the training data.
        deviation: theirs, above 0.
    """

    marks = 0

    def __init__(self, mean: float, deviation: float) -> None:
        self.mean = mean
        self.deviation = deviation

    @classmethod
    def learn(cls, texts: Iterable[str]) -> "ValueCodec":
        """Mean and deviation of the numbers among the texts; whoever encodes the others complains.

        Raises:
            DataError: all numbers are the same.
        """
        n, mean, squares = 0, 0.0, 0.0  # Welford's way, which one pass is enough for
        for value in map(number, texts):
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
        values = map(number, texts)
        return [
            np.array([] if value is None else [self.scale(value)], np.float32) for value in values
        ]

    def decode(self, values: Sequence[float]) -> str:
        [value] = values
        return f"{self.unscale(float(value)):g}"

    def scale(self, value: Numbers) -> Numbers:
        """As the model learns it."""
        return (value - self.mean) / self.deviation

    def unscale(self, value: Numbers) -> Numbers:
        """As people read it."""
        return value * self.deviation + self.mean

    def complaint(self, text: str) -> str | None:
        if number(text) is not None:
            return None
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
    """The finite number that a text is; None if it is none."""
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) and "_" not in text else None

"""The codec of the calendar: where a step is in its hour, day, week, month or year.

Each fact is a position on a circle, as sine and cosine, so that 23 hours are close to 0.
"""

import hashlib
from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np

from ..series import Series
from ..store import Column

HOUR, DAY = 3600, 86400


def _share_of(seconds: int) -> Callable[[np.ndarray], np.ndarray]:
    return lambda times: times.astype(np.int64) % seconds / seconds


def _weekday(times: np.ndarray) -> np.ndarray:
    return (times.astype("datetime64[D]").astype(np.int64) + 3) % 7 / 7  # 1970 began on a Thursday


def _day_of_month(times: np.ndarray) -> np.ndarray:
    days = times.astype("datetime64[D]")
    return (days - times.astype("datetime64[M]")).astype(np.int64) / 31


def _day_of_year(times: np.ndarray) -> np.ndarray:
    days = times.astype("datetime64[D]")
    return (days - times.astype("datetime64[Y]")).astype(np.int64) / 366


def _month(times: np.ndarray) -> np.ndarray:
    return times.astype("datetime64[M]").astype(np.int64) % 12 / 12


Fact = Literal["minute", "hour", "weekday", "monthday", "yearday", "month"]

FACTS: dict[Fact, Callable[[np.ndarray], np.ndarray]] = {
    "minute": _share_of(HOUR),
    "hour": _share_of(DAY),
    "weekday": _weekday,
    "monthday": _day_of_month,
    "yearday": _day_of_year,
    "month": _month,
}
"""The share of its circle at which each time is, by fact."""


class CalendarCodec:
    """Facts of the times of a series, and of `horizon` steps after its end, as (T, width).

    Args:
        facts: names of `FACTS`.
    """

    marks = 0

    def __init__(self, facts: tuple[Fact, ...], horizon: int) -> None:
        self.facts, self.horizon = facts, horizon

    @property
    def width(self) -> int:
        return 2 * len(self.facts)

    def column(self, name: str) -> Column:
        return Column(name, "float32", (self.width,))

    def is_blank(self, value: Series) -> bool:
        return False

    def amount(self, value: Series) -> int:
        return len(value) * self.width

    def identity(self, value: Series) -> str:
        return value.name

    def encode_batch(self, values: Sequence[Series]) -> list[np.ndarray]:
        return [self.encode(value) for value in values]

    def encode(self, value: Series) -> np.ndarray:
        """Sine and cosine of each fact (T + horizon, width); zeros if steps have only numbers."""
        n = len(value) + self.horizon
        if isinstance(value.start, int | np.integer):
            return np.zeros((n, self.width), np.float32)
        times = value.frequency.times(value.start, 0, n)
        if value.frequency.has_days:  # a month is the same whichever day dates it
            times = times.astype("datetime64[M]").astype("datetime64[s]")
        angles = np.stack([FACTS[fact](times) for fact in self.facts], axis=1) * (2 * np.pi)
        return np.concatenate([np.sin(angles), np.cos(angles)], axis=1).astype(np.float32)

    def decode(self, values: Sequence[Any]) -> str:
        return ""

    def complaint(self, value: Series) -> str | None:
        return None

    def fingerprint(self) -> str:
        content = f"calendar {self.facts} {self.horizon}"
        return hashlib.blake2b(content.encode(), digest_size=16).hexdigest()

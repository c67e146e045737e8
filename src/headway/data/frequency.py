"""Frequencies: the step of a series, read from text or inferred from its times.

Times are whole seconds (`datetime64[s]`) or integers. Steps of seconds up to weeks have a fixed
length; months, quarters and years follow the calendar, and weekdays leave out the weekend.
"""

import re
from dataclasses import dataclass
from typing import Any, Literal, Self, get_args

import numpy as np

Unit = Literal["step", "s", "min", "h", "D", "B", "W", "M", "Q", "Y"]
UNITS: tuple[Unit, ...] = get_args(Unit)
LARGEST = 1_000_000
"""The most units of a step."""
_SECONDS: dict[Unit, int] = {"s": 1, "min": 60, "h": 3600, "D": 86400, "W": 7 * 86400}
_MONTHS: dict[Unit, int] = {"M": 1, "Q": 3, "Y": 12}
# How many units a season has; where the unit alone is a season, the series has none of its own.
_SEASONS: dict[Unit, int] = {
    **{"step": 1, "s": 60, "min": 1440, "h": 24, "D": 7, "B": 5, "W": 52, "M": 12, "Q": 4, "Y": 1}
}
_OTHER_NAMES: dict[str, Unit] = {
    **{"sec": "s", "second": "s", "seconds": "s", "secondly": "s"},
    **{"t": "min", "minute": "min", "minutes": "min", "minutely": "min"},
    **{"hour": "h", "hours": "h", "hourly": "h", "day": "D", "days": "D", "daily": "D"},
    **{"weekday": "B", "weekdays": "B", "week": "W", "weeks": "W", "weekly": "W"},
    **{"ms": "M", "me": "M", "month": "M", "months": "M", "monthly": "M"},
    **{"qs": "Q", "qe": "Q", "quarter": "Q", "quarters": "Q", "quarterly": "Q"},
    **{"ys": "Y", "ye": "Y", "a": "Y", "year": "Y", "years": "Y", "yearly": "Y", "annual": "Y"},
    **{"steps": "step"},
}
_NAME = re.compile(r"(\d*)\s*([A-Za-z]+)(?:-[A-Za-z]{3})?")


@dataclass(frozen=True)
class Frequency:
    """The step of a series: so many seconds, minutes, hours, days, weekdays, ..., years.

    The unit `step` is for series whose times are integers.
    """

    unit: Unit
    n: int = 1

    def __str__(self) -> str:
        return self.unit if self.n == 1 else f"{self.n}{self.unit}"

    @classmethod
    def parse(cls, text: str) -> Self:
        """The frequency of a text such as `15min`, `h`, `D`, `W-SUN`, `MS` or `monthly`.

        Raises:
            ValueError: it is none; the message says what is expected.
        """
        match = _NAME.fullmatch(text.strip())
        name = match[2] if match else ""
        units = {unit.lower(): unit for unit in UNITS} | _OTHER_NAMES
        if not match or name == "m" or name.lower() not in units:
            remedy = "; write min for minutes or M for months" if name == "m" else ""
            raise ValueError(
                f"expected a number and one of {', '.join(UNITS)}, such as 15min or M{remedy}"
            )
        n = int(match[1][:10] or 1)
        unit = units[name.lower()]
        if not 1 <= n <= (1 if unit == "B" else LARGEST):
            raise ValueError(f"expected 1 to {LARGEST} units, such as 15min, and B alone")
        return cls(unit, n)

    @classmethod
    def infer(cls, times: np.ndarray, series: np.ndarray | None = None) -> Self | None:
        """The frequency of times, each series in order and without doubles.

        Args:
            series: the number of the series of each time; by default all are of one.

        Returns:
            Months, quarters or years if the days of the month show it, otherwise the most common
            distance; None if no series has two times.
        """
        is_pair = np.ones(max(len(times) - 1, 0), bool)
        if series is not None:
            is_pair = series[1:] == series[:-1]
        if not is_pair.any():
            return None
        if times.dtype.kind != "M":
            return cls("step", _most_common(np.diff(times)[is_pair]))
        if months := _common_months(times, is_pair):
            unit: Unit = "Y" if months % 12 == 0 else "Q" if months == 3 else "M"
            return cls(unit, months // _MONTHS[unit])
        return cls._of_seconds(_most_common(np.diff(times)[is_pair].astype(int)), times)

    @classmethod
    def _of_seconds(cls, seconds: int, times: np.ndarray) -> Self:
        if seconds == _SECONDS["D"] and _are_weekdays(times):
            return cls("B")
        unit = max((unit for unit in _SECONDS if seconds % _SECONDS[unit] == 0), key=_SECONDS.get)  # type: ignore[arg-type]
        return cls(unit, seconds // _SECONDS[unit])

    @classmethod
    def near(cls, times: np.ndarray) -> Self:
        """The usual frequency nearest to the typical distance of times, for advice."""
        if times.dtype.kind != "M":
            return cls("step", max(int(np.median(np.diff(times))), 1))
        typical = float(np.median(np.diff(times).astype(int)))
        lengths = _SECONDS | {unit: months * 30.44 * 86400 for unit, months in _MONTHS.items()}
        return cls(min(lengths, key=lambda unit: abs(np.log(max(typical, 1) / lengths[unit]))))

    @property
    def season(self) -> int | None:
        """The usual number of steps of a season: 24 hours, 7 days, 12 months; None if none fits."""
        units = _SEASONS[self.unit]
        if units == 1:
            return 1
        return units // self.n if units % self.n == 0 and units > self.n else None

    def floor(self, times: np.ndarray) -> np.ndarray:
        """Times rounded down to steps; longer steps are counted from the first time."""
        if times.dtype.kind != "M":
            step = self.n if self.unit == "step" else 1
            return (times - times.min()) // step * step + times.min()
        if self.unit in _MONTHS:
            step = self.n * _MONTHS[self.unit]
            months = times.astype("datetime64[M]").astype(np.int64)
            return (months // step * step).astype("datetime64[M]").astype("datetime64[s]")
        days = times.astype("datetime64[D]")
        if self.unit == "B":
            return np.busday_offset(days, 0, roll="backward").astype("datetime64[s]")
        step = self.n * _SECONDS.get(self.unit, 1)
        origin = 0
        if _SECONDS["D"] % step:  # steps that days are not divided into
            origin = int(days.min().astype("datetime64[s]").astype(np.int64))
        seconds = times.astype(np.int64) - origin
        return (seconds // step * step + origin).astype("datetime64[s]")

    def index(self, start: np.datetime64 | int, time: np.datetime64 | int) -> int | None:
        """The number of a time's step, where that of the start is 0; None if it is between two."""
        number, is_on = self.indices(start, np.asarray([time]))
        return int(number[0]) if is_on[0] else None

    def indices(self, start: Any, times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The number of the step of each time, and whether the time is that of the step.

        Args:
            start: the time of step 0, or one for each time.
        """
        start = np.asarray(start)
        if start.dtype.kind != "M":
            numbers, rest = np.divmod(times - start, self.n if self.unit == "step" else 1)
        elif self.unit in _MONTHS:
            months = times.astype("datetime64[M]") - start.astype("datetime64[M]")
            numbers, rest = np.divmod(months.astype(np.int64), self.n * _MONTHS[self.unit])
        elif self.unit == "B":
            days, first = times.astype("datetime64[D]"), start.astype("datetime64[D]")
            is_on = np.is_busday(days) & (times - days == start - first)
            return np.busday_count(first, days), is_on
        else:
            seconds = (times - start).astype(np.int64)
            numbers, rest = np.divmod(seconds, self.n * _SECONDS[self.unit])
        return numbers, rest == 0

    def times(self, start: np.datetime64 | int, first: int, n: int) -> np.ndarray:
        """The times of `n` steps from step `first` on, where the start is step 0.

        Months, quarters and years begin on their first day. A start that is an integer counts
        steps, whatever they are.
        """
        steps = first + np.arange(n)
        if isinstance(start, int | np.integer):
            return start + steps * (self.n if self.unit == "step" else 1)
        if self.unit in _MONTHS:
            months = start.astype("datetime64[M]") + steps * (self.n * _MONTHS[self.unit])
            return months.astype("datetime64[s]")
        if self.unit == "B":
            day = start.astype("datetime64[D]")
            days = np.busday_offset(day, steps * self.n, roll="forward")
            return days.astype("datetime64[s]") + (start - day)
        return start + (steps * (self.n * _SECONDS[self.unit])).astype("timedelta64[s]")


def _most_common(distances: np.ndarray) -> int:
    """The most common distance; the smallest of several."""
    values, counts = np.unique(distances, return_counts=True)
    return int(values[counts.argmax()])


def _common_months(times: np.ndarray, is_pair: np.ndarray) -> int:
    """The number of months of a step; 0 if the times are no months.

    They are if all are midnight, on the same day or the last one of different months.
    """
    days, months = times.astype("datetime64[D]"), times.astype("datetime64[M]")
    distances = np.diff(months).astype(int)[is_pair]
    if (times != days).any() or (distances < 1).any():
        return 0
    day = days - months.astype("datetime64[D]")
    is_last = (days + 1).astype("datetime64[M]") != months
    if (day == day[0]).all() or is_last.all():
        return int(np.gcd.reduce(distances))
    return 0


def _are_weekdays(times: np.ndarray) -> bool:
    """Whether days leave out weekends that are between them."""
    days = times.astype("datetime64[D]")
    spans_weekend = np.busday_count(days.min(), days.max()) < (days.max() - days.min()).astype(int)
    return bool(np.is_busday(days).all() and spans_weekend)

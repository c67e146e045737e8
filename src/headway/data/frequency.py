"""Frequencies: the step of a series, read from text or inferred from its times.

Times are whole seconds (`datetime64[s]`) or integers. Steps of seconds up to weeks have a fixed
length; months, quarters and years follow the calendar and are dated on the first day, the last one
or another (the anchor), and weekdays leave out the weekend.
"""

import re
from dataclasses import dataclass, replace
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
    **{"month": "M", "months": "M", "monthly": "M"},
    **{"quarter": "Q", "quarters": "Q", "quarterly": "Q"},
    **{"a": "Y", "year": "Y", "years": "Y", "yearly": "Y", "annual": "Y"},
    **{"steps": "step"},
}
FIRST, LAST = "first day", "last day"
FIRST_WEEKDAY, LAST_WEEKDAY = "first weekday", "last weekday"
# What stands before and after a unit of the calendar, such as BME for the last weekday of a month.
_MARKS = {FIRST: ("", "S"), LAST: ("", "E"), FIRST_WEEKDAY: ("B", "S"), LAST_WEEKDAY: ("B", "E")}
_ANCHORED: dict[str, tuple[Unit, str]] = {
    f"{before}{unit}{after}".lower(): (unit, anchor)
    for unit in _MONTHS
    for anchor, (before, after) in _MARKS.items()
}
_DAYS = ("MON", "TUE", "WED", "THU", "FRI", "SAT", "SUN")
_NAME = re.compile(r"(\d*)\s*([A-Za-z]+)(?:-([A-Za-z]{3}|\d{1,2}))?")


@dataclass(frozen=True)
class Frequency:
    """The step of a series: so many seconds, minutes, hours, days, weekdays, ..., years.

    The unit `step` is for series whose times are integers.

    Attributes:
        anchor: the day that dates a step. Of months, quarters and years: `FIRST`, `LAST`,
            `FIRST_WEEKDAY`, `LAST_WEEKDAY` or the number of a day as text; None is that of the
            data, or else the first. Of weeks: their last day, such as `SUN`; None is that of the
            start.
    """

    unit: Unit
    n: int = 1
    anchor: str | None = None

    def __str__(self) -> str:
        count = "" if self.n == 1 else str(self.n)
        if self.anchor in _MARKS:
            return count + self.unit.join(_MARKS[self.anchor])
        return count + self.unit + (f"-{self.anchor}" if self.anchor else "")

    @property
    def meaning(self) -> str:
        """The text with the day that dates a step, such as `ME (dated on the last day)`."""
        if self.anchor is None or self.unit == "W":
            return str(self)
        day = f"day {self.anchor}" if self.anchor.isdecimal() else f"the {self.anchor}"
        return f"{self} (dated on {day})"

    @classmethod
    def parse(cls, text: str) -> Self:
        """The frequency of a text such as `15min`, `h`, `D`, `W-SUN`, `ME`, `M-15` or `monthly`.

        Raises:
            ValueError: it is none; the message says what is expected.
        """
        match = _NAME.fullmatch(text.strip())
        name = match[2] if match else ""
        units = {unit.lower(): unit for unit in UNITS} | _OTHER_NAMES
        unit, anchor = _ANCHORED.get(name.lower(), (units.get(name.lower()), None))
        if not match or name == "m" or unit is None:
            remedy = "; write min for minutes or M for months" if name == "m" else ""
            raise ValueError(
                f"expected a number and one of {', '.join(UNITS)}, such as 15min or M{remedy}"
            )
        n = int(match[1][:10] or 1)
        if not 1 <= n <= (1 if unit == "B" else LARGEST):
            raise ValueError(f"expected 1 to {LARGEST} units, such as 15min, and B alone")
        return cls(unit, n, anchor or _anchor_named(match[3] or "", unit))

    @classmethod
    def infer(cls, times: np.ndarray, series: np.ndarray | None = None) -> Self | None:
        """The frequency of times, each series in order and without doubles.

        Args:
            series: the number of the series of each time; by default all are of one.

        Returns:
            Months, quarters or years and the day that dates them if the days of the month show
            it, otherwise the most common distance; None if no series has two times.
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
            anchor = _common_anchor(times)
            return cls(unit, months // _MONTHS[unit], None if anchor == FIRST else anchor)
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
    def has_days(self) -> bool:
        """Whether a step is dated on one of many days: it is months, quarters or years."""
        return self.unit in _MONTHS

    def anchored(self, times: np.ndarray) -> Self:
        """This frequency with the day on which all of some times are, if it has none yet."""
        if not self.has_days or self.anchor is not None or times.dtype.kind != "M":
            return self
        return replace(self, anchor=_common_anchor(times))

    def dated_like(self, other: "Frequency") -> Self:
        """This frequency with the day of another, if both are months, quarters or years."""
        return replace(self, anchor=other.anchor) if self.has_days and other.has_days else self

    @property
    def season(self) -> int | None:
        """The usual number of steps of a season: 24 hours, 7 days, 12 months; None if none fits."""
        units = _SEASONS[self.unit]
        if units == 1:
            return 1
        return units // self.n if units % self.n == 0 and units > self.n else None

    def floor(self, times: np.ndarray) -> np.ndarray:
        """Times rounded down to steps; longer steps are counted from the first time.

        A step whose day is not its first has the times of its months or its week up to that day.
        """
        if times.dtype.kind != "M":
            step = self.n if self.unit == "step" else 1
            return (times - times.min()) // step * step + times.min()
        if self.unit in _MONTHS:
            return self._floor_months(times)
        days = times.astype("datetime64[D]")
        if self.unit == "B":
            return np.busday_offset(days, 0, roll="backward").astype("datetime64[s]")
        if self.unit == "W" and self.anchor is not None:
            weekday = (days.astype(np.int64) + 3) % 7  # 1970 began on a Thursday
            days = days + (_DAYS.index(self.anchor) - weekday) % 7
            times = days.astype("datetime64[s]")
        step = self.n * _SECONDS.get(self.unit, 1)
        origin = 0
        if _SECONDS["D"] % step:  # steps that days are not divided into
            origin = int(days.min().astype("datetime64[s]").astype(np.int64))
        seconds = times.astype(np.int64) - origin
        return (seconds // step * step + origin).astype("datetime64[s]")

    def _floor_months(self, times: np.ndarray) -> np.ndarray:
        """The dates of the months, quarters or years of times."""
        step = self.n * _MONTHS[self.unit]
        months = times.astype("datetime64[M]").astype(np.int64)
        is_dated = (_on_days(times.astype("datetime64[M]"), self.anchor) == times).all()
        if is_dated and (months % step == months.min() % step).all():
            return times  # such as quarters that end in February
        firsts = months // step * step
        if self.anchor in (LAST, LAST_WEEKDAY):
            firsts += step - 1
        return _on_days(firsts.astype("datetime64[M]"), self.anchor).astype("datetime64[s]")

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

        Months, quarters and years are dated on the day of the anchor. A start that is an integer
        counts steps, whatever they are.
        """
        steps = first + np.arange(n)
        if isinstance(start, int | np.integer):
            return start + steps * (self.n if self.unit == "step" else 1)
        if self.unit in _MONTHS:
            months = start.astype("datetime64[M]") + steps * (self.n * _MONTHS[self.unit])
            return _on_days(months, self.anchor).astype("datetime64[s]")
        if self.unit == "B":
            day = start.astype("datetime64[D]")
            days = np.busday_offset(day, steps * self.n, roll="forward")
            return days.astype("datetime64[s]") + (start - day)
        return start + (steps * (self.n * _SECONDS[self.unit])).astype("timedelta64[s]")


def _most_common(distances: np.ndarray) -> int:
    """The most common distance; the smallest of several."""
    values, counts = np.unique(distances, return_counts=True)
    return int(values[counts.argmax()])


def _anchor_named(name: str, unit: Unit) -> str | None:
    """The anchor after the hyphen of a frequency, such as 15 in `M-15`.

    The month with which a year ends, as in `Q-DEC`, is left to the times.
    """
    if unit == "W" and name.upper() in _DAYS:
        return name.upper()
    if unit in _MONTHS and name.isdecimal() and 1 <= int(name) <= 31:
        return {1: FIRST, 31: LAST}.get(int(name), str(int(name)))
    if not name or (unit in ("Q", "Y") and name.isalpha()):
        return None
    raise ValueError(f"no {unit}-{name}; expected the last day of weeks, W-SUN, or a day, M-15")


def _on_days(months: np.ndarray, anchor: str | None) -> np.ndarray:
    """The days (datetime64[D]) that date months; the last one where a month is too short."""
    first, next_first = (each.astype("datetime64[D]") for each in (months, months + 1))
    if anchor == FIRST_WEEKDAY:
        return np.busday_offset(first, 0, roll="forward")
    if anchor == LAST_WEEKDAY:
        return np.busday_offset(next_first, -1, roll="forward")
    if anchor == LAST:
        return next_first - 1
    day = 1 if anchor in (None, FIRST) else int(anchor)
    return np.minimum(first + (day - 1), next_first - 1)


def _common_anchor(times: np.ndarray) -> str | None:
    """The anchor with which the months of times have just these times; None if there is none."""
    months = times.astype("datetime64[M]")
    day = int((times.astype("datetime64[D]") - months.astype("datetime64[D]")).astype(int).max())
    known = (LAST, FIRST if day == 0 else str(day + 1), FIRST_WEEKDAY, LAST_WEEKDAY)
    return next((each for each in known if (_on_days(months, each) == times).all()), None)


def _common_months(times: np.ndarray, is_pair: np.ndarray) -> int:
    """The number of months of a step; 0 if the times are no months.

    They are if all are midnight, on the same day or the last one of different months. Other days,
    such as the last weekdays, are no months if the distances are equal, such as four weeks.
    """
    days, months = times.astype("datetime64[D]"), times.astype("datetime64[M]")
    distances = np.diff(months).astype(int)[is_pair]
    if (times != days).any() or (distances < 1).any() or (anchor := _common_anchor(times)) is None:
        return 0
    day = days - months.astype("datetime64[D]")
    is_same_day = anchor == LAST or (day == day[0]).all()
    if is_same_day or len(np.unique(np.diff(days)[is_pair])) > 1:
        return int(np.gcd.reduce(distances))
    return 0


def _are_weekdays(times: np.ndarray) -> bool:
    """Whether days leave out weekends that are between them."""
    days = times.astype("datetime64[D]")
    spans_weekend = np.busday_count(days.min(), days.max()) < (days.max() - days.min()).astype(int)
    return bool(np.is_busday(days).all() and spans_weekend)

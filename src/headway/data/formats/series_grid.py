"""The grid of a table of series: its rows in order of series and time, at equal steps.

Times that are doubled, out of order or off the grid are errors that name their line, or notes.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...config.messages import counted
from ...errors import ConfigError, DataError
from ..date_order import DateOrder, choose_order
from ..frequency import Frequency
from ..times import (
    PARTS,
    ParsedTimes,
    TimeProblem,
    parse_ordered_parts,
    parse_parts,
    parse_times,
)
from .format import Note, RepeatedTime, SeriesOptions, UnknownStep
from .series_checks import check_jump, check_steps, incomplete_ends, noted, shown
from .series_layout import SeriesLayout
from .series_table import SeriesTable

GRID_STEPS = 1 << 21
"""The most steps of all series of a file, if they are more than `GRID_SHARE` for each row."""
GRID_SHARE = 100


@dataclass(frozen=True)
class Grid:
    """The rows of a table in order of series and step.

    Attributes:
        order: the rows that are kept.
        groups: for each of them, the number of its step among all steps that have rows; rows that
            share a step are averaged.
        heads: the first row in `order` of each group.
        step: the number of the step of each group in its series.
        bounds: where the groups of each series begin, and the end.
        is_history: which groups are history.
    """

    order: np.ndarray
    groups: np.ndarray
    heads: np.ndarray
    step: np.ndarray
    bounds: np.ndarray
    is_history: np.ndarray
    names: list[str]
    starts: np.ndarray
    frequency: Frequency
    notes: list[Note]

    def part(self, s: int) -> slice:
        """The groups of a series."""
        return slice(int(self.bounds[s]), int(self.bounds[s + 1]))

    def chosen(self) -> Iterator[int]:
        """The series with rows that are not history."""
        for s in range(len(self.names)):
            if not self.is_history[self.part(s)].all():
                yield s


class Gridding:
    """The steps from the rows of a table to its grid."""

    def __init__(
        self, table: SeriesTable, layout: SeriesLayout, options: SeriesOptions, n_earlier: int
    ) -> None:
        self.table, self.layout, self.options = table, layout, options
        self.n_earlier = n_earlier
        self.notes: list[Note] = []
        self.date_order: DateOrder | None = None

    def make(self) -> Grid:
        codes, names = self._series()
        frequency = self._given_frequency()
        self._check_aggregate(frequency)
        times = self._times(codes, frequency)
        if times is None:
            return self._numbered(codes, names, frequency or Frequency("step"))
        if jump := check_jump(self.table, times):
            self.notes.append(jump)
        order = self._sorted(codes, times)
        order = self._without_doubles(order, codes, times)
        if frequency is not None:
            frequency = frequency.anchored(times)
            times = frequency.floor(times)
        groups = self._groups(order, codes, times, frequency)
        heads = np.flatnonzero(np.diff(groups, prepend=-1))
        code, time = codes[order[heads]], times[order[heads]]
        bounds = np.searchsorted(code, np.arange(len(names) + 1))
        is_inferred = frequency is None
        if frequency is None:
            frequency = Frequency.infer(time, code) or self._refuse_single(order)
            self.notes.append(Note(f"frequency {frequency.meaning}, inferred from the times"))
        else:
            rows = order[heads]
            args = (self.table, rows, bounds, heads, len(order), frequency)
            self.notes += incomplete_ends(*args)
        starts = time[bounds[:-1]]
        step, is_on = frequency.indices(starts[code], time)
        if not is_on.all():
            self._refuse_irregular(frequency, order[heads], time, code, int(is_on.argmin()))
        if is_inferred:
            check_steps(self.table, order[heads], names, frequency, bounds, time, step)
        self._check_size(step, bounds, order[heads], frequency)
        is_history = self._history(order, heads, bounds)
        return Grid(
            *(order, groups, heads, step, bounds, is_history, names, starts, frequency, self.notes)
        )

    def _numbered(self, codes: np.ndarray, names: list[str], frequency: Frequency) -> Grid:
        """The grid of a table without times: rows are steps in the order of the file."""
        self.notes.append(Note("no column of times: steps are numbered from 0"))
        order = np.argsort(codes, kind="stable")
        bounds = np.searchsorted(codes[order], np.arange(len(names) + 1))
        every = np.arange(len(order))
        step = every - bounds[codes[order]]
        is_history = self._history(order, every, bounds)
        return Grid(
            *(order, every, every, step, bounds, is_history, names),
            *(np.zeros(len(names), np.int64), frequency, self.notes),
        )

    def _series(self) -> tuple[np.ndarray, list[str]]:
        """The number of the series of each row, and the names in the order of the later file."""
        if self.layout.id is None:
            return np.zeros(len(self.table), np.int64), [""]
        texts = [text.strip() for text in self.table.texts(self.layout.id)]
        if "" in texts:
            name = self.table.header[self.layout.id]
            raise DataError(
                f"{self.table.place(texts.index(''))}: column {name!r}, which names the series, "
                "is empty; fill it in, or remove the row"
            )
        ordered = texts[self.n_earlier :] + texts[: self.n_earlier]
        numbers = {name: i for i, name in enumerate(dict.fromkeys(ordered))}
        codes = np.fromiter(map(numbers.__getitem__, texts), np.int64, len(texts))
        return codes, list(numbers)

    def _given_frequency(self) -> Frequency | None:
        if self.options.frequency is None:
            return None
        try:
            return Frequency.parse(self.options.frequency)
        except ValueError as error:
            raise ConfigError(f"frequency = {self.options.frequency!r}: {error}") from None

    def _check_aggregate(self, frequency: Frequency | None) -> None:
        """Refuses a sum where rows are not joined, or joined in another way already."""
        if self.options.aggregate != "sum":
            return
        if frequency is None:
            raise ConfigError(
                'aggregate = "sum" joins the rows of a step; set frequency to a longer step, such '
                'as frequency = "W"'
            )
        if self.options.repeated == "mean":
            raise ConfigError(
                'aggregate = "sum" and repeated = "mean" are two ways to join rows; set repeated '
                'to "first" or "last", or leave one out'
            )

    def _times(self, codes: np.ndarray, frequency: Frequency | None) -> np.ndarray | None:
        """The time of each row; None if the table has none."""
        if not self.layout.time:
            return None
        cells = self.table.columns[self.layout.time[0]]
        if len(self.layout.time) == 1 and isinstance(cells, np.ndarray) and cells.dtype.kind == "M":
            return self._whole_seconds(cells, frequency)
        try:
            parsed = self._parsed([self.table.texts(i) for i in self.layout.time])
        except TimeProblem as problem:
            raise DataError(f"{self.table.place(problem.index)}: {problem}") from None
        if parsed.fraction is not None and frequency is None:
            self._refuse_fraction(parsed.fraction)
        example = " ".join(self.table.texts(i)[0].strip() for i in self.layout.time)
        parsed, self.date_order = choose_order(parsed, example, codes, frequency)
        self.notes += map(Note, parsed.notes)
        if self.date_order is not None and self.date_order.line:
            is_guess = self.date_order.is_guess
            self.notes.append(Note(self.date_order.line, is_doubtful=is_guess))
        is_dated = parsed.times.dtype.kind == "M"
        if frequency is not None and frequency.unit == "step" and is_dated:
            raise ConfigError(
                f"frequency = {str(frequency)!r} is for times that are numbers; "
                f'{self.table.place(0)} has a date: write a unit of time, such as "D"'
            )
        return parsed.times

    def _whole_seconds(self, times: np.ndarray, frequency: Frequency | None) -> np.ndarray:
        """Times that were no text."""
        if np.isnat(times).any():
            i = int(np.isnat(times).argmax())
            raise DataError(f"{self.table.place(i)}: the time is empty; fill it in")
        seconds = times.astype("datetime64[s]")
        if frequency is None and (seconds != times).any():
            self._refuse_fraction(int((seconds != times).argmax()))
        return seconds

    def _refuse_fraction(self, row: int) -> None:
        raise DataError(
            f"{self.table.place(row)}: the time has a part of a second, and steps are whole "
            'seconds; set frequency, such as frequency = "s", to round times down'
        )

    def _parsed(self, columns: list[Sequence[str]]) -> ParsedTimes:
        names = [self.table.header[i].lower() for i in self.layout.time]
        day_first = self.options.day_first
        if len(columns) == 1:
            return parse_times(columns[0], day_first)
        if set(names) <= set(PARTS):
            return parse_parts(dict(zip(names, columns, strict=True)))
        if (parsed := parse_ordered_parts(columns)) is not None:
            return parsed
        return parse_times([" ".join(cells) for cells in zip(*columns, strict=True)], day_first)

    def _sorted(self, codes: np.ndarray, times: np.ndarray) -> np.ndarray:
        """The order of rows by series and time, as in the file where both are equal."""
        in_file = np.argsort(codes, kind="stable")
        code, time = codes[in_file], times[in_file]
        is_back = (code[1:] == code[:-1]) & (time[1:] < time[:-1])
        if is_back.any():
            rows = in_file[1:][is_back]
            self._note("rows earlier than the row before, sorted", rows)
            return np.lexsort((times, codes))
        return in_file

    def _note(self, text: str, rows: np.ndarray) -> None:
        self.notes.append(noted(self.table, text, rows))

    def _without_doubles(
        self, order: np.ndarray, codes: np.ndarray, times: np.ndarray
    ) -> np.ndarray:
        """The order without rows whose time another row of the series has, as options say."""
        code, time = codes[order], times[order]
        is_double = (code[1:] == code[:-1]) & (time[1:] == time[:-1])
        if not is_double.any():
            return order
        later = np.flatnonzero(is_double) + 1
        is_equal = np.fromiter((self._are_equal(order[i - 1], order[i]) for i in later), bool)
        if is_equal.any():
            self._note("rows equal to the row before, left out", order[later[is_equal]])
        if is_equal.all():
            return np.delete(order, later)
        how = self.options.repeated
        different = later[~is_equal]
        if how == "error":
            self._refuse_double(order[different[0] - 1], order[different[0]], times)
        done = {"first": "the first is kept", "last": "the last is kept", "mean": "averaged"}[how]
        self._note(f"rows with a time that was there before, {done}", order[different])
        if how == "mean":
            return np.delete(order, later[is_equal])
        return np.delete(order, later if how == "first" else later - 1)

    def _are_equal(self, first: int, second: int) -> bool:
        cells = (self.table.columns[i] for i in self.layout.used)
        return all(str(column[first]) == str(column[second]) for column in cells)

    def _refuse_double(self, first: int, second: int, times: np.ndarray) -> None:
        is_one = self.layout.id is None
        hint = "; if a column names the series of a row, set id to it" if is_one else ""
        raise RepeatedTime(
            f"{self.table.place(second)}: the time {shown(times[second])} is also that of "
            f"{self.table.place(first)}, with other values{_clock_change(times[second])}",
            f'set repeated to "first", "last" or "mean"{hint}',
        )

    def _groups(
        self,
        order: np.ndarray,
        codes: np.ndarray,
        times: np.ndarray,
        frequency: Frequency | None,
    ) -> np.ndarray:
        """The number of the step of each row, among all steps that have rows."""
        code, time = codes[order], times[order]
        is_new = np.ones(len(order), bool)
        is_new[1:] = (code[1:] != code[:-1]) | (time[1:] != time[:-1])
        if frequency is not None and self.options.repeated != "mean" and not is_new.all():
            done = "added up" if self.options.aggregate == "sum" else "averaged"
            self._note(f"rows that share a step of {frequency}, {done}", order[~is_new])
        return np.cumsum(is_new) - 1

    def _refuse_single(self, order: np.ndarray) -> Frequency:
        raise UnknownStep(
            f"{self.table.place(order[0])}: one row does not show how far apart the times are; "
            'set frequency, such as frequency = "D"'
        )

    def _refuse_irregular(
        self, frequency: Frequency, rows: np.ndarray, time: np.ndarray, code: np.ndarray, i: int
    ) -> None:
        """Raises the error of a time that is not on the grid."""
        same = time[code == code[i]]
        usual = Frequency.near(same)
        raise DataError(
            f"{self.table.place(rows[i])}: {shown(time[i])} is not a whole number of steps of "
            f"{frequency}, the most common distance of times, after {shown(same[0])}; correct it, "
            f'or set frequency, such as frequency = "{usual}", to round times down'
        )

    def _check_size(
        self, step: np.ndarray, bounds: np.ndarray, rows: np.ndarray, frequency: Frequency
    ) -> None:
        """Refuses times so far apart that the grid would fill the memory."""
        last = step[bounds[1:] - 1]
        total = int(last.sum()) + len(last)
        if total <= (self.options.most_steps or max(GRID_STEPS, GRID_SHARE * len(rows))):
            return
        farthest = int(np.diff(step, prepend=0).argmax())
        raise DataError(
            f"{self.table.place(rows[farthest])}: {counted(len(rows), 'row')} would be {total} "
            f"steps of {frequency}; is this time wrong? Otherwise set a longer frequency"
        )

    def _history(self, order: np.ndarray, heads: np.ndarray, bounds: np.ndarray) -> np.ndarray:
        """Which steps are history: those of the earlier file, which ends before the later one."""
        is_history = order[heads] < self.n_earlier
        is_late = is_history[1:] & ~is_history[:-1]
        is_late[bounds[1:-1] - 1] = False  # of another series
        if is_late.any():
            i = int(is_late.argmax())
            raise DataError(
                f"{self.table.place(order[heads[i + 1]])}: the history goes on after "
                f"{self.table.place(order[heads[i]])}; it must end before the later file begins"
            )
        absent = [s for s in range(len(bounds) - 1) if is_history[bounds[s] : bounds[s + 1]].all()]
        if absent:
            rows = order[heads[bounds[absent]]]
            self._note("series of the history that the later file does not have, left out", rows)
        return is_history


def _clock_change(time: Any) -> str:
    """A hint for the hour that a clock has twice in autumn."""
    if not isinstance(time, np.datetime64):
        return ""
    month = int(time.astype("datetime64[M]").astype(int)) % 12 + 1
    hour = int(time.astype("datetime64[h]").astype(int)) % 24
    is_autumn = month in (10, 11) and hour < 4
    return " (the hour that the clocks are set back?)" if is_autumn else ""

"""Rows of a table of series: rows of the table put on the grid of equal steps.

Whatever is found on the way (values and times that are missing, doubled or out of order) is an
error that names its line, or a note of the row.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...config.messages import counted
from ...errors import ConfigError, DataError
from ..frequency import Frequency
from ..series import Series, filled, missing_in
from ..times import PARTS, ParsedTimes, TimeProblem, parse_parts, parse_times
from .columns import Columns
from .format import Note, RepeatedTime, Row, SeriesOptions, UnknownStep
from .series_layout import TEXTS, SeriesLayout, find_layout
from .series_table import MISSING, SeriesTable

PLACES_SHOWN = 3
GRID_STEPS = 1 << 21
"""The most steps of all series of a file, if they are more than `GRID_SHARE` for each row."""
GRID_SHARE = 100


def rows_of(
    table: SeriesTable,
    columns: Columns,
    options: SeriesOptions,
    is_long: bool,
    earlier: SeriesTable | None = None,
) -> Iterator[Row]:
    """The rows of a table: one for each series.

    Args:
        is_long: rows belong to the series that a column names; otherwise all are of one series.
        earlier: rows of the same series that are history only.

    Raises:
        DataError: what cannot be read, or not be put on a grid.
        ConfigError: an option does not fit the table.
    """
    layout = find_layout(table, columns, options, is_long)
    n_earlier = 0
    if earlier is not None:
        n_earlier = len(earlier)
        table = table.after(earlier, layout.used)
    grid = _Gridding(table, layout, options, n_earlier).make()
    values_of = _Values(table, grid)
    first = tuple(layout.notes) + tuple(grid.notes)
    for s in grid.chosen():
        row = _row(table, layout, options, grid, values_of, s)
        yield row._replace(notes=first + row.notes)
        first = ()


@dataclass(frozen=True)
class _Grid:
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


class _Gridding:
    """The steps from the rows of a table to its grid."""

    def __init__(
        self, table: SeriesTable, layout: SeriesLayout, options: SeriesOptions, n_earlier: int
    ) -> None:
        self.table, self.layout, self.options = table, layout, options
        self.n_earlier = n_earlier
        self.notes: list[Note] = []

    def make(self) -> _Grid:
        codes, names = self._series()
        frequency = self._given_frequency()
        parsed = self._times(frequency)
        if parsed is None:
            return self._numbered(codes, names, frequency or Frequency("step"))
        times = parsed
        order = self._sorted(codes, times)
        order = self._without_doubles(order, codes, times)
        if frequency is not None:
            times = frequency.floor(times)
        groups = self._groups(order, codes, times, frequency)
        heads = np.flatnonzero(np.diff(groups, prepend=-1))
        code, time = codes[order[heads]], times[order[heads]]
        if frequency is None:
            frequency = Frequency.infer(time, code) or self._refuse_single(order)
            self.notes.append(Note(f"frequency {frequency}, inferred from the times"))
        bounds = np.searchsorted(code, np.arange(len(names) + 1))
        starts = time[bounds[:-1]]
        if frequency.unit in ("M", "Q", "Y") and starts.dtype.kind == "M":
            starts = starts.astype("datetime64[M]").astype("datetime64[s]")
        step, is_on = frequency.indices(starts[code], time)
        if not is_on.all():
            self._refuse_irregular(frequency, order[heads], time, code, int(is_on.argmin()))
        self._check_size(step, bounds, order[heads], frequency)
        is_history = self._history(order, heads, bounds)
        return _Grid(
            *(order, groups, heads, step, bounds, is_history, names, starts, frequency, self.notes)
        )

    def _numbered(self, codes: np.ndarray, names: list[str], frequency: Frequency) -> _Grid:
        """The grid of a table without times: rows are steps in the order of the file."""
        self.notes.append(Note("no column of times: steps are numbered from 0"))
        order = np.argsort(codes, kind="stable")
        bounds = np.searchsorted(codes[order], np.arange(len(names) + 1))
        every = np.arange(len(order))
        step = every - bounds[codes[order]]
        is_history = self._history(order, every, bounds)
        return _Grid(
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

    def _times(self, frequency: Frequency | None) -> np.ndarray | None:
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
        self.notes += map(Note, parsed.notes)
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
        if len(columns) == 1:
            return parse_times(columns[0])
        if set(names) <= set(PARTS):
            return parse_parts(dict(zip(names, columns, strict=True)))
        return parse_times([" ".join(cells) for cells in zip(*columns, strict=True)])

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
        self.notes.append(_noted(self.table, text, rows))

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
            f"{self.table.place(second)}: the time {_shown(times[second])} is also that of "
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
            self._note(f"rows that share a step of {frequency}, averaged", order[~is_new])
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
            f"{self.table.place(rows[i])}: {_shown(time[i])} is not a whole number of steps of "
            f"{frequency}, the most common distance of times, after {_shown(same[0])}; correct it, "
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


def _shown(time: Any) -> str:
    """A time in messages, without a clock at midnight."""
    return str(time).replace("T", " ").removesuffix(" 00:00:00")


def _noted(table: SeriesTable, text: str, rows: np.ndarray) -> Note:
    return Note(text, len(rows), tuple(table.place(int(row)) for row in rows[:PLACES_SHOWN]))


class _Values:
    """The columns of a table on the grid, each read once."""

    def __init__(self, table: SeriesTable, grid: _Grid) -> None:
        self._table, self._grid = table, grid
        self._numbers: dict[int, np.ndarray] = {}
        self._texts: dict[int, np.ndarray] = {}
        self._kinds: dict[int, bool] = {}

    def numbers(self, column: int) -> np.ndarray:
        """The number of each group, NaN if it is missing."""
        if column not in self._numbers:
            values = self._table.numbers(column)[self._grid.order]
            self._numbers[column] = self._averaged(values)
        return self._numbers[column]

    def _averaged(self, values: np.ndarray) -> np.ndarray:
        grid = self._grid
        if len(grid.heads) == len(values):
            return values
        is_known = ~np.isnan(values)
        sums = np.bincount(grid.groups, np.where(is_known, values, 0.0))
        counts = np.bincount(grid.groups, is_known)
        return np.divide(sums, counts, out=np.full(len(sums), np.nan), where=counts > 0)

    def texts(self, column: int) -> np.ndarray:
        """The text of each group, None if it is missing; the last one of several."""
        if column not in self._texts:
            cells = (text.strip() for text in self._table.texts(column))
            objects = np.array([text if _is_known(text) else None for text in cells], object)
            ends = np.append(self._grid.heads[1:], len(self._grid.order)) - 1
            self._texts[column] = objects[self._grid.order[ends]]
        return self._texts[column]

    def are_numbers(self, columns: Sequence[int]) -> bool:
        """Whether columns hold numbers alone; otherwise their series holds text."""
        for column in columns:
            if column not in self._kinds:
                self._kinds[column] = self._table.is_numeric(column)
        return all(self._kinds[column] for column in columns)


def _is_known(text: str) -> bool:
    return text.lower() not in MISSING


def _row(
    table: SeriesTable,
    layout: SeriesLayout,
    options: SeriesOptions,
    grid: _Grid,
    values_of: _Values,
    s: int,
) -> Row:
    """The row of a series."""
    part = grid.part(s)
    step = grid.step[part]
    n_history = int(step[np.flatnonzero(~grid.is_history[part])[0]])
    start = grid.starts[s]
    base = Series(
        name=grid.names[s],
        columns=(),
        values=np.empty((0, 0)),
        start=start if isinstance(start, np.datetime64) else int(start),
        frequency=grid.frequency,
        history=n_history,
    )
    maker = _RowMaker(table, grid, values_of, options, part, base)
    end = maker.end_of(layout.roles) if "known" in layout.roles else int(step[-1]) + 1
    values = tuple(
        maker.value(role, columns, int(step[-1]) + 1 if role == "known" else end)
        for role, columns in layout.roles.items()
    )
    maker.note_absent()
    first = grid.order[grid.heads[part][~grid.is_history[part]][0]]
    return Row(values, table.place(int(first)), tuple(maker.notes))


class _RowMaker:
    """The values of one series and the notes about them."""

    def __init__(
        self,
        table: SeriesTable,
        grid: _Grid,
        values_of: _Values,
        options: SeriesOptions,
        part: slice,
        base: Series,
    ) -> None:
        self._table, self._grid, self._values_of, self._options = table, grid, values_of, options
        self._part, self._base = part, base
        self._step = grid.step[part]
        self.notes: list[Note] = []

    def end_of(self, roles: Mapping[str, Sequence[int]]) -> int:
        """The number of steps up to the last with a target; all if there is none.

        The rows after it are the future of the known columns.
        """
        numbers = [self._values_of.numbers(column)[self._part] for column in roles["target"]]
        has_value = ~np.isnan(np.stack(numbers)).all(axis=0)
        last = int(np.flatnonzero(has_value)[-1]) if has_value.any() else len(has_value) - 1
        future = np.arange(last + 1, len(has_value))
        if len(future):
            text = "rows after the last target, read as the future of the known columns"
            note = _noted(self._table, text, self._rows(future))
            self.notes.append(replace(note, is_expected=True))
        return int(self._step[last]) + 1

    def value(self, role: str, columns: tuple[int, ...], n_steps: int) -> Series | str:
        """The value of one of the task's columns."""
        if role in TEXTS:
            return self._constant(role, columns[0]) or ""
        names = tuple(self._table.header[column] for column in columns)
        if role == "static":
            return replace(self._base, columns=names, values=self._static(columns), history=0)
        values = self._on_grid(role, columns, n_steps)
        return replace(self._base, columns=names, values=values)

    def _on_grid(self, role: str, columns: tuple[int, ...], n_steps: int) -> np.ndarray:
        """The values (T, C) of columns."""
        is_number = role not in ("past", "known") or self._values_of.are_numbers(columns)
        shape = (n_steps, len(columns))
        values = np.full(shape, np.nan) if is_number else np.full(shape, None, object)
        inside = self._step < n_steps
        read = self._values_of.numbers if is_number else self._values_of.texts
        for c, column in enumerate(columns):
            found = read(column)[self._part][inside]
            values[self._step[inside], c] = found
            is_missing = missing_in(found[:, None])[:, 0]
            if is_missing.any():
                self._missing(column, np.flatnonzero(inside)[is_missing])
        return filled(values) if self._options.missing == "fill" else values

    def _missing(self, column: int, positions: np.ndarray) -> None:
        """Notes missing values of a column, or refuses them."""
        name, rows = self._table.header[column], self._rows(positions)
        if self._options.missing == "error":
            raise DataError(
                f"{self._table.place(rows[0])}: no value in column {name!r}; fill it in, or set "
                'missing to "mask" or "fill"'
            )
        done = ", filled" if self._options.missing == "fill" else ""
        self.notes.append(_noted(self._table, f"missing values in column {name!r}{done}", rows))

    def _rows(self, positions: np.ndarray) -> np.ndarray:
        """The rows of the table at positions of the series."""
        return self._grid.order[self._grid.heads[self._part][positions]]

    def note_absent(self) -> None:
        """Notes steps without a row, or refuses them."""
        step = self._step
        gaps = np.diff(step) - 1
        if not gaps.any():
            return
        after = np.flatnonzero(gaps)
        first = self._table.place(int(self._rows(after[:1])[0]))
        if self._options.missing == "error":
            time = self._base.frequency.times(self._base.start, int(step[after[0]]) + 1, 1)[0]
            raise DataError(
                f"{first}: no row for {_shown(time)} after this one; add it, or set missing to "
                '"mask" or "fill"'
            )
        done = ", filled" if self._options.missing == "fill" else ""
        places = tuple(self._table.place(int(i)) for i in self._rows(after[:PLACES_SHOWN]))
        count = int(gaps.sum())
        self.notes.append(Note(f"times without a row{done}, after", count, places))

    def _static(self, columns: tuple[int, ...]) -> np.ndarray:
        """The facts (1, S) of a series."""
        texts = [self._constant("static", column) for column in columns]
        if not self._values_of.are_numbers(columns):
            return np.array([texts], object)
        numbers = [self._values_of.numbers(column)[self._part] for column in columns]
        return np.array([[next(iter(x[~np.isnan(x)]), np.nan) for x in numbers]])

    def _constant(self, role: str, column: int) -> str | None:
        """The text that a column has in all rows of a series where it is not missing."""
        texts = self._values_of.texts(column)[self._part]
        known = np.flatnonzero(~missing_in(texts))
        if not len(known):
            return None
        other = known[texts[known] != texts[known[0]]]
        if len(other):
            one, two = self._rows(np.array([known[0], other[0]]))
            raise DataError(
                f"{self._table.place(two)}: {texts[other[0]]!r} in column "
                f"{self._table.header[column]!r} where {self._table.place(one)} of the same "
                f"series has {texts[known[0]]!r}; a {role} may not change in a series"
            )
        return str(texts[known[0]])

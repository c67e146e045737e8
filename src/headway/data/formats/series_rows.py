"""Rows of a table of series: the values of its columns on the grid of equal steps.

Values that are missing, or that change where they may not, are errors that name their line, or
notes of the row. The grid is made in `series_grid.py`.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from ...errors import DataError
from ..series import Series, filled, missing_in
from .columns import Columns
from .format import PLACES_SHOWN, Note, Row, SeriesOptions, TableFacts
from .series_checks import far_notes, noted, shown
from .series_grid import Grid, Gridding
from .series_layout import TEXTS, VALUES, SeriesLayout, find_layout
from .series_table import MISSING, SeriesTable


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
    gridding = Gridding(table, layout, options, n_earlier)
    grid = gridding.make()
    values_of = _Values(table, grid, options.aggregate)
    facts = TableFacts(layout.described(table.header), gridding.date_order)
    first: tuple[Note, ...] | None = tuple(layout.notes) + tuple(grid.notes)
    for s in grid.chosen():
        row = _row(table, layout, options, grid, values_of, s)
        read = tuple(map(Note, table.number_notes(layout.used))) if first is not None else ()
        yield row._replace(notes=(first or ()) + read + row.notes, facts=facts)
        first = None


class _Values:
    """The columns of a table on the grid, each read once."""

    def __init__(self, table: SeriesTable, grid: Grid, aggregate: str) -> None:
        self._table, self._grid, self._aggregate = table, grid, aggregate
        self._numbers: dict[tuple[int, bool], np.ndarray] = {}
        self._texts: dict[int, np.ndarray] = {}
        self._kinds: dict[int, bool] = {}

    def numbers(self, column: int, role: str = "target") -> np.ndarray:
        """The number of each group, NaN if it is missing."""
        is_sum = self._aggregate == "sum" and role in VALUES
        if (column, is_sum) not in self._numbers:
            values = self._table.numbers(column)[self._grid.order]
            self._numbers[column, is_sum] = self._joined(values, is_sum)
        return self._numbers[column, is_sum]

    def _joined(self, values: np.ndarray, is_sum: bool) -> np.ndarray:
        """The mean or the sum of the values of each group that are there."""
        grid = self._grid
        if len(grid.heads) == len(values):
            return values
        is_known = ~np.isnan(values)
        sums = np.bincount(grid.groups, np.where(is_known, values, 0.0))
        counts = np.bincount(grid.groups, is_known)
        divisors = np.minimum(counts, 1) if is_sum else counts
        return np.divide(sums, divisors, out=np.full(len(sums), np.nan), where=counts > 0)

    def texts(self, column: int, is_name: bool = False) -> np.ndarray:
        """The text of each group, None if it is missing; the last one of several.

        Args:
            is_name: whether the texts are names, even if they look like numbers.
        """
        if column not in self._texts:
            read = self._table.texts if is_name else self._table.plain_texts
            cells = (text.strip() for text in read(column))
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
    grid: Grid,
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
        grid: Grid,
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
            note = noted(self._table, text, self._rows(future))
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
        for c, column in enumerate(columns):
            read = self._values_of
            whole = read.numbers(column, role) if is_number else read.texts(column)
            found = whole[self._part][inside]
            if is_number:
                rows = self._rows(np.flatnonzero(inside))
                self.notes += far_notes(self._table, column, found, rows)
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
        self.notes.append(noted(self._table, f"missing values in column {name!r}{done}", rows))

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
                f"{first}: no row for {shown(time)} after this one; add it, or set missing to "
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
        texts = self._values_of.texts(column, is_name=role == "label")[self._part]
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

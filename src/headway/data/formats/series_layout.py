"""Which columns of a table of series are its time, its ids, its values and covariates."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace

from ...errors import ConfigError, DataError
from ..times import PARTS, looks_dated
from .columns import Columns, listed, pick
from .format import ColumnEntry, Note, SeriesOptions
from .series_checks import chosen_columns
from .series_table import MISSING, SeriesTable

ID_NAMES = ("unique_id", "item_id", "series_id")
TIME_NAMES = ("ds", "timestamp", "date", "datetime", "time")
TARGET_NAMES = ("y", "target")
VALUES = ("target", "series")
"""Columns of tasks whose values are series of numbers."""
COVARIATES = ("past", "known", "static")
TEXTS = ("label", "value")
"""Columns of tasks with one text for each series."""


@dataclass(frozen=True)
class SeriesLayout:
    """Positions of columns in a table.

    Attributes:
        time: of the time; several if parts of it have columns of their own.
        roles: of each of the task's columns.
        unread: of columns that have another use.
    """

    id: int | None
    time: tuple[int, ...]
    roles: dict[str, tuple[int, ...]]
    unread: frozenset[int] = frozenset()
    notes: list[Note] = field(default_factory=list)

    def described(self, header: Sequence[str]) -> str:
        """The use of each column, for the log: `time: date; target: y; not read: note`."""
        roles = {"id": () if self.id is None else (self.id,), **self.roles}
        return chosen_columns(header, self.time, roles)

    @property
    def used(self) -> list[int]:
        """The positions of all columns that are read."""
        ids = [] if self.id is None else [self.id]
        return list(dict.fromkeys([*ids, *self.time, *sum(self.roles.values(), ())]))


def named_like(header: Sequence[str], names: Sequence[str]) -> int | None:
    """The position of the first of some names in a header, in any case; None if none is there."""
    lowered = [text.lower() for text in header]
    return next((lowered.index(name) for name in names if name in lowered), None)


def is_long_table(
    header: Sequence[str], options: SeriesOptions, columns: Collection[str], where: str
) -> bool:
    """Whether a column names the series of each row.

    Raises:
        ConfigError: none does, and the task has a label or value for each series.
    """
    if names_series(header, options):
        return True
    if "series" in columns:
        raise ConfigError(
            f"{where}: which column names the series? The header has {listed(header)}; say it, "
            f'such as id = "{listed(header[:1])}"'
        )
    return False


def names_series(header: Sequence[str], options: SeriesOptions) -> bool:
    """Whether a column names the series of each row, by the options or by its own name."""
    is_given = options_for(header, options).id is not None
    return is_given or named_like(header, ID_NAMES) is not None


def options_for(header: Sequence[str], options: SeriesOptions) -> SeriesOptions:
    """The options, for a trained model without the columns that a header does not have."""
    if options.names is None:
        return options
    own = {name for names in options.names.values() for name in names}

    def is_there(entry: str | int) -> bool:
        if isinstance(entry, str):
            return entry in header
        return 1 <= abs(entry) <= len(header) and header[entry - (entry > 0)] not in own

    time = options.time if isinstance(options.time, list) else [options.time or 0]
    return replace(
        options,
        id=options.id if options.id is not None and is_there(options.id) else None,
        time=options.time if all(map(is_there, time)) else None,
    )


def has_own_columns(header: Sequence[str], options: SeriesOptions, column: str) -> bool:
    """Whether a header has all columns that a trained model reads for a column of the task."""
    names = (options.names or {}).get(column)
    return names is not None and set(names) <= set(header)


def find_layout(
    table: SeriesTable, columns: Columns, options: SeriesOptions, is_long: bool
) -> SeriesLayout:
    """The layout of a table.

    Args:
        is_long: rows belong to the series that a column names.

    Raises:
        DataError: a column is not in the header, or there is nothing to read.
        ConfigError: a column is given twice, or cannot be told from the header.
    """
    options = options_for(table.header, options)
    given = columns
    columns = {
        column: list(options.names[column])  # type: ignore[index]
        if has_own_columns(table.header, options, column)
        else entry
        for column, entry in given.items()
    }
    identifier = _id(table, options) if is_long or options.id is not None else None
    time = _time(table, options)
    roles = {
        column: _positions(table, column, entry)
        for column, entry in columns.items()
        if entry is not None
    }
    layout = SeriesLayout(identifier, time, roles, _unread(table, options))
    _refuse_repeated(table, layout)
    for column in sorted(set(columns) - set(roles), key=lambda column: column in VALUES):
        roles[column] = _found(table, column, layout, is_long)  # values take what is left
    if any(entry is None and columns[column] for column, entry in given.items()):
        _note_unknown(table, layout)
    _refuse_double_names(table, layout)
    ordered = {column: roles[column] for column in columns}
    return SeriesLayout(identifier, time, ordered, layout.unread, layout.notes)


def _unread(table: SeriesTable, options: SeriesOptions) -> frozenset[int]:
    """The positions of columns that are not read, as far as the table has them."""
    width = len(table.header)
    there = [
        name
        for name in options.unread
        if (name in table.header if isinstance(name, str) else 1 <= name <= width)
    ]
    return frozenset(_positions(table, "label", name)[0] for name in there)


def _positions(table: SeriesTable, role: str, entry: ColumnEntry) -> tuple[int, ...]:
    """The positions of columns by name or number."""
    entries = entry if isinstance(entry, list) else [entry]
    if not entries:
        raise ConfigError(f"{table.where}: {role} is an empty list; name a column or leave it out")
    header = table.header
    for name in entries:
        if isinstance(name, str) and header.count(name) > 1:
            raise DataError(
                f"{table.where}: there are {header.count(name)} columns {name!r}; give each column "
                "a name of its own"
            )
    picked = (pick({role: name}, header, len(header), table.where) for name in entries)
    return tuple(position for [position] in picked)


def _id(table: SeriesTable, options: SeriesOptions) -> int:
    if options.id is not None:
        return _positions(table, "id", options.id)[0]
    found = named_like(table.header, ID_NAMES)
    if found is None:
        raise ConfigError(
            f"{table.where}: which column names the series? The header has {listed(table.header)}; "
            f'say it, such as id = "{listed(table.header[:1])}"'
        )
    return found


def _time(table: SeriesTable, options: SeriesOptions) -> tuple[int, ...]:
    """The columns of the time; none if rows are to be numbered."""
    if options.time is not None:
        return _positions(table, "time", options.time)
    date, clock = (named_like(table.header, (name,)) for name in ("date", "time"))
    if date is not None and clock is not None and _is_clock(table, clock):
        return (date, clock)
    found = named_like(table.header, TIME_NAMES)
    if found is not None:
        return (found,)
    parts = [named_like(table.header, (part,)) for part in PARTS]
    if parts[0] is not None:
        n_parts = parts.index(None) if None in parts else len(parts)
        return tuple(part for part in parts[:n_parts] if part is not None)
    dated = (i for i in range(len(table.header)) if is_dated(table, i))
    return tuple(dated)[:1]


def _is_clock(table: SeriesTable, column: int) -> bool:
    """Whether the first cell of a column is a time without its date."""
    cells = table.columns[column]
    first = cells[0] if len(cells) and isinstance(cells[0], str) else ""
    return ":" in first and not looks_dated(first)


def is_dated(table: SeriesTable, column: int) -> bool:
    """Whether the first cell of a column is a date that cannot be a number."""
    cells = table.columns[column]
    return len(cells) > 0 and (
        looks_dated(cells[0]) if isinstance(cells[0], str) else cells.dtype.kind == "M"  # type: ignore[union-attr]
    )


def _found(table: SeriesTable, column: str, layout: SeriesLayout, is_long: bool) -> tuple[int, ...]:
    """The positions of a column without an entry."""
    if column in VALUES:
        names = TARGET_NAMES if column == "target" and is_long else ()
        named = named_like(table.header, names)
        return _numeric(table, column, layout) if named is None else (named,)
    if column in TEXTS:
        return _positions(table, column, column)
    raise ConfigError(f"{table.where}: {column} needs the names of its columns")


def _numeric(table: SeriesTable, column: str, layout: SeriesLayout) -> tuple[int, ...]:
    """All columns of numbers that have no other use; the others are noted."""
    used = {*layout.used, *layout.unread}
    label = named_like(table.header, ("label",)) if column == "series" else None
    free = [i for i in range(len(table.header)) if i not in used and i != label]
    numeric = [i for i in free if table.is_numeric(i)]
    if not numeric:
        raise DataError(
            f"{table.where}: no column of numbers for {column}; the header has "
            f"{listed(table.header)}; is a separator or a decimal comma wrong?"
        )
    for i in free:
        if i not in numeric:
            content = "has dates" if is_dated(table, i) else "is text"
            layout.notes.append(Note(f"column {table.header[i]!r} {content} and is not read"))
    return tuple(_with_values(table, numeric, layout))


def _with_values(table: SeriesTable, numeric: list[int], layout: SeriesLayout) -> list[int]:
    """The columns that have a value; all of them if none has. The others are noted."""
    empty = [i for i in numeric if {t.strip().lower() for t in table.texts(i)} <= MISSING]
    if len(empty) == len(numeric):
        return numeric
    for i in empty:
        text = f"column {table.header[i]!r} has no values and is not read"
        layout.notes.append(Note(text, is_doubtful=True))
    return [i for i in numeric if i not in empty]


def _refuse_double_names(table: SeriesTable, layout: SeriesLayout) -> None:
    """Refuses two columns of one name of which one is read."""
    for name in (table.header[i] for i in layout.used):
        if (n := table.header.count(name)) > 1:
            raise DataError(
                f"{table.where}: there are {n} columns {name!r}; give each a name of its own"
            )


def _note_unknown(table: SeriesTable, layout: SeriesLayout) -> None:
    """Notes columns of numbers that the training data did not have, and so the model not either."""
    used = {*layout.used, *layout.unread}
    unknown = [i for i in range(len(table.header)) if i not in used and table.is_numeric(i)]
    if unknown:
        names = listed(table.header[i] for i in unknown)
        noun = "column" if len(unknown) == 1 else "columns"
        text = f"{noun} that the training data did not have, left out: {names}"
        layout.notes.append(Note(text, len(unknown)))


def _refuse_repeated(table: SeriesTable, layout: SeriesLayout) -> None:
    """Refuses a column that has two uses."""
    uses: dict[int, str] = {} if layout.id is None else {layout.id: "id"}
    for role, positions in [("time", layout.time), *layout.roles.items()]:
        for i in positions:
            other = uses.setdefault(i, role)
            if other != role and "time" not in (other, role):
                raise ConfigError(
                    f"{table.where}: column {table.header[i]!r} is both {other} and {role}; "
                    "leave it out of one"
                )

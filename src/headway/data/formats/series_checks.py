"""What rows of a table of series are asked before they are trusted.

A time far from all others, a series with longer steps than the others, a period that is not
complete, a value far from the rest. Reading the rows is left to `series_rows`.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...config.messages import counted
from ...errors import DataError
from ..frequency import Frequency
from .format import PLACES_SHOWN, Note
from .series_table import SeriesTable

FEWEST_TIMES = 10
"""Fewer times than this do not show which of them is far from the others."""
LONGEST_JUMP = 5
"""A few times that are more than this many times as far away as the others reach are wrong."""
FEW_TIMES = 0.05
FEWEST_ROWS = 6
"""Rows of a series from which on equal distances are its step."""
FULL = 0.8
"""The share of the steps of a series that have rows, if those steps are its own."""
FAR = 1e6
"""Deviations from the median at which a value is questioned."""
FAR_CODE = 50
"""Deviations at which a value that looks like a code, such as -9999, is questioned."""
NORMAL = 1.4826
"""Standard deviations of a normal distribution in its median absolute deviation."""
SHOWN = 3


def noted(table: SeriesTable, text: str, rows: Sequence[int] | np.ndarray) -> Note:
    """A note about some rows, which it counts."""
    return Note(text, len(rows), tuple(table.place(int(row)) for row in rows[:PLACES_SHOWN]))


def check_jump(table: SeriesTable, times: np.ndarray) -> Note | None:
    """A warning if there is a gap longer than all other times together.

    Raises:
        DataError: a few times alone are that far away, such as a year with a wrong digit.
    """
    order = np.argsort(times, kind="stable")
    ordered = times[order]
    distances = np.diff(ordered).astype(np.int64)
    if np.count_nonzero(distances) < FEWEST_TIMES - 1:
        return None
    i = int(distances.argmax())
    jump = int(distances[i])
    rest = int(distances.sum()) - jump
    n_few = min(i + 1, len(times) - i - 1)
    before, after = ordered[i], ordered[i + 1]
    if jump > LONGEST_JUMP * rest and n_few <= max(1, FEW_TIMES * len(times)):
        is_last = i + 1 > len(times) // 2
        row = int(order[i + 1] if is_last else order[i])
        side = f"after the time before it, {shown(before)}"
        if not is_last:
            side = f"before the time after it, {shown(after)}"
        raise DataError(
            f"{table.place(row)}: {shown(times[row])} is {_length(jump, times)} {side}; correct "
            "it, or remove the row"
        )
    if jump <= rest:
        return None
    text = f"no row from {shown(before)} to {shown(after)}, which is longer than all other times"
    place = table.place(int(order[i + 1]))
    return Note(f"{text} together", places=(place,), is_doubtful=True)


def shown(time: Any) -> str:
    """A time in messages, without a clock at midnight."""
    return str(time).replace("T", " ").removesuffix(" 00:00:00")


def _length(distance: int, times: np.ndarray) -> str:
    """A distance of times in words."""
    if times.dtype.kind != "M":
        return f"{distance:,}"
    for noun, seconds in (("year", 31556952), ("day", 86400), ("hour", 3600)):
        if distance >= 2 * seconds:
            return counted(round(distance / seconds), noun)
    return counted(distance, "second")


def check_steps(
    table: SeriesTable,
    rows: np.ndarray,
    names: Sequence[str],
    frequency: Frequency,
    bounds: np.ndarray,
    time: np.ndarray,
    step: np.ndarray,
) -> None:
    """Refuses a series whose own regular step is longer than the common one.

    A series with gaps is left as it is: its rows are not at equal distances.

    Args:
        rows: of the table, in order of series and time.
        bounds: where the rows of each series begin, and the end.
        time, step: the time of each row, and its number.

    Raises:
        DataError: naming the first such series.
    """
    if len(names) < 2:
        return
    found = []
    for s in np.flatnonzero(_least_distances(step, bounds) > 1).tolist():
        part = slice(int(bounds[s]), int(bounds[s + 1]))
        own = _own_step(time[part])
        if own is not None and own != frequency:
            found.append((s, own))
    if not found:
        return
    s, own = found[0]
    more = f" ({len(found) - 1:,} other series too)" if len(found) > 1 else ""
    raise DataError(
        f"{table.place(int(rows[bounds[s]]))}: series {names[s]!r} has steps of {own}, the most "
        f"common step is {frequency}{more}; train a model for each step, set frequency to the "
        f'longest, such as frequency = "{own}", or, if they are gaps, frequency = "{frequency}"'
    )


def _least_distances(step: np.ndarray, bounds: np.ndarray) -> np.ndarray:
    """The smallest distance of two rows of each series; 0 if it has fewer than 3."""
    sizes = np.diff(bounds)
    least = np.zeros(len(sizes), np.int64)
    for s in np.flatnonzero(sizes >= 3).tolist():
        least[s] = np.diff(step[bounds[s] : bounds[s + 1]]).min()
    return least


def _own_step(times: np.ndarray) -> Frequency | None:
    """The step of a series if its rows are at equal distances, nearly without gaps."""
    own = Frequency.infer(times)
    if own is None or (not own.has_days and len(times) < FEWEST_ROWS):
        return None
    numbers, is_on = own.indices(times[0], times)
    return own if is_on.all() and len(times) >= FULL * (int(numbers[-1]) + 1) else None


def incomplete_ends(
    table: SeriesTable,
    rows: np.ndarray,
    bounds: np.ndarray,
    heads: np.ndarray,
    n_rows: int,
    frequency: Frequency,
) -> list[Note]:
    """A note of first and last steps that have fewer rows than all others of their series.

    Args:
        rows: of the table, the first of each step that has some.
        bounds: where the steps of each series begin, and the end.
        heads: the number of the first row of each step among all that are kept.
        n_rows: the number of rows that are kept.
    """
    sizes = np.diff(heads, append=n_rows)
    found: dict[str, list[int]] = {"first": [], "last": []}
    for begin, end in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
        if end - begin < 4 or (least := int(sizes[begin + 1 : end - 1].min())) < 2:
            continue
        for name, i in (("first", begin), ("last", end - 1)):
            if sizes[i] < least:
                found[name].append(i)
    notes = []
    for name, steps in found.items():
        if len(steps) == 1:
            size = counted(int(sizes[steps[0]]), "row")
            text = f"the {name} step of {frequency} has {size}, fewer than those between"
            place = table.place(int(rows[steps[0]]))
            notes.append(Note(text, places=(place,), is_doubtful=True))
        elif steps:
            text = f"series whose {name} step of {frequency} has fewer rows than those between"
            notes.append(noted(table, text, rows[steps]))
    return notes


def far_values(values: np.ndarray) -> np.ndarray:
    """The positions of values that are so far from all others that they may be mistakes."""
    positions = np.flatnonzero(~np.isnan(values))
    known = values[positions]
    if len(known) < FEWEST_TIMES:
        return positions[:0]
    distances = np.abs(known - np.median(known))
    deviation = float(np.median(distances))
    if not deviation:  # more than half of the values are equal
        others = distances[distances > 0]
        deviation = float(np.median(others)) if len(others) >= FEWEST_TIMES else 0.0
    if not deviation:
        return positions[:0]
    distances /= NORMAL * deviation
    is_far = distances > FAR
    is_code = distances > FAR_CODE
    is_code[is_code] = [_is_code(value) for value in known[is_code]]
    usual = distances[~is_far & ~is_code]
    is_code &= distances > 2 * usual.max(initial=0.0)  # no other value is near
    chosen: np.ndarray = positions[is_far | is_code]
    return chosen


def _is_code(value: float) -> bool:
    """Whether a number looks like a code for a missing value, such as -9999 or 99999."""
    digits = f"{abs(value):.10g}"
    return len(digits) >= 3 and set(digits) == {"9"}


def far_notes(table: SeriesTable, column: int, values: np.ndarray, rows: np.ndarray) -> list[Note]:
    """Warnings about values of a column that are far from its others, one for each value.

    Args:
        values: of one series.
        rows: of the table, for each value.
    """
    notes: list[Note] = []
    far = far_values(values)
    if not len(far):
        return notes
    for value in np.unique(values[far])[:SHOWN].tolist():
        asked = "is it right?"
        if _is_code(value):
            asked = "is it a code for a missing value? Then leave the cells empty"
        text = f"values {value:.6g} in column {table.header[column]!r}, far from the others"
        own = rows[far[values[far] == value]]
        notes.append(noted(table, f"{text}; {asked}", own))
    return notes


def chosen_columns(header: Sequence[str], time: Sequence[int], roles: dict[str, Any]) -> str:
    """The use of each column of a table, for the log.

    Args:
        time: the positions of the columns of the time.
        roles: those of the columns of the task, and of others by their use.
    """
    parts = [("time", time), *roles.items()]
    used = {i for _, positions in parts for i in positions}
    parts.append(("not read", [i for i in range(len(header)) if i not in used]))
    shown = (f"{name}: {_listed([header[i] for i in where])}" for name, where in parts if where)
    return "; ".join(shown)


def _listed(names: Sequence[str]) -> str:
    most = 8
    more = f", ... ({len(names)} in all)" if len(names) > most else ""
    return ", ".join(names[:most]).replace("\n", "\\n") + more

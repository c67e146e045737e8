"""The rows of a training log that a page draws: numbers and samples, thinned to a bounded size."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

N_ROWS = 500  # rows of figures kept; more do not change the look of a curve
_DIGITS = 6
_AXES = ("step", "minutes", "epoch")

Row = dict[str, Any]


def training_rows(records: Iterable[Mapping[str, Any]], most: int = N_ROWS) -> list[Row]:
    """The drawable rows of a log, in order.

    Keeps about `most` rows of figures between validations: the first and the last, the lowest and
    the highest value of every key in each stretch, and all that are not finite. Keeps all
    validations and samples.
    """
    rows = [row for row in map(_drawable, records) if len(row) > 1]
    figures = [row for row in rows if _is_figures(row)]
    kept = {id(row) for row in _thin(figures, most)}
    return [row for row in rows if not _is_figures(row) or id(row) in kept]


def _drawable(record: Mapping[str, Any]) -> Row:
    row: Row = {
        name: value if isinstance(value, int) else float(f"{value:.{_DIGITS}g}")
        for name, value in record.items()
        if isinstance(value, int | float) and not isinstance(value, bool)
    }
    if "samples" in record:
        row["samples"] = record["samples"]
    return row


def _is_figures(row: Row) -> bool:
    """Whether a row has training figures only, as between validations."""
    return "loss" in row and "valid_loss" not in row and "samples" not in row


def _thin(rows: Sequence[Row], most: int) -> list[Row]:
    if len(rows) <= most:
        return list(rows)
    keys = {key for row in rows for key in row if key not in _AXES}
    kept = {0, len(rows) - 1}
    kept |= {i for i, row in enumerate(rows) if not all(map(math.isfinite, row.values()))}
    stretches = max(1, (most - 2) // (2 * len(keys)))
    for n in range(stretches):
        stretch = range(n * len(rows) // stretches, (n + 1) * len(rows) // stretches)
        for key in keys:
            values = [
                (rows[i][key], i) for i in stretch if math.isfinite(rows[i].get(key, math.nan))
            ]
            if values:
                kept |= {min(values)[1], max(values)[1]}
    return [rows[i] for i in sorted(kept)]

"""Labels on the axes of heat maps and matrices."""

from collections.abc import Sequence

from ..errors import DataError

_VISIBLE = str.maketrans({" ": "␣", "\n": "⏎", "\t": "⇥", "\u3000": "␣", "\u00a0": "␣"})


def visible_token(token: str) -> str:
    """The token with its white space made visible."""
    return token.translate(_VISIBLE) or "∅"


def check_labels(
    values: Sequence[Sequence[float]],
    rows: Sequence[str],
    columns: Sequence[str],
    name: str = "matrix",
    unit: str = "value",
) -> None:
    """Checks that a table has one label for each row and each column.

    Raises:
        DataError: the labels do not fit the values.
    """
    if len(values) != len(rows):
        raise DataError(
            f"the {name} has {len(values)} rows of {unit}s but {len(rows)} row labels; "
            "expected one label for each row"
        )
    for number, row in enumerate(values, start=1):
        if len(row) != len(columns):
            raise DataError(
                f"row {number} of the {name} has {len(row)} {unit}s but there are {len(columns)} "
                f"column labels; expected one {unit} for each column"
            )

"""Columns of numbers with decimal commas, such as `1.234,5` and `1 234,5`.

A whole column decides: a number with a comma does not show by itself whether it is a decimal comma.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

_SPACES = " \u00a0\u2009\u202f"
_GROUPS = rf"\d{{1,3}}([.{_SPACES}])\d{{3}}(?:\1\d{{3}})*"
_NUMBER = re.compile(rf"[+-]?(?:{_GROUPS}|\d+)(?:,\d+)?(?:[eE][+-]?\d+)?", re.ASCII)
_POINT_GROUPS = re.compile(r"[+-]?[1-9]\d{0,2}(?:\.\d{3})+", re.ASCII)
_COMMA_GROUPS = re.compile(r"[+-]?[1-9]\d{0,2},\d{3}", re.ASCII)
_UNGROUPED = str.maketrans(dict.fromkeys(f".{_SPACES}") | {",": "."})


def comma_number(text: str) -> float | None:
    """The number of a text with a decimal comma, or with groups of three digits; None if none."""
    text = text.strip()
    return float(text.translate(_UNGROUPED)) if _NUMBER.fullmatch(text) else None


@dataclass(frozen=True)
class Commas:
    """A column with decimal commas.

    Attributes:
        numbers: of its cells, NaN for missing values and text.
        is_text: which cells are text.
        pointed: the index of the first cell with a decimal point, which contradicts the others.
        first: the index of the first cell with a decimal comma.
        is_unclear: whether all commas may separate thousands too.
    """

    numbers: np.ndarray
    is_text: np.ndarray
    first: int
    pointed: int | None
    is_unclear: bool


def find_commas(cells: Sequence[str], known: Mapping[str, float | None]) -> Commas | None:
    """What a column is if its numbers have decimal commas; None if it has none, or is text.

    Args:
        known: the number of each cell with a decimal point, NaN if it is missing, None if text.
    """
    found = {text: comma_number(text) for text in known}
    commas = {text for text, number in found.items() if number is not None and known[text] is None}
    if not commas:
        return None
    missing = {text for text, number in known.items() if number is not None and number != number}
    points = {text for text in known if found[text] is None and known[text] is not None} - missing
    is_text = np.fromiter((found[x] is None and known[x] is None for x in cells), bool, len(cells))
    n_missing = sum(text in missing for text in cells)
    if 2 * int(is_text.sum()) > len(cells) - n_missing:
        return None
    numbers = (np.nan if (number := found[text]) is None else number for text in cells)
    return Commas(
        np.fromiter(numbers, float, len(cells)),
        is_text,
        next(i for i, text in enumerate(cells) if text in commas),
        next((i for i, text in enumerate(cells) if text in points), None),
        all(_COMMA_GROUPS.fullmatch(text.strip()) for text in commas),
    )


def are_grouped(cells: Sequence[str], numbers: np.ndarray) -> bool:
    """Whether all numbers of a column are such as `1.234`, where the point may group digits."""
    is_number = np.isfinite(numbers)
    if not is_number.any() or not _POINT_GROUPS.fullmatch(cells[int(is_number.argmax())].strip()):
        return False
    return all(
        _POINT_GROUPS.fullmatch(cells[i].strip()) for i in np.flatnonzero(is_number).tolist()
    )


def without_groups(cells: Sequence[str], numbers: np.ndarray) -> np.ndarray:
    """The numbers of cells such as `1.234`, whose points group digits; NaN stays."""
    return np.array(
        [
            float(cell.translate(_UNGROUPED)) if number == number else np.nan
            for cell, number in zip(cells, numbers, strict=True)
        ]
    )

"""Flags for suspicious outputs, independent of any score.

Each flag has a definition that a reader can check by eye; no flag changes a score.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from ..errors import DataError

TIMES = 4  # a piece that occurs this often in a row is a loop
LONGEST_WORDS = 8  # longest repeated piece, in words
REFERENCE_BOUNDS = (0.5, 2.0)
SOURCE_BOUNDS = (1 / 3, 3.0)
SLACK = 10  # differences of this many characters or fewer are never outliers

# A loop inside words must cover 12 characters ("10000" is a number): 12 x 1, 6 x 2, 4 x 3 ...
_CHARACTER_LOOP = re.compile(r"(.)\1{11}|(..)\2{5}|(.{3,32}?)\3{3}", re.DOTALL)


@dataclass(frozen=True)
class Flags:
    """Line numbers, from 1, of the outputs with each flag.

    Attributes:
        repetition: a piece of 1 to 8 words occurs 4 or more times in a row, or a piece of 1 to 32
            characters does and covers 12 characters or more; and neither the source nor a
            reference has such a loop.
        empty: the output is only white space, the source is not.
        copied: the output equals the source, apart from case and outer white space, and no
            reference does.
        length: the output, in characters, is shorter than 0.5 or longer than 2 times every
            reference; without references, shorter than 1/3 or longer than 3 times the
            source length times the median ratio of output to source over all lines. A difference
            of at most 10 characters is never an outlier, and empty outputs are not flagged again.
    """

    n: int
    repetition: tuple[int, ...]
    empty: tuple[int, ...]
    copied: tuple[int, ...]
    length: tuple[int, ...]

    @property
    def counts(self) -> dict[str, int]:
        """Number of lines per flag."""
        return {name: len(lines) for name, lines in self._lines().items()}

    def to_dict(self) -> dict[str, dict[str, int | list[int]]]:
        """Count and lines per flag, as plain data."""
        return {
            name: {"count": len(lines), "lines": list(lines)}
            for name, lines in self._lines().items()
        }

    def _lines(self) -> dict[str, tuple[int, ...]]:
        return {
            "repetition": self.repetition,
            "empty": self.empty,
            "copied": self.copied,
            "length": self.length,
        }


def flags(
    sources: Sequence[str],
    outputs: Sequence[str],
    references: Sequence[str] | Sequence[Sequence[str]] | None = None,
) -> Flags:
    """Checks a whole test set; `Flags` defines the flags.

    Raises:
        DataError: the numbers of lines differ.
    """
    for name, others in (("sources", sources), ("references", references)):
        if others is not None and len(others) != len(outputs):
            raise DataError(
                f"{len(outputs)} outputs but {len(others)} {name}; expected as many of each; "
                "check that the files belong together"
            )
    expected = _alternatives(references, len(outputs))
    typical = _typical_ratio(sources, outputs)
    flagged: dict[str, list[int]] = {"repetition": [], "empty": [], "copied": [], "length": []}
    for number, (source, output, row) in enumerate(
        zip(sources, outputs, expected, strict=True), start=1
    ):
        if _loops(output) and not any(_loops(text) for text in (source, *row)):
            flagged["repetition"].append(number)
        if source.strip() and not output.strip():
            flagged["empty"].append(number)
        elif _is_outlier(source, output, row, typical):
            flagged["length"].append(number)
        if _is_copied(source, output, row):
            flagged["copied"].append(number)
    return Flags(n=len(outputs), **{name: tuple(lines) for name, lines in flagged.items()})


def _alternatives(
    references: Sequence[str] | Sequence[Sequence[str]] | None, n: int
) -> list[list[str]]:
    if references is None:
        return [[] for _ in range(n)]
    return [[item] if isinstance(item, str) else list(item) for item in references]


def _loops(text: str) -> bool:
    words = text.split()
    for size in range(1, min(LONGEST_WORDS, len(words) // TIMES) + 1):
        run = 0
        for earlier, later in zip(words, words[size:], strict=False):
            run = run + 1 if earlier == later else 0
            if run == size * (TIMES - 1):
                return True
    return _CHARACTER_LOOP.search(text) is not None


def _is_copied(source: str, output: str, row: list[str]) -> bool:
    folded = output.strip().casefold()
    if not folded or folded != source.strip().casefold():
        return False
    return all(folded != text.strip().casefold() for text in row)


def _typical_ratio(sources: Sequence[str], outputs: Sequence[str]) -> float:
    ratios = [len(o) / len(s) for s, o in zip(sources, outputs, strict=True) if s and o.strip()]
    return median(ratios) if ratios else 1.0


def _is_outlier(source: str, output: str, row: list[str], typical: float) -> bool:
    if row:
        return all(_is_far(len(output), len(text), REFERENCE_BOUNDS) for text in row)
    return _is_far(len(output), len(source) * typical, SOURCE_BOUNDS)


def _is_far(length: int, expected: float, bounds: tuple[float, float]) -> bool:
    low, high = bounds
    inside = low * expected <= length <= high * expected
    return not inside and abs(length - expected) > SLACK

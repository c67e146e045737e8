"""Validation data for a run file that names none: a part of the training data.

Rows are drawn together with their duplicates, documents as a whole, and of a running text the end
is taken. The result is a description, a `split` or `part` of each corpus, that the run file of the
run keeps. Readers, prepared data and `evaluate` need to know nothing else.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from ..errors import ConfigError
from .config import Corpus, DataConfig, RowSplit, format_for, learned_from, shares_of
from .formats import FORMATS
from .formats.read import read
from .random_numbers import number_of_value
from .series import Series

SHARE = 0.05
LARGEST_SHARE = 0.2
CANDIDATES = 8192


@dataclass(frozen=True)
class Amount:
    """How much is held out, in some unit.

    Attributes:
        smallest: nothing is held out of less than this.
        fewest: at least this much is held out, up to the largest share.
        most: more than this is not needed.
    """

    unit: str
    smallest: int
    fewest: int
    most: int

    def of(self, total: int) -> int:
        """The amount to hold out of a total."""
        if total < self.smallest:
            return 0
        fewest = min(self.fewest, int(LARGEST_SHARE * total))
        return min(self.most, max(fewest, round(SHARE * total)))


ROWS = Amount("examples", smallest=100, fewest=50, most=2_000)
CHARACTERS = Amount("characters", smallest=20_000, fewest=10_000, most=1_000_000)


@dataclass(frozen=True)
class DividedData:
    """Data settings with validation data, and the line that reports them."""

    data: DataConfig
    line: str


@dataclass(frozen=True)
class _Cut:
    """How far some corpora are held out: up to a number of a row, or a share at the end."""

    at: float
    held: int
    total: int


def hold_out(
    data: DataConfig, columns: Sequence[str], by: str | None, root: Path, seed: int
) -> DividedData | None:
    """Validation data from the training data; None if the run file has an entry for them.

    Args:
        columns: the columns that the data have.
        by: the column by whose values rows are drawn; the first if None.
        root: the folder of relative file names.

    Raises:
        ConfigError: a training corpus is split already.
        DataError: a file is missing or malformed.
    """
    corpora = learned_from(data)
    if data.valid is not None or not corpora:
        return None
    if any(corpus.split for corpus in corpora):
        raise ConfigError(
            "data.train has a split, and data.valid is missing; set it to the other part, or to [] "
            "for no validation"
        )
    train: list[str | Corpus] = list(corpora)
    valid: list[str | Corpus] = []
    counts = []
    for amount, numbers in _groups(corpora, columns):
        group = [corpora[i] for i in numbers]
        is_text = _rows_of(group[0], columns) == "pieces"
        sizes = _sizes(group, columns, by, root, seed, amount)
        cut = _end(sizes, amount) if is_text else _draw(sizes, amount)
        counts.append((cut, amount.unit))
        if cut.held:
            for i in numbers:
                divide = _at_share if is_text else partial(_at_number, seed=seed, by=by)
                train[i], held = divide(corpora[i], cut.at)
                valid.append(replace(held, weight=1.0))
    return DividedData(replace(data, train=train, valid=valid), _line(counts, seed))


def _line(counts: Sequence[tuple[_Cut, str]], seed: int) -> str:
    held = [f"{cut.held:,} of {cut.total:,} {unit}" for cut, unit in counts if cut.held]
    if held:
        return f"no data.valid: {' and '.join(held)} are held out for validation (seed {seed})"
    found = " and ".join(f"{cut.total:,} {unit}" for cut, unit in counts)
    return (
        f"warning: no data.valid, and {found} are too few, or too alike, to hold out a part of "
        "them: nothing is validated, and the last weights are kept"
    )


def _rows_of(corpus: Corpus, columns: Sequence[str]) -> str:
    """What the rows of a corpus are: `examples`, `documents`, `pieces` or `series`."""
    return FORMATS[format_for(corpus, columns)].rows


def _groups(
    corpora: Sequence[Corpus], columns: Sequence[str]
) -> Iterator[tuple[Amount, list[int]]]:
    """The numbers of the corpora that are divided together: each running text is alone."""
    by_rows = defaultdict(list)
    for i, corpus in enumerate(corpora):
        rows = _rows_of(corpus, columns)
        if rows == "pieces":
            yield CHARACTERS, [i]
        else:
            by_rows[rows].append(i)
    for rows, numbers in by_rows.items():
        yield CHARACTERS if rows == "documents" else ROWS, numbers


def _sizes(
    corpora: Sequence[Corpus],
    columns: Sequence[str],
    by: str | None,
    root: Path,
    seed: int,
    amount: Amount,
) -> Iterator[tuple[float, int]]:
    """The number and the size of each row that is not blank."""
    index = 0 if by is None else columns.index(by)
    for corpus in corpora:
        for row in read(corpus, columns, root):
            value: str | Series = row.values[index]
            is_blank = value.is_blank if isinstance(value, Series) else not value.strip()
            if not is_blank:
                yield number_of_value(value, seed), 1 if amount is ROWS else len(value)


def _end(sizes: Iterable[tuple[float, int]], amount: Amount) -> _Cut:
    total = sum(size for _, size in sizes)
    held = amount.of(total)
    return _Cut(held / max(total, 1), held, total)


def _draw(sizes: Iterable[tuple[float, int]], amount: Amount) -> _Cut:
    """The rows with the lowest numbers, until their sizes reach the amount.

    Only candidates are kept in memory: the lowest numbers so far, up to the most that can be held
    out, and the next one.
    """
    lowest: dict[float, int] = {}
    total, bound, room = 0, math.inf, CANDIDATES
    for number, size in sizes:
        total += size
        if number <= bound:
            lowest[number] = lowest.get(number, 0) + size
        if len(lowest) > room:
            candidates = sorted(lowest)[: _n_up_to(lowest, amount.most) + 1]
            lowest = {number: lowest[number] for number in candidates}
            bound, room = candidates[-1], max(CANDIDATES, 2 * len(candidates))
    wanted, numbers = amount.of(total), sorted(lowest)
    n = _n_up_to(lowest, wanted)
    if sum(lowest[number] for number in numbers[:n]) > LARGEST_SHARE * total:
        n -= 1  # many rows have the text of the last one
    held = sum(lowest[number] for number in numbers[: max(n, 0)])
    if n < 1 or 2 * held < wanted:
        return _Cut(0.0, 0, total)
    return _Cut(_short_number(numbers[n - 1], numbers[n]), held, total)


def _n_up_to(sizes: Mapping[float, int], wanted: int) -> int:
    """How many of the lowest numbers it takes until their sizes reach a sum."""
    reached = 0
    for n, number in enumerate(sorted(sizes)):
        if reached >= wanted:
            return n
        reached += sizes[number]
    return len(sizes)


def _short_number(above: float, up_to: float) -> float:
    """The number with the fewest decimals that is above one number, up to another."""
    for digits in range(1, 16):
        number = (math.floor(above * 10**digits) + 1) / 10**digits
        if above < number <= up_to:
            return number
    return up_to


def _at_share(corpus: Corpus, share: float) -> tuple[Corpus, Corpus]:
    """A running text without its end, and the end."""
    start, stop = shares_of(corpus) or (0.0, 1.0)
    cut = round(stop - share * (stop - start), 6)
    return replace(corpus, part=(start, cut)), replace(corpus, part=(cut, stop))


def _at_number(corpus: Corpus, cut: float, seed: int, by: str | None) -> tuple[Corpus, Corpus]:
    """The rows from a number on, and those below it."""
    return (
        replace(corpus, split=RowSplit(above=cut, seed=seed, by=by)),
        replace(corpus, split=RowSplit(below=cut, seed=seed, by=by)),
    )

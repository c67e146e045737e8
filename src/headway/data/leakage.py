"""Leak check: training examples that also occur in the validation or test data.

Only the held-out data are kept in memory; training rows are checked one by one while `prepare`
reads them. Two values are equal if a model sees the same text: they are compared after the codec's
normalisation (lower case, Unicode), without surrounding white space.
"""

import hashlib
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .codecs.codec import Codec
from .config import Corpus, is_running_text
from .formats.read import Row, read


@dataclass(frozen=True)
class Leaks:
    """Result of a leak check. The first column of a row counts as its source."""

    rows: int
    """Number of training rows checked."""
    pairs: dict[str, int]
    """Per held-out set: training rows that occur in it with all their columns."""
    sources: dict[str, int]
    """Per held-out set: training rows whose source occurs in it. Empty if rows have one column."""
    first: str | None = None
    """`file:line` of the first training row that leaks with all its columns."""

    def __str__(self) -> str:
        counts = [
            f"{self.pairs[name]} also occur in the {name} data"
            + (f" ({self.sources[name]} by their source alone)" if name in self.sources else "")
            for name in self.pairs
        ]
        first = f"; the first at {self.first}" if self.first else ""
        return f"leak check: of {self.rows} training examples {', '.join(counts)}{first}"


class LeakCheck:
    """Keeps the held-out data and counts the training rows that occur in them.

    Args:
        held_out: the corpora of each held-out set, by its name in messages. Sets without corpora
            and running text, which has no rows to compare, are skipped.
        codecs: the codec of each column, in the order of the columns.
    """

    def __init__(
        self, held_out: Mapping[str, Sequence[Corpus]], codecs: Mapping[str, Codec], root: Path
    ) -> None:
        self._codecs = tuple(codecs.values())
        # Source -> held-out set -> the other columns of the rows with this source.
        self._known: dict[Hashable, dict[str, set[tuple[Hashable, ...]]]] = {}
        held_out = {
            name: [corpus for corpus in corpora if not is_running_text(corpus)]
            for name, corpora in held_out.items()
        }
        names = [name for name, corpora in held_out.items() if corpora]
        digest = hashlib.blake2b(digest_size=16)
        for name in names:
            for corpus in held_out[name]:
                for row in read(corpus, tuple(codecs), root):
                    source, *others = map(_identity, self._codecs, row.values)
                    self._known.setdefault(source, {}).setdefault(name, set()).add(tuple(others))
                    digest.update(repr((name, source, others)).encode())
        self.fingerprint = digest.hexdigest()
        self._n_rows = 0
        self._pairs = dict.fromkeys(names, 0)
        self._sources = dict.fromkeys(names, 0)
        self._is_single = len(self._codecs) == 1
        self._first: str | None = None

    def see(self, rows: Iterable[Row]) -> None:
        """Counts training rows."""
        for row in rows:
            values = row.values
            self._n_rows += 1
            sets = self._known.get(_identity(self._codecs[0], values[0]))
            if sets and not all(map(_is_blank, self._codecs, values)):
                self._count(sets, tuple(map(_identity, self._codecs[1:], values[1:])), row.where)

    def _count(
        self, sets: dict[str, set[tuple[Hashable, ...]]], others: tuple[Hashable, ...], where: str
    ) -> None:
        for name, known_others in sets.items():
            self._sources[name] += 1
            if others in known_others:
                self._pairs[name] += 1
                self._first = self._first or where

    def result(self) -> Leaks:
        """The counts of all rows so far."""
        sources = {} if self._is_single else dict(self._sources)
        return Leaks(self._n_rows, dict(self._pairs), sources, self._first)


def _identity(codec: Codec, value: Any) -> Hashable:
    return codec.identity(value)


def _is_blank(codec: Codec, value: Any) -> bool:
    return codec.is_blank(value)

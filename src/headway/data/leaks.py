"""The leak check: training examples that also stand in the validation or test data.

Only the held-out data are kept in memory; the training data pass by, row by row, as `prepare` reads
them. Values count as the same when a model sees the same: after what the codec does to the text
(lower case, Unicode normalisation), without white space around it.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from headway.data.codecs import Codec
from headway.data.corpora import Corpus
from headway.data.read import Row, read


@dataclass(frozen=True)
class Leaks:
    """What a leak check found. The first column of a row counts as its source."""

    rows: int
    """Training rows looked at."""
    pairs: dict[str, int]
    """Per held-out set: training rows that stand in it as they are."""
    sources: dict[str, int]
    """Per held-out set: training rows whose source stands in it, whatever the rest; none where a
    row is nothing but its source."""
    first: str | None = None
    """`file:line` of the first training row that leaks whole."""

    def __str__(self) -> str:
        found = [
            f"{self.pairs[name]} also stand in the {name} data"
            + (f" ({self.sources[name]} by their source alone)" if name in self.sources else "")
            for name in self.pairs
        ]
        place = f"; the first at {self.first}" if self.first else ""
        return f"leak check: of {self.rows} training examples {', '.join(found)}{place}"


class LeakCheck:
    """Remembers the held-out data and counts the training rows it is shown.

    Args:
        held_out: the corpora of each held-out set, by the name messages give it; sets without
            corpora are left out. Running text has no rows to compare.
        codecs: of each column, in the order of the columns.
    """

    def __init__(
        self, held_out: Mapping[str, Sequence[Corpus]], codecs: Mapping[str, Codec], root: Path
    ) -> None:
        self._codecs = tuple(codecs.values())
        # For each source the sets it stands in, and in each the rests of the rows it begins.
        self._known: dict[str, dict[str, set[tuple[str, ...]]]] = {}
        held_out = {
            name: [corpus for corpus in corpora if corpus.format != "text"]
            for name, corpora in held_out.items()
        }
        names = [name for name, corpora in held_out.items() if corpora]
        digest = hashlib.blake2b(digest_size=16)
        for name in names:
            for corpus in held_out[name]:
                for row in read(corpus, tuple(codecs), root):
                    source, *rest = map(_seen, self._codecs, row.values)
                    self._known.setdefault(source, {}).setdefault(name, set()).add(tuple(rest))
                    digest.update(repr((name, source, rest)).encode())
        self.fingerprint = digest.hexdigest()
        self._rows = 0
        self._pairs = dict.fromkeys(names, 0)
        self._sources = dict.fromkeys(names, 0)
        self._is_single = len(self._codecs) == 1
        self._first: str | None = None

    def see(self, rows: Iterable[Row]) -> None:
        for values, where in rows:
            self._rows += 1
            sets = self._known.get(_seen(self._codecs[0], values[0]))
            if sets and any(map(str.strip, values)):
                self._count(sets, tuple(map(_seen, self._codecs[1:], values[1:])), where)

    def _count(
        self, sets: dict[str, set[tuple[str, ...]]], rest: tuple[str, ...], where: str
    ) -> None:
        for name, rests in sets.items():
            self._sources[name] += 1
            if rest in rests:
                self._pairs[name] += 1
                self._first = self._first or where

    def result(self) -> Leaks:
        sources = {} if self._is_single else dict(self._sources)
        return Leaks(self._rows, dict(self._pairs), sources, self._first)


def _seen(codec: Codec, value: str) -> str:
    return codec.clean(value).strip()

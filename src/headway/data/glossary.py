"""Glossaries: which target terms a source term asks for, and where source terms occur.

A file has one source term per line and, after a tab, what the target must or must not say. How the
target is made to say so is left to the search.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from headway.data.lines import read_lines
from headway.errors import DataError
from headway.text.words import contains, find, joins_well, normal

# Whoever makes tokens of terms needs to know what counts as having written them.
__all__ = ["Entry", "Glossary", "contains", "joins_well"]

SEPARATOR = "|"
FORBIDS = "!"


@dataclass(frozen=True)
class Entry:
    """What a source term asks of the target.

    Attributes:
        require: alternatives, one of which must appear; none if nothing must.
        forbid: terms that may not appear.
    """

    require: tuple[str, ...] = ()
    forbid: tuple[str, ...] = ()

    def __add__(self, other: "Entry") -> "Entry":
        """Both together: more alternatives, more that is forbidden."""
        return Entry(
            tuple(dict.fromkeys(self.require + other.require)),
            tuple(dict.fromkeys(self.forbid + other.forbid)),
        )


class Glossary:
    """Source terms with what they ask for.

    Args:
        entries: by source term.
    """

    def __init__(self, entries: Mapping[str, Entry]) -> None:
        self.entries = dict(entries)
        self._compared: dict[bool, list[tuple[str, str, str]]] = {}

    @classmethod
    def read(cls, path: str | Path) -> "Glossary":
        """Reads a file of lines `source term<TAB>target term`, plain or gzipped.

        Alternatives stand with ` | ` between them; one that begins with `!` is forbidden. Several
        lines with the same source term count as one. Blank lines and lines that begin with `#` are
        passed over.

        Raises:
            DataError: naming file and line, for a line that says nothing or contradicts another.
        """
        entries: dict[str, Entry] = {}
        for number, line in enumerate(read_lines(path), 1):
            if line.strip() and not line.startswith("#"):
                place = f"{path}:{number}"
                source, entry = _parse(line, place)
                entries[source] = entries.get(source, Entry()) + entry
                _check_conflict(source, entries[source], place)
        return cls(entries)

    def terms_for(
        self, source_text: str, ignore_case: bool = True
    ) -> tuple[list[tuple[str, ...]], list[str]]:
        """What a translation of the text must say, as groups of alternatives, and must not say.

        Source terms count as whole words; where two overlap, the longer one does.

        Args:
            ignore_case: whether "Dog" in the text is the term "dog".
        """
        require: dict[tuple[str, ...], None] = {}
        forbid: dict[str, None] = {}
        for term in self._occurring(source_text, ignore_case):
            entry = self.entries[term]
            if entry.require:
                require[entry.require] = None
            forbid.update(dict.fromkeys(entry.forbid))
        return list(require), list(forbid)

    def _occurring(self, text: str, ignore_case: bool) -> list[str]:
        """The source terms that count in a text, in the order in which they first occur."""
        plain, compared = normal(text), normal(text, ignore_case)
        found = []
        for term, key, first_word in self._keys(ignore_case):
            if first_word in compared:  # much quicker than to look for whole words
                # Folding capitals can change lengths: places are counted in what is compared.
                alike = {len(normal(plain[:at], ignore_case)) for at, _ in find(plain, term)}
                for start, end in find(compared, key):
                    found.append((start - end, start not in alike, start, end, term))
        counted: list[tuple[int, int, str]] = []
        for _, _, start, end, term in sorted(found):  # long before short: "hot dog" is no dog
            if all(end <= other[0] or other[1] <= start for other in counted):
                counted.append((start, end, term))
        return list(dict.fromkeys(term for _, _, term in sorted(counted)))

    def _keys(self, ignore_case: bool) -> list[tuple[str, str, str]]:
        """Each term, how it is compared, and its first word."""
        if ignore_case not in self._compared:
            keys = [(term, normal(term, ignore_case)) for term in self.entries]
            self._compared[ignore_case] = [(term, key, key.split()[0]) for term, key in keys]
        return self._compared[ignore_case]


def _parse(line: str, place: str) -> tuple[str, Entry]:
    source, tab, target = line.partition("\t")
    source = " ".join(source.split())
    if not source:
        raise DataError(
            f"{place}: the source term is empty; expected 'source term<TAB>target term'"
        )
    if not tab or not target.strip():
        raise DataError(
            f"{place}: {source!r} has no target term; expected 'source term<TAB>target term', "
            "with a tab between them"
        )
    if "\t" in target:
        raise DataError(
            f"{place}: {line.count(chr(9)) + 1} columns, expected 2; several target terms stand in "
            f"one column with {SEPARATOR!r} between them"
        )
    require: list[str] = []
    forbid: list[str] = []
    for part in target.split(SEPARATOR):
        is_forbidden = part.strip().startswith(FORBIDS)
        term = " ".join(part.strip().removeprefix(FORBIDS).split())
        if not term:
            raise DataError(
                f"{place}: one of the target terms of {source!r} is empty; write a term between "
                f"{SEPARATOR!r} and after {FORBIDS!r}"
            )
        (forbid if is_forbidden else require).append(term)
    return source, Entry(tuple(dict.fromkeys(require)), tuple(dict.fromkeys(forbid)))


def _check_conflict(source: str, entry: Entry, place: str) -> None:
    for term in entry.require:
        if term in entry.forbid:
            raise DataError(
                f"{place}: {source!r} requires {term!r} and forbids it; take one of them away"
            )

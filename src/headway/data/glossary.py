"""Glossaries: source terms with their required and forbidden target terms.

A file has one source term per line and, after a tab, its target terms. Enforcing them is left to
the search.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ..arguments import checked
from ..errors import DataError
from ..text.word_matching import find, normal
from .formats.lines import read_lines

SEPARATOR = "|"
FORBIDS = "!"


@dataclass(frozen=True)
class Entry:
    """Target terms of a source term.

    Attributes:
        require: alternatives, one of which must occur in the translation; may be empty.
        forbid: terms that must not occur.
    """

    require: tuple[str, ...] = ()
    forbid: tuple[str, ...] = ()

    def __add__(self, other: "Entry") -> "Entry":
        """The union of the alternatives and of the forbidden terms."""
        return Entry(
            tuple(dict.fromkeys(self.require + other.require)),
            tuple(dict.fromkeys(self.forbid + other.forbid)),
        )


class Glossary:
    """Source terms with their target terms.

    Args:
        entries: by source term.
    """

    def __init__(self, entries: Mapping[str, Entry]) -> None:
        self.entries = dict(entries)
        self._compared: dict[bool, list[tuple[str, str, str]]] = {}

    @classmethod
    @checked
    def read(cls, path: str | Path) -> "Glossary":
        """Reads a file of lines `source term<TAB>target term`, plain or gzipped.

        Alternatives are separated by ` | `; a term that begins with `!` is forbidden. Lines with
        the same source term are merged. Blank lines and lines that begin with `#` are skipped.

        Raises:
            DataError: a line is malformed or contradicts another; the message names file and line.
        """
        entries: dict[str, Entry] = {}
        for number, line in enumerate(read_lines(path), 1):
            if line.strip() and not line.startswith("#"):
                where = f"{path}:{number}"
                source, entry = _parse(line, where)
                entries[source] = entries.get(source, Entry()) + entry
                _check_conflict(source, entries[source], where)
        return cls(entries)

    def terms_for(
        self, source_text: str, ignore_case: bool = True
    ) -> tuple[list[tuple[str, ...]], list[str]]:
        """Required terms, as groups of alternatives, and forbidden terms of a text's translation.

        Source terms match whole words; of two that overlap, the longer one counts.

        Args:
            ignore_case: whether "Dog" in the text matches the term "dog".
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
        """The source terms that match a text, in the order of their first match."""
        plain, compared = normal(text), normal(text, ignore_case)
        matches = []
        for term, key, first_word in self._keys(ignore_case):
            if first_word in compared:  # much faster than the search for whole words
                # Case folding can change lengths: positions are those in the folded text.
                exact_starts = {len(normal(plain[:at], ignore_case)) for at, _ in find(plain, term)}
                for start, end in find(compared, key):
                    matches.append((start - end, start not in exact_starts, start, end, term))
        chosen: list[tuple[int, int, str]] = []
        for _, _, start, end, term in sorted(matches):  # long before short: "hot dog" is no dog
            if all(end <= other[0] or other[1] <= start for other in chosen):
                chosen.append((start, end, term))
        return list(dict.fromkeys(term for _, _, term in sorted(chosen)))

    def _keys(self, ignore_case: bool) -> list[tuple[str, str, str]]:
        """Each term, its form for comparison, and the first word of that."""
        if ignore_case not in self._compared:
            keys = [(term, normal(term, ignore_case)) for term in self.entries]
            self._compared[ignore_case] = [(term, key, key.split()[0]) for term, key in keys]
        return self._compared[ignore_case]


def _parse(line: str, where: str) -> tuple[str, Entry]:
    source, tab, target = line.partition("\t")
    source = " ".join(source.split())
    if not source:
        raise DataError(
            f"{where}: the source term is empty; expected 'source term<TAB>target term'"
        )
    if not tab or not target.strip():
        raise DataError(
            f"{where}: {source!r} has no target term; expected 'source term<TAB>target term', "
            "with a tab between them"
        )
    if "\t" in target:
        raise DataError(
            f"{where}: {line.count(chr(9)) + 1} columns, expected 2; several target terms go into "
            f"one column with {SEPARATOR!r} between them"
        )
    require: list[str] = []
    forbid: list[str] = []
    for part in target.split(SEPARATOR):
        is_forbidden = part.strip().startswith(FORBIDS)
        term = " ".join(part.strip().removeprefix(FORBIDS).split())
        if not term:
            raise DataError(
                f"{where}: one of the target terms of {source!r} is empty; write a term between "
                f"{SEPARATOR!r} and after {FORBIDS!r}"
            )
        (forbid if is_forbidden else require).append(term)
    return source, Entry(tuple(dict.fromkeys(require)), tuple(dict.fromkeys(forbid)))


def _check_conflict(source: str, entry: Entry, where: str) -> None:
    for term in entry.require:
        if term in entry.forbid:
            raise DataError(
                f"{where}: {source!r} requires {term!r} and forbids it; take one of them away"
            )

"""Pronunciation lists: a word and its symbols on each line, as in CMUdict."""

from collections.abc import Iterator

from ...errors import DataError
from .columns import pick
from .format import CorpusFiles, FileFormat, Row
from .lines import read_lines


def read_pronunciation(corpus: CorpusFiles) -> Iterator[Row]:
    """Words and their symbols (`WORD  P1 P2 ...`), the symbols joined by single spaces.

    Lines that start with ;;; are comments, as in CMUdict.
    """
    picks = pick(corpus.columns, None, 2, corpus.name)
    for number, line in enumerate(read_lines(corpus.path, corpus.name), 1):
        where = f"{corpus.name}:{number}"
        if line.startswith(";;;"):
            continue
        if not line.strip():
            yield Row(corpus.blank, where)
            continue
        separator = corpus.separator or ("\t" if "\t" in line else "  ")
        word, matched, symbols = line.partition(separator)
        if not matched:
            expected = repr(corpus.separator) if corpus.separator else "a tab or two spaces"
            raise DataError(
                f"{where}: expected {expected} between word and symbols; set separator to what "
                "stands there"
            )
        parts = symbols.strip().split(corpus.inner)
        fields = (word.strip(), " ".join(part.strip() for part in parts))
        yield Row(tuple(fields[i] for i in picks), where)


PRONUNCIATION = FileFormat(
    "a word and its symbols on each line", read_pronunciation, extensions=(".dict",)
)

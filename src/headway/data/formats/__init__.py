"""File formats, each with its reader, and the table that names them.

To add a format from your own program, put a `FileFormat` into `FORMATS` before you read with it.
"""

from .conll import CONLL
from .documents import DOCUMENTS
from .format import CorpusFiles, FileFormat, Row
from .lines import LINES, TEXT
from .pronunciation import PRONUNCIATION
from .squad import SQUAD
from .tables import CSV, JSONL, TSV

FORMATS: dict[str, FileFormat] = {
    "lines": LINES,
    "text": TEXT,
    "documents": DOCUMENTS,
    "tsv": TSV,
    "csv": CSV,
    "jsonl": JSONL,
    "conll": CONLL,
    "pronunciation": PRONUNCIATION,
    "squad": SQUAD,
}

__all__ = ["FORMATS", "CorpusFiles", "FileFormat", "Row"]

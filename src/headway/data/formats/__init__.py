"""File formats, each with its reader, and the table that names them.

To add a format from your own program, put a `FileFormat` into `FORMATS` before you read with it.
"""

from .conll import CONLL
from .documents import DOCUMENTS
from .format import CorpusFiles, FileFormat, Note, Row
from .lines import LINES, TEXT
from .parquet import PARQUET
from .pronunciation import PRONUNCIATION
from .ragged import RAGGED
from .series_tables import LONG, SERIES, WIDE
from .squad import SQUAD
from .tables import CSV, JSONL, TSV
from .ucr import LABEL_FIRST, NPZ, TS

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
    "series": SERIES,
    "wide": WIDE,
    "long": LONG,
    "ragged": RAGGED,
    "parquet": PARQUET,
    "ucr": LABEL_FIRST,
    "ts": TS,
    "npz": NPZ,
}

__all__ = ["FORMATS", "CorpusFiles", "FileFormat", "Note", "Row"]

"""Series in Parquet files, wide or long; they need the package pyarrow."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ...errors import DataError, MissingExtra
from ...file_limits import check_unpacked
from .format import CorpusFiles, FileFormat, Row
from .frame_table import frame_table
from .series_layout import is_long_table
from .series_rows import rows_of
from .series_table import SeriesTable


def read_parquet(corpus: CorpusFiles) -> Iterator[Row]:
    """One row for each series; a column that names the series makes a table long.

    Raises:
        MissingExtra: pyarrow is not installed.
    """
    tables = [_table(path, name) for name, path in corpus.files]
    is_long = is_long_table(tables[0].header, corpus.options, corpus.columns, corpus.name)
    earlier = tables[1] if len(tables) > 1 else None
    yield from rows_of(tables[0], corpus.columns, corpus.options, is_long, earlier)


def _table(path: Path, name: str) -> SeriesTable:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise MissingExtra(f"reading {name}", "pyarrow", "series") from None
    try:
        with pyarrow.parquet.ParquetFile(path) as file:
            _check_size(file.metadata, path)
            table = file.read()
    except (OSError, ValueError, pyarrow.ArrowException) as error:
        reason = str(error).partition("\n")[0]
        raise DataError(f"{name}: cannot be read as Parquet ({reason}); write it again") from None
    return frame_table(table, name)


def _check_size(metadata: Any, path: Path) -> None:
    """Refuses a file with more cells than its bytes can stand for."""
    check_unpacked(path.stat().st_size, metadata.num_rows * max(metadata.num_columns, 1))


PARQUET = FileFormat(
    "series in a Parquet file: wide, or long if a column names the series",
    read_parquet,
    extensions=(".parquet", ".pq"),
    rows="series",
)

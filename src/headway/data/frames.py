"""Frames of pandas, polars or pyarrow: as rows of series, and as files that a run file can name."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..arguments import checked
from ..errors import ConfigError, DataError, MissingExtra
from .config import Corpus, column_of
from .formats.format import Row
from .formats.frame_table import frame_table, wrapped_frame
from .formats.read import options_of
from .formats.series_layout import is_long_table
from .formats.series_rows import rows_of

ENDINGS = (".csv", ".parquet")


@checked
def rows_of_frame(
    frame: Any,
    columns: Sequence[str],
    corpus: Corpus | None = None,
    *,
    history: Any = None,
    name: str = "the frame",
    names: Mapping[str, tuple[str, ...]] | None = None,
) -> list[Row]:
    """The rows of a frame, one for each series, by the rules of files.

    Args:
        columns: the task's names of the columns, such as `("target", "known")`.
        corpus: where the frame has them, as for a file; by default as its columns are named.
        history: a frame with earlier values of the same series.
        name: the name of the frame in messages.
        names: the columns that a trained model reads, by column of the task.

    Raises:
        MissingExtra: narwhals is not installed.
        DataError: the rows are no series.
        ConfigError: the corpus does not fit the frame.
    """
    corpus = corpus or Corpus()
    table, options = frame_table(frame, name), options_of(corpus, columns, names)
    earlier = None if history is None else frame_table(history, f"the history of {name}")
    entries = {column: column_of(corpus, column) for column in columns}
    is_long = is_long_table(table.header, options, columns, name)
    return list(rows_of(table, entries, options, is_long, earlier))


@checked
def save_frame(frame: Any, path: str | Path) -> None:
    """Writes a frame to a file that a run file can name, .csv or .parquet.

    Raises:
        MissingExtra: narwhals, or pyarrow for .parquet, is not installed.
        ConfigError: the file has another extension.
        DataError: the file cannot be written.
    """
    path, wrapped = Path(path), wrapped_frame(frame)
    if path.suffix not in ENDINGS:
        raise ConfigError(
            f"{path}: frames are written as {' or '.join(ENDINGS)}; choose one of these extensions"
        )
    try:
        if path.suffix == ".csv":
            wrapped.write_csv(path)
        else:
            wrapped.write_parquet(path)
    except OSError as error:
        raise DataError(f"{path} cannot be written: {error.strerror or error}") from None
    except ImportError:
        raise MissingExtra(f"writing {path}", "pyarrow", "series") from None

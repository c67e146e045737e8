"""Frames of pandas, polars or pyarrow as tables of series; they need the package narwhals."""

from typing import Any

import numpy as np

from ...errors import DataError, MissingExtra
from .series_table import Cells, SeriesTable


def frame_table(frame: Any, name: str) -> SeriesTable:
    """The table of a frame; its places are `name: row N`, counted from 1.

    Times keep their local clock. The index of a pandas frame becomes a column if it is more than
    the numbers of rows.

    Raises:
        MissingExtra: narwhals is not installed.
        DataError: it has no rows, or a column is neither numbers, text nor times.
    """
    wrapped = wrapped_frame(frame)
    if not len(wrapped):
        raise DataError(f"{name} has no rows")
    columns = [_cells(wrapped[column], name) for column in wrapped.columns]
    numbers = np.arange(1, len(wrapped) + 1)
    return SeriesTable(list(wrapped.columns), columns, [(f"{name}: row ", numbers)])


def wrapped_frame(frame: Any) -> Any:
    """A frame in narwhals, whose columns all have text as names."""
    try:
        import narwhals as nw
    except ImportError:
        raise MissingExtra("reading a frame", "narwhals", "series") from None
    index = getattr(frame, "index", None)
    if hasattr(frame, "reset_index") and type(index).__name__ != "RangeIndex":
        frame = frame.reset_index()
    if hasattr(frame, "reset_index"):
        frame = frame.rename(columns=str)
    try:
        return nw.from_native(frame, eager_only=True)
    except TypeError:
        raise TypeError(
            f"a frame of pandas, polars or pyarrow was expected, not {type(frame).__name__}"
        ) from None


def _cells(column: Any, name: str) -> Cells:
    """The cells of a column of narwhals."""
    import narwhals as nw

    dtype = column.dtype
    if isinstance(dtype, nw.Datetime):
        if dtype.time_zone is not None:
            column = column.dt.replace_time_zone(None)
        return np.asarray(column.to_numpy(), "datetime64[us]")
    if isinstance(dtype, nw.Date):
        return np.array(column.to_list(), "datetime64[s]")
    if dtype.is_numeric():
        return column.cast(nw.Float64()).to_numpy().astype(np.float64)
    values = column.to_list()
    if any(not isinstance(value, str | int | float | type(None)) for value in values):
        raise DataError(
            f"{name}: column {column.name!r} holds {dtype}; expected numbers, text or times"
        )
    return ["" if value is None or value != value else str(value) for value in values]

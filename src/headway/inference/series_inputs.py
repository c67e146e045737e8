"""Series that a program hands to a forecaster: files, frames, arrays, or `Series` themselves.

Files and frames are read by the rules of the training data.
"""

from collections.abc import Mapping
from dataclasses import replace
from os import PathLike, fspath
from pathlib import Path
from typing import Any

import numpy as np

from ..data.codecs.codec import Codec
from ..data.codecs.series import names_of
from ..data.config import Corpus
from ..data.frames import rows_of_frame
from ..data.frequency import Frequency
from ..data.series import Series
from ..errors import DataError
from .series_files import SeriesRow, file_like, read_series, with_step

FRAME_METHODS = ("__narwhals_dataframe__", "__dataframe__", "__arrow_c_stream__")


def rows_of(
    data: Any, codecs: Mapping[str, Codec], corpus: Corpus, step: str | None = None
) -> tuple[list[SeriesRow], list[str]]:
    """Series in any form by column, and the location of each.

    Args:
        codecs: of the columns of the task.
        corpus: how files and frames are read.
        step: as in `read_series`.

    Raises:
        DataError: a file or frame has no series, or an array has another number of columns.
        MissingExtra: narwhals, which reads frames, is not installed.
    """
    names = names_of(codecs)
    if isinstance(data, str | PathLike):
        found = read_series(file_like(corpus, fspath(data)), codecs, Path(), step)
        return found.rows, found.places
    if hasattr(data, "to_frame"):  # a series of pandas or polars
        data = data.to_frame()
    if any(hasattr(data, method) for method in FRAME_METHODS):
        columns = tuple(codecs)
        rows = with_step(
            lambda own: rows_of_frame(data, columns, replace(corpus, frequency=own), names=names),
            corpus.frequency,
            step,
        )
        return (
            [dict(zip(columns, row.values, strict=True)) for row in rows],
            [row.where for row in rows],
        )
    if isinstance(data, np.ndarray):
        data = [_of_array(data, names["target"])]
    return _given([data] if isinstance(data, Series | Mapping) else data)


def _of_array(values: np.ndarray, names: tuple[str, ...]) -> Series:
    """A series of numbered steps (T,) or (T, C)."""
    table = values[:, None] if values.ndim == 1 else values
    if table.ndim != 2 or table.shape[1] != len(names) or table.dtype.kind not in "iuf":
        raise DataError(
            f"an array of {values.dtype} with shape {values.shape}; expected numbers with a row "
            f"for each step and {len(names)} columns: {', '.join(names)}"
        )
    return Series("", names, table.astype(np.float64), 0, Frequency("step"))


def _given(data: Any) -> tuple[list[SeriesRow], list[str]]:
    try:
        given = list(data)
    except TypeError:
        given = [data]
    for one in given:
        if not isinstance(one, Series | Mapping):
            raise TypeError(
                f"forecast: series is {type(one).__name__}; expected a file, a frame, a NumPy "
                "array, or a list of Series"
            )
    rows = [{"target": one} if isinstance(one, Series) else one for one in given]
    return rows, [f"series {number}" for number in range(1, len(rows) + 1)]

"""The rows of the last files of series, which the parts and passes of a training read in turn.

Rows are kept only of files that fit, and only once their last change is some time ago: a file that
is being written may change again without another size or time. Larger files are read each time.
"""

import sys
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from threading import Lock
from typing import Any

import numpy as np

from ..series import Series
from .format import CorpusFiles, Row

MOST_BYTES = 1 << 27
"""The most memory of all rows that are kept."""
SETTLED = 2.0
"""Seconds after which a change of a file shows in its time."""

_kept: "OrderedDict[Any, tuple[int, list[Row]]]" = OrderedDict()
_lock = Lock()


def rows_once(read: Callable[[CorpusFiles], Iterator[Row]], corpus: CorpusFiles) -> Iterator[Row]:
    """The rows of files of series, from memory if nothing has changed since they were read."""
    key = _key(read, corpus)
    with _lock:
        found = _kept.get(key) if key is not None else None
        if found is not None:
            _kept.move_to_end(key)
    if found is not None:
        yield from found[1]
        return
    rows: list[Row] = []
    size = 0
    for row in read(corpus):
        size += _size(row)
        if key is not None and size <= MOST_BYTES:
            rows.append(row)
        yield row
    if key is not None and size <= MOST_BYTES and key == _key(read, corpus):
        _keep(key, size, rows)


def _keep(key: Any, size: int, rows: list[Row]) -> None:
    for row in rows:
        for value in row.values:
            if isinstance(value, Series):
                value.values.setflags(write=False)  # others read them too
    with _lock:
        _kept[key] = (size, rows)
        while sum(size for size, _ in _kept.values()) > MOST_BYTES:
            _kept.popitem(last=False)


def _key(read: Callable[..., Any], corpus: CorpusFiles) -> Any:
    """All that rows depend on; None if a file has just changed, or is gone."""
    try:
        states = [path.stat() for _, path in corpus.files]
    except OSError:  # reading it says so
        return None
    if any(time.time() - state.st_mtime < SETTLED for state in states):
        return None
    files = tuple(
        (name, str(path.resolve()), state.st_size, state.st_mtime_ns, state.st_ino)
        for (name, path), state in zip(corpus.files, states, strict=True)
    )
    return read, files, repr((dict(corpus.columns), corpus.options))


def _size(row: Row) -> int:
    """About the memory of a row."""
    arrays = [value.values for value in row.values if isinstance(value, Series)]
    return sum(_bytes(values) for values in arrays) + sys.getsizeof(row) + 1000


def _bytes(values: np.ndarray) -> int:
    texts = values.size * 60 if values.dtype == object else 0
    return values.nbytes + texts

"""Windows of training whose targets occur in held-out data.

Windows overlap, and the same file often holds training and test, so rows cannot be compared. A
training window leaks if the values of its whole horizon are targets of the held-out data, in any
series. Windows in which nothing changes are alike by chance and do not count.
"""

from collections.abc import Iterator

import numpy as np

from .windows import Windows

BASE = np.uint64(0x9E3779B97F4A7C15)
"""The base of the hashes: odd, so that it has an inverse modulo 2^64."""
INVERSE = np.uint64(pow(0x9E3779B97F4A7C15, -1, 1 << 64))


def n_leaking(training: Windows, held_out: Windows) -> int:
    """The number of training windows, each channel counted, that leak."""
    known = np.unique(np.concatenate([*_hashes(held_out), np.empty(0, np.uint64)]))
    return sum(int(np.isin(hashes, known).sum()) for hashes in _hashes(training))


def _hashes(windows: Windows) -> Iterator[np.ndarray]:
    """The hashes of the horizons of all windows, by series and channel."""
    horizon = windows.size.horizon
    for series in np.flatnonzero(windows.is_used).tolist():
        firsts = windows.firsts_of(series)
        values = np.ascontiguousarray(windows.store[windows.column][series][: firsts[-1] + horizon])
        for column in values.T:
            yield _rolling(column, horizon)[firsts[_changes(column, horizon)[firsts] > 0]]


def _rolling(values: np.ndarray, width: int) -> np.ndarray:
    """A hash of each run of `width` values (T - width + 1,)."""
    numbers = _mixed(np.ascontiguousarray(values, np.float64).view(np.uint64))
    powers = np.cumprod(np.full(len(numbers), BASE))
    sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum((numbers + np.uint64(1)) * powers)])
    n = len(numbers) - width + 1
    # Dividing by the power of the first value makes equal runs equal, wherever they are.
    shift = np.cumprod(np.full(n, INVERSE))
    return (sums[width:] - sums[:n]) * shift


def _mixed(numbers: np.ndarray) -> np.ndarray:
    """Numbers with all bits spread (SplitMix64): the low ones of many values are zero."""
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        numbers = (numbers ^ (numbers >> np.uint64(shift))) * np.uint64(factor)
    mixed: np.ndarray = numbers ^ (numbers >> np.uint64(31))
    return mixed


def _changes(values: np.ndarray, width: int) -> np.ndarray:
    """The number of changes between neighbours within each run of `width` values."""
    is_change = np.concatenate([[0], (values[1:] != values[:-1]) & ~np.isnan(values[1:])])
    sums = np.concatenate([[0], np.cumsum(is_change)])
    n = len(values) - width + 1
    return sums[width:] - sums[1 : n + 1]

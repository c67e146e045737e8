"""Series for tests of forecasts: arrays as series, tasks with codecs, files and run files."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from headway.data.codecs.text import TextConfig
from headway.data.config import Corpus
from headway.data.frequency import Frequency
from headway.data.scales import Scales
from headway.data.series import Series
from headway.data.store import ArrayColumn, ArrayStore, Column
from headway.data.windows import Windows, WindowSize
from headway.tasks.config import ForecastConfig
from headway.tasks.forecast import Forecast

HOURLY = Frequency("h")
START = np.datetime64("2024-01-01T00:00:00", "s")  # a Monday
NAN = float("nan")


def series(
    values: Any,
    columns: Sequence[str] = (),
    name: str = "",
    start: Any = START,
    frequency: Frequency = HOURLY,
    history: int = 0,
) -> Series:
    """A series of values (T,) or (T, C); columns are named a, b, ... unless given."""
    array = np.asarray(values)
    if array.dtype != object:
        array = array.astype(np.float64)
    array = array[:, None] if array.ndim == 1 else array
    names = tuple(columns) or tuple("abcdefgh"[: array.shape[1]])
    return Series(name, names, array, start, frequency, history)


def array_store(*arrays: Any, name: str = "target") -> ArrayStore:
    """A store in memory with one column: arrays (T, C), or (T,) for one channel."""
    examples = [np.asarray(a, np.float32).reshape(len(a), -1) for a in arrays]
    column = Column(name, "float32", (examples[0].shape[1],))
    return ArrayStore({name: ArrayColumn(column, examples)}, len(examples))


def windows_of(
    store: ArrayStore,
    size: tuple[int, int] | tuple[int, int, int],
    spans: Sequence[tuple[int, int]] | None = None,
    apart: bool = True,
    least: int | None = None,
    scales: np.ndarray | None = None,
) -> Windows:
    """Windows of a store; whole series unless spans are given."""
    lengths = store.lengths("target")
    whole = np.stack([np.zeros_like(lengths), lengths], axis=1)
    chosen = whole if spans is None else np.array(spans, np.int64)
    history = size[0] if least is None else least
    own = None if scales is None else Scales(scales, np.zeros(scales.shape[:2], bool))
    return Windows(store, "target", chosen, WindowSize(*size), apart, history, own)


def fitted(rows: Sequence[Mapping[str, Series] | Series], **settings: Any) -> Forecast:
    """A task with codecs fitted to rows, each a target or a series for each column."""
    maps = [{"target": row} if isinstance(row, Series) else row for row in rows]
    task = Forecast(ForecastConfig(**settings))
    task.columns = tuple(maps[0])
    return task.fit_codecs(lambda: (list(row.values()) for row in maps), TextConfig())


def stored(task: Forecast, rows: Sequence[Mapping[str, Series] | Series]) -> ArrayStore:
    """The encoded rows as a store in memory."""
    maps = [{"target": row} if isinstance(row, Series) else row for row in rows]
    codecs = {name: (name, codec) for name, codec in task.codecs.items()} | dict(task.derived)
    columns = {
        name: ArrayColumn(codec.column(name), codec.encode_batch([row[source] for row in maps]))
        for name, (source, codec) in codecs.items()
    }
    return ArrayStore(columns, len(maps))


def all_windows(
    task: Forecast, rows: Sequence[Mapping[str, Series] | Series], part: Any = None, stride: int = 1
) -> Windows:
    """The windows of rows, with targets in a part of each."""
    return task.windows(stored(task, rows), [len(rows)], [Corpus(part=part)], stride)[0]


def wave(n: int, period: int = 24, noise: float = 0.3, seed: int = 0, level: float = 10.0) -> Any:
    """A noisy sine of amplitude 5 (n,)."""
    draw = np.random.default_rng(seed)
    return level + 5 * np.sin(2 * np.pi * np.arange(n) / period) + noise * draw.normal(size=n)


def write_wide(path: Path, columns: Mapping[str, Any], start: str = "2024-01-01T00") -> None:
    """A wide CSV of hours; NaN is an empty cell, text stays as it is."""
    n = len(next(iter(columns.values())))
    times = np.datetime64(start, "h") + np.arange(n)
    lines = [",".join(["date", *columns])]
    for i, time in enumerate(times):
        cells = (_cell(values[i]) for values in columns.values())
        lines.append(",".join([f"{str(time).replace('T', ' ')}:00", *cells]))
    path.write_text("\n".join(lines) + "\n", "utf-8")


def _cell(value: Any) -> str:
    if isinstance(value, str):
        return value
    return "" if np.isnan(value) else f"{value:.10g}"

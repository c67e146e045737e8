"""Parts of series in time: which steps are targets of training, of validation and of the test.

A part of a corpus is `[begin, end]`, each a share of the series' steps (0 to 1), a number of steps
(negative from the end) or a date. Steps before a part are still history. The parts that a run file
leaves open are filled in here, so that the run file of a run names all of them.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from statistics import median

import numpy as np

from ..errors import ConfigError, DataError
from .codecs.series import Clock
from .config import Corpus, DataConfig, as_corpora
from .frequency import Frequency
from .held_out import DividedData
from .times import TimeProblem, parse_times, time_texts

SHARES = (0.7, 0.1, 0.2)
HORIZONS = 2
"""The shares apply if each of the later parts is at least this many horizons long."""
EXPECTED = (
    "expected three sizes (training, validation, test) such as [0.7, 0.1, 0.2] or [8640, 2880, "
    '2880], or the dates at which validation and test begin, such as ["2013-01-01", "2014-01-01"]'
)

Bound = float | str
Part = tuple[Bound, Bound]


def divide_in_time(
    data: DataConfig,
    split: Sequence[Bound] | None,
    horizon: int,
    lengths: Iterable[int],
) -> DividedData | None:
    """The data with a part in time for each set; None if the run file names the sets itself.

    Args:
        split: `forecast.split`.
        lengths: the lengths of the training series, read only if needed.

    Raises:
        ConfigError: the split is none, or a training corpus has a part already.
    """
    if data.valid is not None:
        return None
    corpora = as_corpora(data.train, "data.train")
    if any(corpus.part for corpus in corpora):
        raise ConfigError(
            "data.train has a part, and data.valid is missing; set it to the steps after that "
            "part, or to [] for no validation"
        )
    has_test = data.test is not None
    parts = _parts(split, horizon, has_test, lengths)
    train: list[str | Corpus] = [replace(corpus, part=parts[0]) for corpus in corpora]
    later: list[list[str | Corpus]] = [
        [replace(corpus, part=part, weight=1.0) for corpus in corpora] for part in parts[1:]
    ]
    test = later[1] if len(later) > 1 else data.test
    return DividedData(replace(data, train=train, valid=later[0], test=test), _line(parts))


def _parts(
    split: Sequence[Bound] | None, horizon: int, has_test: bool, lengths: Iterable[int]
) -> list[Part]:
    """The parts of training, validation and, unless there is test data, test."""
    if split is None:
        return _usual_parts(horizon, has_test, median(lengths))
    dates = [bound for bound in split if isinstance(bound, str)]
    if dates and len(dates) == len(split) == 2:
        return _dated_parts(dates[0], dates[1], has_test)
    sizes = [float(bound) for bound in split if not isinstance(bound, str)]
    if len(sizes) != len(split) or len(sizes) != 3 or min(sizes) <= 0:
        raise ConfigError(f"forecast.split = {list(split)}: {EXPECTED}")
    are_shares = max(sizes) <= 1
    if are_shares and sum(sizes) > 1 + 1e-9:
        raise ConfigError(f"forecast.split adds up to {sum(sizes):g}; {EXPECTED}")
    if not are_shares and sum(sizes) > (longest := max(lengths, default=0)):
        raise ConfigError(
            f"forecast.split adds up to {sum(sizes):g} steps, and the longest "
            f"series has {longest}; lower the sizes, or give shares such as [0.7, 0.1, 0.2]"
        )
    ends = [round(float(end), 9) for end in np.cumsum(sizes)]
    parts: list[Part] = [(0.0, ends[0]), (ends[0], ends[1]), (ends[1], ends[2])]
    return parts[:2] if has_test else parts


def _dated_parts(first: str, second: str, has_test: bool) -> list[Part]:
    """The parts before, between and after the dates at which validation and test begin."""
    if has_test:
        raise ConfigError(
            "forecast.split names the beginning of the test, and data.test is set; leave one of "
            "them out"
        )
    if _time_of(first, "forecast.split") >= _time_of(second, "forecast.split"):
        raise ConfigError(
            f"forecast.split = {[first, second]}: the test must begin after the validation; "
            "write the earlier date first"
        )
    return [(0.0, first), (first, second), (second, 1.0)]


def _usual_parts(horizon: int, has_test: bool, length: float) -> list[Part]:
    """The default: shares, or the last horizons of series that are too short for shares."""
    train, valid, test = SHARES
    if has_test:
        valid += test
    if min(valid, test) * length >= HORIZONS * horizon:
        parts: list[Part] = [(0.0, train), (train, round(train + valid, 9))]
        return parts if has_test else [*parts, (round(train + valid, 9), 1.0)]
    if has_test:
        return [(0.0, -horizon), (-horizon, 1.0)]
    return [(0.0, -2 * horizon), (-2 * horizon, -horizon), (-horizon, 1.0)]


def _line(parts: Sequence[Part]) -> str:
    names = ("training", "validation", "test")
    shown = ", ".join(
        f"{name} {_shown(begin)} to {_shown(end)}"
        for name, (begin, end) in zip(names, parts, strict=False)
    )
    return f"no data.valid: the series are cut in time: {shown}"


def _shown(bound: Bound) -> str:
    if isinstance(bound, str):
        return bound
    if 0 <= bound <= 1:
        return f"{100 * bound:g}%"
    return f"step {bound:g}" if bound > 0 else f"the last {-bound:g} steps"


def outside_line(
    key: str, corpora: Sequence[Corpus], lengths: np.ndarray, clocks: Sequence[Clock]
) -> str | None:
    """The message for a part whose dates are outside all series; None if they are not.

    Args:
        key: the set: `train`, `valid` or `test`.
        lengths: steps of each series.
    """
    parts = [corpus.part for corpus in corpora if corpus.part is not None]
    dates = [bound for part in parts for bound in part if isinstance(bound, str)]
    if not dates or any(isinstance(clock.first_time, int) for clock in clocks):
        return None
    ends = [
        Frequency.parse(clock.frequency).times(clock.first_time, 0, max(int(length), 1))[[0, -1]]
        for clock, length in zip(clocks, lengths, strict=True)
    ]
    first, last = np.min(ends), np.max(ends)
    if any(first < _time_of(date, "part") <= last for date in dates):
        return None
    first_text, last_text = time_texts(np.array([first, last]))
    return (
        f"data.{key}: the part begins or ends at {' and '.join(dict.fromkeys(dates))}, outside "
        f"{first_text} to {last_text}, the times of the series; choose dates between these in "
        "forecast.split"
    )


def steps_of(part: Part | None, length: int, clock: Clock) -> tuple[int, int]:
    """The first step of a part of a series, and the one after its last.

    Raises:
        DataError: a bound is a date, and the steps of the series have numbers.
    """
    begin, end = (0.0, 1.0) if part is None else part
    first, last = (_step(bound, length, clock) for bound in (begin, end))
    if end == 0:  # `[-48, 0]` is the last 48 steps
        last = length
    return min(max(first, 0), length), min(max(last, 0), length)


def trained_steps(
    corpora: Sequence[Corpus],
    training: Sequence[Corpus],
    clocks: Sequence[Clock],
    lengths: np.ndarray,
    spans: np.ndarray,
) -> np.ndarray:
    """The steps of each series that are a training part and end before its targets; 0, 0 if none.

    Args:
        corpora: the corpus of each series.
        training: those of the training, of which one may be another part of the same file.
        spans: the target steps of each series.

    Shape: lengths (n,), spans (n, 2) -> (n, 2).
    """
    ranges = np.zeros_like(spans)
    for i, corpus in enumerate(corpora):
        own = [each for each in training if each.part and each.file and each.file == corpus.file]
        for first, last in (steps_of(each.part, int(lengths[i]), clocks[i]) for each in own):
            if last <= spans[i, 0]:
                ranges[i] = first, last
    return ranges


def _step(bound: Bound, length: int, clock: Clock) -> int:
    if isinstance(bound, str):
        return _step_of_date(bound, length, clock)
    if 0 <= bound <= 1:
        return int(length * bound + 1e-6)
    return int(bound) if bound > 0 else length + int(bound)


def _step_of_date(date: str, length: int, clock: Clock) -> int:
    start = clock.first_time
    if isinstance(start, int):
        raise DataError(
            f"part: {date!r} is a date, and the steps of series {clock.name!r} have numbers; give "
            "a share such as 0.8, or a number of steps"
        )
    times = Frequency.parse(clock.frequency).times(start, 0, length)
    return int(np.searchsorted(times, _time_of(date, "part")))


def _time_of(date: str, setting: str) -> np.datetime64:
    try:
        parsed = parse_times([date])
    except TimeProblem as error:
        raise ConfigError(f"{setting}: {error}") from None
    [time] = parsed.times
    if parsed.other is not None:
        one, two = time_texts(parsed.times)[0], time_texts(parsed.other)[0]
        raise ConfigError(
            f"{setting}: {date!r} may begin with the day or the month; write it as {one} or {two}"
        )
    if not isinstance(time, np.datetime64):
        raise ConfigError(f"{setting}: {date!r} is no date; expected one such as 2013-01-01")
    return time

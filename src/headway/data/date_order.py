"""The order of day and month in dates such as 01/02/2010, where both orders are possible.

The order whose times are more regular is taken, and the month first if they are equally regular.
`times` reads each order, and `kept_form` keeps the one of the training data with the run.
"""

from dataclasses import dataclass, replace

import numpy as np

from .frequency import Frequency
from .times import ParsedTimes

_NAMES = {True: "day, month, year", False: "month, day, year"}


@dataclass(frozen=True)
class DateOrder:
    """The order in which dates were read.

    Attributes:
        is_shown: whether a number above 12 or a setting shows it.
        line: how it was chosen; empty if it is shown.
        is_guess: whether the other order is as regular.
    """

    day_first: bool
    is_shown: bool = True
    line: str = ""
    is_guess: bool = False


def choose_order(
    parsed: ParsedTimes, example: str, codes: np.ndarray, frequency: Frequency | None
) -> tuple[ParsedTimes, DateOrder | None]:
    """The times in the order that fits, and that order; None if there is but one.

    Args:
        example: the first time as text, for messages.
        codes: the number of the series of each time.
        frequency: as the run file says.
    """
    if parsed.other is None:
        order = None if parsed.day_first is None else DateOrder(parsed.day_first)
        return parsed, order
    month, day = (_irregularity(t, codes, frequency) for t in (parsed.times, parsed.other))
    day_first = day < month
    order = DateOrder(day_first, is_shown=False, is_guess=day == month)
    said = f"times such as {example} are read as {_NAMES[day_first]}"
    if order.is_guess:
        line = f"{said}, and could be {_NAMES[True]}; if they are, set day_first = true"
    else:
        line = f"{said}: the other order is less regular"
        others = (month if day_first else day)[1]
        if others:
            line = f"{said}: in the other order, {others:,} times would have no row"
    order = replace(order, line=line)
    return replace(parsed, times=parsed.other if day_first else parsed.times, other=None), order


def _irregularity(
    times: np.ndarray, codes: np.ndarray, frequency: Frequency | None
) -> tuple[int, int, int]:
    """Times between two steps, steps without a row, and rows earlier than the row before."""
    in_file = np.argsort(codes, kind="stable")
    is_back = (np.diff(codes[in_file]) == 0) & (np.diff(times[in_file]).astype(np.int64) < 0)
    if frequency is not None and frequency.unit != "step":
        times = frequency.anchored(times).floor(times)
    order = np.lexsort((times, codes))
    code, time = codes[order], times[order]
    is_new = np.ones(len(time), bool)
    is_new[1:] = (np.diff(code) != 0) | (time[1:] != time[:-1])
    code, time = code[is_new], time[is_new]
    steps = frequency or Frequency.infer(time, code)
    if steps is None:
        return 0, 0, int(is_back.sum())
    heads = np.flatnonzero(np.diff(code, prepend=-1))
    numbers, is_on = steps.indices(np.repeat(time[heads], np.diff(heads, append=len(code))), time)
    lasts = np.append(heads[1:], len(code)) - 1
    missing = int((numbers[lasts] + 1).sum()) - len(code)
    return int((~is_on).sum()), missing, int(is_back.sum())

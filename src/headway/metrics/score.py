"""`Score`, the result of every metric: a value, its interval and its signature."""

import math
from collections.abc import Iterable
from dataclasses import dataclass

MOST_DECIMALS = 8


@dataclass(frozen=True)
class Score:
    """A value with its 95% interval; shares and rates are in percent, like BLEU.

    Attributes:
        low: lower end of the interval; None if no interval was requested or none exists.
        signature: all settings needed to compute the score again.
    """

    name: str
    value: float
    low: float | None
    high: float | None
    signature: str

    def to_dict(self) -> dict[str, float | str | None]:
        """The score as plain data, without the name, which is the key."""
        return {
            "value": self.value,
            "low": self.low,
            "high": self.high,
            "signature": self.signature,
        }


def decimals_of(values: Iterable[float], least: int, significant: int) -> int:
    """The decimals with which each value has so many significant digits; at least `least`.

    Args:
        significant: 0 for `least`, whatever the values.
    """
    sizes = [abs(value) for value in values if value and math.isfinite(value)]
    if not sizes or not significant:
        return least
    needed = significant - 1 - math.floor(math.log10(min(sizes)))
    return max(least, min(needed, MOST_DECIMALS))

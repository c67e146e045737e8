"""`Score`, the result of every metric: a value, its interval and its signature."""

from dataclasses import dataclass


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

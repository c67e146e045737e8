"""What every metric returns: a figure, how sure it is, and how it was counted."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Score:
    """One figure with its 95% interval; shares and rates are in percent, as BLEU is.

    Attributes:
        low: lower end of the interval, None where no interval was asked for or none exists.
        signature: how it was counted, enough to count it again.
    """

    name: str
    value: float
    low: float | None
    high: float | None
    signature: str

    def to_dict(self) -> dict[str, float | str | None]:
        """The form scripts read; the name is left to be the key."""
        return {
            "value": self.value,
            "low": self.low,
            "high": self.high,
            "signature": self.signature,
        }

"""Settings of single tasks; the settings of pre-training are in `pretrain/config.py`."""

from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated, Literal

from annotated_types import Ge, Gt, Le, Lt

from ..data.codecs.calendar import Fact


@dataclass(frozen=True)
class AnswerConfig:
    """How answers are searched in documents."""

    overlap: Annotated[float, Ge(0), Lt(1)] = 0.5
    """A document that does not fit into `data.max_length` together with the question is split into
    windows. Each window shares this fraction of its tokens with the next."""
    elsewhere: Annotated[float, Ge(0), Le(1)] = 0.1
    """How often training uses a window of such a document without the answer, so that the model
    learns to find none there."""
    longest: Annotated[int, Ge(1)] = 30
    """The longest possible answer, in tokens."""


@dataclass(frozen=True)
class SeriesConfig:
    """How series with a class or a value are trained on."""

    warp: Annotated[float, Ge(0), Le(2)] = 0.0
    """Training reads each series at a speed that varies at random: the standard deviation of its
    logarithm. 0.2 gains a few tenths of a percent where there are a few hundred series."""


@dataclass(frozen=True)
class ForecastConfig:
    """The windows of a forecast, their scaling, and what is predicted."""

    horizon: Annotated[int, Ge(1)] = 24
    """Number of steps to forecast."""
    lookback: Annotated[int, Ge(1)] | None = None
    """Number of steps before the forecast that the model reads. Default: up to 512, a third of the
    training part of a series at most."""
    season: Annotated[int, Ge(1)] | None = None
    """Steps of a season, for the seasonal naive forecast and MASE. Default: by the frequency, such
    as 24 for hours, 7 for days and 12 for months."""
    split: list[float | str] | None = None
    """Where the series are cut if `data.valid` or `data.test` is missing: the sizes of training,
    validation and test part, as shares (`[0.7, 0.1, 0.2]`) or steps (`[8640, 2880, 2880]`), or the
    dates at which validation and test begin. Default: these shares, or for short series the last
    horizons."""
    channels: Literal["apart", "mixed"] = "apart"
    """`apart`: one model forecasts each column from its own past alone. `mixed`: it reads and
    forecasts all columns together."""
    scaling: Literal["column", "series", "none"] | None = None
    """Standardises values by the mean and deviation of each column in the training data, of each
    series as well, or not at all. `series` takes those of the training part of a series, in new
    data those of all its steps before the window. Default: `series` if there are several, because
    their levels may differ by far; otherwise `column`."""
    normalise: Literal["window", "last", "none"] = "window"
    """What is taken out of each window before the model reads it, and put back into its forecast:
    mean and deviation of the history, its last value alone, or nothing."""
    calendar: list[Fact] | None = None
    """Facts of the time that the model reads for each step, as two numbers on a circle each."""
    loss: Literal["mse", "mae"] = "mae"
    """The error that training minimises if there are no quantiles: squared or absolute, of scaled
    values. Absolute errors often give a lower squared error too, because outliers count less."""
    quantiles: list[Annotated[float, Gt(0), Lt(1)]] | None = None
    """Quantiles to predict, such as `[0.1, 0.5, 0.9]`, with their own loss. 0.5 must be among them:
    it is the forecast."""
    levels: list[Annotated[float, Gt(0), Lt(1)]] | None = None
    """Coverage of the prediction intervals, which are calibrated on the validation windows.
    Default: `[0.8, 0.9]`."""
    stride: Annotated[int, Ge(1)] = 1
    """Steps between two training windows. Validation and test use every window."""
    step: Annotated[int, Ge(1)] = 16
    """Steps that a decoder writes at once, for families that decode."""

    def __post_init__(self) -> None:
        if self.quantiles is not None and 0.5 not in self.quantiles:
            raise ValueError(
                f"quantiles = {self.quantiles} has no 0.5, which is the forecast; add it"
            )
        for name in ("quantiles", "levels"):
            values = getattr(self, name) or []
            if any(a >= b for a, b in pairwise(values)):
                raise ValueError(f"{name} = {values} is not ascending; sort it, each number once")

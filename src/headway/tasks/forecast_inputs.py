"""The batches of `forecast`: windows of series, normalised, with their covariates.

A step of the input has the targets first, then a mark for each target that is unknown (only if the
data have gaps or facts of the future), then covariates. Where facts of the future are known, the
input goes on over the horizon, without targets.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ..data.codecs.calendar import CalendarCodec
from ..data.codecs.codec import Codec
from ..data.codecs.series import ClockCodec, SeriesCodec
from ..data.frequency import Frequency
from ..data.windows import Places, Windows, WindowSize, fill_forward
from ..errors import RunError
from .config import ForecastConfig

CLOCK, CALENDAR = "clock", "calendar"
"""Columns of the store that are derived from the target."""
COVARIATES = ("past", "known", "static")
FUTURE = ("known", CALENDAR)
"""Covariates whose values in the horizon are known."""
VARIANCE = 1e-5
"""Added to the variance of a window, which may be constant, as a share of the typical one."""
FEWEST_KNOWN = 8
"""Known values of a window below which its own deviation says too little of its errors."""
FACTS = "windows.json"


@dataclass(frozen=True)
class WindowFacts:
    """What the training data decided about the windows.

    Attributes:
        history: steps before the forecast that the model reads.
        season: steps of a season.
        frequency: the step of the series, as `Frequency.parse` reads it.
        has_gaps: whether the training data have missing targets.
        scaling: what values are standardised by: `column`, `series` or `none`.
        variances: the variance of a typical window of each column, in scaled values; 1 if empty.
    """

    history: int
    season: int
    frequency: str
    has_gaps: bool
    scaling: str
    variances: tuple[float, ...] = ()

    def save(self, path: Path) -> None:
        path.write_text(json.dumps(asdict(self), indent=1) + "\n", "utf-8")

    @classmethod
    def load(cls, path: Path) -> "WindowFacts":
        try:
            facts = cls(**json.loads(path.read_text("utf-8")))
            facts = replace(facts, variances=tuple(map(float, facts.variances)))
            Frequency.parse(facts.frequency)
            is_whole = facts.history >= 1 and facts.season >= 1
            is_whole = is_whole and all(0 < each < np.inf for each in facts.variances)
        except (OSError, ValueError, TypeError, AttributeError) as error:
            raise RunError(f"{path} cannot be read ({error}); restore it from a copy") from None
        if not is_whole:
            raise RunError(f"{path} is damaged; restore it from a copy")
        return facts


class WindowInputs:
    """Makes batches of windows.

    Args:
        codecs: the codec of `target`, and of each covariate that the data have.
    """

    def __init__(
        self, codecs: Mapping[str, SeriesCodec], facts: WindowFacts, config: ForecastConfig
    ) -> None:
        self.codecs, self.facts, self.config = dict(codecs), facts, config
        self.target = codecs["target"]
        self.size = WindowSize(facts.history, config.horizon)
        self._added = VARIANCE * np.array(facts.variances or np.ones(self.target.width))
        self.calendar = (
            CalendarCodec(tuple(config.calendar), config.horizon) if config.calendar else None
        )

    @property
    def derived(self) -> dict[str, tuple[str, Codec]]:
        """The columns of the store that are made from the target."""
        derived: dict[str, tuple[str, Codec]] = {CLOCK: ("target", ClockCodec())}
        if self.calendar is not None:
            derived[CALENDAR] = ("target", self.calendar)
        return derived

    @property
    def n_channels(self) -> int:
        """Targets of a window."""
        return 1 if self.config.channels == "apart" else self.target.width

    @property
    def n_columns(self) -> int:
        """Columns that have windows of their own; 1 if the model reads all together."""
        return self.target.width // self.n_channels

    @property
    def knows_future(self) -> bool:
        """Whether some covariate is known in the horizon."""
        return self.calendar is not None or "known" in self.codecs

    @property
    def has_marks(self) -> bool:
        return self.knows_future or self.facts.has_gaps

    @property
    def n_steps(self) -> int:
        """Steps of the input."""
        return self.size.steps if self.knows_future else self.size.history

    @property
    def n_features(self) -> int:
        """Numbers of a step of the input."""
        targets = self.n_channels * (1 + self.has_marks)
        covariates = sum(self.codecs[name].width for name in COVARIATES if name in self.codecs)
        return targets + covariates + (self.calendar.width if self.calendar else 0)

    def batch(self, windows: Windows, places: Places) -> dict[str, Tensor]:
        """The tensors of some windows.

        All is computed in float64 until the location of the window is taken out: the shape of a
        window may be small beside its level.

        Shape: src (B, S, F), src_valid (B, S), values, values_valid (B, H, C), scale, n_known (B,
        C), location (B, C) of float64; if the model reads one column of several, its number as
        segment (B, 1); if a season is longer than the history, last_season and last_season_valid
        (B, season, C).
        """
        values, exists = windows.take(places)  # (B, L + H, C), (B, L + H)
        history = self.size.history
        past = values[:, :history]
        filled, is_filled = fill_forward(past)
        is_filled &= exists[:, :history, None]
        src, location, scale = self._normalised(filled, is_filled, places)
        is_unknown = np.isnan(past)
        future = values[:, history:] - location[:, None]
        future_valid = ~np.isnan(future)
        batch = {
            "src": self._features(windows, places, src.astype(np.float32), is_unknown),
            "src_valid": self._src_valid(is_filled),
            "values": np.where(future_valid, future, 0.0),
            "values_valid": future_valid,
            "scale": scale,
            "n_known": (~is_unknown).sum(1, dtype=np.float32),
        }
        if self.n_columns > 1:
            batch["segment"] = places.channel[:, None]
        if self.facts.season > history:
            batch |= self._last_season(windows, places, location, scale)
        tensors = {name: torch.from_numpy(_plain(array)) for name, array in batch.items()}
        return {**tensors, "location": torch.from_numpy(np.asarray(location, np.float64))}

    def error_scale(self, scale: np.ndarray, n_known: np.ndarray) -> np.ndarray:
        """The deviation by which errors are measured (B, C): that of the window.

        A window with few of the values that models read has that of the training data at least.
        """
        if self.facts.scaling == "none":
            return scale
        is_unsure = n_known < min(FEWEST_KNOWN, self.size.history)
        return np.where(is_unsure, np.maximum(scale, 1.0), scale)

    def _last_season(
        self, windows: Windows, places: Places, location: np.ndarray, scale: np.ndarray
    ) -> dict[str, np.ndarray]:
        """The season before the forecast, which is longer than the history that models read.

        The seasonal naive forecast needs it, whatever the look-back of the model beside it.
        """
        season = self.facts.season
        values, exists = windows.take(places, season)
        filled, is_filled = fill_forward(values[:, :season])
        is_filled &= exists[:, :season, None]
        normalised = (filled - location[:, None]) / scale[:, None]
        return {
            "last_season": np.where(is_filled, normalised, 0.0),
            "last_season_valid": is_filled,
        }

    def decoder_inputs(self, batch: Mapping[str, Tensor], step: int) -> Tensor:
        """For a decoder: the values before each of its steps (B, T, step * C), normalised.

        The first is the end of the history. Missing values are those before them.
        """
        n, horizon, channels = batch["values"].shape
        first = batch["src"][:, : self.size.history, :channels][:, -step:]
        targets = batch["values"] / batch["scale"][:, None]
        targets = torch.where(batch["values_valid"], targets, torch.nan)
        whole, _ = fill_forward(torch.cat([first, targets], 1).numpy())
        n_steps = -(-horizon // step)
        padded = np.zeros((n, (n_steps + 1) * step, channels), np.float32)
        used = min(whole.shape[1], n_steps * step)
        start = step - first.shape[1]  # a history shorter than a step is padded in front
        padded[:, start : start + used] = whole[:, :used]
        inputs = padded[:, : n_steps * step].reshape(n, n_steps, step * channels)
        return torch.from_numpy(inputs)

    def _normalised(
        self, filled: np.ndarray, is_filled: np.ndarray, places: Places
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The history (B, L, C) less its location and divided by its scale, and both (B, C).

        Args:
            filled: 0 where `is_filled` is False, and so is the result.
        """
        mode = self.config.normalise
        ones = np.ones((len(filled), filled.shape[2]))
        if mode == "none":
            return filled, 0 * ones, ones
        n = np.maximum(is_filled.sum(1), 1)
        location = filled[:, -1] if mode == "last" else filled.sum(1, dtype=np.float64) / n
        centred = filled - location[:, None]
        if not is_filled.all():
            centred *= is_filled
        if mode == "last":
            return centred, location, ones
        added = self._added[places.channel][:, None] if self.n_columns > 1 else self._added
        scale = np.sqrt(np.einsum("btc,btc->bc", centred, centred) / n + added)
        centred /= scale[:, None]
        return centred, location, scale

    def _src_valid(self, is_filled: np.ndarray) -> np.ndarray:
        """Steps of the input that have a value or lie in the horizon (B, S)."""
        valid = np.array(is_filled.any(-1))
        valid[:, -1] = True  # a window without any value still has a step
        if not self.knows_future:
            return valid
        return np.concatenate([valid, np.ones((len(valid), self.size.horizon), bool)], axis=1)

    def _features(
        self, windows: Windows, places: Places, src: np.ndarray, is_unknown: np.ndarray
    ) -> np.ndarray:
        """All features of the input (B, S, F)."""
        horizon = self.n_steps - self.size.history
        parts = [_extended(src, horizon, 0.0)]
        if self.has_marks:
            parts.append(_extended(is_unknown, horizon, 1.0))
        for name in COVARIATES:
            if name in self.codecs:
                parts.append(self._covariate(windows, places, name, horizon))
        if self.calendar is not None:
            facts = windows.covariates(CALENDAR, places, horizon)
            parts.append(np.nan_to_num(facts, copy=False))  # there are none before the series
        return parts[0] if len(parts) == 1 else np.concatenate(parts, axis=2)

    def covariate_features(self) -> dict[str, slice]:
        """The features of each column of `past` and `known` and of each fact of the calendar."""
        start = self.n_channels * (1 + self.has_marks)
        features: dict[str, slice] = {}
        for name in COVARIATES:
            for column in self.codecs[name].columns if name in self.codecs else ():
                if name != "static":
                    features[column.name] = slice(start, start + column.width)
                start += column.width
        n_facts = len(self.calendar.facts) if self.calendar else 0
        for i, fact in enumerate(self.calendar.facts if self.calendar else ()):
            features[f"{CALENDAR}: {fact}"] = slice(start + i, start + i + n_facts + 1, n_facts)
        return features

    def _covariate(self, windows: Windows, places: Places, name: str, horizon: int) -> np.ndarray:
        """A covariate over the steps of the input; a missing value is the one before it."""
        if name == "static":
            facts, _ = windows.store[name].take(places.series)
            steps = np.nan_to_num(facts)[:, None]
            return np.repeat(steps, self.n_steps, axis=1)
        filled, _ = fill_forward(windows.covariates(name, places, horizon if name in FUTURE else 0))
        return filled if name in FUTURE else _extended(filled, horizon, 0.0)


def _extended(steps: np.ndarray, horizon: int, value: float) -> np.ndarray:
    """Steps (B, L, F) and `horizon` more of them with one value."""
    if not horizon:
        return steps
    after = np.full((len(steps), horizon, steps.shape[2]), value, np.float32)
    return np.concatenate([steps, after], axis=1)


def _plain(array: np.ndarray) -> np.ndarray:
    """An array that a tensor can share: contiguous, and of float32 if of floats."""
    return np.ascontiguousarray(array, np.float32 if array.dtype.kind == "f" else None)


def window_batches(windows: Windows, n: int) -> Sequence[np.ndarray]:
    """All windows in order, in batches of `n`."""
    return [np.arange(i, min(i + n, len(windows))) for i in range(0, len(windows), n)]


def default_history(config: ForecastConfig, length: int, season: int) -> int:
    """The look-back for training parts of a typical length: whole seasons if they fit.

    Short parts leave room for as many windows as the horizon has steps, or at least for a season.
    """
    if config.lookback is not None:
        return config.lookback
    room = max(1, length - config.horizon)  # for one window
    several = min(length - 2 * config.horizon, 2 * season)
    wanted = max(length // 3, several, season if season <= room else 1)
    longest = min(512, wanted, room)
    return longest // season * season if 1 < season <= longest < 512 else longest


def describe(facts: WindowFacts, config: ForecastConfig) -> dict[str, Any]:
    """The windows as plain data."""
    shown = {name: value for name, value in asdict(facts).items() if name != "variances"}
    return {**shown, "horizon": config.horizon, "channels": config.channels}

"""Forecasts without weights: `naive` repeats the last value, `seasonal` the last season.

What does not beat them is not working. A third floor, which has weights, is in `ridge.py`.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

import torch
from annotated_types import Ge
from torch import Tensor, nn

from ..family import Family, VocabularySizes


@dataclass(frozen=True)
class NaiveConfig:
    """Naive forecast: the last value, at all steps."""

    family: Literal["naive"] = "naive"
    """The model family."""

    def resolve(self, n_examples: int, vocabularies: VocabularySizes) -> "NaiveConfig":
        return self


@dataclass(frozen=True)
class SeasonalConfig:
    """Seasonal naive forecast: the value one season before."""

    family: Literal["seasonal"] = "seasonal"
    """The model family."""
    season: Annotated[int, Ge(0)] = 0
    """Steps of a season. 0 is `forecast.season`, by default the usual number for the frequency of
    the data, such as 24 for hourly values. Another season must not be longer than the look-back."""

    def resolve(self, n_examples: int, vocabularies: VocabularySizes) -> "SeasonalConfig":
        vectors = vocabularies.vectors
        if vectors is None:
            return self
        longest = max(vectors.size[0] - vectors.future, vectors.season)
        if self.season > longest:
            raise ValueError(
                f"season = {self.season} is longer than the look-back and forecast.season, which "
                f"are {longest} steps at most; set forecast.season = {self.season} instead"
            )
        return replace(self, season=self.season or vectors.season)


class FloorModel(nn.Module):
    """A model without gradient of the H steps after a window of L steps.

    A batch has `src (B, S, F)`, `src_valid (B, S)`, `location` and `scale` (B, C). The first C
    features are the columns to forecast, `(value - location) / scale`; the others are covariates. S
    is L, or more if covariates of the future are known. If a season is longer than L, it has
    `last_season` and `last_season_valid` (B, season, C) too.
    """

    def __init__(self, config: Any, vocabularies: VocabularySizes) -> None:
        super().__init__()
        self.config = config
        self.n_outputs = vocabularies.target
        self.n_future = vocabularies.vectors.future if vocabularies.vectors else 0

    def history(self, batch: Mapping[str, Tensor]) -> tuple[Tensor, Tensor]:
        """The past values of the columns to forecast (B, L, C), and the mask (B, L)."""
        length, n_columns = batch["src"].size(1) - self.n_future, batch["location"].size(1)
        return batch["src"][:, :length, :n_columns], batch["src_valid"][:, :length]


class Naive(FloorModel):
    """Repeats the last value. Gaps of the history are filled, so it is always there."""

    @torch.no_grad()
    def logits(self, batch: Mapping[str, Tensor]) -> Tensor:
        """The horizon in the units of the window (B, H * C)."""
        values, _ = self.history(batch)
        return values[:, -1].repeat(1, self.n_outputs // values.size(2))


class Seasonal(FloorModel):
    """Repeats the last season; the last value where a season before there is no value."""

    @torch.no_grad()
    def logits(self, batch: Mapping[str, Tensor]) -> Tensor:
        """The horizon in the units of the window (B, H * C)."""
        history, valid = self.history(batch)
        values, valid = history, valid[:, :, None]
        if "last_season" in batch:  # it is longer than the history
            values, valid = batch["last_season"], batch["last_season_valid"]
        length, season = values.size(1), self.config.season
        if not 0 < season <= length:
            season = 1
        steps = torch.arange(self.n_outputs // values.size(2), device=values.device)  # (H,)
        steps = length - season + steps % season
        horizon = torch.where(valid[:, steps], values[:, steps], history[:, -1:])  # (B, H, C)
        return horizon.flatten(1)


def _make_naive(
    config: NaiveConfig, vocabularies: VocabularySizes, examples: Iterable[Any]
) -> Naive:
    return Naive(config, vocabularies)


def _make_seasonal(
    config: SeasonalConfig, vocabularies: VocabularySizes, examples: Iterable[Any]
) -> Seasonal:
    return Seasonal(config, vocabularies)


NAIVE = Family(
    "naive",
    NaiveConfig,
    Naive,
    frozenset({"forecast"}),
    learns="counting",
    count=_make_naive,
)
SEASONAL = Family(
    "seasonal",
    SeasonalConfig,
    Seasonal,
    frozenset({"forecast"}),
    learns="counting",
    count=_make_seasonal,
)

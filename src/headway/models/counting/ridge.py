"""Ridge regression: the linear forecast of least squared error with small weights.

The solution is in closed form, from sums over the training windows. Inputs and outputs are
differences to the last value, so the level of a window has no effect, and there is no bias: a drift
of the training part is not carried into the future.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Literal

import torch
from annotated_types import Ge
from torch import Tensor, nn

from ..family import Family, Vectors, VocabularySizes
from .count_table import Counted
from .floors import FloorModel

_ROWS = 4096  # windows of a matrix product; whatever the batches, the sums are the same
MOST_INPUTS = 8192  # the eigendecomposition takes minutes beyond
_PENALTIES = 10.0 ** (torch.arange(-10, 5, dtype=torch.float64) / 2)  # 1e-5 to 100
_OVERLAP = 3.0  # windows that overlap tell less than as many others: a weight counts three times


@dataclass(frozen=True)
class RidgeConfig:
    """Ridge regression, in closed form."""

    family: Literal["ridge"] = "ridge"
    """The model family."""
    history: Annotated[int, Ge(1)] = 512
    """Most steps of history that a forecast depends on; the last ones are used."""
    covariate_history: Annotated[int, Ge(0)] = 48
    """Most steps of the past of covariates that a forecast depends on. Their known future is always
    used."""
    penalty: Annotated[float, Ge(0)] = 0.0
    """Penalty on squared weights, as a share of the mean squared input of all windows. 0 is the
    choice of generalised cross-validation."""

    def resolve(self, n_examples: int, vocabularies: VocabularySizes) -> "RidgeConfig":
        return self


class Ridge(FloorModel, Counted):
    """A linear map from differences to the last value to those of the horizon.

    Attributes:
        weight: (inputs, H * C).
        penalty: the setting, or the choice of cross-validation.
    """

    weight: Tensor
    penalty: Tensor

    def __init__(self, config: RidgeConfig, vocabularies: VocabularySizes) -> None:
        super().__init__(config, vocabularies)
        self.register_buffer("weight", torch.zeros(0, vocabularies.target))
        self.register_buffer("penalty", torch.zeros(1))

    @torch.no_grad()
    def logits(self, batch: Mapping[str, Tensor]) -> Tensor:
        """The horizon in the units of the window (B, H * C)."""
        return self.predict(batch, self.weight)

    def predict(self, batch: Mapping[str, Tensor], weight: Tensor) -> Tensor:
        """The horizon by a weight (inputs, H * C), in the units of the window (B, H * C)."""
        last = self.history(batch)[0][:, -1]
        differences = self.inputs(batch) @ weight  # (B, H * C)
        n_steps = weight.size(1) // last.size(1)
        return last.repeat(1, n_steps) + differences / batch["scale"].repeat(1, n_steps)

    def inputs(self, batch: Mapping[str, Tensor]) -> Tensor:
        """Differences to the last value in scaled units, and covariates (B, inputs)."""
        values, valid = self.history(batch)
        recent = slice(-self.config.history, None)
        own = (values[:, recent] - values[:, -1:]) * batch["scale"][:, None]  # (B, L, C)
        own = own.where(valid[:, recent, None], 0.0)  # what is padded may be anything, even NaN
        first = max(0, values.size(1) - self.config.covariate_history)
        covariates = batch["src"][:, first:, values.size(2) :]
        covariates = covariates.where(batch["src_valid"][:, first:, None], 0.0)
        return torch.cat([own.flatten(1), covariates.flatten(1)], dim=1)

    def outputs(self, batch: Mapping[str, Tensor]) -> Tensor:
        """Differences of the targets to the last value in scaled units (B, H, C)."""
        last = self.history(batch)[0][:, -1] * batch["scale"]
        return batch["values"] - last[:, None]


def n_inputs(config: RidgeConfig, vectors: Vectors) -> int:
    """The number of inputs of a ridge regression of windows."""
    history = vectors.size[0] - vectors.future
    covariates = vectors.features - vectors.targets
    n_steps = vectors.size[0] - max(0, history - config.covariate_history)
    return min(history, config.history) * vectors.targets + n_steps * covariates


class Shortcut(nn.Module):
    """A ridge regression that is trained further, past the layers of a model.

    Before `start`, it is the naive forecast.
    """

    def __init__(self, vocabularies: VocabularySizes, n_values: int) -> None:
        super().__init__()
        vectors = vocabularies.vectors
        assert vectors is not None
        config = RidgeConfig()
        self._form = (Ridge(config, vocabularies),)  # in a tuple: its buffers are not weights
        self.weight = nn.Parameter(torch.zeros(n_inputs(config, vectors), n_values))

    @torch.no_grad()
    def start(self, ridge: Tensor) -> None:
        """Makes the weight that of a fitted ridge regression."""
        self.weight.copy_(ridge)

    def forward(self, batch: Mapping[str, Tensor]) -> Tensor:
        """The horizon in the units of the window (B, H * C)."""
        return self._form[0].predict(batch, self.weight)


class Moments:
    """Sums of products of inputs and outputs over windows, in float64.

    Attributes:
        n: number of windows.
        inputs: sum of `x x'` (P, P).
        products: sum of `x y'` (P, Q).
        squares: sum of `y' y`.
    """

    def __init__(self) -> None:
        self.n, self.squares = 0, 0.0
        self.inputs = self.products = torch.zeros(0, 0, dtype=torch.float64)
        self._rows: list[Tensor] = []
        self._n_inputs = 0

    def add(self, x: Tensor, y: Tensor) -> None:
        """Adds windows, (n, P) and (n, Q)."""
        rows = torch.cat([x, y], dim=1)
        assert rows.isfinite().all(), "one such number would spoil all weights"
        self._n_inputs = x.size(1)
        self._rows.append(rows)
        if sum(map(len, self._rows)) < _ROWS:
            return
        *whole, rest = torch.cat(self._rows).split(_ROWS)
        for rows in whole:
            self._multiply(rows)
        self._rows = [rest]

    def finish(self) -> None:
        """Adds the windows that did not fill a matrix product yet."""
        if self._rows:
            self._multiply(torch.cat(self._rows))
        self._rows = []

    def merge(self, other: "Moments") -> None:
        """Adds the windows of other moments, both finished."""
        self.n, self.squares = self.n + other.n, self.squares + other.squares
        empty = not self.inputs.numel()
        self.inputs = other.inputs if empty else self.inputs + other.inputs
        self.products = other.products if empty else self.products + other.products

    def _multiply(self, rows: Tensor) -> None:
        n = self._n_inputs
        products = (rows[:, :n].mT @ rows).double()  # float32 within a few thousand windows
        if not self.n:
            self.inputs = products.new_zeros(n, n)
            self.products = products.new_zeros(n, rows.size(1) - n)
        self.inputs += products[:, :n]
        self.products += products[:, n:]
        self.squares += float(rows[:, n:].double().square().sum())
        self.n += len(rows)


def count(
    config: RidgeConfig, vocabularies: VocabularySizes, batches: Iterable[Mapping[str, Tensor]]
) -> Ridge:
    """The model of batches of windows with `values` and `values_valid` (B, H, C).

    Windows with missing targets are left out. Only if they are more than half of all, they count
    too, and a missing target repeats the one before.

    Raises:
        ValueError: there are no targets, or too many inputs.
    """
    model = Ridge(config, vocabularies)
    complete, filled = Moments(), Moments()
    for batch in batches:
        x, y, valid = model.inputs(batch), model.outputs(batch), batch["values_valid"]
        if x.size(1) > MOST_INPUTS:
            raise ValueError(
                f"ridge has {x.size(1)} inputs, expected at most {MOST_INPUTS}; forecast the "
                "columns apart, or lower model.history or model.covariate_history"
            )
        whole = valid.flatten(1).all(dim=1)
        some = valid.flatten(1).any(dim=1) & ~whole
        complete.add(x[whole], y[whole].flatten(1))
        filled.add(x[some], _fill(y[some], valid[some]).flatten(1))
    complete.finish()
    filled.finish()
    if complete.n < filled.n:
        complete.merge(filled)
    if not complete.n:
        raise ValueError("ridge needs a training window with a target and there is none")
    weight, penalty = solve(complete, config.penalty)
    model.weight, model.penalty = weight.float(), torch.tensor([penalty])
    return model


def _fill(y: Tensor, valid: Tensor) -> Tensor:
    """Outputs in which a missing one repeats the one before, and first ones are 0 (B, H, C)."""
    steps = torch.arange(y.size(1), device=y.device)[None, :, None]
    latest = torch.where(valid, steps, -1).cummax(dim=1).values  # (B, H, C)
    return torch.where(latest < 0, 0.0, y.gather(1, latest.clamp(min=0)))


def solve(moments: Moments, penalty: float = 0.0) -> tuple[Tensor, float]:
    """Weights (P, Q) that minimise the sum of `|y - W'x|^2 + k |W|^2`, and the penalty.

    k is the penalty times the mean diagonal element of the sum of `x x'`. One eigendecomposition
    serves all penalties. Generalised cross-validation (Golub, Heath and Wahba 1979) compares
    `rss / (1 - f / n)^2`, where f is the effective number of weights, here times `_OVERLAP`.

    Args:
        penalty: 0 is the choice of generalised cross-validation.
    """
    values, vectors = torch.linalg.eigh(moments.inputs)
    values = values.clamp(min=0)
    rotated = vectors.mT @ moments.products  # (P, Q)
    unit = max(float(values.mean()), torch.finfo(torch.float32).tiny)
    if not penalty:
        scores = [_cross_validate(moments, values, rotated, k * unit) for k in _PENALTIES.tolist()]
        best = min(range(len(scores)), key=scores.__getitem__)
        penalty = float(_PENALTIES[best if scores[best] < torch.inf else -1])
    return vectors @ (rotated / (values + penalty * unit)[:, None]), penalty


def _cross_validate(moments: Moments, values: Tensor, rotated: Tensor, k: float) -> float:
    """The score of generalised cross-validation; infinite without enough windows."""
    squares = rotated.square().sum(dim=1)  # (P,)
    explained = (squares * (values + 2 * k) / (values + k).square()).sum()
    weights = _OVERLAP * float((values / (values + k)).sum())
    if weights >= moments.n:
        return torch.inf
    return max(0.0, moments.squares - float(explained)) / (1 - weights / moments.n) ** 2


RIDGE = Family(
    "ridge",
    RidgeConfig,
    Ridge,
    frozenset({"forecast"}),
    learns="counting",
    count=count,
)

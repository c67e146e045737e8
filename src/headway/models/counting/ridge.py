"""Ridge regression: the linear forecast of least squared error with small weights.

The solution is in closed form, from sums over the training windows. Inputs and outputs are
differences to the last value, so the level of a window has no effect, and there is no bias: a drift
of the training part is not carried into the future.

Of several columns that are forecast apart, one weight serves all, unless a weight of its own is
better for a column on later windows than those that it was fitted to.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
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
_OWN_PENALTIES = (10.0, 3.0, 1.0, 0.3, 0.1, 0.03)  # on differences to the shared weight
_WORTH = 0.98  # the largest error of an own weight, as a share of that of the shared one
_EARLY, _LATE = 0.7, 0.8  # shares of the windows of a series; those between overlap both
_MOST_SUMS = 2**24  # numbers in the sums of all columns; their early and late parts take 400 MB


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
    by_column: bool = True
    """A column that is forecast apart from others may have a weight of its own. It is used if,
    fitted to the earlier training windows, it has a lower error on the later ones."""

    def resolve(self, n_examples: int, vocabularies: VocabularySizes) -> "RidgeConfig":
        return self


class Ridge(FloorModel, Counted):
    """Linear maps from differences to the last value to those of the horizon.

    Attributes:
        weight: (W, inputs, H * C), of each column that is forecast apart, or one for all.
        penalty: of the weight that columns share: the setting, or the choice of cross-validation.
    """

    weight: Tensor
    penalty: Tensor

    def __init__(self, config: RidgeConfig, vocabularies: VocabularySizes) -> None:
        super().__init__(config, vocabularies)
        self.register_buffer("weight", torch.zeros(1, 0, vocabularies.target))
        self.register_buffer("penalty", torch.zeros(1))

    @torch.no_grad()
    def logits(self, batch: Mapping[str, Tensor]) -> Tensor:
        """The horizon in the units of the window (B, H * C)."""
        return self.predict(batch, self.weight)

    def predict(self, batch: Mapping[str, Tensor], weight: Tensor) -> Tensor:
        """The horizon by a weight (W, inputs, H * C), in the units of the window (B, H * C)."""
        last = self.history(batch)[0][:, -1]
        differences = _products(self.inputs(batch), weight, batch.get("segment"))  # (B, H * C)
        n_steps = weight.size(2) // last.size(1)
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


def n_weights(config: RidgeConfig, vectors: Vectors) -> int:
    """The number of weights: that of the columns that may have their own, or 1 for all."""
    n, values = n_inputs(config, vectors), vectors.targets * vectors.horizon
    is_small = vectors.columns * n * (n + values) <= _MOST_SUMS
    return vectors.columns if config.by_column and is_small else 1


def _products(inputs: Tensor, weight: Tensor, column: Tensor | None) -> Tensor:
    """The inputs of windows times the weights of their columns.

    Shape: inputs (B, P), weight (W, P, Q), column (B, 1) -> (B, Q).
    """
    if len(weight) == 1 or column is None:
        return inputs @ weight[0]
    result = inputs.new_empty(len(inputs), weight.size(2))
    for number in column.unique().tolist():
        rows = column[:, 0] == number
        result[rows] = inputs[rows] @ weight[number]
    return result


class Shortcut(nn.Module):
    """A fitted ridge regression past the layers of a model, which learn what it lacks.

    Before `start`, it is the naive forecast.
    """

    weight: Tensor

    def __init__(self, vocabularies: VocabularySizes, n_values: int) -> None:
        super().__init__()
        vectors = vocabularies.vectors
        assert vectors is not None
        config = RidgeConfig()
        self._form = (Ridge(config, vocabularies),)  # in a tuple: its buffers are not weights
        shape = (n_weights(config, vectors), n_inputs(config, vectors), n_values)
        self.register_buffer("weight", torch.zeros(shape))

    def start(self, ridge: Tensor) -> None:
        """Makes the weight that of a fitted ridge regression."""
        self.weight.copy_(ridge)

    @torch.no_grad()
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

    def error(self, weight: Tensor) -> float:
        """The sum of the squared errors of a weight (P, Q), finished."""
        explained = 2 * self.products - self.inputs @ weight
        return max(0.0, self.squares - float((weight * explained).sum()))

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


class WindowSums:
    """The sums over the windows of a column.

    Windows with missing targets are left out. Only if they are more than half of all, they count
    too, and a missing target repeats the one before.

    Args:
        is_divided: whether the sums of early and late windows are kept apart.
    """

    def __init__(self, is_divided: bool) -> None:
        n_parts = 3 if is_divided else 1  # early, between, late
        self._complete = [Moments() for _ in range(n_parts)]
        self._filled = [Moments() for _ in range(n_parts)]

    def add(self, x: Tensor, y: Tensor, valid: Tensor, when: Tensor | None) -> None:
        """Adds windows: (n, P), (n, H, C), (n, H, C), and the share of windows before each (n,)."""
        some = valid.flatten(1).any(dim=1)
        whole = valid.flatten(1).all(dim=1)
        part = torch.zeros(len(x))
        if len(self._complete) > 1 and when is not None:
            part = (when >= _EARLY).int() + (when >= _LATE).int()
        for i, (complete, filled) in enumerate(zip(self._complete, self._filled, strict=True)):
            here = part == i
            rows = here & whole
            complete.add(x[rows], y[rows].flatten(1))
            rows = here & some & ~whole
            filled.add(x[rows], _fill(y[rows], valid[rows]).flatten(1))

    def flush(self) -> None:
        """Adds the windows that wait for a matrix product, so that they take no memory."""
        for moments in (*self._complete, *self._filled):
            moments.finish()

    def finish(self) -> None:
        """Ends the sums."""
        self.flush()
        if sum(each.n for each in self._complete) < sum(each.n for each in self._filled):
            for complete, filled in zip(self._complete, self._filled, strict=True):
                complete.merge(filled)

    @property
    def all(self) -> Moments:
        """The sums over all windows."""
        return merged(self._complete)

    @property
    def early(self) -> Moments:
        """The sums over the windows to which an own weight is fitted first."""
        return self._complete[0]

    @property
    def late(self) -> Moments:
        """The sums over the windows by which it is judged."""
        return self._complete[-1]


def count(
    config: RidgeConfig, vocabularies: VocabularySizes, batches: Iterable[Mapping[str, Tensor]]
) -> Ridge:
    """The model of batches of windows with `values` and `values_valid` (B, H, C).

    Of several columns forecast apart, they have `segment` (B, 1), the number of the column, and
    `when` (B,), the share of the windows of the series before each.

    Raises:
        ValueError: there are no targets, or too many inputs.
    """
    model = Ridge(config, vocabularies)
    vectors = vocabularies.vectors
    n = n_weights(config, vectors) if vectors is not None else 1
    columns = [WindowSums(is_divided=n > 1) for _ in range(n)]
    current = columns[0]  # windows come column by column
    for batch in batches:
        x, y, valid = model.inputs(batch), model.outputs(batch), batch["values_valid"]
        if x.size(1) > MOST_INPUTS:
            raise ValueError(
                f"ridge has {x.size(1)} inputs, expected at most {MOST_INPUTS}; forecast the "
                "columns apart, or lower model.history or model.covariate_history"
            )
        of = batch["segment"][:, 0] if n > 1 else torch.zeros(len(x), dtype=torch.int64)
        for number in of.unique().tolist():
            rows = of == number
            when = batch["when"][rows] if n > 1 else None
            if columns[number] is not current:
                current.flush()
                current = columns[number]
            current.add(x[rows], y[rows], valid[rows], when)
    for column in columns:
        column.finish()
    whole = merged([column.all for column in columns])
    if not whole.n:
        raise ValueError("ridge needs a training window with a target and there is none")
    shared, penalty = solve(whole, config.penalty)
    weights = own_weights(columns, shared, penalty) if n > 1 else [shared]
    model.weight = torch.stack(weights).float()
    model.penalty = torch.tensor([penalty])
    return model


def own_weights(columns: Sequence[WindowSums], shared: Tensor, penalty: float) -> list[Tensor]:
    """The weight of each column (P, Q): its own where that is better on late windows, or `shared`.

    An own weight is `shared` and a ridge regression of what that leaves over. Its penalty is the
    one with the least error on the late windows, after a fit to the early ones.
    """
    early = merged([column.early for column in columns])
    if not early.n:
        return [shared] * len(columns)
    before, _ = solve(early, penalty or 1.0)
    weights = []
    for column in columns:
        own = None
        if column.early.n and column.late.n:
            tried = dict(
                zip(_OWN_PENALTIES, _differing(column.early, before, _OWN_PENALTIES), strict=True)
            )
            errors = {k: column.late.error(weight) for k, weight in tried.items()}
            best = min(errors, key=errors.__getitem__)
            if errors[best] < _WORTH * column.late.error(before):
                [own] = _differing(column.all, shared, [best])
        weights.append(shared if own is None else own)
    return weights


def _differing(moments: Moments, start: Tensor, penalties: Sequence[float]) -> Iterator[Tensor]:
    """For each penalty, the weight of least error whose difference to `start` has the penalty."""
    values, vectors = torch.linalg.eigh(moments.inputs)
    values = values.clamp(min=0)
    rotated = vectors.mT @ (moments.products - moments.inputs @ start)  # (P, Q)
    unit = max(float(values.mean()), torch.finfo(torch.float32).tiny)
    for penalty in penalties:
        yield start + vectors @ (rotated / (values + penalty * unit)[:, None])


def merged(parts: Iterable[Moments]) -> Moments:
    """The sums over the windows of all parts."""
    total = Moments()
    for part in parts:
        if part.n:
            total.merge(part)
    return total


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

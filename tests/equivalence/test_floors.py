"""Equivalences of forecasts without gradient: batch = singles, padded = unpadded, scikit-learn."""

import numpy as np
import pytest
import torch
from equivalence_cases import equivalence
from forecast_batches import in_batches, to_values, windows_batch

from headway.models import FAMILIES, Vectors, VocabularySizes

HORIZON, LENGTH, COLUMNS = 5, 24, 2
SETTINGS = {"seasonal": {"season": 7}, "ridge": {"history": 16, "covariate_history": 16}}


def some_windows(length=LENGTH, n=300):
    rng = np.random.default_rng(0)
    values = np.sin(np.arange(n + length + HORIZON)[:, None] / [3, 5]) + rng.normal(
        0, 0.1, (n + length + HORIZON, COLUMNS)
    )
    series = torch.tensor(values, dtype=torch.float32)
    return series.unfold(0, length + HORIZON, 1).mT[:n]  # (n, L + H, C)


def fitted(case, batch, future=0, settings=SETTINGS):
    family, (_, length, features) = FAMILIES[case.family], batch["src"].shape
    vectors = Vectors(features, (length,), future)
    sizes = VocabularySizes(0, HORIZON * COLUMNS, False, vectors=vectors)
    config = family.config(**settings.get(case.family, {})).resolve(1, sizes)
    assert family.count is not None
    return family.count(config, sizes, [batch])


@equivalence("batch", "forecast")
def test_a_batch_is_forecast_as_its_windows_are(case):
    batch = windows_batch(some_windows(), HORIZON)
    model = fitted(case, batch)
    alone = torch.cat([model.logits(part) for part in in_batches(batch, 1)])
    torch.testing.assert_close(model.logits(batch), alone, atol=1e-5, rtol=1e-5)


@equivalence("padded", "forecast")
@pytest.mark.parametrize("n_covariates", [0, 3])
@pytest.mark.parametrize("padding", [9.0, float("nan")])
def test_padding_in_front_changes_no_forecast(case, padding, n_covariates):
    windows = some_windows()
    covariates = torch.randn(len(windows), LENGTH + HORIZON, n_covariates)
    batch = windows_batch(windows, HORIZON, covariates, future=HORIZON)
    padded = padded_by(padding, batch)
    expected = fitted(case, batch, HORIZON).logits(batch)
    found = fitted(case, padded, HORIZON).logits(padded)
    torch.testing.assert_close(found, expected, atol=0, rtol=0)


def padded_by(value, batch):
    """The batch with 9 steps in front that are not valid."""
    n, _, features = batch["src"].shape
    invalid = torch.zeros(n, 9, dtype=torch.bool)
    src = torch.cat([torch.full((n, 9, features), value), batch["src"]], dim=1)
    return batch | {"src": src, "src_valid": torch.cat([invalid, batch["src_valid"]], dim=1)}


@equivalence("padded", "forecast")
def test_what_is_in_the_padding_has_no_effect(case):
    """The ridge regression reads all steps of the window."""
    windows = some_windows()
    batch = windows_batch(windows, HORIZON, torch.randn(len(windows), 29, 3), future=HORIZON)
    zeros, nans = (padded_by(value, batch) for value in (0.0, float("nan")))
    settings = {"seasonal": {"season": 7}}
    expected = fitted(case, zeros, HORIZON, settings).logits(zeros)
    found = fitted(case, nans, HORIZON, settings).logits(nans)
    torch.testing.assert_close(found, expected, atol=0, rtol=0)


@equivalence("edges", "forecast")
@pytest.mark.parametrize("length", [1, LENGTH])
def test_one_step_of_history_and_one_window_are_forecast(case, length):
    batch = windows_batch(some_windows(length, n=1), HORIZON)
    settings = SETTINGS if length > 1 else SETTINGS | {"seasonal": {}}  # a season fits the history
    found = to_values(fitted(case, batch, settings=settings).logits(batch), batch)
    assert found.shape == (1, HORIZON, COLUMNS)
    assert found.isfinite().all()
    if length == 1:
        assert torch.equal(found, batch["location"][:, None].expand_as(found))


@equivalence("refer", only=lambda case: case.family == "ridge")
def test_scikit_learn(case):
    from sklearn.linear_model import Ridge

    windows = some_windows()
    batch = windows_batch(windows, HORIZON)
    model = fitted(case, batch)
    last = windows[:, LENGTH - 1 : LENGTH].double()
    x = (windows[:, LENGTH - 16 : LENGTH] - last).flatten(1).numpy()
    y = (windows[:, LENGTH:] - last).flatten(1).numpy()
    alpha = float(model.penalty) * (x**2).sum(axis=0).mean()
    theirs = Ridge(alpha=alpha, fit_intercept=False).fit(x, y).predict(x)
    expected = torch.tensor(theirs).view(-1, HORIZON, COLUMNS) + last
    found = to_values(model.logits(batch), batch).double()
    torch.testing.assert_close(found, expected, atol=2e-4, rtol=2e-4)

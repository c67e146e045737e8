"""Equivalences of forecasts without gradient: batch = singles, padded = unpadded, scikit-learn."""

import numpy as np
import pytest
import torch
from equivalence_cases import equivalence
from forecast_batches import in_batches, to_values, windows_batch

from headway.models import FAMILIES, Vectors, VocabularySizes

HORIZON, LENGTH, COLUMNS = 5, 24, 2
SETTINGS = {"seasonal": {"season": 7}, "ridge": {"history": 16}}


def some_windows(length=LENGTH, n=300):
    rng = np.random.default_rng(0)
    values = np.sin(np.arange(n + length + HORIZON)[:, None] / [3, 5]) + rng.normal(
        0, 0.1, (n + length + HORIZON, COLUMNS)
    )
    series = torch.tensor(values, dtype=torch.float32)
    return series.unfold(0, length + HORIZON, 1).mT[:n]  # (n, L + H, C)


def fitted(case, batch):
    family, length = FAMILIES[case.family], batch["src"].size(1)
    vectors = Vectors(COLUMNS, (length,))
    sizes = VocabularySizes(0, HORIZON * COLUMNS, False, vectors=vectors)
    config = family.config(**SETTINGS.get(case.family, {})).resolve(1, sizes)
    assert family.count is not None
    return family.count(config, sizes, [batch])


@equivalence("batch", "forecast")
def test_a_batch_is_forecast_as_its_windows_are(case):
    batch = windows_batch(some_windows(), HORIZON)
    model = fitted(case, batch)
    alone = torch.cat([model.logits(part) for part in in_batches(batch, 1)])
    torch.testing.assert_close(model.logits(batch), alone, atol=1e-5, rtol=1e-5)


@equivalence("padded", "forecast")
def test_padding_in_front_changes_no_forecast(case):
    batch = windows_batch(some_windows(), HORIZON)
    padded = dict(batch)
    n, steps = len(batch["src"]), 9
    padded["src"] = torch.cat([torch.full((n, steps, COLUMNS), 9.0), batch["src"]], dim=1)
    invalid = torch.zeros(n, steps, dtype=torch.bool)
    padded["src_valid"] = torch.cat([invalid, batch["src_valid"]], dim=1)
    expected = fitted(case, batch).logits(batch)
    torch.testing.assert_close(fitted(case, padded).logits(padded), expected, atol=0, rtol=0)


@equivalence("edges", "forecast")
@pytest.mark.parametrize("length", [1, LENGTH])
def test_one_step_of_history_and_one_window_are_forecast(case, length):
    batch = windows_batch(some_windows(length, n=1), HORIZON)
    found = to_values(fitted(case, batch).logits(batch), batch)
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

"""Ridge regression: recovers linear series, as scikit-learn, whatever the batches."""

import numpy as np
import pytest
import torch
from forecast_batches import in_batches, to_values, windows_batch

from headway.models import FAMILIES, Vectors, VocabularySizes
from headway.models.counting.ridge import (
    Moments,
    RidgeConfig,
    Shortcut,
    count,
    n_weights,
    solve,
)


def waves(n=600, columns=1, seed=0, noise=0.0):
    """A sum of waves, linear in its past, with a level of its own for each column (n, C)."""
    rng = np.random.default_rng(seed)
    t = np.arange(n)[:, None]
    phases = rng.uniform(0, 6, (2, columns))
    values = np.sin(t / 5 + phases[0]) + 2 * np.sin(t / 13 + phases[1]) + 10 * np.arange(columns)
    return torch.tensor(values + noise * rng.normal(size=values.shape), dtype=torch.float32)


def sliding(series, length):
    return series.unfold(0, length, 1).mT.contiguous()  # (n, length, C)


def sizes(horizon, columns=1, features=None, length=24, future=0):
    vectors = Vectors(features or columns, (length + future,), future)
    return VocabularySizes(0, horizon * columns, False, vectors=vectors)


def fit(batch, horizon, columns=1, features=None, future=0, **given):
    needed = sizes(horizon, columns, features, batch["src"].size(1) - future, future)
    return count(RidgeConfig(**given), needed, [batch])


def values_of(model, batch):
    return to_values(model.logits(batch), batch)


def test_a_linear_series_is_recovered():
    batch = windows_batch(sliding(waves(columns=2), 24 + 12), 12)
    model = fit(batch, 12, columns=2)
    later = windows_batch(sliding(waves(900, columns=2)[600:], 24 + 12), 12)
    assert values_of(model, later) == pytest.approx(later["targets"], abs=5e-3)


def test_the_level_of_a_window_has_no_effect():
    series = waves(noise=0.3)
    model = fit(windows_batch(sliding(series, 36), 12), 12)
    low, high = (windows_batch(sliding(series + level, 36), 12) for level in (0.0, 100.0))
    assert values_of(model, high) == pytest.approx(values_of(model, low) + 100, abs=1e-3)


def test_a_drift_of_the_training_part_is_not_carried_on():
    drifting = torch.arange(300.0)[:, None] / 10
    model = fit(windows_batch(sliding(drifting, 36), 12), 12)
    flat = windows_batch(torch.full((1, 36, 1), 5.0), 12)
    assert values_of(model, flat) == pytest.approx(torch.full((1, 12, 1), 5.0))


@pytest.mark.parametrize("penalty", [1e-3, 0.1, 10.0])
def test_the_weights_are_those_of_scikit_learn(penalty):
    from sklearn.linear_model import Ridge

    windows = sliding(waves(columns=2, noise=0.5), 24 + 6)
    batch = windows_batch(windows, 6)
    model = fit(batch, 6, columns=2, penalty=penalty)
    last = windows[:, 23:24]
    x = (windows[:, :24] - last).flatten(1).double().numpy()
    y = (windows[:, 24:] - last).flatten(1).double().numpy()
    alpha = penalty * (x**2).sum(axis=0).mean()
    theirs = Ridge(alpha=alpha, fit_intercept=False).fit(x, y)
    assert pytest.approx(theirs.coef_, abs=2e-4) == model.weight[0].numpy().T
    assert float(model.penalty) == pytest.approx(penalty)
    predicted = theirs.predict(x).reshape(-1, 6, 2) + last.numpy()
    assert values_of(model, batch).numpy() == pytest.approx(predicted, abs=2e-3)


def test_batches_of_any_size_give_the_same_weights():
    batch = windows_batch(sliding(waves(5000, noise=0.5), 24 + 6), 6)
    whole = fit(batch, 6)
    for size in (1000, 37):
        model = count(RidgeConfig(), sizes(6), in_batches(batch, size))
        assert torch.equal(model.weight, whole.weight)
        assert torch.equal(model.penalty, whole.penalty)


def test_cross_validation_by_hand():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(60, 4)), rng.normal(size=(60, 2))
    y[:, 0] += x[:, 1]
    moments = Moments()
    moments.add(torch.tensor(x), torch.tensor(y))
    moments.finish()
    scores = {}
    for penalty in 10.0 ** (np.arange(-10, 5) / 2):
        k = penalty * np.trace(x.T @ x) / 4
        hat = x @ np.linalg.solve(x.T @ x + k * np.eye(4), x.T)
        rss = ((y - hat @ y) ** 2).sum()
        scores[penalty] = rss / (1 - 3 * np.trace(hat) / 60) ** 2
    weight, penalty = solve(moments)
    assert penalty == pytest.approx(min(scores, key=scores.get))
    expected = np.linalg.solve(x.T @ x + penalty * np.trace(x.T @ x) / 4 * np.eye(4), x.T @ y)
    assert weight.numpy() == pytest.approx(expected)


def test_one_number_that_is_not_finite_is_refused():
    rows = torch.ones(3, 4)
    rows[1, 2] = torch.nan
    for x, y in ((rows, torch.ones(3, 2)), (torch.ones(3, 2), rows)):
        with pytest.raises(AssertionError):
            Moments().add(x, y)


def test_noise_gets_a_larger_penalty():
    clean, noisy = (
        float(fit(windows_batch(sliding(waves(noise=noise), 36), 12), 12).penalty)
        for noise in (0.0, 2.0)
    )
    assert clean < noisy


def test_with_fewer_windows_than_weights_the_penalty_is_the_largest():
    batch = windows_batch(sliding(waves(38), 36), 12)
    model = fit(batch, 12)
    assert float(model.penalty) == pytest.approx(100)
    assert torch.isfinite(model.weight).all()


def test_history_and_covariate_history_bound_the_inputs():
    windows = sliding(waves(columns=2), 30)
    batch = windows_batch(windows, 6, torch.randn(len(windows), 30, 3), future=6)
    assert batch["src"].shape[1:] == (30, 5)
    model = fit(batch, 6, 2, 5, future=6, history=10, covariate_history=4)
    assert model.weight.shape == (1, 10 * 2 + (4 + 6) * 3, 6 * 2)
    assert fit(batch, 6, 2, 5, future=6).weight.shape == (1, 24 * 2 + 30 * 3, 12)
    only_future = fit(batch, 6, 2, 5, future=6, covariate_history=0)
    assert only_future.weight.shape == (1, 24 * 2 + 6 * 3, 12)


def test_a_covariate_known_in_the_future_is_used():
    rng = np.random.default_rng(0)
    covariate = torch.tensor(rng.normal(size=(800, 1)), dtype=torch.float32)
    series = waves(800) + 3 * covariate
    windows, known = sliding(series, 36), sliding(covariate, 36)
    batch = windows_batch(windows, 12, known, future=12)
    with_it = fit(batch, 12, 1, 2, future=12)
    without = fit(windows_batch(windows, 12), 12)
    errors = [
        float((values_of(model, used) - batch["targets"]).square().mean())
        for model, used in ((with_it, batch), (without, windows_batch(windows, 12)))
    ]
    assert errors[0] < 0.5
    assert errors[1] > 9


def test_the_start_of_a_short_history_has_no_effect():
    batch = windows_batch(sliding(waves(noise=0.3), 36), 12)
    model = fit(batch, 12)
    short = {name: tensor[:1].clone() for name, tensor in batch.items()}
    short["src_valid"][0, :10] = False
    other = {name: tensor.clone() for name, tensor in short.items()}
    for anything in (99.0, torch.nan):
        other["src"][0, :10] = anything
        assert torch.equal(model.logits(short), model.logits(other))


def test_windows_with_missing_targets_are_left_out():
    batch = windows_batch(sliding(waves(noise=0.3), 36), 12)
    batch["values_valid"][::3, 5] = False
    batch["values"][::3, 5] = 1e6
    model = fit(batch, 12)
    rest = torch.arange(len(batch["src"])) % 3 != 0
    kept = fit({name: tensor[rest] for name, tensor in batch.items()}, 12)
    assert torch.equal(model.weight, kept.weight)


def test_if_most_windows_miss_targets_they_count_too():
    windows = sliding(waves(), 36)
    batch = windows_batch(windows, 12)
    batch["values_valid"] = torch.tensor(np.random.default_rng(0).random((565, 12, 1)) < 0.9)
    batch["values"] = batch["values"].masked_fill(~batch["values_valid"], 1e6)
    model = fit(batch, 12)
    errors = (values_of(model, batch) - windows[:, 24:])[batch["values_valid"]]
    assert float(errors.square().mean()) < 0.02


def test_missing_first_targets_repeat_the_history():
    batch = windows_batch(torch.ones(3, 6, 1) * torch.tensor([1.0, 2, 3, 0, 0, 5])[:, None], 3)
    batch["values_valid"][:, :2] = False
    batch["values"][:, :2] = torch.nan
    model = fit(batch, 3, penalty=1e-9)
    found = values_of(model, batch)
    assert found[0, :, 0] == pytest.approx(torch.tensor([3.0, 3.0, 5.0]), abs=1e-3)


def test_constant_series_and_one_step_of_history_are_naive():
    constant = windows_batch(torch.full((20, 36, 1), 4.0), 12)
    assert values_of(fit(constant, 12), constant) == pytest.approx(constant["targets"])
    one = windows_batch(sliding(waves(), 1 + 3), 3)
    model = fit(one, 3)
    last = one["location"][:, None].expand(-1, 3, -1)
    assert values_of(model, one) == pytest.approx(last)


def test_nothing_to_learn_from_is_refused():
    batch = windows_batch(sliding(waves(), 36), 12)
    batch["values_valid"][:] = False
    with pytest.raises(ValueError, match="needs a training window with a target and there is none"):
        fit(batch, 12)
    with pytest.raises(ValueError, match="needs a training window"):
        count(RidgeConfig(), sizes(12), [])


def test_too_many_inputs_are_refused():
    batch = windows_batch(torch.zeros(1, 520, 21), 8)
    message = "ridge has 10752 inputs, expected at most 8192; forecast the columns apart, or"
    with pytest.raises(ValueError, match=message):
        fit(batch, 8, columns=21)


def test_loading_gives_the_same_forecasts():
    batch = windows_batch(sliding(waves(noise=0.3), 36), 12)
    model = fit(batch, 12)
    empty = FAMILIES["ridge"].build(RidgeConfig(), sizes(12))
    empty.load_state_dict(model.state_dict())
    assert torch.equal(empty.logits(batch), model.logits(batch))


def shortcut_sizes(batch, horizon, columns, future=0):
    _, length, features = batch["src"].shape
    vectors = Vectors(features, (length,), future, targets=columns, horizon=horizon)
    return VocabularySizes(0, horizon * columns, False, vectors=vectors)


@pytest.mark.parametrize(("columns", "covariates", "future"), [(1, 0, 0), (2, 3, 0), (2, 3, 6)])
def test_a_shortcut_is_naive_before_its_start_and_ridge_after(columns, covariates, future):
    windows = sliding(waves(columns=columns, noise=0.3), 70 + 6)
    known = torch.randn(len(windows), 76, covariates) if covariates else None
    batch = windows_batch(windows, 6, known, future)
    shortcut = Shortcut(shortcut_sizes(batch, 6, columns, future), 6 * columns)
    last = batch["src"][:, -1 - future, :columns]
    assert torch.equal(shortcut(batch).view(-1, 6, columns), last[:, None].expand(-1, 6, -1))
    ridge = count(RidgeConfig(), shortcut_sizes(batch, 6, columns, future), [batch])
    shortcut.start(ridge.weight)
    assert torch.equal(shortcut(batch), ridge.logits(batch))
    assert list(shortcut.state_dict()) == ["weight"]
    assert not list(shortcut.parameters())  # training leaves it as it was fitted


def apart(columns, length=24, horizon=6):
    """A batch with the windows of each column by itself, and the sizes of its model.

    Args:
        columns: series (T,).
    """
    batches = [windows_batch(sliding(each[:, None], length + horizon), horizon) for each in columns]
    batch = {name: torch.cat([each[name] for each in batches]) for name in batches[0]}
    n = [len(each["src"]) for each in batches]
    batch["segment"] = torch.arange(len(n)).repeat_interleave(torch.tensor(n))[:, None]
    batch["when"] = torch.cat([torch.arange(each) / each for each in n]).double()
    vectors = Vectors(1, (length,), targets=1, horizon=horizon, columns=len(columns))
    return batch, VocabularySizes(0, horizon, False, vectors=vectors)


def noisy_wave(seed, period, n=1500, noise=0.3):
    rng = np.random.default_rng(seed)
    wave = np.sin(2 * np.pi * np.arange(n) / period + rng.uniform(0, 6))
    return torch.tensor(wave + noise * rng.normal(size=n), dtype=torch.float32)


def squared_error(model, batch, column):
    rows = batch["segment"][:, 0] == column
    return (values_of(model, batch) - batch["targets"])[rows].square().mean().item()


def test_columns_that_move_otherwise_have_weights_of_their_own():
    fast, slow = noisy_wave(0, 5), torch.cumsum(noisy_wave(1, 300) / 10, 0)
    batch, sizes = apart([fast, slow])
    own, shared = (count(RidgeConfig(by_column=each), sizes, [batch]) for each in (True, False))
    assert own.weight.shape == (2, 24, 6)
    assert shared.weight.shape == (1, 24, 6)
    assert not torch.equal(own.weight[0], own.weight[1])
    later, _ = apart([noisy_wave(2, 5), torch.cumsum(noisy_wave(3, 300) / 10, 0)])
    for column in (0, 1):
        assert squared_error(own, later, column) < squared_error(shared, later, column)


def test_columns_that_move_alike_share_their_weight():
    batch, sizes = apart([noisy_wave(seed, 12) for seed in range(4)])
    model = count(RidgeConfig(), sizes, [batch])
    shared = count(RidgeConfig(by_column=False), sizes, [batch])
    for weight in model.weight:
        torch.testing.assert_close(weight, shared.weight[0])


def test_a_column_without_windows_shares():
    batch, sizes = apart([noisy_wave(0, 5), torch.cumsum(noisy_wave(1, 300) / 10, 0)])
    first = {name: each[batch["segment"][:, 0] == 0] for name, each in batch.items()}
    model = count(RidgeConfig(), sizes, [first])
    assert torch.isfinite(model.weight).all()


def test_batches_of_any_size_give_columns_the_same_weights():
    batch, sizes = apart([noisy_wave(0, 5), torch.cumsum(noisy_wave(1, 300) / 10, 0)])
    whole = count(RidgeConfig(), sizes, [batch])
    parts = count(RidgeConfig(), sizes, in_batches(batch, 100))
    assert torch.equal(whole.weight, parts.weight)
    order = torch.randperm(len(batch["src"]), generator=torch.Generator().manual_seed(0))
    mixed = {name: each[order] for name, each in batch.items()}
    torch.testing.assert_close(whole.logits(mixed), whole.logits(batch)[order])


def test_the_number_of_weights():
    def of(**given):
        vectors = {"features": 1, "size": (512,), "targets": 1, "horizon": 96, "columns": 7}
        return Vectors(**(vectors | given))

    assert n_weights(RidgeConfig(), of()) == 7
    assert n_weights(RidgeConfig(by_column=False), of()) == 1
    assert n_weights(RidgeConfig(), of(columns=1)) == 1
    assert n_weights(RidgeConfig(), of(columns=21, horizon=720)) == 21
    assert n_weights(RidgeConfig(), of(columns=321)) == 1  # their sums would fill the memory


def test_the_error_of_a_weight_by_hand():
    rng = np.random.default_rng(0)
    x, y, weight = (torch.tensor(rng.normal(size=size)) for size in ((9, 3), (9, 2), (3, 2)))
    moments = Moments()
    moments.add(x, y)
    moments.finish()
    assert moments.error(weight) == pytest.approx((y - x @ weight).square().sum().item())


def test_the_shortcut_of_several_columns_is_the_regression_of_each():
    batch, sizes = apart([noisy_wave(0, 5), torch.cumsum(noisy_wave(1, 300) / 10, 0)])
    shortcut, ridge = Shortcut(sizes, 6), count(RidgeConfig(), sizes, [batch])
    shortcut.start(ridge.weight)
    assert torch.equal(shortcut(batch), ridge.logits(batch))

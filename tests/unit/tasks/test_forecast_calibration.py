"""Prediction intervals: ranks of errors by hand, what shares errors, coverage, saving."""

import numpy as np
import pytest
import torch
from forecast_runs import NAN, all_windows, array_store, fitted, series, windows_of

from headway.data.windows import Places
from headway.tasks.forecast_calibration import Calibration, ForecastBatch, recent_windows

PLAIN = {"lookback": 1, "horizon": 1, "scaling": "none", "normalise": "none"}


class Constant(torch.nn.Module):
    """Predicts the same normalised numbers for every window."""

    def __init__(self, *numbers):
        super().__init__()
        self.numbers = torch.nn.Parameter(torch.tensor(numbers, dtype=torch.float32))

    def logits(self, batch):
        return self.numbers.expand(len(batch["src"]), -1)


def fit(values, *numbers, **settings):
    """The calibration of a model that predicts the same numbers, and its task."""
    rows = [series(values)]
    task = fitted(rows, **(PLAIN | settings))
    model = Constant(*numbers)
    return Calibration.fit(task, model, all_windows(task, rows)), task


def errors(n):
    """Values whose absolute errors against 0 are 1 to n, in any order, after a first one."""
    signs = np.where(np.arange(n) % 3, 1, -1)
    order = np.random.default_rng(0).permutation(n)
    return np.concatenate([[0.0], (signs * np.arange(1, n + 1))[order]])


def batch_of(outputs, scale=1.0, channel=0):
    """Forecasts of one window (H, Q) of one channel; the middle quantile is the forecast."""
    array = np.array(outputs, np.float32)[None, :, None, :]
    places = Places(np.array([0]), np.array([channel]), np.array([1]))
    values = np.zeros_like(array[..., 0])
    valid = np.ones_like(values, bool)
    point = array[..., array.shape[-1] // 2]
    return ForecastBatch(
        places, array, point, values, valid, np.full((1, 1), scale), np.zeros((1, 1))
    )


class TestRanks:
    def test_the_error_of_rank_n_plus_1_times_the_level(self):
        """Of 99 errors 1 to 99 that of rank 80, and of rank 90."""
        found, _ = fit(errors(99), 0)
        assert {level: m.tolist() for level, m in found.margins.items()} == {
            0.8: [[80]],
            0.9: [[90]],
        }

    def test_ranks_are_rounded_up(self):
        """50 errors: 51 * .8 = 40.8, the 41st; 51 * .9 = 45.9, the 46th."""
        found, _ = fit(errors(50), 0)
        assert [m.item() for m in found.margins.values()] == [41, 46]

    def test_other_levels(self):
        found, _ = fit(errors(199), 0, levels=[0.5, 0.99])
        assert {level: m.item() for level, m in found.margins.items()} == {0.5: 100, 0.99: 198}

    def test_a_whole_rank_is_not_rounded_up(self):
        """100 * .55 is 55, though not in floating point."""
        found, _ = fit(errors(99), 0, levels=[0.55])
        assert found.margins[0.55].item() == 55

    def test_a_level_that_so_few_errors_cannot_promise_is_left_out(self):
        """The largest of 8 errors is exceeded with a share of 1/9, which is more than a tenth."""
        found, _ = fit(errors(8), 0)
        assert list(found.margins) == [0.8]
        assert found.margins[0.8].item() == 8  # rank 7.2, rounded up
        assert not fit(errors(3), 0)[0].margins

    def test_missing_values_are_no_errors(self):
        values = errors(120)
        values[1::2] = NAN
        found, _ = fit(values, 0)
        known = np.sort(np.abs(values[1:][~np.isnan(values[1:])]))
        assert len(known) == 60
        assert found.margins[0.9].item() == known[54]  # rank 54.9, rounded up

    def test_no_known_value_at_all(self):
        values = np.full(99, NAN)
        values[0] = 1.0
        found, _ = fit(values, 0)
        assert found.margins == {}
        assert found.tensors() == {}


class TestSharing:
    def test_each_step_has_its_own(self):
        """Errors of a random walk grow with the step."""
        draw = np.random.default_rng(0).normal(size=(300, 1))
        walk, _ = fit(np.cumsum(draw), 0, 0, 0, normalise="last", horizon=3)
        margins = walk.margins[0.9][:, 0]
        assert margins[0] < margins[1] < margins[2]

    def test_each_column_with_enough_errors_has_its_own(self):
        values = np.stack([errors(99), 10 * errors(99)], axis=1)
        for channels in ("apart", "mixed"):
            numbers = (0, 0) if channels == "mixed" else (0,)
            found, _ = fit(values, *numbers, channels=channels)
            assert found.margins[0.9].tolist() == [[90, 900]]

    def test_a_column_with_few_errors_takes_those_of_all(self):
        values = np.stack([errors(99), 10 * errors(99)], axis=1)
        values[20:, 1] = NAN
        found, _ = fit(values, 0)
        every = np.sort(np.abs(values[1:][~np.isnan(values[1:])]))
        assert found.margins[0.9][0, 0] == 90
        rank = int(np.ceil((len(every) + 1) * 0.9))
        assert found.margins[0.9][0, 1] == every[rank - 1]

    def test_few_windows_share_the_errors_of_all_steps(self):
        """One window of 20 steps, as short series have: the 19th of 20 errors (21 * .9 = 18.9)."""
        values = np.concatenate([[0.0], np.arange(1.0, 21)])
        found, _ = fit(values, *[0] * 20, horizon=20)
        assert found.margins[0.9][:, 0].tolist() == [19] * 20
        assert found.margins[0.8][:, 0].tolist() == [17] * 20

    def test_errors_are_divided_by_the_deviation_of_the_window(self):
        values = np.random.default_rng(0).normal(size=400)
        values[200:] *= 50
        found, task = fit(values, 0, lookback=40, normalise="window")
        assert 1 < found.margins[0.8].item() < 2  # of a normal distribution: 1.28
        assert task.config.normalise == "window"

    def test_more_errors_than_are_kept_are_thinned(self, monkeypatch):
        monkeypatch.setattr("headway.tasks.forecast_calibration.MOST_ERRORS", 400)
        found, _ = fit(errors(999), 0)
        assert found.margins[0.9].item() == pytest.approx(900, rel=0.1)


class TestIntervals:
    MARGINS = {0.8: np.array([[1.0], [2.0]]), 0.9: np.array([[3.0], [4.0]])}  # noqa: RUF012

    def test_the_forecast_and_the_margin(self):
        calibration = Calibration(self.MARGINS, (0.5,), apart=True)
        batch = batch_of([[10], [20]], scale=5.0)
        found = {level: (low, high) for level, low, high in calibration.intervals(batch)}
        assert found[0.8][0].flatten().tolist() == [5, 10]
        assert found[0.8][1].flatten().tolist() == [15, 30]
        assert found[0.9][1].flatten().tolist() == [25, 40]

    def test_predicted_quantiles_are_moved_by_the_margin(self):
        calibration = Calibration({0.8: np.array([[1.0]])}, (0.1, 0.5, 0.9), apart=True)
        [(level, low, high)] = calibration.intervals(batch_of([[5, 10, 30]]))
        assert (level, low.item(), high.item()) == (0.8, 4, 31)

    def test_quantiles_in_float32_are_found(self):
        """(1 - .8) / 2 is not exactly .1."""
        calibration = Calibration({0.8: np.array([[0.0]])}, (0.1, 0.5, 0.9), apart=True)
        low, high = calibration.base(batch_of([[5, 10, 30]]), 0.8)
        assert (low.item(), high.item()) == (5, 30)

    def test_a_level_without_its_quantiles_is_around_the_forecast(self):
        calibration = Calibration({0.9: np.array([[2.0]])}, (0.1, 0.5, 0.9), apart=True)
        [(_, low, high)] = calibration.intervals(batch_of([[5, 10, 30]]))
        assert (low.item(), high.item()) == (8, 12)

    def test_wide_quantiles_are_narrowed(self):
        """Errors outside the quantiles are negative if these are too wide."""
        values = np.concatenate([[0.0], np.tile([-1.0, 1.0], 60)])
        found, _ = fit(values, -5, 0, 5, quantiles=[0.1, 0.5, 0.9], levels=[0.8])
        assert found.margins[0.8].item() == -4
        [(_, low, high)] = found.intervals(batch_of([[-5, 0, 5]]))
        assert (low.item(), high.item()) == (-1, 1)

    def test_ends_never_cross_the_forecast(self):
        """Quantiles of -0.1 and 0.1, each half a deviation too far from the forecast."""
        calibration = Calibration({0.8: np.array([[-0.5]])}, (0.1, 0.5, 0.9), apart=True)
        [(_, low, high)] = calibration.intervals(batch_of([[-0.1, 0, 0.1]]))
        assert (low.item(), high.item()) == (0, 0)

    def test_columns_apart_take_the_margin_of_their_column(self):
        calibration = Calibration({0.9: np.array([[1.0, 7.0]])}, (0.5,), apart=True)
        [(_, low, _)] = calibration.intervals(batch_of([[10]], channel=1))
        assert low.item() == 3


def test_intervals_cover_as_promised():
    """Fitted to one half of a noisy series, they cover the other half."""
    values = np.random.default_rng(0).normal(size=4000)
    rows = [series(values)]
    task = fitted(rows, lookback=20, horizon=3, levels=[0.5, 0.8, 0.95])
    model = Constant(0, 0, 0)
    calibration = Calibration.fit(task, model, all_windows(task, rows, (0.0, 0.5)))
    covered = {level: [] for level in (0.5, 0.8, 0.95)}
    for batch in task.backtest(model, all_windows(task, rows, (0.5, 1.0))):
        for level, low, high in calibration.intervals(batch):
            covered[level].append((low <= batch.values) & (batch.values <= high))
    for level, parts in covered.items():
        found = np.concatenate(parts).mean(axis=(0, 2))
        assert found == pytest.approx([level] * 3, abs=0.03)


def test_it_is_saved_and_loaded():
    found, task = fit(errors(99), 0)
    tensors = found.tensors()
    assert sorted(tensors) == ["interval.0.8", "interval.0.9"]
    loaded = Calibration.from_tensors({**tensors, "ridge.weight": torch.zeros(1)}, task)
    assert list(loaded.margins) == [0.8, 0.9]
    assert all(np.array_equal(loaded.margins[k], found.margins[k]) for k in (0.8, 0.9))
    assert Calibration.from_tensors({"ridge.weight": torch.zeros(1)}, task) is None


def test_the_earlier_half_of_a_long_series_is_left_out():
    store = array_store(np.arange(420.0), np.arange(60.0))
    windows = windows_of(store, (8, 4))
    recent = recent_windows(windows)
    places = recent.places(np.arange(len(recent)))
    long, short = (places.first[places.series == series] for series in (0, 1))
    n = len(windows.firsts_of(0))
    assert long.tolist() == windows.firsts_of(0)[n // 2 :].tolist()
    assert short.tolist() == windows.firsts_of(1).tolist()


def test_the_interval_of_a_higher_level_holds_that_of_a_lower_one():
    margins = {0.8: np.full((1, 1), 3.0), 0.9: np.full((1, 1), 1.0)}
    calibration = Calibration(margins, (0.5,), apart=True)
    outputs = np.zeros((1, 1, 1, 1))
    places = Places(np.zeros(1, int), np.zeros(1, int), np.zeros(1, int))
    point = outputs[..., 0]
    batch = ForecastBatch(places, outputs, point, point, point == 0, np.ones((1, 1)), point[:, 0])
    (_, low, high), (_, lower, higher) = calibration.intervals(batch)
    assert lower <= low < high <= higher

"""Metrics of forecasts: by hand, as utilsforecast and the M4 organisers compute them, and slips."""

import csv
import gzip
import os
from pathlib import Path

import numpy as np
import pytest

from headway.errors import DataError
from headway.metrics.forecast_errors import ErrorSums, Forecasts, SeriesScales
from headway.metrics.forecasting import FORECAST_METRICS, MANY_SERIES, available
from headway.metrics.naive2 import naive2, seasonal_error

POINT = ("mse", "mae", "rmse", "mse_units", "mae_units", "rmse_units", "smape")
QUANTILES = ("pinball", "pinball_units", "coverage", "width", "width_units")


def one_window_each(outputs, targets, histories=None, season=1, scaling=None, others=None):
    """The sums of one window for each series (S, H)."""
    outputs, targets = (np.asarray(values, float)[:, :, None] for values in (outputs, targets))
    n = len(outputs)
    seasonal = None
    if histories is not None:
        errors = [seasonal_error(np.asarray(row, float)[:, None], season) for row in histories]
        seasonal = np.stack(errors)
    scaling = np.ones((n, 1)) if scaling is None else np.asarray(scaling, float)[:, None]
    sums = ErrorSums(SeriesScales(scaling, seasonal, season))
    naive = None if others is None else np.asarray(others, float)[:, :, None]
    valid = np.isfinite(targets)
    places = np.arange(n), np.zeros(n, int)
    sums.add(Forecasts(outputs, targets, valid, *places, naive2=naive))
    return sums


def value(errors, name):
    return FORECAST_METRICS[name](errors).value


def sliding_windows(n, horizon, rng, scaling=2.0, quantiles=True):
    """One series with a window at each step; errors last as long as the horizon."""
    noise = np.convolve(rng.normal(size=n + 2 * horizon), np.ones(horizon) / horizon**0.5)
    targets = np.lib.stride_tricks.sliding_window_view(
        noise[horizon : n + 2 * horizon - 1], horizon
    )
    targets = 5 + targets[:n, :, None]
    outputs, shape = np.full_like(targets, 5.0), targets.shape
    bands = np.broadcast_to([4.0, 5.0, 6.0], (*shape, 3)) if quantiles else None
    sums = ErrorSums(SeriesScales(np.array([[scaling]])))
    places = np.zeros(n, int), np.arange(n)
    levels = (0.05, 0.5, 0.95) if quantiles else ()
    sums.add(Forecasts(outputs, targets, np.ones(shape, bool), *places, bands, levels))
    return sums


def test_by_hand():
    errors = one_window_each([[1, 2], [5, 5]], [[2, 4], [5, np.nan]], scaling=[2, 10])
    assert value(errors, "mse_units") == pytest.approx((1 + 4 + 0) / 3)
    assert value(errors, "mae_units") == pytest.approx(1.0)
    assert value(errors, "rmse_units") == pytest.approx((5 / 3) ** 0.5)
    assert value(errors, "mse") == pytest.approx((0.25 + 1) / 3)
    assert value(errors, "mae") == pytest.approx((0.5 + 1) / 3)
    assert value(errors, "rmse") == pytest.approx((1.25 / 3) ** 0.5)
    # series 1: 200 / 3 and 200 * 2 / 6; series 2: 0
    assert value(errors, "smape") == pytest.approx(200 / 3 / 2)
    assert available(errors) == POINT


def test_mase_and_owa_by_hand():
    histories = [[1, 3, 1, 3], [10, 20, 40, 80]]  # mean steps: 2 and 70 / 3
    errors = one_window_each([[2], [50]], [[4], [60]], histories, 1, others=[[3], [80]])
    first, second = 2 / 2, 10 / (70 / 3)
    assert value(errors, "mase") == pytest.approx((first + second) / 2)
    smape = (200 * 2 / 6 + 200 * 10 / 110) / 2
    smape2 = (200 * 1 / 7 + 200 * 20 / 140) / 2
    mase2 = (0.5 + 20 / (70 / 3)) / 2
    owa = (smape / smape2 + (first + second) / 2 / mase2) / 2
    assert value(errors, "owa") == pytest.approx(owa)


def test_pinball_coverage_and_width_by_hand():
    sums = ErrorSums(SeriesScales(np.array([[2.0]])))
    targets = np.array([[[0.0], [5.0]]])
    quantiles = np.array([[[[-1.0, 0.0, 2.0]], [[1.0, 2.0, 3.0]]]])
    places = np.array([0]), np.array([0])
    levels = (0.05, 0.5, 0.95)
    sums.add(Forecasts(targets, targets, targets < 9, *places, quantiles, levels))
    first, second = (0.05 * 1 + 0.05 * 2) / 3, (0.05 * 4 + 0.5 * 3 + 0.95 * 2) / 3
    assert value(sums, "pinball_units") == pytest.approx((first + second) / 2)
    assert value(sums, "pinball") == pytest.approx((first + second) / 4)
    coverage = FORECAST_METRICS["coverage"](sums)
    assert coverage.value == 50.0
    assert "|interval_levels:0.05-0.95|" in coverage.signature
    assert value(sums, "width_units") == pytest.approx((3 + 2) / 2)
    assert value(sums, "width") == pytest.approx((3 + 2) / 4)
    assert available(sums) == POINT + QUANTILES


def test_half_of_the_crps_is_the_mean_of_many_pinball_losses():
    # The CRPS of the standard normal distribution at 0: 2 / sqrt(2 pi) - 1 / sqrt(pi)
    from scipy import stats

    levels = tuple(float(level) for level in (np.arange(999) + 0.5) / 999)
    target = np.zeros((1, 1, 1))
    quantiles = stats.norm.ppf(levels)[None, None, None]
    sums = ErrorSums(SeriesScales(np.ones((1, 1))))
    places = np.array([0]), np.array([0])
    sums.add(Forecasts(target, target, target == 0, *places, quantiles, levels))
    crps = 2 / (2 * np.pi) ** 0.5 - 1 / np.pi**0.5
    assert 2 * value(sums, "pinball") == pytest.approx(crps, rel=1e-3)


def test_owa_is_the_ratio_of_means_and_not_the_mean_of_ratios():
    # Naive2 is nearly right for one series: a mean of ratios has no bound.
    histories = [[1, 2, 1, 2], [1, 2, 1, 2]]
    errors = one_window_each(
        [[2.0], [2.0]], [[1.0], [1.0]], histories, 1, others=[[1 + 1e-9], [2.0]]
    )
    assert value(errors, "owa") == pytest.approx(2.0)
    assert "ratio_of_means" in FORECAST_METRICS["owa"](errors).signature


def test_a_constant_series_is_left_out_of_mase_and_counted():
    histories = [[1, 3, 1, 3], [7, 7, 7, 7], [5, 5, 5, 5]]
    errors = one_window_each([[2], [8], [9]], [[4], [7], [7]], histories)
    score = FORECAST_METRICS["mase"](errors)
    assert score.value == 1.0  # neither 0 nor infinite through the constant ones
    assert score.signature == (
        "mase|season:1|n:3|series:3|horizon:1|windows:all|left_out:2 constant or short"
    )
    assert "left_out" not in FORECAST_METRICS["mse"](errors).signature


def test_only_constant_series_have_no_mase():
    errors = one_window_each([[2]], [[4]], [[7, 7, 7]], others=[[7]])
    assert available(errors) == POINT
    with pytest.raises(DataError, match="MASE: no series has an in-sample seasonal error above 0"):
        FORECAST_METRICS["mase"](errors)
    with pytest.raises(DataError, match=r"OWA: the errors of Naive2 .* 0 or missing"):
        FORECAST_METRICS["owa"](errors)


def test_a_perfect_naive2_has_no_owa():
    errors = one_window_each([[2]], [[4]], [[1, 2, 3]], others=[[4]])
    assert "mase" in available(errors)
    assert "owa" not in available(errors)


def test_metrics_without_intervals_say_so():
    errors = one_window_each([[2]], [[4]])
    with pytest.raises(DataError, match="Coverage: the forecasts have no prediction intervals"):
        FORECAST_METRICS["coverage"](errors)


def test_scaled_values_and_units_are_two_scores_and_say_which():
    errors = one_window_each([[10, 30]], [[20, 20]], scaling=[10])
    scaled, units = (FORECAST_METRICS[name](errors) for name in ("mae", "mae_units"))
    assert (scaled.value, units.value) == (1.0, 10.0)
    assert scaled.signature == "mae|values:scaled|n:1|series:1|horizon:2|windows:all"
    assert units.signature == "mae_units|values:units|n:1|series:1|horizon:2|windows:all"


def test_every_window_counts_however_they_were_batched():
    rng = np.random.default_rng(2)
    targets = rng.normal(size=(100, 4, 1))
    scores = []
    for size in (32, 100, 7):  # with the last, smaller batch
        sums = ErrorSums(SeriesScales(np.ones((1, 1))))
        for begin in range(0, 100, size):
            part = targets[begin : begin + size]
            places = np.zeros(len(part), int), np.arange(begin, begin + len(part))
            sums.add(Forecasts(np.zeros_like(part), part, np.ones(part.shape, bool), *places))
        score = FORECAST_METRICS["mse"](sums, resamples=100)
        assert "|n:100|" in score.signature
        scores.append((score.value, score.low, score.high))
    assert scores[0] == pytest.approx((float((targets**2).mean()), *scores[0][1:]))
    assert scores[1] == pytest.approx(scores[0])
    assert scores[2] == pytest.approx(scores[0])


def test_missing_targets_do_not_count_and_are_in_the_signature():
    errors = one_window_each([[1, 2], [5, 5]], [[2, 4], [5, np.nan]])
    assert "|missing_targets:1" in FORECAST_METRICS["mse"](errors).signature


def test_few_series_are_resampled_by_blocks_of_windows():
    errors = sliding_windows(400, 10, np.random.default_rng(0))
    for name in available(errors):
        score = FORECAST_METRICS[name](errors, resamples=200)
        assert score.low < score.value < score.high or name.startswith("width")
        assert score.signature.endswith(
            "|windows:all|interval:bootstrap95 of blocks of 20 windows, widened for 20 blocks"
            "|bs:200|seed:12345"
        )


def test_blocks_cover_the_truth_where_single_windows_do_not():
    inside, n_trials = 0, 60
    for seed in range(n_trials):
        errors = sliding_windows(600, 15, np.random.default_rng(seed), 1.0, quantiles=False)
        score = FORECAST_METRICS["mse"](errors, resamples=100)
        inside += score.low <= 1.0 <= score.high
    assert inside > 0.75 * n_trials


def test_few_blocks_cover_the_truth_too():
    """Three horizons of windows, as of ETT at 720 steps."""
    inside, n_trials = 0, 60
    for seed in range(n_trials):
        errors = sliding_windows(121, 40, np.random.default_rng(seed), 1.0, quantiles=False)
        score = FORECAST_METRICS["mse"](errors, resamples=100)
        assert "blocks of 40 windows, widened for 3 blocks" in score.signature
        assert 0 <= score.low <= score.value <= score.high
        inside += score.low <= 1.0 <= score.high
    assert inside > 0.75 * n_trials


def test_without_three_blocks_there_is_no_interval():
    errors = sliding_windows(29, 10, np.random.default_rng(0))
    score = FORECAST_METRICS["mse"](errors, resamples=200)
    assert (score.low, score.high) == (None, None)
    assert score.signature.endswith("|interval:none, 10 windows make a block, and 3 are needed")


def test_intervals_end_where_values_do():
    errors = sliding_windows(31, 10, np.random.default_rng(1))
    coverage, smape = (
        FORECAST_METRICS[name](errors, resamples=200) for name in ("coverage", "smape")
    )
    assert 0 <= coverage.low <= coverage.high <= 100
    assert 0 <= smape.low <= smape.high <= 200


def test_many_series_are_resampled_as_a_whole():
    rng = np.random.default_rng(0)
    n = MANY_SERIES
    histories = rng.normal(5, 1, size=(n, 30))
    targets, outputs, others = (rng.normal(5, 1, size=(n, 4)) for _ in range(3))
    errors = one_window_each(outputs, targets, histories, 1, others=others)
    assert available(errors) == (*POINT, "mase", "owa")
    for name in available(errors):
        score = FORECAST_METRICS[name](errors, resamples=200)
        assert score.low < score.value < score.high
        assert score.signature.endswith("|interval:bootstrap95 of series|bs:200|seed:12345")


def long_table(outputs, targets, **more):
    import pandas as pd

    n, horizon = outputs.shape
    columns = {"y": targets, "model": outputs, **more}
    return pd.DataFrame(
        {
            "unique_id": np.repeat(np.arange(n), horizon),
            "ds": np.tile(np.arange(horizon), n),
            **{name: values.reshape(-1) for name, values in columns.items()},
        }
    )


@pytest.mark.parametrize("season", [1, 7])
def test_point_errors_are_those_of_utilsforecast(season):
    from utilsforecast import losses

    rng = np.random.default_rng(season)
    histories, outputs, targets = (rng.normal(size=shape) for shape in ((5, 40), (5, 9), (5, 9)))
    errors = one_window_each(outputs, targets, histories, season)
    frame, past = long_table(outputs, targets), long_table(histories, histories)
    theirs = {
        "mse": losses.mse(frame, ["model"]),
        "mae": losses.mae(frame, ["model"]),
        "mase": losses.mase(frame, ["model"], season, past),
    }
    for name, table in theirs.items():
        assert value(errors, name) == pytest.approx(table["model"].mean()), name
    smape = losses.smape(frame, ["model"])["model"].mean()  # from 0 to 1
    assert value(errors, "smape") == pytest.approx(200 * smape)
    one = one_window_each(outputs[:1], targets[:1])
    rmse = losses.rmse(long_table(outputs[:1], targets[:1]), ["model"])["model"].mean()
    assert value(one, "rmse") == pytest.approx(rmse)


def test_quantile_errors_are_those_of_utilsforecast():
    from utilsforecast import losses

    rng = np.random.default_rng(0)
    levels = (0.1, 0.5, 0.9)
    targets = rng.normal(size=(6, 8))
    quantiles = np.sort(rng.normal(size=(6, 8, 3)), axis=2)
    names = ["low", "middle", "high"]
    columns = dict(zip(names, np.moveaxis(quantiles, 2, 0), strict=True))
    frame = long_table(targets, targets, **columns)
    errors = ErrorSums(SeriesScales(np.ones((6, 1))))
    places = np.arange(6), np.zeros(6, int)
    three = targets[:, :, None], np.ones((6, 8, 1), bool)
    errors.add(Forecasts(three[0], *three, *places, quantiles[:, :, None], levels))
    theirs = losses.mqloss(frame, {"model": names}, quantiles=np.array(levels))["model"]
    assert value(errors, "pinball") == pytest.approx(theirs.mean())
    singles = [
        losses.quantile_loss(frame, {"model": name}, q=level)["model"].mean()
        for name, level in zip(names, levels, strict=True)
    ]
    assert value(errors, "pinball") == pytest.approx(np.mean(singles))
    frame = frame.rename(columns={"low": "model-lo-80", "high": "model-hi-80"})
    theirs = losses.coverage(frame, ["model"], 80)["model"].mean()
    assert value(errors, "coverage") == pytest.approx(100 * theirs)


@pytest.mark.data
def test_m4_hourly_has_the_published_figures():
    root = Path(os.environ["HEADWAY_DATA"]) / "m4"
    histories, targets = (read(root / f"Hourly-{part}.csv.gz") for part in ("train", "test"))
    others = [naive2(history, 24, 48) for history in histories]
    forecasts = {
        "naive": [np.repeat(history[-1], 48) for history in histories],
        "seasonal": [np.tile(history[-24:], 2) for history in histories],
        "naive2": others,
    }
    found = {}
    for name, outputs in forecasts.items():
        errors = one_window_each(outputs, targets, histories, 24, others=others)
        found[name] = [value(errors, metric) for metric in ("smape", "mase", "owa")]
    rounded = {
        name: [round(figure, 3) for figure in figures[:2]] for name, figures in found.items()
    }
    assert rounded == {
        "naive": [43.003, 11.608],
        "seasonal": [13.912, 1.193],
        "naive2": [18.383, 2.395],
    }
    # Published as .627, which is the ratio of the rounded figures; unrounded ones give .62750.
    assert found["seasonal"][2] == pytest.approx(0.6275, abs=5e-5)
    assert pytest.approx(0.627, abs=5e-4) == (13.912 / 18.383 + 1.193 / 2.395) / 2
    assert found["naive2"][2] == 1.0


def read(path: Path) -> list[np.ndarray]:
    with gzip.open(path, "rt") as file:
        rows = list(csv.reader(file))[1:]
    return [np.array([float(cell) for cell in row[1:] if cell]) for row in rows]

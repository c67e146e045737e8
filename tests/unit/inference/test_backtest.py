"""Backtests: errors in units of every window, scales of MASE, OWA, intervals; by hand."""

import numpy as np
import pandas
import pytest
from forecast_runs import NAN, all_windows, fitted, series, wave
from utilsforecast import losses

from headway.errors import DataError
from headway.inference import backtest as backtests
from headway.inference.backtest import Backtest
from headway.metrics.forecasting import FORECAST_METRICS, available
from headway.metrics.naive2 import naive2
from headway.tasks.forecast_calibration import Calibration
from headway.tasks.forecast_floors import floor_models

PLAIN = {"lookback": 6, "horizon": 3, "season": 2}


def run(rows, part=(0.5, 1.0), calibration=None, owa=False, name="naive", **settings):
    """The errors of a floor on a part of rows, and the task."""
    task = fitted(rows, **(PLAIN | settings))
    windows = all_windows(task, rows, part)
    models = {name: floor_models(task, {})[name]}
    return Backtest(task, models, windows, calibration, owa).run()[name], task


def value(errors, name):
    return FORECAST_METRICS[name](errors, None).value


@pytest.mark.parametrize("settings", [{}, {"scaling": "series"}, {"scaling": "none"}], ids=str)
@pytest.mark.parametrize("normalise", ["window", "last", "none"])
def test_errors_in_units_by_hand(settings, normalise):
    """Whatever the scale: the last value before each of the windows, repeated."""
    values = wave(40, 12, level=100)
    errors, _ = run([series(values)], normalise=normalise, **settings)
    by_hand = [np.abs(values[f : f + 3] - values[f - 1]) for f in range(20, 38)]
    assert value(errors, "mae_units") == pytest.approx(np.mean(by_hand), rel=1e-4)
    assert len(errors.by_window["origin"]) == 18


def test_mase_is_scaled_by_the_steps_before_the_part():
    values = np.array([1.0, 5, 2, 8, 4, 4, 7, 1, 3, 9])
    errors, _ = run([series(values)], (0.6, 1.0))
    seasonal = np.abs(values[2:6] - values[:4]).mean()
    by_hand = np.mean([np.abs(values[f : f + 3] - values[f - 1]).mean() for f in (6, 7)])
    assert value(errors, "mase") == pytest.approx(by_hand / seasonal, rel=1e-5)


def test_a_constant_series_has_no_mase():
    """Not 0, which would make every model look perfect."""
    errors, _ = run([series([5.0] * 20)])
    assert "mase" not in available(errors)
    both, _ = run([series([5.0] * 20), series(wave(20))])
    alone, _ = run([series(wave(20))], scaling="series")
    assert value(both, "mase") == pytest.approx(value(alone, "mase"), rel=1e-4)


def test_a_part_from_the_start_has_no_mase():
    errors, _ = run([series(wave(20))], None)
    assert "mase" not in available(errors)


def test_missing_targets_do_not_count():
    values = wave(30)
    values[22] = NAN
    errors, _ = run([series(values)], normalise="none")
    filled = values.copy()
    filled[22] = filled[21]
    pairs = [
        (filled[f - 1], step) for f in range(15, 28) for step in values[f : f + 3]
    ]  # the value before a gap is repeated
    by_hand = [abs(last - step) for last, step in pairs if not np.isnan(step)]
    assert value(errors, "mae_units") == pytest.approx(np.mean(by_hand), rel=1e-5)
    assert errors.n_missing == 3


def test_columns_apart_and_together_are_the_same_windows():
    rows = [series(np.stack([wave(40), 5 * wave(40, 12)], axis=1))]
    apart, mixed = (run(rows, channels=channels)[0] for channels in ("apart", "mixed"))
    assert apart.by_window["origin"].tolist() == mixed.by_window["origin"].tolist()
    for name in available(mixed):
        assert value(apart, name) == pytest.approx(value(mixed, name), rel=1e-5), name


def test_owa_with_naive2_of_all_steps_before_each_window():
    values = wave(40, 4, level=50)
    errors, _ = run([series(values)], (0.8, 1.0), owa=True, season=4)
    naive, second, scale = [], [], np.abs(values[4:32] - values[:28]).mean()
    for first in range(32, 38):
        targets = values[first : first + 3]
        forecasts = values[first - 1], naive2(values[:first], 4, 3)
        for found, forecast in zip((naive, second), forecasts, strict=True):
            error = np.abs(targets - forecast)
            smape = 200 * error / (np.abs(targets) + np.abs(forecast))
            found.append((smape.mean(), error.mean() / scale))
    [smape, mase], [smape2, mase2] = np.mean(naive, axis=0), np.mean(second, axis=0)
    expected = (smape / smape2 + mase / mase2) / 2
    assert value(errors, "owa") == pytest.approx(expected, rel=1e-4)


def test_naive2_of_a_history_with_gaps_keeps_its_season(monkeypatch):
    """The season repeats exactly, and so does Naive2, with missing values."""
    calls = []
    monkeypatch.setattr(backtests, "naive2", lambda *args: calls.append(args) or naive2(*args))
    values = np.tile([1.0, 5.0, 9.0, 5.0], 14)
    values[17] = NAN  # between 1 and 9, which fill it with 5
    values[:4] = NAN
    rows = [series(values)]
    task = fitted(rows, **(PLAIN | {"season": 4}))
    windows = all_windows(task, rows, (0.9, 1.0))
    models = floor_models(task, {})
    errors = Backtest(task, models, windows, None, has_naive2=True).run()
    assert len(calls) == len(windows)  # once, not for each model
    for sums in errors.values():
        assert sums.by_window["naive2_symmetric"] == pytest.approx(0, abs=1e-3)


def test_owa_of_too_many_windows(monkeypatch):
    monkeypatch.setattr(backtests, "MOST_NAIVE2", 3)
    with pytest.raises(DataError) as caught:
        run([series(wave(40))], owa=True)
    assert str(caught.value) == (
        "OWA needs Naive2 for each of 18 windows, and at most 3 are computed; leave out "
        "the metric owa"
    )


def test_intervals_are_scored_in_units():
    """A margin of two deviations of the data is a width of four, whatever the unit."""
    values = wave(60, level=100)
    task = fitted([series(values)], **PLAIN, normalise="none")
    margins = {level: np.full((3, 1), width) for level, width in ((0.5, 1.0), (0.9, 2.0))}
    calibration = Calibration(margins, (0.5,), apart=True)
    errors, _ = run([series(values)], calibration=calibration, normalise="none")
    deviation = float(task.inputs.target.deviation[0])
    assert value(errors, "width_units") == pytest.approx(4 * deviation, rel=1e-5)
    assert value(errors, "width") == pytest.approx(4, rel=1e-5)
    assert errors.levels == pytest.approx((0.05, 0.25, 0.5, 0.75, 0.95))
    inside = [
        abs(values[f + h] - values[f - 1]) <= 2 * deviation for f in range(30, 58) for h in range(3)
    ]
    assert value(errors, "coverage") == pytest.approx(100 * np.mean(inside))


def test_without_intervals_there_is_no_coverage():
    errors, _ = run([series(wave(40))])
    assert not {"coverage", "width", "pinball"} & set(available(errors))


def test_scores_are_those_of_utilsforecast_on_the_same_windows():
    """Two series of several columns: MAE, MSE and sMAPE of every window, by another library."""
    rows = [series(np.stack([wave(60), 9 * wave(60, 12)], axis=1)) for _ in range(2)]
    rows[1].values[:] *= 3
    task = fitted(rows, **PLAIN)
    windows = all_windows(task, rows, (0.5, 1.0))
    model = floor_models(task, {})["seasonal"]
    errors = Backtest(task, {"seasonal": model}, windows, None).run()["seasonal"]
    tables = []
    for batch in task.backtest(model, windows):
        target = task.inputs.target
        scale, offset = windows.units(batch.places, target.mean, target.deviation)
        found = [x[..., 0] * scale + offset for x in (batch.point, batch.values)]
        tables += [
            pandas.DataFrame({"unique_id": int(s), "seasonal": forecast, "y": y})
            for s, forecast, y in zip(batch.places.series, *found, strict=True)
        ]
    table = pandas.concat(tables)
    for name, other, factor in (
        ("mae_units", losses.mae, 1),
        ("mse_units", losses.mse, 1),
        ("smape", losses.smape, 200),
    ):
        expected = factor * other(table, models=["seasonal"])["seasonal"].mean()
        assert value(errors, name) == pytest.approx(expected, rel=1e-5), name


def test_several_models_are_scored_in_one_pass():
    rows = [series(wave(60))]
    task = fitted(rows, **PLAIN)
    windows = all_windows(task, rows, (0.5, 1.0))
    models = floor_models(task, {})
    both = Backtest(task, models, windows, None).run()
    assert list(both) == ["naive", "seasonal"]
    for name, model in models.items():
        alone = Backtest(task, {name: model}, windows, None).run()[name]
        assert value(both[name], "mae") == value(alone, "mae")

"""The floors of a forecast: which there are, what they predict, and their weights in a run."""

import numpy as np
import pytest
import torch
from forecast_runs import all_windows, fitted, series, wave

from headway.models.counting.floors import SeasonalConfig
from headway.tasks.forecast_floors import FLOORS, floor_models, floor_tensors

PLAIN = {"lookback": 6, "horizon": 4, "season": 3, "scaling": "none"}


def predicted(model, task, windows, index=0):
    """The forecast of a window (H,)."""
    batch = task.batch(windows, np.array([index]))
    location = task.inputs.batch(windows, windows.places(np.array([index])))["location"]
    return (task.outputs(model, batch)[0, :, 0, 0] + location).float()[0]


@pytest.mark.parametrize("normalise", ["none", "last", "window"])
def test_naive_and_seasonal_by_hand(normalise):
    rows = [series([5, 1, 2, 3, 4, 7, 0, 0, 0, 0])]
    task = fitted(rows, **PLAIN, normalise=normalise)
    models = floor_models(task, {})
    assert list(models) == ["naive", "seasonal"]
    windows = all_windows(task, rows)
    found = {name: predicted(model, task, windows) for name, model in models.items()}
    torch.testing.assert_close(found["naive"], torch.full((4,), 7.0), atol=1e-5, rtol=0)
    expected = torch.tensor([3.0, 4.0, 7.0, 3.0])  # the last three, repeated
    torch.testing.assert_close(found["seasonal"], expected, atol=1e-5, rtol=0)


def test_a_season_longer_than_the_look_back():
    """The floor sees a whole season, and the model beside it two steps."""
    rows = [series([5, 1, 2, 3, 4, 7, 0, 0, 0, 0])]
    task = fitted(rows, **(PLAIN | {"lookback": 2, "season": 5}))
    windows = all_windows(task, rows)
    last = len(windows) - 1  # its targets are the last four steps
    found = predicted(floor_models(task, {})["seasonal"], task, windows, last)
    torch.testing.assert_close(found, torch.tensor([1.0, 2, 3, 4]), atol=1e-5, rtol=0)
    assert task.batch(windows, np.array([last]))["src"].shape[1] == 2


def test_less_than_a_season_of_data_repeats_the_last_value():
    """Six steps of history, a season of seven: the first of the seven does not exist."""
    rows = [series([5, 1, 2, 3, 4, 7, 0, 0, 0, 0])]
    task = fitted(rows, **(PLAIN | {"season": 7}), normalise="none")
    found = predicted(floor_models(task, {})["seasonal"], task, all_windows(task, rows))
    assert found.tolist() == [7, 5, 1, 2]


@pytest.mark.parametrize("other", [8, 20])
@pytest.mark.parametrize("settings", [{}, {"scaling": "series"}, {"channels": "mixed"}], ids=str)
@pytest.mark.parametrize("normalise", ["none", "last", "window"])
def test_the_season_before_does_not_depend_on_the_look_back(settings, normalise, other):
    """With several columns, and series of several levels. A longer look-back has a value before a
    gap at the start of the season, so only that of a season is compared with gaps."""
    values = np.stack([wave(60, 8), 100 + 20 * wave(60, 8, seed=1)], axis=1)
    if other == 8 and not settings:
        values[33, 0] = values[20, 1] = np.nan
    rows = [series(values), series(50 * values[:45])]
    found = []
    for lookback in (3, other):
        task = fitted(
            rows, lookback=lookback, horizon=10, season=8, normalise=normalise, **settings
        )
        windows = all_windows(task, rows, part=(0.5, 1.0))
        floor = floor_models(task, {})["seasonal"]
        for batch in task.backtest(floor, windows):
            scale, offset = task.units(windows, batch)
            found.append(batch.point * scale + offset)
    np.testing.assert_allclose(found[0], found[1], rtol=1e-4)


def test_a_season_of_the_model_that_is_not_in_a_batch():
    task = fitted([series(wave(60))], lookback=12, horizon=4)
    assert SeasonalConfig(season=7).resolve(0, task.vocabularies) == SeasonalConfig(season=7)
    with pytest.raises(ValueError) as caught:
        SeasonalConfig(season=48).resolve(0, task.vocabularies)
    assert str(caught.value) == (
        "season = 48 is longer than the look-back and forecast.season, which are 24 steps at most; "
        "set forecast.season = 48 instead"
    )


def test_a_short_history_repeats_what_there_is():
    """Two steps of history, a season of three: the first of the three does not exist."""
    rows = [series([3, 7, 0, 0, 0, 0])]
    task = fitted(rows, **PLAIN, normalise="none")
    found = predicted(floor_models(task, {})["seasonal"], task, all_windows(task, rows))
    assert found.tolist() == [7, 3, 7, 7]


def test_ridge_is_fitted_to_the_training_windows():
    """A series that is a linear function of its past is forecast exactly."""
    values = wave(120, period=12, noise=0.0)
    rows = [series(values)]
    task = fitted(rows, lookback=12, horizon=4, season=12)
    windows = all_windows(task, rows)
    tensors = floor_tensors(task, windows)
    assert all(name.startswith("ridge.") for name in tensors)
    models = floor_models(task, {**tensors, "interval.0.9": torch.zeros(1)})
    assert list(models) == list(FLOORS)
    batch = task.batch(windows, np.arange(len(windows)))
    errors = task.outputs(models["ridge"], batch)[..., 0] - batch["values"]
    assert errors.abs().max() < 1e-2
    assert not models["ridge"].training


def test_too_many_inputs_leave_the_ridge_out(monkeypatch):
    rows = [series(wave(60))]
    task = fitted(rows, lookback=12, horizon=4)
    monkeypatch.setattr("headway.models.counting.ridge.MOST_INPUTS", 3)
    assert floor_tensors(task, all_windows(task, rows)) == {}


def test_floors_of_a_model_with_quantiles_have_one_number():
    rows = [series(wave(60))]
    task = fitted(rows, lookback=12, horizon=4, quantiles=[0.1, 0.5, 0.9])
    windows = all_windows(task, rows)
    models = floor_models(task, floor_tensors(task, windows))
    batch = task.batch(windows, np.array([0]))
    assert {tuple(task.outputs(m, batch).shape) for m in models.values()} == {(1, 4, 1, 1)}
    for name, model in models.items():
        [found] = task.backtest(model, windows.select(np.array([0])))
        assert found.point.shape == (1, 4, 1), name
        assert task.point_of(found.outputs) == 0


@pytest.mark.parametrize("channels", ["apart", "mixed"])
def test_floors_of_several_columns(channels):
    rows = [series(np.stack([np.arange(12.0), 100 - np.arange(12.0)], axis=1))]
    task = fitted(rows, **PLAIN, normalise="none", channels=channels)
    windows = all_windows(task, rows)
    [found] = task.backtest(floor_models(task, {})["naive"], windows)
    if channels == "mixed":
        assert found.point[0].tolist() == [[5, 95]] * 4
    else:
        assert found.point[0, :, 0].tolist() == [5] * 4
        assert found.point[len(windows) // 2, :, 0].tolist() == [95] * 4

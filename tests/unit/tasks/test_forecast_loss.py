"""The loss of forecasts and their validation; values by hand."""

import numpy as np
import pytest
import torch
from forecast_runs import NAN, all_windows, fitted, series, wave

from headway.data.config import DataConfig
from headway.errors import ConfigError
from headway.models.ensemble import Ensemble
from headway.search import SearchConfig
from headway.tasks.forecast import Forecast

DATA = DataConfig(train="a.csv")
PLAIN = {"lookback": 3, "horizon": 2, "scaling": "none", "normalise": "none"}


class Constant(torch.nn.Module):
    """Predicts the same normalised numbers for every window."""

    def __init__(self, *numbers):
        super().__init__()
        self.numbers = torch.nn.Parameter(torch.tensor(numbers, dtype=torch.float32))
        self.batches = []

    def logits(self, batch):
        self.batches.append(len(batch["src"]))
        return self.numbers.expand(len(batch["src"]), -1)


class TestLoss:
    def objective(self, *numbers, **settings):
        self.rows = [series([0, 1, 2, 3, 5])]
        self.task = fitted(self.rows, **(PLAIN | settings))
        objective = self.task.objective(Constant(*numbers), 0.0)
        windows = all_windows(self.task, self.rows)
        return objective, self.task.batch(windows, np.array([0]))

    def test_absolute_errors(self):
        """3 and 5 against 1 and 9: 2 + 4."""
        objective, batch = self.objective(1, 9)
        assert objective.sums(batch)["loss"].item() == 6
        assert objective.counts(batch) == {"loss": 2}
        assert objective.tokens(batch) == 3

    def test_squared_errors(self):
        objective, batch = self.objective(1, 9, loss="mse")
        assert objective.sums(batch)["loss"].item() == 20

    def test_quantiles(self):
        """Twice the mean pinball loss: |error| for the median alone.

        At the first step the value 3 lies above 1 and 2 and below 7: .1 * 2, .5 * 1 and .1 * 4.
        """
        objective, batch = self.objective(1, 2, 7, 5, 5, 5, quantiles=[0.1, 0.5, 0.9])
        assert objective.sums(batch)["loss"].item() == pytest.approx(2 * 1.1 / 3)
        median, batch = self.objective(1, 9, quantiles=[0.5])
        assert median.sums(batch)["loss"].item() == 6

    def test_errors_are_in_scaled_values_whatever_is_normalised(self):
        """A normalised output of 1 is the last value, 2, and 1 more."""
        objective, batch = self.objective(1, 1, normalise="last")
        assert objective.sums(batch)["loss"].item() == 0 + 2

    def test_missing_targets_do_not_count(self):
        self.rows = [series([0, 1, 2, NAN, 5])]
        task = fitted(self.rows, **PLAIN)
        objective = task.objective(Constant(1, 9), 0.0)
        batch = task.batch(all_windows(task, self.rows), np.array([0]))
        assert objective.counts(batch) == {"loss": 1}
        assert objective.sums(batch)["loss"].item() == 4

    def test_quantiles_never_cross_in_forecasts(self):
        _, batch = self.objective(7, 2, 1, 5, 4, 6, quantiles=[0.1, 0.5, 0.9])
        outputs = self.task.outputs(Constant(7, 2, 1, 5, 4, 6), batch)
        assert outputs[0, :, 0].tolist() == [[1, 2, 7], [4, 5, 6]]

    def test_an_ensemble_forecasts_the_mean(self):
        _, batch = self.objective(0, 0)
        ensemble = Ensemble([Constant(1, 2), Constant(3, 6)])
        assert self.task.outputs(ensemble, batch).flatten().tolist() == [2, 4]


class TestValidation:
    def validate(self, task, windows, model, metric="mse"):
        validator = task.validator(windows, DATA, metric, 0, SearchConfig())
        return validator, validator(task.objective(model, 0.0))

    def test_all_windows_and_values_count(self):
        """The windows 2, 3 | 3, 4 | 4, 5 against zeros."""
        rows = [series([0, 1, 2, 3, 4, 5])]
        task = fitted(rows, **(PLAIN | {"lookback": 2}))
        validator, found = self.validate(task, all_windows(task, rows), Constant(0, 0))
        assert found.figures == pytest.approx({"valid_loss": 3.5, "mse": 79 / 6, "mae": 3.5})
        assert validator.lower_is_better
        assert validator.goodness(found) == -79 / 6

    def test_no_last_batch_is_dropped(self, monkeypatch):
        """Windows and scores are the same, however large a batch is."""
        rows = [series(wave(50))]
        task = fitted(rows, lookback=8, horizon=3)
        windows, seen, figures = all_windows(task, rows), [], []
        for size in (1, 7, 39, 40, 1024):
            monkeypatch.setattr("headway.tasks.forecast.EVALUATED", size)
            model = Constant(0.1, 0.2, 0.3)
            figures.append(self.validate(task, windows, model)[1].figures)
            seen.append(sum(model.batches))
            assert max(model.batches) <= size
        assert seen == [len(windows)] * 5
        for other in figures[1:]:
            assert other == pytest.approx(figures[0], rel=1e-6)

    def test_missing_targets_do_not_count(self):
        rows = [series([0, 1, 2, NAN, 4])]
        task = fitted(rows, **PLAIN)
        _, found = self.validate(task, all_windows(task, rows), Constant(0, 0))
        assert found.figures == {"valid_loss": 4, "mse": 16, "mae": 4}

    def test_no_known_target_at_all(self):
        rows = [series([0, 1, 2, NAN, NAN])]
        task = fitted(rows, **PLAIN)
        _, found = self.validate(task, all_windows(task, rows), Constant(0, 0))
        assert found.figures == {"valid_loss": 0, "mse": 0, "mae": 0}

    def test_the_median_is_scored(self):
        rows = [series([0, 1, 2, 3, 5])]
        task = fitted(rows, **PLAIN, quantiles=[0.1, 0.5, 0.9])
        _, found = self.validate(task, all_windows(task, rows), Constant(0, 3, 9, 0, 5, 9))
        assert (found.figures["mse"], found.figures["mae"]) == (0, 0)

    def test_metrics_of_the_task(self):
        task = Forecast()
        assert task.validated == ("mse", "mae")
        assert (task.metric("auto"), task.prefers_less("mase")) == ("mse", True)
        with pytest.raises(ConfigError, match="no metric 'bleu' for task 'forecast'"):
            task.find_metric("bleu")

"""Batches of windows: normalised, marked, with covariates and calendar; values by hand."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from forecast_runs import NAN, all_windows, fitted, series, stored, wave

from headway.data.codecs.calendar import CalendarCodec
from headway.data.config import Corpus
from headway.errors import RunError
from headway.tasks.config import ForecastConfig
from headway.tasks.forecast_inputs import (
    VARIANCE,
    WindowFacts,
    default_history,
    describe,
    window_batches,
)

PLAIN = {"lookback": 3, "horizon": 2, "scaling": "none", "normalise": "none"}


def batch_of(rows, indices=(0,), part=None, **settings):
    """The batch of some windows of rows, with scales of the same rows."""
    task = fitted(rows, **(PLAIN | settings))
    windows = all_windows(task, rows, part)
    return task.inputs.batch(windows, windows.places(np.array(indices)))


def column(tensor, c=0):
    """One feature over the steps of the first window."""
    return [round(value, 5) for value in tensor[0, :, c].tolist()]


class TestTargets:
    def test_a_window_and_its_values(self):
        batch = batch_of([series(range(10))], [2])
        assert column(batch["src"]) == [2, 3, 4]
        assert column(batch["values"]) == [5, 6]
        assert batch["src"].shape == (1, 3, 1)
        assert batch["src_valid"].all()
        assert batch["values_valid"].all()
        assert batch.pop("location").dtype == torch.float64
        assert {t.dtype for t in batch.values()} == {torch.float32, torch.bool}

    def test_a_column_of_several_has_its_number(self):
        two = series(np.arange(20).reshape(10, 2))
        windows = len(all_windows(fitted([two], **PLAIN), [two]))
        batch = batch_of([two], [0, windows - 1])
        assert batch["segment"].tolist() == [[0], [1]]
        assert "segment" not in batch_of([two], [0], channels="mixed")
        assert "segment" not in batch_of([series(range(10))], [0])

    def test_normalised_by_mean_and_deviation(self):
        """2, 3, 4 have mean 3 and variance 2/3."""
        batch = batch_of([series(range(10))], [2], normalise="window")
        deviation = math.sqrt(2 / 3 * (1 + VARIANCE))
        assert batch["location"].tolist() == [[3]]
        assert batch["scale"].item() == pytest.approx(deviation)
        assert column(batch["src"]) == pytest.approx([-1 / deviation, 0, 1 / deviation], abs=1e-5)
        assert column(batch["values"]) == [2, 3]  # less the mean, not divided

    def test_normalised_by_the_last_value(self):
        batch = batch_of([series(range(10))], [2], normalise="last")
        assert (batch["location"].item(), batch["scale"].item()) == (4, 1)
        assert column(batch["src"]) == [-2, -1, 0]

    def test_the_last_value_before_a_gap(self):
        batch = batch_of([series([1, 5, NAN, 7, 8])], normalise="last")
        assert batch["location"].item() == 5
        assert column(batch["src"]) == [-4, 0, 0]

    def test_a_constant_window_is_zero(self):
        batch = batch_of([series([7.0] * 9)], normalise="window")
        assert column(batch["src"]) == [0, 0, 0]
        assert batch["scale"].item() == pytest.approx(math.sqrt(VARIANCE))

    @pytest.mark.parametrize("scaling", ["none", "column", "series"])
    def test_the_shape_of_a_window_far_from_zero(self, scaling):
        """A counter that ran up to a billion, and then waves of ten: no value is rounded."""
        waves = 10 * np.sin(np.arange(600) / 2)
        rows = [series(np.concatenate([np.linspace(0, 1e9, 400), 1e9 + waves]))]
        task = fitted(rows, lookback=24, horizon=6, scaling=scaling)
        windows = all_windows(task, rows)
        [last] = windows.places(np.array([len(windows) - 1])).first
        batch = task.inputs.batch(windows, windows.places(np.array([len(windows) - 1])))
        own = waves[last - 424 : last - 400]
        expected = (own - own.mean()) / own.std()
        np.testing.assert_allclose(batch["src"][0, :, 0], expected, atol=1e-4)
        shape = batch["values"][0, :, 0] / batch["scale"].item()
        later = (waves[last - 400 : last - 394] - own.mean()) / own.std()
        np.testing.assert_allclose(shape, later, atol=1e-4)

    def test_a_window_that_is_constant_beside_large_ones(self):
        """The scale is a small share of that of a typical window, whatever the unit."""
        for unit in (1e-6, 1.0, 1e6):
            values = np.concatenate([np.full(40, 3.0), wave(200)]) * unit
            rows = [series(values)]
            task = fitted(rows, lookback=24, horizon=6, scaling="none")
            windows = all_windows(task, rows)
            scales = task.inputs.batch(windows, windows.places(np.array([0, 150])))["scale"]
            assert 1e-3 < float(scales[0] / scales[1]) < 1e-2

    def test_a_large_constant_does_not_overflow(self):
        batch = batch_of([series([1e30] * 9)], normalise="window")
        assert all(bool(tensor.isfinite().all()) for tensor in batch.values())

    @pytest.mark.parametrize("normalise", ["none", "last", "window"])
    def test_a_short_history_is_padded_in_front(self, normalise):
        batch = batch_of([series([4, 6, 7, 8])], normalise=normalise)
        assert batch["src_valid"].tolist() == [[False, True, True]]
        assert (
            column(batch["values"]) == {"none": [7, 8], "last": [1, 2], "window": [2, 3]}[normalise]
        )
        by_hand = {"none": [0, 4, 6], "last": [0, -2, 0], "window": [0, -0.999995, 0.999995]}
        assert column(batch["src"]) == pytest.approx(by_hand[normalise], abs=1e-5)
        if normalise == "window":  # mean and deviation of 4 and 6 alone
            assert batch["location"].item() == 5
            assert batch["scale"].item() == pytest.approx(math.sqrt(1 + 2 / 3 * VARIANCE))

    def test_one_step_of_history(self):
        batch = batch_of([series([4, 5, 6])])
        assert batch["src_valid"].tolist() == [[False, False, True]]
        assert column(batch["src"]) == [0, 0, 4]

    def test_gaps_repeat_the_value_before_and_are_marked(self):
        batch = batch_of([series([1, NAN, 3, 4, NAN, 6])], [0])
        assert batch["src"].shape == (1, 3, 2)
        assert column(batch["src"]) == [1, 1, 3]
        assert column(batch["src"], 1) == [0, 1, 0]
        assert batch["src_valid"].all()
        assert column(batch["values"]) == [4, 0]
        assert batch["values_valid"].tolist() == [[[True], [False]]]

    def test_a_series_that_begins_with_gaps(self):
        batch = batch_of([series([NAN, NAN, 3, 4, 5, NAN])])
        assert batch["src_valid"].tolist() == [[False, False, True]]
        assert column(batch["src"]) == [0, 0, 3]
        assert column(batch["src"], 1) == [1, 1, 0]

    def test_a_window_without_any_value_still_has_a_step(self):
        batch = batch_of([series([NAN, NAN, NAN, 4, 5])], normalise="window")
        assert batch["src_valid"].tolist() == [[False, False, True]]
        assert column(batch["src"]) == [0, 0, 0]
        assert batch["location"].item() == 0
        assert all(bool(tensor.isfinite().all()) for tensor in batch.values())

    def test_data_without_gaps_have_no_marks(self):
        batch = batch_of([series(range(8))])
        assert batch["src"].shape[-1] == 1

    def test_channels_mixed(self):
        rows = [series([[t, 10 * t] for t in range(6)])]
        batch = batch_of(rows, [1], channels="mixed")
        assert batch["src"].tolist() == [[[1, 10], [2, 20], [3, 30]]]
        assert batch["values"].tolist() == [[[4, 40], [5, 50]]]
        assert batch["location"].shape == batch["scale"].shape == (1, 2)

    def test_channels_apart(self):
        rows = [series([[t, 10 * t] for t in range(6)])]
        batch = batch_of(rows, [0, 3])
        assert batch["src"].tolist() == [[[0], [1], [2]], [[10], [20], [30]]]
        assert batch["values"].tolist() == [[[3], [4]], [[40], [50]]]

    def test_a_channel_with_a_gap_beside_one_without(self):
        """A step is valid if any channel has a value."""
        rows = [series([[NAN, 1], [NAN, 2], [3, 3], [4, 4], [5, 5]])]
        batch = batch_of(rows, channels="mixed", normalise="window")
        assert batch["src_valid"].all()
        assert column(batch["src"], 0) == [0, 0, 0]  # only one value: it is its own mean
        assert column(batch["src"], 2) == [1, 1, 0]


class TestScaling:
    ROWS = (series([0, 2, 4, 6, 8, 10]), series([100, 120, 140, 160, 180, 200]))

    def training_windows(self, task, rows):
        return task.windows(stored(task, rows), [len(rows)], [Corpus()], key="train")[0]

    def test_by_column(self):
        """All 12 values: mean 77.5."""
        task = fitted(self.ROWS, **(PLAIN | {"scaling": "column"}))
        every = np.concatenate([one.values[:, 0] for one in self.ROWS])
        windows = all_windows(task, self.ROWS)
        batch = task.inputs.batch(windows, windows.places(np.array([0])))
        expected = (np.array([0, 2, 4]) - every.mean()) / every.std()
        assert column(batch["src"]) == pytest.approx(expected.tolist(), abs=1e-5)

    def test_by_series_each_is_standardised(self):
        task = fitted(self.ROWS, **(PLAIN | {"scaling": "series"}))
        windows = self.training_windows(task, self.ROWS)
        batch = task.inputs.batch(windows, windows.places(np.array([0, 2])))
        own = (np.array([0, 2, 4]) - 5) / np.std([0, 2, 4, 6, 8, 10])
        for row in batch["src"][..., 0].tolist():  # both series are the same line
            assert row == pytest.approx(own.tolist(), abs=1e-4)

    def test_a_later_part_is_scaled_by_what_was_before(self):
        rows = [series([0, 2, 4, 6, 1000, 2000])]
        task = fitted(rows, **(PLAIN | {"scaling": "series"}))
        windows = all_windows(task, rows, part=(4, 6))
        batch = task.inputs.batch(windows, windows.places(np.array([0])))
        expected = (np.array([2, 4, 6]) - 3) / np.std([0, 2, 4, 6])
        assert column(batch["src"]) == pytest.approx(expected.tolist(), abs=1e-4)

    def test_a_small_series_beside_a_large_one_is_read_as_it_is(self):
        """float32 could not hold both in the scale of all."""
        shape = np.array([0.0, 2, 1, 3, 5, 4])
        rows = [series(0.01 * shape), series(1e7 * (3 + shape))]
        task = fitted(rows, **(PLAIN | {"scaling": "series"}))
        windows = all_windows(task, rows)
        batch = task.inputs.batch(windows, windows.places(np.array([0, 2])))
        torch.testing.assert_close(batch["src"][0], batch["src"][1], atol=1e-5, rtol=0)

    def test_a_new_file_is_scaled_by_all_steps_before_each_window(self):
        """The targets that follow do not count."""
        values = np.array([0, 2, 4, 1000, 2000, 3000.0])
        rows = [series(values)]
        task = fitted([series(range(9))] * 2, **PLAIN | {"scaling": "series"})
        windows = task.windows(stored(task, rows), [1], [Corpus()])[0]
        for index, first in ((0, 3), (1, 4)):
            batch = task.inputs.batch(windows, windows.places(np.array([index])))
            before = values[:first]
            expected = (before[-3:] - before.mean()) / before.std()
            assert column(batch["src"]) == pytest.approx(expected.tolist(), abs=1e-4)
        assert windows.scales.rule == "steps before each window"

    def test_the_later_parts_of_a_file_are_scaled_by_its_training_part(self):
        rows = [series([0, 2, 4, 6, 1000, 2000, 3000, 4000, 5000])]
        task = fitted(rows, **(PLAIN | {"scaling": "series"}))
        training, other = Corpus(file="a.csv", part=(0, 4)), Corpus(file="b.csv", part=(0, 4))
        expected = (np.array([1000, 2000, 3000]) - 3) / np.std([0, 2, 4, 6])
        test = replace(training, part=(7, 9))
        for known, is_own in (([training], True), ([other, training], True), ([other], False)):
            windows = task.windows(stored(task, rows), [1], [test], training=known)[0]
            batch = task.inputs.batch(windows, windows.places(np.array([0])))
            assert (column(batch["src"]) == pytest.approx(expected.tolist(), rel=1e-4)) is is_own
            rule = "training part" if is_own else "steps before each window"
            assert windows.scales.rule == rule

    def test_rounding_of_a_constant_is_no_deviation(self):
        rows = [series([0.1] * n) for n in range(6, 40)] + [series(range(9))]
        task = fitted(rows, **(PLAIN | {"scaling": "series"}))
        windows = all_windows(task, rows)
        assert (windows.scales.values[:-1, :, 1] == 1.0).all()

    def test_a_constant_series_has_nothing_to_scale_by(self):
        rows = [series([5.0] * 6), series([1, 2, 3, 4, 5, 6])]
        task = fitted(rows, **(PLAIN | {"scaling": "series"}))
        windows = all_windows(task, rows)
        batch = task.inputs.batch(windows, windows.places(np.array([0])))
        assert column(batch["src"]) == pytest.approx([0, 0, 0], abs=1e-6)


class TestCovariates:
    def rows(self, *more):
        target = series(range(7), ("load",))
        given = {
            "target": target,
            "past": series([10 * t for t in range(7)], ("wind",)),
            "known": series([100 + t for t in range(9)], ("sun",)),
            "static": series([[5.0, 7.0]], ("area", "height")),
        }
        return [{name: given[name] for name in ("target", *more)}]

    def test_before_the_series_they_are_zero(self):
        batch = batch_of(self.rows("known"), calendar=["hour"], lookback=9)
        assert not batch["src_valid"][0, :4].any()
        assert (batch["src"][0, :4, 2:] == 0).all()
        assert batch["src"].isfinite().all()

    def test_the_past_ends_with_the_history(self):
        batch = batch_of(self.rows("past"), [1])
        assert batch["src"].shape == (1, 3, 2)
        assert column(batch["src"], 1) == [10, 20, 30]

    def test_the_future_goes_on_over_the_horizon(self):
        batch = batch_of(self.rows("past", "known", "static"), [1])
        src = batch["src"]
        assert src.shape == (1, 5, 6)
        assert column(src, 0) == [1, 2, 3, 0, 0]  # targets
        assert column(src, 1) == [0, 0, 0, 1, 1]  # which are unknown
        assert column(src, 2) == [10, 20, 30, 0, 0]  # known in the past
        assert column(src, 3) == [101, 102, 103, 104, 105]  # known in the future
        assert (column(src, 4), column(src, 5)) == ([5] * 5, [7] * 5)
        assert batch["src_valid"].tolist() == [[True] * 5]
        assert column(batch["values"]) == [4, 5]

    def test_a_short_history_beside_a_known_future(self):
        rows = self.rows("known")
        task = fitted(rows, **PLAIN)
        short = [{"target": series([8.0], ("load",)), "known": series([1, 2, 3], ("sun",))}]
        store = stored(task, short)
        windows = task.windows_at(store, np.array([[1, 3]]))
        batch = task.inputs.batch(windows, windows.places(np.array([0])))
        assert batch["src_valid"].tolist() == [[False, False, True, True, True]]
        assert column(batch["src"], 2) == [0, 0, 1, 2, 3]

    def test_a_missing_covariate_is_the_one_before(self):
        rows = self.rows("past", "known")
        rows[0]["past"].values[2] = NAN
        rows[0]["known"].values[4] = NAN
        batch = batch_of(rows, [1])
        assert column(batch["src"], 2) == [10, 10, 30, 0, 0]
        assert column(batch["src"], 3) == [101, 102, 103, 103, 105]

    def test_categories(self):
        sky = np.array([["sun"], ["rain"], ["sun"], [None], ["snow"], ["rain"], ["sun"]], object)
        rows = [{"target": series(range(7), ("load",)), "known": series(sky, ("sky",))}]
        batch = batch_of(rows, [1])
        assert batch["src"].shape == (1, 5, 5)
        names = {"rain": 2, "snow": 3, "sun": 4}
        found = [[column(batch["src"], c)[i] for c in names.values()] for i in range(5)]
        assert found == [[1, 0, 0], [0, 0, 1], [0, 0, 1], [0, 1, 0], [1, 0, 0]]

    def test_a_calendar_is_known_in_the_future(self):
        rows = [series(range(7))]
        batch = batch_of(rows, [1], calendar=["hour"])
        expected = CalendarCodec(("hour",), 0).encode(rows[0])[1:6]
        assert batch["src"].shape == (1, 5, 4)
        np.testing.assert_allclose(batch["src"][0, :, 2:].numpy(), expected, atol=1e-6)

    def test_the_calendar_goes_on_after_the_data(self):
        rows = [series(range(7))]
        task = fitted(rows, **PLAIN, calendar=["hour"])
        windows = task.windows_at(stored(task, rows), np.array([[7, 9]]))
        batch = task.inputs.batch(windows, windows.places(np.array([0])))
        hours = torch.atan2(batch["src"][0, :, 2], batch["src"][0, :, 3]) * 24 / (2 * math.pi)
        assert hours.tolist() == pytest.approx([4, 5, 6, 7, 8], abs=1e-4)

    def test_features_are_named_where_they_are(self):
        task = fitted(self.rows("past", "known", "static"), **PLAIN, calendar=["hour", "month"])
        features = task.inputs.covariate_features()
        assert features["wind"] == slice(2, 3)
        assert features["sun"] == slice(3, 4)
        assert task.inputs.n_features == 2 + 1 + 1 + 2 + 4
        width = range(task.inputs.n_features)
        assert list(width[features["calendar: month"]]) == [7, 9]


class TestDecoderInputs:
    def inputs(self, values, step, normalise="none", **settings):
        task = fitted([series(values)], **(PLAIN | {"normalise": normalise} | settings))
        windows = all_windows(task, [series(values)])
        batch = task.inputs.batch(windows, windows.places(np.array([0])))
        return task.inputs.decoder_inputs(batch, step)

    def test_the_end_of_the_history_and_then_the_values_before(self):
        found = self.inputs(range(10), 2, horizon=6)
        assert found.tolist() == [[[1, 2], [3, 4], [5, 6]]]

    def test_a_last_step_that_is_not_full(self):
        found = self.inputs(range(10), 2, horizon=5)
        assert found.tolist() == [[[1, 2], [3, 4], [5, 6]]]
        assert self.inputs(range(10), 2, horizon=1).tolist() == [[[1, 2]]]

    def test_a_step_longer_than_the_history_is_padded_in_front(self):
        found = self.inputs(range(10), 5, horizon=6)
        assert found.tolist() == [[[0, 0, 0, 1, 2], [3, 4, 5, 6, 7]]]

    def test_a_step_longer_than_the_horizon(self):
        assert self.inputs(range(10), 3, horizon=2).tolist() == [[[0, 1, 2]]]

    def test_they_are_normalised(self):
        found = self.inputs(range(10), 2, normalise="last", horizon=4)
        assert found.tolist() == [[[-1, 0], [1, 2]]]

    def test_gaps_are_the_value_before(self):
        found = self.inputs([0, 1, NAN, 3, NAN, NAN, 6, 7], 2, horizon=4)
        assert found.tolist() == [[[1, 1], [3, 3]]]

    def test_channels_of_a_step_lie_beside_each_other(self):
        values = [[t, 10 * t] for t in range(9)]
        found = self.inputs(values, 2, horizon=4, channels="mixed")
        assert found.tolist() == [[[1, 10, 2, 20], [3, 30, 4, 40]]]


class TestFacts:
    def test_they_are_saved(self, tmp_path):
        facts = WindowFacts(48, 24, "h", True, "series")
        facts.save(tmp_path / "w.json")
        assert WindowFacts.load(tmp_path / "w.json") == facts
        typical = replace(facts, variances=(0.5, 1e-20))
        typical.save(tmp_path / "v.json")
        assert WindowFacts.load(tmp_path / "v.json") == typical
        before = (tmp_path / "w.json").read_text().replace(',\n "variances": []', "")
        assert "variances" not in before
        (tmp_path / "older.json").write_text(before)
        assert WindowFacts.load(tmp_path / "older.json") == facts
        assert describe(facts, ForecastConfig(horizon=5)) == {
            "history": 48,
            "season": 24,
            "frequency": "h",
            "has_gaps": True,
            "scaling": "series",
            "horizon": 5,
            "channels": "apart",
        }

    @pytest.mark.parametrize(
        "content",
        [
            "",
            "[]",
            "{}",
            '{"history": 0, "season": 1, "frequency": "h", "has_gaps": false, "scaling": ""}',
            '{"history": 1, "season": 0, "frequency": "h", "has_gaps": false, "scaling": ""}',
            '{"history": "a", "season": 1, "frequency": "h", "has_gaps": false, "scaling": ""}',
            '{"history": 1, "season": 1, "frequency": "none", "has_gaps": false, "scaling": ""}',
            '{"history": 1, "season": 1, "frequency": "h", "has_gaps": false, "scaling": "", '
            '"variances": [0]}',
        ],
    )
    def test_a_damaged_file(self, tmp_path, content):
        (tmp_path / "w.json").write_text(content)
        with pytest.raises(RunError, match="restore it from a copy"):
            WindowFacts.load(tmp_path / "w.json")

    @pytest.mark.parametrize(
        ("length", "season", "horizon", "expected"),
        [
            (8640, 24, 96, 512),  # long: the most
            (700, 24, 24, 216),  # a third of it, in whole seasons
            (100, 24, 24, 48),  # two seasons
            (30, 24, 24, 6),  # a season does not fit, but a window does
            (36, 12, 12, 12),  # with two seasons, there would be one window
            (44, 52, 8, 28),  # no season fits: windows rather than steps
            (20, 12, 6, 12),  # one season, rather than a third
            (3, 24, 24, 1),
            (1, 1, 1, 1),
            (50, 1, 5, 16),
        ],
    )
    def test_the_look_back_by_default(self, length, season, horizon, expected):
        assert default_history(ForecastConfig(horizon=horizon), length, season) == expected
        assert default_history(ForecastConfig(lookback=7), length, season) == 7


def test_batches_of_windows_leave_none_out():
    windows = all_windows(fitted([series(range(12))], **PLAIN), [series(range(12))])
    assert len(windows) == 8
    for n in (1, 3, 8, 100):
        batches = window_batches(windows, n)
        assert np.concatenate(batches).tolist() == list(range(8))
        assert max(map(len, batches)) <= n
    assert Corpus(part=None).part is None

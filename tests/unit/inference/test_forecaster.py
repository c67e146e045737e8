"""Trained forecasters in Python: units, dates, horizons, intervals, evaluation, what is refused."""

import math
import shutil
from dataclasses import replace

import numpy as np
import pytest
from cli_workdir import commands_in
from forecast_runs import NAN, series, wave, write_wide

from headway import api
from headway.data.config import Corpus
from headway.data.frequency import Frequency
from headway.errors import ConfigError, DataError, RunError
from headway.inference.evaluation import EvaluationOptions
from headway.inference.forecaster import NO_INTERVALS, Forecaster

RUN = """
task = "forecast"
[data]
train = "load.csv"
[forecast]
horizon = 4
lookback = {lookback}
{settings}
[model]
family = "{family}"
"""
LOAD = np.stack([wave(300), 1000 + 50 * wave(300, 12, seed=1)], axis=1)
NAMES = ("load", "oil")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("forecaster")
    write_wide(path / "load.csv", dict(zip(NAMES, LOAD.T, strict=True)))
    with commands_in(path):
        yield path


def trained(folder, family, settings="", name=None, lookback=24):
    """A loaded run, trained once."""
    out = folder / (name or family)
    if not out.exists():
        file = folder / f"{out.name}.toml"
        file.write_text(RUN.format(family=family, settings=settings, lookback=lookback))
        api.train(api.read_config(file), out)
    model = api.load(out)
    assert isinstance(model, Forecaster)
    return model


@pytest.fixture
def seasonal(folder):
    return trained(folder, "seasonal")


@pytest.fixture
def ridge(folder):
    return trained(folder, "ridge")


def load(values=LOAD, **more):
    return series(values, NAMES, **more)


class TestForecast:
    def test_the_last_season_in_units_with_dates(self, seasonal):
        first, second = seasonal.forecast([load()])
        assert (first.series, first.column, second.column) == ("", "load", "oil")
        assert first.times == [f"2024-01-13 {hour}:00:00" for hour in range(12, 16)]
        assert first.values == pytest.approx(LOAD[276:280, 0], rel=1e-5)
        assert second.values == pytest.approx(LOAD[276:280, 1], rel=1e-5)
        assert first.naive == pytest.approx(first.values, rel=1e-6)
        assert first.history == pytest.approx(LOAD[276:, 0])
        assert first.history_times[-1] == "2024-01-13 11:00:00"

    def test_days_and_numbers_as_times(self, folder):
        model = trained(folder, "naive")
        numbered = load(LOAD[:30], start=5, frequency=Frequency("step"))
        assert model.forecast([numbered])[0].times == ["35", "36", "37", "38"]

    def test_longer_than_trained_without_intervals(self, seasonal):
        [one, _] = seasonal.forecast([load()], horizon=30)
        assert one.values[:24] == pytest.approx(LOAD[276:, 0], rel=1e-5)
        assert one.values[24:] == pytest.approx(LOAD[276:282, 0], rel=1e-5)
        assert len(one.times) == 30
        assert one.naive == pytest.approx(one.values, rel=1e-5)
        for interval in one.intervals:
            assert interval.low[4:] == interval.high[4:] == [None] * 26
            ends = zip(interval.low[:4], interval.high[:4], strict=True)
            assert all(low < high for low, high in ends)

    def test_the_naive_forecast_is_that_of_the_true_history_at_any_horizon(self, ridge):
        """Never of the model's own forecasts, which longer horizons are made from."""
        for c, one in enumerate(ridge.forecast([load()], horizon=60)):
            assert one.naive == pytest.approx([LOAD[276 + h % 24, c] for h in range(60)])

    def test_the_naive_forecast_of_less_than_a_season(self, ridge):
        values = LOAD[:3].copy()
        values[1, 0] = NAN
        values[:, 1] = NAN
        some, none = ridge.forecast([load(values)], horizon=24)
        first, _, last = values[:, 0]
        assert some.naive == pytest.approx([last] * 21 + [first, first, last])
        assert none.naive == pytest.approx([ridge.task.inputs.target.mean[1]] * 24)

    def test_shorter_than_trained(self, ridge):
        [whole, _], [short, _] = (ridge.forecast([load()], horizon=h) for h in (None, 2))
        assert short.values == whole.values[:2]
        assert short.intervals[0].low == whole.intervals[0].low[:2]
        assert short.times == whole.times[:2]

    def test_intervals_hold_the_forecast_and_each_other(self, ridge):
        for one in ridge.forecast([load()]):
            narrow, wide = one.intervals
            assert (narrow.level, wide.level) == (0.8, 0.9)
            for step, value in enumerate(one.values):
                assert wide.low[step] <= narrow.low[step] <= value
                assert value <= narrow.high[step] <= wide.high[step]

    def test_the_scale_of_the_input_is_that_of_the_forecast(self, ridge):
        """Windows are normalised: ten times the values are ten times the forecast."""
        [one, _], [ten, _] = (ridge.forecast([load(LOAD * f)]) for f in (1, 10))
        assert ten.values == pytest.approx([10 * value for value in one.values], rel=1e-2)

    @pytest.mark.parametrize("family", ["naive", "seasonal", "ridge"])
    @pytest.mark.parametrize("n", [1, 2, 23, 24, 25])
    def test_a_history_of_any_length(self, folder, family, n):
        for one in trained(folder, family).forecast([load(LOAD[:n])]):
            assert len(one.values) == 4
            assert all(map(math.isfinite, one.values))
            assert len(one.history) == min(n, 24)

    def test_gaps_are_shown_as_gaps(self, seasonal):
        values = LOAD.copy()
        values[-1] = NAN
        [one, _] = seasonal.forecast([load(values)])
        assert one.history[-1] is None
        assert all(map(math.isfinite, one.values))

    def test_one_column_without_a_value(self, seasonal):
        """Nothing is known of it but the training data: their mean."""
        values = LOAD.copy()
        values[:, 1] = NAN
        _, oil = seasonal.forecast([load(values)])
        assert all(map(math.isfinite, oil.values))
        mean = seasonal.task.inputs.target.mean[1]
        assert oil.values == pytest.approx([mean] * 4)

    def test_no_series_at_all(self, seasonal):
        assert seasonal.forecast([]) == []


class TestEnsembles:
    """Runs of one task and the same windows, whose forecasts are averaged."""

    def test_the_mean_without_intervals(self, folder, seasonal, ridge):
        """Margins of the errors of one run say nothing about the mean of several."""
        both = api.load(folder / "seasonal", folder / "ridge")
        found, one, two = (model.forecast([load()])[0] for model in (both, seasonal, ridge))
        assert found.values == pytest.approx(np.mean([one.values, two.values], axis=0), rel=1e-5)
        assert one.intervals
        assert found.intervals == []
        report = both.evaluate_corpora(
            [Corpus(file="load.csv", part=(0.8, 1.0))], folder, EvaluationOptions()
        )
        assert not {"coverage", "width_units"} & set(report.scores)
        assert report.remarks == [NO_INTERVALS]

    def test_other_windows_are_refused(self, folder, seasonal):
        trained(folder, "ridge", 'normalise = "last"', "last")
        with pytest.raises(RunError) as caught:
            api.load(folder / "seasonal", folder / "last")
        assert str(caught.value) == (
            f'{folder}/last has forecast.normalise = "last" and {folder}/seasonal "window", and '
            "an ensemble needs one and the same; train both on the same data with the same "
            "[forecast]"
        )


class TestRefused:
    def message(self, model, *rows, **options):
        with pytest.raises(DataError) as caught:
            model.forecast(list(rows), **options)
        return str(caught.value)

    def test_other_columns(self, seasonal):
        assert self.message(seasonal, load(), series([1.0, 2.0], ("gas",))) == (
            "series 2: the columns are gas; expected load, oil, as in the training data"
        )

    def test_no_values(self, seasonal):
        empty = load(np.full((5, 2), NAN))
        assert self.message(seasonal, empty, places=["x.csv:2"]) == (
            "x.csv:2: target has no values; give at least one"
        )

    def test_horizons(self, seasonal):
        for horizon in (-1, 10_001):
            assert self.message(seasonal, load(), horizon=horizon) == (
                f"a horizon of {horizon} steps; expected 1 to 10000"
            )

    def test_other_steps(self, seasonal):
        daily = load(LOAD[:30], frequency=Frequency("D"))
        assert self.message(seasonal, daily) == (
            "series 1: the steps are D long; expected h, as in the training data: give values at "
            "these steps, or train on the others"
        )

    def test_numbered_steps_for_a_model_with_a_calendar(self, folder):
        model = trained(folder, "ridge", 'calendar = ["hour"]', "calendar")
        assert len(model.forecast([load()])) == 2
        numbered = load(LOAD[:30], start=0, frequency=Frequency("step"))
        assert self.message(model, numbered) == (
            "series 1: the steps have numbers, and the model reads a calendar; give dates"
        )


class TestEvaluation:
    def evaluate(self, model, metrics=(), **corpus):
        chosen = Corpus(**({"file": "load.csv", "part": (0.8, 1.0)} | corpus))
        folder = model.run.path.parent
        return model.evaluate_corpora([chosen], folder, EvaluationOptions(metrics=list(metrics)))

    def test_seasonal_by_hand(self, seasonal):
        """Each of the 57 windows of each column repeats its last 24 steps."""
        report = self.evaluate(seasonal, ["mae_units", "mse_units"])
        errors = [
            LOAD[first : first + 4, c] - LOAD[first - 24 : first - 20, c]
            for c in (0, 1)
            for first in range(240, 297)
        ]
        scores = {name: score.value for name, score in report.scores.items()}
        assert scores["mae_units"] == pytest.approx(np.abs(errors).mean(), rel=1e-5)
        assert scores["mse_units"] == pytest.approx(np.square(errors).mean(), rel=1e-5)

    def test_scaled_scores_are_those_in_units_of_the_training_deviation(self, seasonal):
        report = self.evaluate(seasonal, ["mae", "mse"])
        deviation = LOAD[:210].std(0)
        errors = np.array(
            [np.abs(LOAD[f : f + 4] - LOAD[f - 24 : f - 20]) / deviation for f in range(240, 297)]
        )
        scores = {name: score.value for name, score in report.scores.items()}
        assert scores["mae"] == pytest.approx(errors.mean(), rel=1e-4)
        assert scores["mse"] == pytest.approx((errors**2).mean(), rel=1e-4)

    def test_floors_by_hand(self, ridge):
        record = self.evaluate(ridge, ["mae_units"]).record
        naive = [np.abs(LOAD[f : f + 4] - LOAD[f - 1]).mean() for f in range(240, 297)]
        found = record["floors"]["naive"]["mae_units"]["value"]
        assert found == pytest.approx(np.mean(naive), rel=1e-5)
        assert set(record["floors"]) == {"naive", "seasonal"}
        assert (record["n"], record["series"]) == (57, 1)

    def test_the_seasonal_floor_does_not_depend_on_the_look_back(self, folder, ridge):
        short = trained(folder, "ridge", name="short", lookback=3)
        found = [
            self.evaluate(model, ["mae_units"]).record["floors"]["seasonal"]["mae_units"]["value"]
            for model in (ridge, short)
        ]
        errors = [LOAD[f : f + 4] - LOAD[f - 24 : f - 20] for f in range(240, 297)]
        assert found == pytest.approx([np.abs(errors).mean()] * 2, rel=1e-5)

    def test_less_than_a_season_before_a_window_is_said(self, folder):
        short = trained(folder, "ridge", name="short", lookback=3)
        line = (
            "seasonal: 21 of 21 windows have less than a season of 24 steps before them; where the "
            "season before has no value, it is the naive forecast"
        )
        write_wide(folder / "few.csv", dict(zip(NAMES, LOAD[:27].T, strict=True)))
        assert line in self.evaluate(short, file="few.csv", part=None).notes
        assert not any("less than a season" in note for note in self.evaluate(short).notes)

    def test_metrics_by_default(self, ridge):
        record = self.evaluate(ridge).record
        names = ["mse", "mae", "mae_units", "smape", "mase", "coverage", "width_units"]
        assert list(record["metrics"]) == names

    def test_a_test_file_of_its_own(self, seasonal, folder):
        """No steps before it: windows begin after a look-back, and there is no MASE."""
        write_wide(folder / "other.csv", dict(zip(NAMES, LOAD[:60].T, strict=True)))
        record = self.evaluate(seasonal, file="other.csv", part=None).record
        assert record["n"] == 60 - 24 - 4 + 1
        assert "mase" not in record["metrics"]

    def test_an_unknown_metric(self, seasonal):
        with pytest.raises(ConfigError, match="no metric 'bleu' for task 'forecast'"):
            self.evaluate(seasonal, ["bleu"])

    def test_a_metric_that_the_data_do_not_have(self, seasonal, folder):
        """It is never left out in silence."""
        write_wide(folder / "other.csv", dict(zip(NAMES, LOAD[:60].T, strict=True)))
        with pytest.raises(DataError, match=r"^MASE: no series has an in-sample seasonal error"):
            self.evaluate(seasonal, ["mse", "mase"], file="other.csv", part=None)
        both = api.load(folder / "seasonal", folder / "ridge")
        for name, label in (("coverage", "Coverage"), ("pinball", "Pinball loss")):
            with pytest.raises(DataError) as caught:
                self.evaluate(both, [name])
            assert str(caught.value) == (
                f"{label}: the forecasts have no prediction intervals, which are calibrated on "
                "enough validation windows of a single run; train with more validation data, or "
                "score the runs of an ensemble one by one"
            )

    def test_other_columns(self, seasonal, folder):
        write_wide(folder / "gas.csv", {"gas": wave(60)})
        with pytest.raises(DataError, match=r"^gas.csv:2: the columns are gas; expected load, oil"):
            self.evaluate(seasonal, file="gas.csv", part=None)


def test_the_series_given_is_left_as_it_was(seasonal):
    given = load()
    before = given.values.copy()
    seasonal.forecast([given], horizon=10)
    seasonal.forecast([replace(given, name="x")])
    np.testing.assert_array_equal(given.values, before)


def test_a_forecast_that_is_not_finite_is_refused(folder):
    model = trained(folder, "ridge", name="spoilt")
    model.model.weight.fill_(math.nan)
    with pytest.raises(RunError) as caught:
        model.forecast([series(LOAD[:60], NAMES)])
    assert str(caught.value) == (
        f"{model.run.path}: a forecast is infinite or NaN, expected finite numbers; the weights "
        "are damaged or the training has diverged: train again, with a lower train.lr"
    )


MONTHS = """
task = "forecast"
[data]
train = "months.csv"
[forecast]
horizon = 3
calendar = ["month", "yearday"]
[model]
family = "{family}"
"""


@pytest.fixture(scope="module")
def ends(folder):
    """The last days of 96 months, the times of `months.csv`."""
    days = (np.datetime64("2012-02") + np.arange(96)).astype("datetime64[D]") - 1
    rows = [f"{day},{value:.3f}" for day, value in zip(days, wave(96, 12), strict=True)]
    (folder / "months.csv").write_text("date,x\n" + "\n".join(rows) + "\n")
    (folder / "months.toml").write_text(MONTHS.format(family="ridge"))
    api.train(api.read_config(folder / "months.toml"), folder / "months")
    return days


class TestDaysOfMonths:
    """Months, quarters and years keep the day that dates them in the file."""

    def test_forecasts_have_the_days_of_the_file(self, folder, ends):
        [found] = api.load(folder / "months").forecast("months.csv")
        assert found.times == ["2020-01-31", "2020-02-29", "2020-03-31"]
        assert found.history_times == [str(day) for day in ends[-len(found.history) :]]

    def test_a_file_with_other_days_keeps_them(self, folder, ends):
        text = (folder / "months.csv").read_text()
        first = text.splitlines()
        firsts = [f"{day.astype('datetime64[M]')}-01" for day in ends]
        lines = [f"{day},{line.split(',')[1]}" for day, line in zip(firsts, first[1:], strict=True)]
        (folder / "firsts.csv").write_text("\n".join(["date,x", *lines]) + "\n")
        model = api.load(folder / "months")
        [found], [usual] = model.forecast("firsts.csv"), model.forecast("months.csv")
        assert found.times == ["2020-01-01", "2020-02-01", "2020-03-01"]
        assert found.values == usual.values

    def test_a_run_that_knows_no_day_reads_them(self, folder, ends):
        """Runs of before recorded months without their day."""
        [usual] = api.load(folder / "months").forecast("months.csv")
        old = folder / "old"
        shutil.copytree(folder / "months", old)
        (old / "manifest.json").unlink()
        facts = next(old.rglob("windows.json"))
        text = facts.read_text()
        assert '"ME"' in text
        facts.write_text(text.replace('"ME"', '"M"'))
        [found] = api.load(old).forecast("months.csv")
        assert (found.times, found.values) == (usual.times, usual.values)

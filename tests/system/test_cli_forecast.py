"""Forecasts from the command line: train, forecast, evaluate, and every input that is refused."""

import csv
import json
import math
import shutil
from pathlib import Path

import numpy as np
import pytest
from cli_workdir import commands_in, run_file, train_runs
from forecast_runs import NAN, wave, write_wide

from headway.cli import main

TRAIN = {"steps": 30, "evaluate_every": 15}
ENCODER = {"family": "encoder", "d_model": 16, "d_ff": 32, "n_heads": 2, "layers": 1}
WINDOWS = {"horizon": 6, "lookback": 48}
HOURS = {"calendar": ["hour", "weekday"]}


def run_of(train="load.csv", model=ENCODER, forecast=(), **data):
    """A run file; counting models take no settings of training."""
    settings = {**WINDOWS, **dict(forecast)}
    tables = {"train": TRAIN} if "d_model" in model else {}
    whole = run_file({"train": train, **data}, model, task="forecast", forecast=settings, **tables)
    return whole.replace('text.kind = "words"\n', "")


RIDGE, SEASONAL = {"family": "ridge"}, {"family": "seasonal"}


@pytest.fixture(scope="module")
def workdir(tmp_path_factory):
    """Hours of two columns, and runs trained on them."""
    folder = tmp_path_factory.mktemp("forecast")
    load, oil = wave(400), 100 * wave(400, period=12, seed=1)
    write_wide(folder / "load.csv", {"load": load})
    write_wide(folder / "both.csv", {"load": load, "oil": oil})
    write_wide(folder / "new.csv", {"load": wave(60, seed=5)}, start="2025-06-01T05")
    sun = np.maximum(0, np.sin(2 * np.pi * np.arange(420) / 24))
    known = {"load": np.append(load, [NAN] * 20), "sun": sun}
    write_wide(folder / "known.csv", known)
    with commands_in(folder):
        train_runs(
            run=run_of(),
            seasonal=run_of(model=SEASONAL),
            both=run_of("both.csv", RIDGE),
            known=run_of({"file": "known.csv", "target": "load", "known": "sun"}, RIDGE),
            calendar=run_of(forecast=HOURS),
            calendar_ridge=run_of(model=RIDGE, forecast=HOURS),
        )
        yield folder


def table(text):
    return list(csv.DictReader(text.splitlines()))


class TestForecast:
    def test_the_steps_after_a_file(self, headway):
        code, stdout, stderr = headway("forecast", "run", "new.csv")
        assert code == 0, stderr
        rows = table(stdout)
        assert list(rows[0]) == [
            *("series", "column", "time", "forecast"),
            *("low_80", "high_80", "low_90", "high_90"),
        ]
        assert [row["time"] for row in rows] == [f"2025-06-03 {h:02d}:00:00" for h in range(17, 23)]
        for row in rows:
            ends = [float(row[name]) for name in ("low_90", "low_80", "forecast")]
            assert ends == sorted(ends)
            assert float(row["forecast"]) < float(row["high_80"]) <= float(row["high_90"])
            assert 0 < float(row["forecast"]) < 20  # in units: a wave of 5 around 10

    def test_the_data_of_the_run_without_a_file(self, headway):
        _, stdout, _ = headway("forecast", "run")
        assert table(stdout)[0]["time"] == "2024-01-17 16:00:00"  # hour 400

    def test_seasonal_by_hand(self, headway):
        _, stdout, _ = headway("forecast", "seasonal", "new.csv")
        values = [float(row["forecast"]) for row in table(stdout)]
        assert values == pytest.approx(wave(60, seed=5)[36:42].tolist(), rel=1e-5)

    def test_json_has_the_history_and_no_nan(self, headway):
        code, stdout, _ = headway("forecast", "both", "both.csv", "--json")
        assert code == 0
        lines = [json.loads(line) for line in stdout.splitlines()]
        assert [line["column"] for line in lines] == ["load", "oil"]
        for line in lines:
            assert len(line["times"]) == len(line["values"]) == len(line["naive"]) == 6
            assert len(line["history"]) == len(line["history_times"]) == 48
            assert [interval["level"] for interval in line["intervals"]] == [0.8, 0.9]

    def test_a_longer_horizon_is_forecast_from_forecasts(self, headway):
        code, stdout, stderr = headway("forecast", "run", "new.csv", "--horizon", "15", "--json")
        assert code == 0
        assert "the run was trained for 6 steps: those beyond are forecast from forecasts" in stderr
        [one] = map(json.loads, stdout.splitlines())
        assert len(one["values"]) == 15
        assert all(map(math.isfinite, one["values"]))
        _, short, _ = headway("forecast", "run", "new.csv", "--json")
        assert json.loads(short)["values"] == pytest.approx(one["values"][:6], rel=1e-6)

    def test_a_shorter_horizon_is_the_beginning(self, headway):
        _, whole, _ = headway("forecast", "run", "new.csv")
        _, two, _ = headway("forecast", "run", "new.csv", "--horizon", "2")
        assert two.splitlines() == whole.splitlines()[:3]

    def test_an_ensemble_says_that_it_has_no_intervals(self, headway):
        code, stdout, said = headway("forecast", "run", "--with", "run")
        assert code == 0
        alone = table(headway("forecast", "run")[1])
        assert [row["forecast"] for row in table(stdout)] == [row["forecast"] for row in alone]
        assert set(table(stdout)[0]) == {"series", "column", "time", "forecast"}
        assert "warning: an ensemble has no prediction intervals" in said

    def test_written_to_a_file(self, headway, workdir):
        _, expected, _ = headway("forecast", "run", "new.csv")
        code, stdout, _ = headway("forecast", "run", "new.csv", "--out", "out.csv")
        assert (code, stdout) == (0, "")
        assert (workdir / "out.csv").read_text() == expected

    def test_a_known_covariate_beyond_the_end(self, headway):
        code, stdout, stderr = headway("forecast", "known")
        assert code == 0, stderr
        assert table(stdout)[0]["time"] == "2024-01-17 16:00:00"

    def test_what_was_found_in_the_file_is_said(self, headway, workdir):
        values = wave(60)
        values[50:] = NAN
        write_wide(workdir / "gaps.csv", {"load": values})
        code, stdout, stderr = headway("forecast", "run", "gaps.csv")
        assert code == 0
        assert (
            "headway: warning: 10 missing values in column 'load' (gaps.csv:52, gaps.csv:53, "
            "gaps.csv:54, ...)" in stderr
        )
        assert table(stdout)[0]["time"] == "2024-01-03 12:00:00"  # after the last row

    def test_a_single_row_has_the_step_of_the_run(self, headway, workdir):
        write_wide(workdir / "one.csv", {"load": wave(1)}, start="2025-06-01T05")
        code, stdout, stderr = headway("forecast", "run", "one.csv")
        assert code == 0, stderr
        first = table(stdout)[0]
        assert first["time"] == "2025-06-01 06:00:00"
        assert (
            "headway: warning: the history has 1 of the 48 steps that the model reads; the "
            "forecast and its intervals are uncertain" in stderr
        )
        width = float(first["high_90"]) - float(first["low_90"])
        whole = table(headway("forecast", "run")[1])[0]
        usual = float(whole["high_90"]) - float(whole["low_90"])
        assert 0.5 * usual < width < 3 * usual, "by the deviation of the training data"

    def test_a_history_that_is_long_enough_has_no_warning(self, headway, workdir):
        write_wide(workdir / "half.csv", {"load": wave(24)})
        assert headway("forecast", "run", "half.csv")[2] == ""

    @pytest.mark.parametrize("n", [2, 3, 10, 47, 48, 49])
    def test_a_history_of_any_length(self, headway, workdir, n):
        write_wide(workdir / "short.csv", {"load": wave(n)})
        for run in ("run", "seasonal", "calendar", "calendar_ridge"):
            code, stdout, stderr = headway("forecast", run, "short.csv")
            assert code == 0, stderr
            numbers = [float(row[name]) for row in table(stdout) for name in [*row][3:]]
            assert len(numbers) == 6 * 5
            assert all(map(math.isfinite, numbers))

    def test_days_that_are_too_few_to_show_weekdays(self, headway, workdir):
        """A run of weekdays forecasts Monday after Friday, though five days look like days."""
        days = np.busday_offset("2024-01-01", np.arange(300), roll="forward")
        lines = [f"{day},{value:.4f}" for day, value in zip(days, wave(300, 5), strict=True)]
        (workdir / "weekdays.csv").write_text("date,load\n" + "\n".join(lines) + "\n")
        train_runs(weekdays=run_of("weekdays.csv", SEASONAL, {"horizon": 2, "lookback": 10}))
        (workdir / "week.csv").write_text("date,load\n" + "\n".join(lines[:5]) + "\n")
        code, stdout, stderr = headway("forecast", "weekdays", "week.csv")
        assert code == 0, stderr
        assert [row["time"] for row in table(stdout)] == ["2024-01-08", "2024-01-09"]


class TestEvaluate:
    def test_scores_beside_floors(self, headway):
        code, stdout, _ = headway("evaluate", "run", "--json")
        assert code == 0
        report = json.loads(stdout)
        assert set(report["floors"]) == {"naive", "seasonal", "ridge"}
        assert {"mse", "mae", "mae_units", "smape", "mase", "coverage"} <= set(report["metrics"])
        for scores in report["floors"].values():
            assert {"mse", "mae", "mae_units"} <= set(scores)
        assert report["n"] == 75  # the last 80 steps: a fifth of 400

    def test_every_window_counts_with_any_look_back(self, headway):
        counts = []
        for lookback in (1, 48, 390):
            settings = {"lookback": lookback}
            train_runs(**{f"back{lookback}": run_of(model=SEASONAL, forecast=settings)})
            _, stdout, _ = headway("evaluate", f"back{lookback}", "--json")
            counts.append(json.loads(stdout)["n"])
        assert counts == [75, 75, 75]

    def test_a_file_that_is_too_short(self, fails, workdir):
        write_wide(workdir / "five.csv", {"load": wave(5)})
        assert fails(1, "evaluate", "run", "--data", "five.csv") == (
            "five.csv: no window of forecast.horizon = 6 steps and one step before them: the "
            "longest series has 5 steps; give longer series, or train with a shorter horizon"
        )

    def test_a_floor_that_is_better_is_said(self, headway):
        _, _, stderr = headway("evaluate", "seasonal")
        assert "is better than the model" in stderr or "are better than the model" in stderr

    def test_the_table_for_people(self, headway):
        _, stdout, _ = headway("evaluate", "both")
        assert "on the same windows        model       naive    seasonal" in stdout
        assert "75 windows of 1 series, 6 steps ahead" in stdout


def lines_of(n=200, edit=None, header="date,load"):
    """A wide table of hours as text, after an edit of its rows (date, value)."""
    write_wide(Path("draft.csv"), {"load": wave(n)})
    rows = [line.split(",") for line in Path("draft.csv").read_text().splitlines()[1:]]
    rows = [[date, *values] for date, *values in (edit(rows) if edit else rows)]
    return header + "\n" + "".join(",".join(row) + "\n" for row in rows)


def cell(number, value, column=1):
    """An edit: another value in a row."""

    def edit(rows):
        rows[number][column] = value
        return rows

    return edit


FINITE = "expected a finite number, or an empty cell if it is missing"
SHORT = "lower the horizon, give longer series, or change forecast.split"
FILES = {
    "infinity": (
        cell(50, "inf"),
        f"x.csv:52: 'inf' in column 'load' is infinite; {FINITE}",
    ),
    "minus infinity": (
        cell(50, "-Infinity"),
        f"x.csv:52: '-Infinity' in column 'load' is infinite; {FINITE}",
    ),
    "a number beyond all use": (
        cell(50, "1e300"),
        "column 'load' has 1e+300, and numbers must not exceed 1e+30; correct it, or use a larger "
        "unit",
    ),
    "text": (
        cell(50, "abc"),
        "x.csv:52: 'abc' in column 'load' is no number; correct it, or leave the cell empty if the "
        "value is missing",
    ),
    "a decimal comma": (
        cell(50, '"3,5"'),
        "x.csv:52: '3,5' in column 'load' has a decimal comma or groups of digits, and x.csv:2 has "
        "'10.03771907'; write all numbers of a column in one way",
    ),
    "no such day": (
        cell(50, "2024-02-30 00:00", 0),
        "x.csv:52: '2024-02-30 00:00' is no time: there is no such day or hour; fix the file",
    ),
    "a date in words": (
        cell(50, "yesterday", 0),
        "x.csv:52: 'yesterday' is no time in the form of the first, '2024-01-01 00:00'; write all "
        "times in one form",
    ),
    "a time between two steps": (
        cell(50, "2024-01-03 02:17", 0),
        "x.csv:52: 2024-01-03 02:17:00 is not a whole number of steps of h, the most common "
        'distance of times, after 2024-01-01; correct it, or set frequency, such as frequency = "h"'
        ", to round times down",
    ),
    "a doubled time": (
        lambda rows: [*rows[:50], [rows[49][0], "99"], *rows[50:]],
        "x.csv:52: the time 2024-01-03 01:00:00 is also that of x.csv:51, with other values; remove"
        ' one, or set repeated to "first", "last" or "mean"; if a column names the series of a row,'
        " set id to it",
    ),
    "one row": (
        lambda rows: rows[:1],
        "x.csv:2: one row does not show how far apart the times are; set frequency, such as "
        'frequency = "D"',
    ),
    "two rows": (
        lambda rows: rows[:2],
        "data.train: no window of forecast.horizon = 6 steps and one step before them: the longest "
        f"series has 2 steps, and at most 0 are in this part; {SHORT}",
    ),
    "a header alone": (
        lambda rows: [],
        "x.csv: there are no rows below the header; is the file complete?",
    ),
    "a column of text": (
        lambda rows: [[date, "abc"] for date, _ in rows],
        "x.csv:1: no column of numbers for target; the header has date, load; is a separator or a "
        "decimal comma wrong?",
    ),
}


class TestFilesThatAreRefused:
    """Each is one line that names the place and says what to do."""

    @pytest.fixture
    def refused(self, workdir, fails):
        def run(text, code=1, **settings):
            (workdir / "x.csv").write_text(text)
            (workdir / "x.toml").write_text(run_of("x.csv", RIDGE, settings))
            shutil.rmtree(workdir / "x", ignore_errors=True)
            return fails(code, "train", "x.toml", "--out", "x")

        return run

    @pytest.mark.parametrize("name", FILES)
    def test_in_training(self, refused, name):
        edit, message = FILES[name]
        assert refused(lines_of(edit=edit)) == message

    def test_an_empty_file(self, refused):
        assert refused("") == "x.csv is empty; expected a header line and rows of values"

    def test_no_value_at_all(self, refused):
        text = lines_of(edit=lambda rows: [[date, ""] for date, _ in rows])
        assert refused(text) == (
            "load: no values in the training data to learn a forecast from; fill them in, or name "
            "other columns with data.train.target"
        )

    @pytest.mark.parametrize(("horizon", "n"), [(60, 0), (49, 0), (20, 10)])
    def test_a_horizon_longer_than_the_series(self, refused, horizon, n):
        assert refused(lines_of(50), horizon=horizon) == (
            f"data.train: no window of forecast.horizon = {horizon} steps and one step before them:"
            f" the longest series has 50 steps, and at most {n} are in this part; {SHORT}"
        )

    @pytest.mark.parametrize(
        ("split", "message"),
        [
            ([0.7], "forecast.split = [0.7]: expected three sizes (training, validation, test)"),
            ([0.7, 0.2, 0.2], "forecast.split adds up to 1.1; expected three sizes"),
            ([100, 50, 500], "forecast.split adds up to 650 steps, and the longest series has 200"),
            (["2024-02-01", "2024-01-01"], "forecast.split = ['2024-02-01', '2024-01-01']: the"),
            (["a", "b"], "forecast.split: 'a' is no time; expected a whole number, or a form such"),
        ],
        ids=str,
    )
    def test_a_wrong_split(self, refused, split, message):
        assert refused(lines_of(), 2, split=split).startswith(message)

    def test_a_split_beyond_the_data(self, refused):
        assert refused(lines_of(), split=["2030-01-01", "2031-01-01"]) == (
            "data.valid: the part begins or ends at 2030-01-01 and 2031-01-01, outside 2024-01-01 "
            "00:00:00 to 2024-01-09 07:00:00, the times of the series; choose dates between these "
            "in forecast.split"
        )

    def test_quantiles_without_the_forecast(self, refused):
        assert refused(lines_of(), 2, quantiles=[0.1, 0.9]) == (
            "x.toml: forecast: quantiles = [0.1, 0.9] has no 0.5, which is the forecast; add it"
        )

    def test_quantiles_of_a_model_without_them(self, refused):
        assert refused(lines_of(), 2, quantiles=[0.1, 0.5]) == (
            "x.toml: forecast.quantiles are not for model.family = 'ridge', which predicts one "
            "number for each value; leave them out: prediction intervals are calibrated anyway"
        )


class TestFilesThatAreRead:
    """What is unusual and no mistake: said, and used."""

    @pytest.fixture
    def trained(self, workdir, headway):
        def run(text, **settings):
            (workdir / "x.csv").write_text(text)
            (workdir / "x.toml").write_text(run_of("x.csv", RIDGE, settings))
            shutil.rmtree(workdir / "x", ignore_errors=True)
            code, _, stderr = headway("train", "x.toml", "--out", "x")
            assert code == 0, stderr
            return stderr

        return run

    @pytest.mark.parametrize("text", ["NaN", "", "NA"])
    def test_missing_values_are_counted_and_placed(self, trained, text):
        said = trained(lines_of(edit=cell(50, text)))
        assert "warning: train: 1 missing value in column 'load' (x.csv:52)" in said
        assert "frequency h, inferred" in said
        assert "warning: train: frequency" not in said

    def test_gaps_are_warned_of_when_a_run_is_scored(self, trained, headway):
        trained(lines_of(edit=cell(50, "")))
        for command in (("forecast", "x"), ("evaluate", "x"), ("view", "x", "--json")):
            code, _, stderr = headway(*command)
            assert code == 0
            assert (
                "headway: warning: 1 missing value in column 'load' (x.csv:52)"
                in stderr.splitlines()
            )

    def test_levels_without_an_interval(self, trained, headway):
        """One validation window of 6 steps: enough for 80%, and not for 90%."""
        warning = (
            "warning: no 90% interval: calibration needs at least 9 known values in the "
            "validation windows; train on more data, or with a larger validation part "
            "(forecast.split)"
        )
        assert warning in trained(lines_of(100)).splitlines()
        for command in ("forecast", "evaluate"):
            code, _, stderr = headway(command, "x")
            assert code == 0
            assert f"headway: {warning}" in stderr.splitlines()
        assert warning not in trained(lines_of(300))

    def test_a_look_back_longer_than_the_data(self, trained):
        said = trained(lines_of(), lookback=5000)
        assert (
            "warning: forecast.lookback = 5000 is longer than the training data: windows have at "
            "most 134 steps before the forecast; lower it" in said
        )
        assert "longer than the training data" not in trained(lines_of())

    def test_times_out_of_order_are_sorted(self, trained, headway):
        said = trained(lines_of(edit=lambda rows: [*rows[:50], *rows[51:60], rows[50], *rows[60:]]))
        assert "train: 1 row earlier than the row before, sorted (x.csv:61)" in said
        sorted_scores = headway("evaluate", "x", "--json")[1]
        trained(lines_of())
        assert headway("evaluate", "x", "--json")[1] == sorted_scores

    def test_a_constant_series(self, trained, headway):
        said = trained(lines_of(edit=lambda rows: [[date, "5"] for date, _ in rows]))
        assert "warning: constant in the training data: load" in said
        code, stdout, stderr = headway("evaluate", "x", "--json")
        assert code == 0, stderr
        metrics = json.loads(stdout)["metrics"]
        assert metrics["mae_units"]["value"] == pytest.approx(0, abs=1e-4)
        assert "mase" not in metrics  # a constant has none, rather than 0
        _, stdout, _ = headway("forecast", "x")
        assert [float(row["forecast"]) for row in table(stdout)] == pytest.approx([5] * 6)

    def test_a_series_that_begins_with_gaps(self, trained, headway):
        trained(lines_of(edit=lambda rows: [[d, ""] for d, _ in rows[:90]] + rows[90:]))
        assert headway("evaluate", "x")[0] == headway("forecast", "x", "--json")[0] == 0

    def test_validation_data_without_a_value_leave_no_interval(self, trained, headway):
        """The last two parts of 40 and 20 steps."""
        trained(lines_of(edit=lambda rows: [*rows[:140], *([d, ""] for d, _ in rows[140:])]))
        code, stdout, _ = headway("forecast", "x", "--json")
        assert code == 0
        [one] = map(json.loads, stdout.splitlines())
        assert one["intervals"] == []
        assert all(map(math.isfinite, one["values"]))


class TestSeriesThatCannotBeForecast:
    @pytest.fixture
    def refused(self, workdir, fails):
        def run(text, trained="run", *more):
            (workdir / "y.csv").write_text(text)
            return fails(1, "forecast", trained, "y.csv", *more)

        return run

    def test_other_columns(self, refused):
        assert refused(lines_of(60, header="date,price")) == (
            "y.csv:2: the columns are price; expected load, as in the training data"
        )

    def test_other_steps(self, refused):
        days = "".join(f"2024-01-{day:02d},{day}\n" for day in range(1, 31))
        assert refused("date,load\n" + days) == (
            "y.csv:2: the steps are D long; expected h, as in the training data: give values at "
            "these steps, or train on the others"
        )

    def test_no_value(self, refused):
        text = lines_of(30, edit=lambda rows: [[date, ""] for date, _ in rows])
        assert refused(text) == "y.csv:2: target has no values; give at least one"

    def test_a_number_beyond_all_use(self, refused):
        assert refused(lines_of(60, edit=cell(5, "1e300"))) == (
            "y.csv:2: column 'load' has 1e+300, and numbers must not exceed 1e+30; correct it, or "
            "use a larger unit"
        )

    def test_text_and_an_empty_file(self, refused):
        assert refused(lines_of(60, edit=cell(5, "abc"))).startswith("y.csv:7: 'abc' in column")
        assert refused("") == "y.csv is empty; expected a header line and rows of values"

    def test_a_horizon_beyond_all_use(self, refused):
        assert refused(lines_of(60), "run", "--horizon", "30000") == (
            "a horizon of 30000 steps; expected 1 to 10000"
        )

    def known(self, n_known, missing=()):
        sun = np.arange(60.0 + n_known)
        sun[list(missing)] = NAN
        columns = {"load": np.append(wave(60), [NAN] * n_known), "sun": sun}
        write_wide(Path("draft.csv"), columns)
        return Path("draft.csv").read_text()

    def test_a_known_covariate_that_ends_too_early(self, refused):
        for n in (0, 5):
            assert refused(self.known(n), "known") == (
                f"y.csv:2: sun must be known for 6 steps after the last target, and {n} are given; "
                "add rows with an empty target, or forecast fewer steps"
            )

    def test_a_known_covariate_that_is_missing_in_the_future(self, refused):
        assert refused(self.known(6, [62]), "known") == (
            "y.csv:2: sun is missing at 2024-01-03 14:00:00, and it must be known in the future; "
            "fill it in, or forecast fewer steps"
        )

    def test_no_covariate_at_all(self, refused):
        assert "sun" in refused(lines_of(60), "known")

    def test_a_history_without_a_file(self, fails):
        found = fails(2, "forecast", "run", "--history", "new.csv")
        assert found == "--history needs a file; name the file that continues it"

    def test_a_run_of_another_task(self, workdir, fails):
        assert main(["forecast", "nowhere"]) == 1
        assert "nowhere" in fails(1, "forecast", "nowhere")

"""Later files are read in the order of day and month of the training data, however they come."""

import csv
import json

import numpy as np
import pytest
from cli_workdir import commands_in, run_file, train_runs
from forecast_runs import wave

from headway import api
from headway.errors import DataError
from headway.serve.limits import InvalidRequest, Limits
from headway.serve.schema import SeriesInput
from headway.serve.series_requests import SeriesRequests

FORMS = {"day": "%d/%m/%Y %H:%M", "iso": "%Y-%m-%d %H:%M", "month": "%m/%d/%Y %H:%M"}
HEADER = "date,load\n"


def hours(form, n, start="2024-04-01T00"):
    times = (np.datetime64(start, "s") + 3600 * np.arange(n)).tolist()
    return [time.strftime(FORMS[form]) for time in times]


def table(times):
    values = wave(len(times), seed=3)
    return HEADER + "".join(f"{t},{v:.4f}\n" for t, v in zip(times, values, strict=True))


def run_of(train, **data):
    forecast = {"horizon": 4, "lookback": 24}
    whole = run_file(
        {"train": train, **data}, {"family": "seasonal"}, task="forecast", forecast=forecast
    )
    return whole.replace('text.kind = "words"\n', "")


MAY = hours("day", 24, "2024-05-03T00")  # 03/05/2024, which is also 5 March
WRONG = "'05/13/2024 00:00' has 13 as its month: dates are read as day, month, year, as set by d"


@pytest.fixture(scope="module")
def workdir(tmp_path_factory):
    folder = tmp_path_factory.mktemp("dates")
    (folder / "day.csv").write_text(table(hours("day", 600)))
    (folder / "iso.csv").write_text(table(hours("iso", 600)))
    (folder / "may.csv").write_text(table(MAY))
    (folder / "test.csv").write_text(table(hours("day", 30, "2024-05-03T00")))
    (folder / "wrong.csv").write_text(table(hours("month", 24, "2024-05-13T00")))
    (folder / "none.csv").write_text("load\n" + "".join(f"{v:.4f}\n" for v in wave(48)))
    with commands_in(folder):
        train_runs(day=run_of("day.csv", test="test.csv"), iso=run_of("iso.csv"))
        yield folder


def first_time(text):
    return next(csv.DictReader(text.splitlines()))["time"]


def test_a_new_file_is_read_like_the_training_data(headway):
    code, stdout, stderr = headway("forecast", "day", "may.csv")
    assert (code, stderr, first_time(stdout)) == (0, "", "2024-05-04 00:00:00")
    code, stdout, stderr = headway("evaluate", "day", "--data", "may.csv")
    assert (code, "month" in stderr) == (0, False)
    code, stdout, _ = headway("view", "day", "may.csv", "--at", "03/05/2024 20:00", "--json")
    assert "2024-05-03 20:00:00" in stdout
    assert "2024-03" not in stdout


def test_a_file_that_contradicts_is_refused(headway):
    for command in ("forecast", "day", "wrong.csv"), ("evaluate", "day", "--data", "wrong.csv"):
        code, _, stderr = headway(*command)
        assert code == 1
        assert f"error: wrong.csv:2: {WRONG}" in stderr
    assert f"wrong.csv:2: {WRONG}" in headway("view", "day", "wrong.csv", "--out", "x.html")[2]


def test_the_order_is_in_the_run_file(workdir):
    text = (workdir / "day" / "run.toml").read_text()
    assert text.count("day_first = true") == 3  # training, validation and test
    assert "day_first" not in (workdir / "iso" / "run.toml").read_text()


def test_in_python(workdir):
    model = api.load(workdir / "day")
    assert model.forecast(workdir / "may.csv")[0].times[0] == "2024-05-04 00:00:00"
    import pyarrow.csv

    frame = pyarrow.csv.read_csv(workdir / "may.csv")
    assert model.forecast(frame)[0].times[0] == "2024-05-04 00:00:00"
    with pytest.raises(DataError, match="05/13/2024 00:00"):
        model.forecast(workdir / "wrong.csv")


def test_in_requests(workdir):
    lists = [SeriesInput(times=MAY, values=wave(24).tolist())]
    for given, text in ((lists, None), (None, table(MAY))):
        model = api.load(workdir / "day")
        [item] = SeriesRequests(model, Limits()).items(given, text, 4).items
        assert model.forecast([item.row])[0].times[0] == "2024-05-04 00:00:00"
        with pytest.raises(InvalidRequest, match="the dates may begin with the day or the month"):
            SeriesRequests(api.load(workdir / "iso"), Limits()).items(given, text, 4)
    wrong = table(hours("month", 24, "2024-05-13T00"))
    with pytest.raises(InvalidRequest, match="'05/13/2024 00:00' has 13 as its month"):
        SeriesRequests(model, Limits()).items(None, wrong, 4)


def test_an_unclear_file_is_a_warning_if_the_training_data_show_nothing(headway):
    for command in (
        ("forecast", "iso", "may.csv"),
        ("evaluate", "iso", "--data", "may.csv"),
        ("view", "iso", "may.csv", "--out", "x.html"),
    ):
        code, _, stderr = headway(*command)
        assert code == 0, stderr
        assert (
            "headway: warning: times such as 03/05/2024 00:00 are read as month, day, year, and "
            "could be day, month, year; if they are, set day_first = true\n" in stderr
        )


def test_a_file_without_times_is_a_warning(headway):
    code, stdout, stderr = headway("forecast", "iso", "none.csv", "--json")
    assert (code, json.loads(stdout)["times"][0]) == (0, "48")
    assert "none.csv has no times, and the training data have dates: the steps of the" in stderr


def test_a_setting_of_an_unclear_date_is_refused(headway, workdir):
    whole = run_of("iso.csv").replace("horizon = 4", 'horizon = 4\nsplit = ["01/05/2024", "x"]')
    (workdir / "split.toml").write_text(whole.replace('"x"', '"2024-05-03"'))
    code, _, stderr = headway("train", "split.toml", "--out", "split")
    assert code == 2
    assert (
        "forecast.split: '01/05/2024' may begin with the day or the month; write it as 2024-01-05 "
        "or 2024-05-01" in stderr
    )

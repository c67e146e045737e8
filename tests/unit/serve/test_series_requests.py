"""Series in requests: the answers of `headway forecast`, and what cannot be answered."""

import json
from dataclasses import asdict

import numpy as np
import pytest
from labelled_series import example, make_labelled_runs, ts_line, ts_text
from served_runs import LIMITS
from starlette.testclient import TestClient
from viewed_series import FILE, HISTORY, HORIZON

import headway
from headway.inference.series_files import as_csv, corpora_of, read_series
from headway.serve.app import make_app
from headway.serve.engine import Engine
from headway.serve.validate import RequestValidator
from headway.serve.workers import ThreadWorker

TIMES = [f"2024-01-01 {hour:02}:00" for hour in range(24)]
COLUMNS = {"load": [1.0, None, 3.0] * 8, "sun": [2] * 24}


def ask(client, **body):
    return client.post("/forecast", json={"model": "plain", **body})


def refusal(response):
    assert response.status_code == 422, response.text
    error = response.json()["error"]
    assert "\n" not in error["message"]
    return error["message"], error["field"]


def test_served_is_offline(client, trained, runs):
    model = trained["plain"]
    [corpus, *_], root = corpora_of(model.config.data, None)
    rows = read_series(corpus, model.task.codecs, root).rows
    expected = [asdict(one) for one in model.forecast(rows, 20)]
    csv = (runs / FILE).read_text()
    assert ask(client, csv=csv, horizon=20).json()["results"] == expected
    target = rows[0]["target"]
    columns = {
        name: [None if value != value else value for value in values]
        for name, values in zip(target.columns, target.values.T.tolist(), strict=True)
    }
    given = {"times": [str(time) for time in target.times], "columns": columns}
    response = ask(client, series=[given, {**given, "name": "again"}], horizon=20)
    results = response.json()["results"]
    assert results[:2] == expected
    assert [one["series"] for one in results] == ["", "", "again", "again"]
    assert [{**one, "series": ""} for one in results[2:]] == expected


def test_gaps_and_numbered_steps(client):
    [load, sun] = ask(client, series=[{"columns": COLUMNS}]).json()["results"]
    assert load["history"][-3:] == [1.0, None, 3.0]
    assert load["times"] == [str(24 + i) for i in range(HORIZON)]
    assert len(sun["values"]) == HORIZON
    assert [interval["level"] for interval in sun["intervals"]] == [0.8, 0.9]


def test_a_single_row_has_the_step_of_the_run(client):
    body = ask(client, csv="date,load,sun\n2024-01-01,1,1\n").json()
    assert body["results"][0]["times"][0] == "2024-01-01 01:00:00"
    assert body["warnings"] == [
        f"the history has 1 of the {HISTORY} steps that the model reads; the forecast and its "
        "intervals are uncertain"
    ]


def test_what_the_command_line_warns_of_is_in_the_answer(client):
    hours = [f"2024-01-{1 + h // 24:02} {h % 24:02}:00" for h in range(2 * HISTORY)]
    rows = [f"{time},{h},1\n" for h, time in enumerate(hours)]
    whole = "date,load,sun\n" + "".join(rows)
    assert "warnings" not in ask(client, csv=whole).json()
    swapped = "date,load,sun\n" + "".join([rows[1], rows[0], *rows[3:]])
    expected = [
        "1 row earlier than the row before, sorted (csv:3)",
        "1 time without a row, after (csv:2)",
    ]
    assert ask(client, csv=swapped).json()["warnings"] == expected
    assert inspect(client, csv=swapped).json()["warnings"] == expected
    values = [None, *range(1, len(hours))]
    columns = {"load": values, "sun": values[::-1]}
    [load, _] = ask(client, series=[{"times": hours, "columns": columns}]).json()["warnings"]
    assert load == "1 missing value in column 'load' (series[0]: value 1)"


@pytest.mark.parametrize(
    ("change", "message", "field"),
    [
        ({"times": TIMES[:3]}, "has 3 times and 24 values", "series[0]"),
        ({"times": ["yesterday"] * 24}, "'yesterday' is no time", "series[0]"),
        ({"times": [TIMES[0]] * 24}, "is also that of", "series[0]"),
        (
            {"times": [*TIMES[:23], None]},
            "series[0].times[23] is null; expected a string or a whole number",
            "series[0].times[23]",
        ),
        ({"frequency": "moon"}, "frequency = 'moon'", "series[0]"),
        ({"columns": {"load": [1.0]}}, "has no 'sun'; expected load, sun", "series[0].columns"),
        (
            {"columns": COLUMNS | {"rain": [1.0]}},
            "has 'rain' in it; expected load, sun",
            "series[0].columns",
        ),
        ({"columns": {"load": [None], "sun": [None]}}, "no values; give", "series[0]"),
        ({"columns": {"load": [], "sun": []}, "times": []}, "has no values", "series[0]"),
        ({"columns": {"load": ["x"], "sun": [1.0]}}, "valid number", "series[0].columns[0]"),
        ({"columns": {"load": [True], "sun": [1.0]}}, "valid number", "series[0].columns[0]"),
        ({"columns": {"load": [1e308] * 2, "sun": [1.0]}}, "must not exceed", "series[0]"),
        ({"columns": None}, "needs values, or columns", "series[0]"),
        ({"values": [1.0]}, "needs values, or columns", "series[0]"),
        ({"columns": None, "values": [1.0]}, "send columns with the values", "series[0].values"),
        ({"past": {"wind": [1.0]}}, "no past covariates", "series[0].past"),
        ({"static": {"town": "a"}}, "no static covariates", "series[0].static"),
        ({"color": 1}, "color is not a known field", "series[0].color"),
    ],
)
def test_series_that_cannot_be_forecast(client, change, message, field):
    given = {"times": TIMES, "columns": COLUMNS} | change
    if given["times"] is TIMES and change.keys() & {"columns", "values"}:
        given["times"] = None
    got, where = refusal(ask(client, series=[given]))
    assert message in got
    assert where == field


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({}, "series is missing; send series, or the text of a file as csv"),
        ({"series": [{"columns": COLUMNS}], "csv": "a"}, "has series and csv; send one of them"),
        ({"series": []}, "at least 1 item"),
        ({"series": 5}, "valid list"),
        ({"csv": "date,load,sun\n2024-01-01,inf,1\n2024-01-02,1,1\n"}, "is infinite"),
        ({"csv": "date,load\n2024-01-01,1\n2024-01-02,1\n"}, "no column 'sun'"),
        ({"csv": 'date,load,sun\n"2024-01-01,1,1\n'}, "not valid CSV"),
        ({"csv": "date,load,sun\n2024-01-01,1,1\n", "horizon": 0}, "greater than or equal to 1"),
        ({"csv": "date,load,sun\n2024-01-01,1,1\n", "horizon": 1001}, "may be at most 1000"),
        ({"texts": ["a"]}, "texts is not a known field"),
    ],
)
def test_requests_that_are_refused(client, body, message):
    assert message in refusal(ask(client, **body))[0]


def test_a_message_quotes_no_whole_file(client):
    given = {"times": ["a" * 5000, "2024-01-01"], "columns": {"load": [1.0], "sun": [1.0, 2.0]}}
    message, _ = refusal(ask(client, series=[given]))
    assert len(message) < 700
    assert message.startswith("series[0]: value 1: 'aaa")
    assert message.endswith("2016")


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999"])
def test_numbers_that_json_lacks(client, number):
    body = f'{{"model": "plain", "series": [{{"columns": {{"load": [{number}], "sun": [1]}}}}]}}'
    headers = {"content-type": "application/json"}
    message, _ = refusal(client.post("/forecast", content=body, headers=headers))
    assert "finite number" in message


def test_limits(make):
    from dataclasses import replace

    small = replace(LIMITS, texts=2, steps=100, horizon=20)
    with TestClient(make(small, only=["plain"])[0]) as client:
        one = {"columns": {"load": [1.0] * 40, "sun": [1.0] * 40}}
        assert ask(client, series=[one, one]).status_code == 200
        assert "at most 2 are allowed" in refusal(ask(client, series=[one] * 3))[0]
        long = {"columns": {"load": [1.0] * 61, "sun": [1.0] * 61}}
        assert "101 steps and at most 100" in refusal(ask(client, series=[one, long]))[0]
        assert "may be at most 20" in refusal(ask(client, series=[one], horizon=21))[0]
        far = "date,load,sun\n2024-01-01,1,1\n2024-01-02,1,1\n2030-01-01,1,1\n"
        assert "steps of B; is this time wrong" in refusal(ask(client, csv=far))[0]
        rows = "".join(f"{i},1,1\n" for i in range(200))
        assert "201 steps and at most 100" in refusal(ask(client, csv=f"time,load,sun\n{rows}"))[0]


def test_ten_million_values_are_too_many_bytes(client):
    body = b'{"model": "plain", "series": [{"values": [' + b"1," * 10**7 + b"1]}]}"
    response = client.post("/forecast", content=body, headers={"content-type": "application/json"})
    assert response.status_code == 413
    assert response.json()["error"]["code"] == "too_large"


def inspect(client, **body):
    return client.post("/inspect", json={"model": "plain", **body})


def test_an_inspection_is_that_of_the_model(client, trained):
    info = {one["name"]: one for one in client.get("/models").json()["models"]}["plain"]
    assert info["verbs"] == ["forecast", "inspect"]
    assert info["series"]["columns"] == ["load", "sun"]
    [csv] = info["example"]
    assert csv.count("\n") == 1 + HISTORY + HORIZON
    got = inspect(client, csv=csv, at=-HORIZON, column="sun").json()
    model = trained["plain"]
    expected = model.inspect(model.own_window(), "sun", -HORIZON).to_dict()
    assert json.loads(json.dumps(expected["forecast"])) | {"names": None} == got["forecast"] | {
        "names": None
    }
    assert got["forecast"]["names"] == {"series": [""], "columns": ["load", "sun"]}
    assert got["encoder"] == expected["encoder"]
    assert (got["run"]["name"], got["training"]) == ("plain", None)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({}, "send series, or the text"),
        ({"text": "abc"}, "text is for a model of texts"),
        ({"series": {"columns": COLUMNS}, "beam": 3}, "beam is for a search"),
        ({"series": {"columns": COLUMNS}, "name": "shop"}, "the one there is has no name"),
        ({"series": {"columns": COLUMNS}, "column": "rain"}, "no column 'rain'"),
        ({"series": {"columns": COLUMNS}, "at": "2024-01-01"}, "cannot begin at 2024-01-01"),
        ({"series": {"columns": COLUMNS}, "at": -(10**30)}, "cannot begin at"),
        ({"series": {"columns": COLUMNS}, "at": "soon"}, "'soon' is no time"),
        (
            {"series": {"columns": {"load": [1.0, 1e308], "sun": [1.0, 2.0]}}, "at": -1},
            "must not exceed",
        ),
    ],
)
def test_inspections_that_are_refused(client, body, message):
    assert message in refusal(inspect(client, **body))[0]


def test_models_of_texts_take_no_series(client):
    asked = {"model": "labels", "series": {"columns": COLUMNS}}
    assert "series is for a model of series" in refusal(client.post("/inspect", json=asked))[0]
    missing = client.post("/inspect", json={"model": "labels"})
    assert refusal(missing) == ("text is missing", "text")


def test_one_of_several_series(client):
    hours = range(1, 6)
    rows = [f"{name},2024-01-01 0{h}:00,{h},{h}" for name in ("a", "b") for h in hours]
    csv = "\n".join(["unique_id,date,load,sun", *rows])
    got = inspect(client, csv=csv, name="b").json()["forecast"]
    assert (got["series"], got["names"]["series"]) == ("b", ["a", "b"])
    assert "expected one of a, b" in refusal(inspect(client, csv=csv, name="c"))[0]
    results = ask(client, csv=csv).json()["results"]
    assert [one["series"] for one in results] == ["a", "a", "b", "b"]


# Labels and values


@pytest.fixture(scope="module")
def labelled(tmp_path_factory):
    """The runs `classes` and `values`, loaded."""
    folder = tmp_path_factory.mktemp("labelled")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HEADWAY_CACHE", str(folder / "cache"))
        make_labelled_runs(folder, "classes", "values")
    return {name: headway.load(folder / name) for name in ("classes", "values")}


@pytest.fixture
def labels(labelled):
    """Asks an application with the labelled runs."""
    pool = ThreadWorker({name: Engine(one) for name, one in labelled.items()})
    validators = {name: RequestValidator(name, one, LIMITS) for name, one in labelled.items()}
    with TestClient(make_app(validators, pool, LIMITS)[0]) as asking:
        yield asking
    pool.close()


def steps_of(values):
    """Values (T, C) as JSON has them."""
    return [[None if np.isnan(x) else x for x in step] for step in values.tolist()]


EXAMPLES = [example(seed)[0] for seed in (100, 101, 102)]


@pytest.mark.parametrize("name", ["classes", "values"])
def test_served_labels_are_those_of_a_run(labels, labelled, name):
    model = labelled[name]
    expected = [model.to_dict(one) for one in model.predict(EXAMPLES)]
    body = {"model": name, "series": [steps_of(values) for values in EXAMPLES]}
    response = labels.post("/predict", json=body)
    assert response.status_code == 200, response.text
    for got, wanted in zip(response.json()["results"], expected, strict=True):
        assert got == pytest.approx(wanted, abs=1e-5) if name == "values" else True
        assert got.get("label") == wanted.get("label")
    text = ts_text([ts_line(values, "up" if name == "classes" else 0) for values in EXAMPLES])
    of_text = labels.post("/predict", json={"model": name, "csv": text}).json()
    assert of_text.pop("warnings")[0].startswith("2 missing values in column '1' (csv:6, ")
    assert of_text == response.json()


def test_a_table_is_one_series(labels, labelled):
    [series] = [labelled["classes"].task.inputs.as_series(EXAMPLES[0])]
    expected = labels.post("/predict", json={"model": "classes", "series": [steps_of(EXAMPLES[0])]})
    csv = as_csv({"target": series})
    assert csv.startswith("time,1,2\n")
    got = labels.post("/predict", json={"model": "classes", "csv": csv})
    assert got.json() == {
        "warnings": ["1 missing value in column '1' (csv:23)"],
        **expected.json(),
    }


def test_an_inspection_has_the_series(labels, labelled):
    values = EXAMPLES[0]
    response = labels.post("/inspect", json={"model": "classes", "series": steps_of(values)})
    tree = response.json()
    expected = json.loads(labelled["classes"].inspect(values).to_json())
    assert tree["series"]["values"] == expected["series"]["values"]
    assert tree["outputs"][0]["text"] == expected["outputs"][0]["text"]
    assert tree["run"]["name"] == "classes"


def test_a_server_describes_models_of_series(labels):
    [classes, values] = labels.get("/models").json()["models"]
    assert classes["verbs"] == ["predict", "inspect"]
    assert classes["inputs"] == ["series"]
    assert classes["series"]["columns"] == ["1", "2"]
    assert classes["labels"] == ["down", "up"]
    assert values["example"][0].startswith("time,1,2\n")
    response = labels.post("/inspect", json={"model": "values", "csv": values["example"][0]})
    assert response.status_code == 200


@pytest.mark.parametrize(
    ("body", "message", "field"),
    [
        ({"texts": ["a"]}, "'classes' reads series; send series or csv", "texts"),
        ({}, "send series, or the text", "series"),
        ({"series": [[[1, 2]]], "csv": "x"}, "send one of them", "series"),
        ({"series": []}, "at least 1 item", "series"),
        ({"series": [[]]}, "series[0] has no steps", "series[0]"),
        (
            {"series": [[[1, 2]], [1, 2]]},
            "series[1][0] is no list; expected a list of 2",
            "series[1]",
        ),
        (
            {"series": [[[1, 2], [1]]]},
            "series[0][1] is a list of 1; expected a list of 2",
            "series[0]",
        ),
        ({"series": [[[1, 2], None]]}, "series[0][1] is no list", "series[0]"),
        ({"series": [[[None, None]]]}, "series[0]: the series has no values", "series[0]"),
        ({"series": [[["x", 2]]]}, "valid number", "series[0][0][0]"),
        ({"series": [[[True, 2]]]}, "valid number", "series[0][0][0]"),
        ({"series": [[[1e308, 2]]]}, "must not exceed", "series[0]"),
        ({"series": [{"values": [1]}]}, "valid list", "series[0]"),
        ({"series": [[[1, 2]]] * 129}, "129 entries and at most", "series"),
        ({"series": [[[1, 2]] * 100_001]}, "100001 steps and at most 100000", "series"),
        ({"csv": "time,1,2,3\n1,2,3,4\n"}, "csv", "csv"),
        ({"csv": "time,1,2\n0,a,1\n1,b,2\n"}, "csv:2: 'a' in column '1' is no number", "csv"),
        ({"csv": ts_text(["1,2:3,inf:up"])}, "'inf'", "csv"),
        ({"csv": ts_text(["1,2:up"])}, "csv:6: 1 dimension where 2", "csv"),
        ({"csv": ""}, "csv is empty", "csv"),
        ({"csv": "@data\n"}, "no series", "csv"),
    ],
)
def test_series_that_are_refused(labels, body, message, field):
    found = refusal(labels.post("/predict", json={"model": "classes", **body}))
    assert message in found[0]
    assert found[1] == field


@pytest.mark.parametrize(
    ("body", "message", "field"),
    [
        ({"series": {"values": [1.0]}}, "an object, which is for forecasts", "series"),
        ({"series": [[1, 2]], "at": -1}, "at is for a model that forecasts", "at"),
        ({"text": "a"}, "text is for a model of texts", "text"),
        ({"series": [[1, 2]], "name": "x"}, "there is no such series", "name"),
        ({"series": [[1]]}, "series[0] is a list of 1", "series"),
    ],
)
def test_labelled_inspections_that_are_refused(labels, body, message, field):
    found = refusal(labels.post("/inspect", json={"model": "classes", **body}))
    assert message in found[0]
    assert found[1] == field


def test_models_of_texts_and_of_forecasts_take_no_lists(client):
    asked = {"model": "labels", "series": [[1.0]]}
    found = refusal(client.post("/predict", json=asked))
    assert found == ("model 'labels' reads texts; send texts", "series")
    found = refusal(client.post("/inspect", json={"model": "plain", "series": [1.0, 2.0]}))
    assert found == (
        "series is a list; for a forecast send an object with values or columns",
        "series",
    )

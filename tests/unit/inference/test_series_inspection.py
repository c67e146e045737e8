"""What is seen of a forecast is what the model forecasts, attends to, and would forecast else."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from labelled_series import SHORTEST, example, make_labelled_runs, run_text, ts_line, ts_text
from viewed_series import FILE, HISTORY, HORIZON, PATCH, STEPS, make_forecast_runs

import headway
from headway.data.frequency import Frequency
from headway.data.series import Series
from headway.errors import DataError
from headway.inference.series_files import corpora_of, read_series


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("viewed")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HEADWAY_CACHE", str(folder / "cache"))
        make_forecast_runs(folder)
    return folder


@pytest.fixture(scope="module")
def models(folder):
    return {name: headway.load(folder / name) for name in ("plain", "power", "steps", "still")}


def own(model):
    [corpus, *_], root = corpora_of(model.config.data, None)
    return read_series(corpus, model.task.codecs, root).rows[0]


def cut(row, steps):
    """A series without its last targets; covariates stay."""
    target = row["target"]
    return {**row, "target": replace(target, values=target.values[:-steps])}


@pytest.mark.parametrize("name", ["plain", "power", "steps", "still"])
@pytest.mark.parametrize("column", ["load", "sun"])
def test_the_forecast_is_that_of_the_command(models, name, column):
    model = models[name]
    row = own(model)
    window = model.inspect(row, column, at=-HORIZON).window
    forecasts = {one.column: one for one in model.forecast([cut(row, HORIZON)])}
    expected = forecasts[column]
    assert window.times[HISTORY:] == expected.times
    assert window.times[:HISTORY] == expected.history_times
    np.testing.assert_allclose(window.forecast, expected.values, rtol=1e-5)
    np.testing.assert_allclose(window.floors["seasonal"], expected.naive, rtol=1e-5)
    for band, interval in zip(window.bands, expected.intervals, strict=True):
        assert band.level == interval.level
        np.testing.assert_allclose(band.low, interval.low, rtol=1e-4)
        np.testing.assert_allclose(band.high, interval.high, rtol=1e-4)


def test_history_and_truth_are_the_values_of_the_file(models):
    row = own(models["plain"])
    values = row["target"].values[:, 0]
    window = models["plain"].inspect(row, at=-HORIZON).window
    assert window.truth == pytest.approx(values[-HORIZON:].tolist())
    assert [v is None for v in window.history] == np.isnan(values[-60:-12]).tolist()
    assert any(value is None for value in window.history), "the gap is in the window"
    assert models["plain"].inspect(row).window.truth is None
    partly = models["plain"].inspect(row, at=-2).window.truth
    assert partly[:2] == pytest.approx(values[-2:].tolist())
    assert partly[2:] == [None] * (HORIZON - 2)


def test_a_beginning_is_a_time_or_a_number_from_the_end(models):
    model, row = models["plain"], own(models["plain"])
    times = row["target"].times
    first = times[-HORIZON].astype("datetime64[s]")
    by_time = model.inspect(row, at=str(first)).window
    assert by_time == model.inspect(row, at=-HORIZON).window == model.inspect(row, at="-12").window
    assert by_time.times[HISTORY] == str(first).replace("T", " ")
    early = model.inspect(row, at=-(STEPS - 3)).window
    assert early.history[:-3] == [None] * (HISTORY - 3), "before the series begins"


def test_numbered_steps(models):
    model, row = models["plain"], own(models["plain"])
    numbered = replace(row["target"], start=100, frequency=type(row["target"].frequency)("step"))
    window = model.inspect(numbered, at="300").window
    assert window.times[HISTORY] == "300"
    with pytest.raises(DataError, match="times of the series are numbers; give one such as"):
        model.inspect(numbered, at="2024-01-03")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"column": "rain"}, "no column 'rain' is forecast; expected one of load, sun"),
        ({"at": "1999-01-01"}, "cannot begin at 1999-01-01: the series has steps before it from"),
        ({"at": -STEPS}, f"cannot begin at -{STEPS}"),
        ({"at": "soon"}, "'soon' is no time"),
    ],
)
def test_what_cannot_be_looked_at(models, options, message):
    with pytest.raises(DataError, match=message):
        models["plain"].inspect(own(models["plain"]), **options)


def test_the_future_of_known_covariates_is_needed(models):
    with pytest.raises(DataError, match="heat, open must be known for 12 steps"):
        models["power"].inspect(own(models["power"]))


def test_a_covariate_held_still_is_one_that_does_not_change(models):
    model, row = models["power"], own(models["power"])
    window = model.inspect(row, "sun", at=-HORIZON).window
    assert set(window.held) == {"heat", "open", "wind", "calendar: hour"}
    for name, group in (("heat", "known"), ("open", "known"), ("wind", "past")):
        series: Series = row[group]
        values = series.values.copy()
        column = series.columns.index(name)
        values[:, column] = values[STEPS - HORIZON - 1, column]
        still = {**row, group: replace(series, values=values)}
        expected = model.inspect(still, "sun", at=-HORIZON).window.forecast
        np.testing.assert_allclose(window.held[name], expected, rtol=1e-4)
    effects = [np.abs(np.subtract(each, window.forecast)).max() for each in window.held.values()]
    assert effects == sorted(effects, reverse=True)
    assert min(effects) > 0
    assert models["plain"].inspect(row["target"]).window.held == {}


def test_features_of_covariates_are_where_the_batch_has_them(models):
    inputs = models["power"].task.inputs
    features = inputs.covariate_features()
    assert {name: (s.start, s.stop, s.step) for name, s in features.items()} == {
        "wind": (2, 3, None),
        "heat": (3, 4, None),
        "open": (4, 6, None),
        "calendar: hour": (6, 8, 1),
    }
    assert inputs.n_features == 8


def test_attention_within_the_patches_that_are_read(models):
    looked = models["plain"].inspect(own(models["plain"]))
    n = HISTORY // PATCH
    assert looked.patches == [(i * PATCH, (i + 1) * PATCH - 1) for i in range(n)]
    assert [one.weights.shape for one in looked.encoder] == [(2, n, n)] * 2
    for one in looked.encoder:
        np.testing.assert_allclose(one.weights.sum(-1), 1.0, atol=1e-5)
    assert (looked.written, looked.decoder) == ([], [])
    ahead = models["power"].inspect(own(models["power"]), at=-HORIZON)
    assert ahead.patches[-1] == (HISTORY + HORIZON - PATCH, HISTORY + HORIZON - 1)


def test_a_decoder_looks_at_the_history_from_its_own_forecast(models):
    model, row = models["steps"], own(models["steps"])
    looked = model.inspect(row, "sun")
    assert looked.written == [(48, 51), (52, 55), (56, 59)]
    kinds = [one.kind for one in looked.decoder]
    assert kinds == ["decoder", "cross"]
    [cross] = [one for one in looked.decoder if one.kind == "cross"]
    assert cross.weights.shape == (2, 3, HISTORY // PATCH)
    # The values that are written first do not depend on those after them.
    changed = {**row, "target": replace(row["target"], values=row["target"].values.copy())}
    again = model.inspect(changed, "sun")
    assert torch.equal(torch.from_numpy(again.decoder[1].weights), torch.from_numpy(cross.weights))


def test_a_family_that_does_not_attend(models):
    looked = models["still"].inspect(own(models["still"]))
    assert (looked.encoder, looked.patches, looked.rollout()) == ([], [], None)
    assert looked.to_dict()["forecast"]["rollout"] is None


def test_the_report_has_the_last_window(models, folder):
    [shown] = models["plain"].report_forecasts()
    assert shown["truth"] is not None
    assert '"forecasts":[{"series":""' in (folder / "plain" / "report.html").read_text()
    (folder / FILE).rename(folder / "away.csv")
    try:
        assert models["plain"].report_forecasts() == []
        assert models["plain"].example() is None
    finally:
        (folder / "away.csv").rename(folder / FILE)


@pytest.fixture(scope="module")
def labelled(tmp_path_factory):
    folder = tmp_path_factory.mktemp("labelled")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HEADWAY_CACHE", str(folder / "cache"))
        make_labelled_runs(folder)
    return folder


def test_a_classified_series_is_that_of_the_data(labelled):
    values, _, _ = example(100)
    looked = headway.load(labelled / "classes").inspect(values)
    read = looked.series
    assert (read.columns, read.times) == (["1", "2"], [str(n + 1) for n in range(len(values))])
    assert read.values[0] == [None if np.isnan(x) else x for x in values[:, 0]]
    assert read.patches == [(step, step) for step in range(len(values))]
    assert (read.pooled, looked.encoder[0].weights.shape[1]) == (None, len(values))


def test_times_and_names_are_those_of_a_series(labelled):
    values, _, _ = example(100)
    hour = np.datetime64("2024-01-01T05:00:00", "s")
    series = Series("east", ("1", "2"), values, hour, Frequency("h"))
    read = headway.load(labelled / "values").inspect(series).series
    assert (read.series, read.names) == ("east", ("east",))
    assert read.times[:2] == ["2024-01-01 05:00:00", "2024-01-01 06:00:00"]
    assert read.patches[:2] == [(-1, -1), (0, 3)]
    assert read.pooled == 0, "the class vector"


def test_a_model_without_attention_has_no_patches(labelled):
    read = headway.load(labelled / "recurrent").inspect(example(100)[0]).series
    assert (read.patches, read.pooled) == ([], None)


def test_padding_of_a_series_that_is_shorter_than_those_of_the_training_data(labelled):
    """All training series have one length, so shorter ones are padded to it."""
    lines = [ts_line(example(seed)[0][:SHORTEST], example(seed)[1]) for seed in range(20)]
    (labelled / "even.ts").write_text(ts_text(lines))
    settings = run_text("classes").replace("classify-train.ts", "even.ts")
    (labelled / "even.toml").write_text(settings)
    config = headway.read_config(labelled / "even.toml", [f"data.root={labelled}"])
    looked = headway.train(config, labelled / "even").inspect(example(100)[0][:5])
    assert looked.tokens == ["1", "2", "3", "4", "5"]
    for part in looked.encoder:
        assert part.weights.shape[1:] == (5, 5)
        np.testing.assert_allclose(part.weights.sum(-1), 1.0, rtol=1e-5)
    assert len(looked.inputs[0]) == 5

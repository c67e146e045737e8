"""Regressors in use: values, their text, evaluation, inspection."""

import math

import pytest
from predictor_runs import VALUED

import headway
from headway.errors import DataError


@pytest.fixture(scope="module")
def regressor(predictors):
    return headway.load(predictors / "regress")


def test_values(regressor):
    assert isinstance(regressor, headway.Regressor)
    found = regressor.predict([text for text, _ in VALUED])
    assert found == pytest.approx([float(value) for _, value in VALUED], abs=0.5)
    result = regressor.evaluate(*zip(*VALUED, strict=True))
    assert result.scores["spearman"].value == pytest.approx(1.0)
    assert set(result.scores) == {"spearman", "pearson", "mse", "rmse", "mae"}
    with pytest.raises(DataError, match=r"^text 1: the value 'x' is no number"):
        regressor.evaluate(["good"], ["x"])
    with pytest.raises(DataError, match=r"^text 1: got 2 texts, expected a single text, as the tr"):
        regressor.predict([("good", "bad")])


def test_a_value_is_seen(regressor):
    found = regressor.inspect("so good")
    [one] = found.outputs
    [value] = regressor.predict(["so good"])
    assert (one.value, one.output.text) == (value, f"{value:.6g}")
    assert found.to_dict()["outputs"][0]["value"] == value
    assert "so" in regressor.view("so good").html


def test_the_scale_of_the_training_values_is_public(regressor):
    space = regressor.label_space()["value"]
    assert space["mean"] == pytest.approx(0.0)
    assert space["deviation"] == pytest.approx(math.sqrt(10 / 4))  # of 2, -1, 1 and -2
    assert regressor.public_info() == {"inputs": ["text"], "value": space}
    assert regressor.describe_label_space() == f"mean in training {space['mean']:.4g}"


def test_values_are_written_with_six_digits_and_shown_with_four(regressor):
    assert regressor.format_output(1.23456789) == regressor.format_prediction(1.23456789)
    assert regressor.format_output(1.23456789) == "1.23457"
    assert regressor.sample_output(1.23456789) == "1.235"
    assert regressor.to_dict(0.5) == {"value": 0.5}
    assert regressor.parse_reference(" -2.50 ") == -2.5


def test_samples_of_a_report_are_predicted_anew(regressor):
    [value] = regressor.predict(["so good"])
    [sample] = regressor.report_samples([("so good", "an older output", "2")])
    assert (sample.source, sample.output, sample.expected) == ("so good", f"{value:.4g}", "2")


def test_an_ensemble_predicts_the_mean(predictors, regressor):
    twice = headway.load(predictors / "regress", predictors / "regress")
    texts = ["so good", "bad"]
    assert twice.predict(texts) == pytest.approx(regressor.predict(texts), abs=1e-6)

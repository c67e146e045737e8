"""Inspections of series as data: rollout, patches, and what is left out to stay small."""

import json
from dataclasses import replace

import numpy as np
import pytest

from headway.inspection.attention import AttentionTrace
from headway.inspection.inspection import RunSummary
from headway.inspection.serialize import unpacked
from headway.inspection.series import (
    CLASS_VECTOR,
    Band,
    ReadSeries,
    SeriesInspection,
    SeriesWindow,
)

TIMES = ["2024-01-01", "2024-01-02", "2024-01-03", "2024-01-04"]


def softmax(scores):
    raised = np.exp(scores)
    return raised / raised.sum(-1, keepdims=True)


def part(name, layer, rows, columns, kind="encoder", heads=2, width=3):
    draw = np.random.default_rng(layer)
    query = draw.normal(size=(heads, rows, width))
    key = draw.normal(size=(heads, columns, width))
    weights = softmax(query @ key.transpose(0, 2, 1))
    return AttentionTrace(name, kind, layer, False, 1.0, weights, query, key, key)


def inspection(n_layers=2, size=2, **more):
    window = SeriesWindow(
        "shop",
        "sales",
        "D",
        TIMES,
        [1.0, None, 3.0],
        [4.0],
        [Band(0.8, [3.0], [5.0])],
        {"naive": [3.0]},
    )
    layers = [part(f"layers.{i}", i, size, size) for i in range(n_layers)]
    patches = [(0, 1), (2, 2)] * (size // 2)
    names = (("shop", "web"), ("sales",))
    background = RunSummary({"name": "mine"})
    return SeriesInspection("forecast", window, names, background, patches, [], layers, **more)


def test_a_forecast_draws_on_patches_as_a_whole():
    looked = inspection()
    expected = looked.rollout().mean(0)
    assert [span for span, _ in looked.looks()] == looked.patches
    np.testing.assert_allclose([share for _, share in looked.looks()], expected)
    crossing = part("decoder.0", 2, 3, 2, kind="cross")
    decoded = replace(looked, decoder=[crossing])
    expected = crossing.weights.mean((0, 1)) @ looked.rollout()
    np.testing.assert_allclose([share for _, share in decoded.looks()], expected)
    assert inspection(n_layers=0).looks() == []


def test_rollout_by_hand():
    looked = inspection()
    mixed = [(layer.weights.mean(0) + np.eye(2)) / 2 for layer in looked.encoder]
    np.testing.assert_allclose(looked.rollout(), mixed[1] @ mixed[0])
    np.testing.assert_allclose(looked.rollout().sum(-1), 1.0)
    assert inspection(n_layers=0).rollout() is None


def test_the_tree_is_that_of_a_page():
    tree = inspection().to_dict()
    assert (tree["kind"], tree["run"]["name"], tree["precision"]) == ("forecast", "mine", "full")
    assert tree["source"] == {"text": "shop sales", "tokens": ["2024-01-01", "2024-01-03"]}
    assert [layer["heads"] for layer in tree["encoder"]] == [2, 2]
    forecast = tree["forecast"]
    assert forecast["history"] == [1.0, None, 3.0]
    assert forecast["bands"] == [{"level": 0.8, "low": [3.0], "high": [5.0]}]
    assert forecast["names"] == {"series": ["shop", "web"], "columns": ["sales"]}
    np.testing.assert_allclose(unpacked(forecast["rollout"]), inspection().rollout(), atol=1e-6)
    assert json.loads(inspection().to_json()) == tree


def test_a_class_vector_has_no_time():
    looked = inspection()
    looked.patches[0] = CLASS_VECTOR
    assert looked.to_dict()["source"]["tokens"] == ["class", "2024-01-03"]


def test_what_a_decoder_writes_is_its_output():
    cross = part("decoder.0.cross", 0, 1, 2, kind="cross")
    tree = inspection(decoder=[cross]).to_dict()
    [output] = tree["outputs"]
    assert [(p["kind"], p["rows"], p["columns"]) for p in output["attention"]] == [
        ("cross", "target", "source")
    ]
    assert output["tokens"] == []


@pytest.mark.parametrize(("limit", "precision", "left"), [(10**6, "full", 2), (4000, "half", 0)])
def test_a_limit_costs_precision_then_layers(limit, precision, left):
    tree = inspection(size=64).to_dict(limit)
    assert tree["precision"] == precision
    assert len(tree["encoder"]) == left
    assert len(tree["left_out"]) == 2 - left
    assert (tree["forecast"]["rollout"] is None) == (left == 0)


def test_the_page_has_the_values():
    assert '"forecast":[4.0]' in inspection().view().html


def test_a_series_that_was_read_as_plain_data():
    read = ReadSeries("shop", ["sales"], TIMES, [[1.0, None, 3.0, 4.0]], [(0, 1), (2, 3)], 0)
    layers = [part("layers.0", 0, 2, 2)]
    tree = read.to_dict(layers)
    assert (tree["series"], tree["columns"], tree["values"]) == ("shop", ["sales"], read.values)
    assert (tree["patches"], tree["pooled"]) == ([(0, 1), (2, 3)], 0)
    np.testing.assert_allclose(tree["rollout"], (layers[0].weights.mean(0) + np.eye(2)) / 2)
    assert read.to_dict([])["rollout"] is None

"""Inspections as JSON: complete, of bounded size, and what is left out first."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest

from headway.inspection.build import inspect_pairs
from headway.inspection.hypothesis import TextHypothesis
from headway.inspection.inspection import InspectedOutput, Inspection, RunSummary
from headway.inspection.serialize import LIMIT, Packing, dumped, plain, tensor, unpacked


def test_json_comes_back_as_it_went(inspected):
    data = inspected.to_dict()
    assert json.loads(inspected.to_json()) == data
    assert (data["format"], data["precision"], data["left_out"]) == (1, "full", [])
    assert (data["kind"], data["begin"]) == ("translate", "⟨bos⟩")
    assert data["run"]["name"] == "pre"
    assert data["run"]["parameters"] == int(
        dict(data["run"]["facts"])["Parameters"].replace(",", "")
    )
    assert data["training"]["rows"][-1]["step"] == 80


def test_what_outputs_share_is_sent_once(inspected):
    data = inspected.to_dict()
    names = [part["name"] for part in data["outputs"][0]["attention"]]
    assert list(data["memory"]) == names
    assert names == [f"decoder.{i}.{what}" for i in (0, 1) for what in ("attention", "cross")]
    tensors = {"query", "key", "value", "out", "bias"}
    for output in data["outputs"]:
        for part in output["attention"]:
            own = {"query"} if part["kind"] == "cross" else {"query", "key", "value"}
            assert tensors & part.keys() == own
            assert set(data["memory"][part["name"]]) == tensors - own
    assert tensors <= data["encoder"][0].keys()


def test_numbers_that_json_does_not_have():
    odd = TextHypothesis("a", -math.inf, math.nan, ["a"], [-math.inf], True)
    rows = [{"step": 1, "loss": math.nan, "samples": [["\ud800", "b", "c"]]}]
    data = Inspection(
        "translate", "a", ["a"], [InspectedOutput(odd)], RunSummary({}, None, rows), "b"
    )
    found = json.loads(data.to_json())
    assert found["outputs"][0]["log_prob"] is None
    assert found["outputs"][0]["token_log_probs"] == [None]
    assert found["training"]["rows"] == [{"step": 1, "loss": None, "samples": [["?", "b", "c"]]}]


def test_tensors():
    values = np.array([[1.5, -2.0, 65504.0]], np.float32)
    for half in (False, True):
        packed = tensor(values, half)
        assert packed["shape"] == [1, 3]
        np.testing.assert_array_equal(unpacked(packed), values)
    assert tensor(values, True)["dtype"] == "float16"
    assert tensor(values * 2, True)["dtype"] == "float32", "half precision ends at 65504"
    assert unpacked(tensor(np.zeros((2, 0, 3)), True)).shape == (2, 0, 3)


def test_what_does_not_fit_goes_in_order_and_is_said(inspected):
    """A smaller and smaller limit: nothing is over it, and ever more is left out."""
    whole = len(inspected.to_json().encode())
    seen = []
    for share in np.linspace(1.2, 0.05, 60):
        data = inspected.to_dict(int(whole * share))
        if (data["precision"], data["left_out"]) not in seen:
            seen.append((data["precision"], data["left_out"]))
        if len(data["left_out"]) < 8:
            assert len(json.dumps(data, ensure_ascii=False, separators=(",", ":"))) <= whole * share
    behind = "what each head adds behind its sum"
    others, steps = "attention of all outputs but the best", "values and embeddings"
    assert seen[:2] == [("full", []), ("half", [])]
    assert seen[-1] == (
        "half",
        [behind, others, steps]
        + [f"decoder.{i}.attention" for i in (0, 1)]
        + ["encoder.0.attention"]
        + [f"decoder.{i}.cross" for i in (0, 1)],
    )
    for precision, left_out in seen[1:]:
        assert precision == "half"
        assert left_out in ([], [behind], [others], seen[-1][1][: len(left_out)])


def test_512_tokens_on_both_sides_fit(translator, with_model):
    other = with_model("transformer", preset="tiny", max_positions=600)
    draw = np.random.default_rng(0)
    ids = draw.integers(4, translator.task.source.tokenizer.size, (3, 511))
    source, *targets = ([*row, 2] for row in ids.tolist())
    output = TextHypothesis("x", -1.0, -1.0, [], [-1.0] * 512, True)
    written = [(output, target) for target in targets]
    tokenizers = translator.task.source.tokenizer, translator.task.target.tokenizer
    found = inspect_pairs(
        other.model,
        "x",
        (tokenizers[0], np.array(source)),
        tokenizers[1],
        written,
        None,
        other.background(),
    )
    data = found.to_dict()
    assert len(found.to_json().encode()) <= LIMIT
    assert data["precision"] == "half"
    assert data["left_out"] == ["attention of all outputs but the best"]
    assert data["outputs"][1]["attention"] is None
    assert len(data["outputs"][0]["attention"]) == 8
    assert len(data["encoder"]) == 4
    assert data["outputs"][0]["attention"][0]["query"]["shape"] == [4, 512, 32]


def test_plain_data_has_nothing_that_json_lacks():
    value = {"a": (1, math.inf), "b": np.zeros((1, 2)), "c": ["\ud800x", None, True]}
    packed = plain(value)
    assert packed["a"] == [1, None]
    assert packed["c"] == ["?x", None, True]
    assert packed["b"]["shape"] == [1, 2]
    assert dumped({"a": [1, "ä"]}) == '{"a":[1,"ä"]}'
    with pytest.raises(ValueError, match="JSON"):
        dumped({"a": math.nan})


def test_what_is_left_out_is_said_in_words():
    assert list(Packing().left_out()) == []
    least = Packing(True, projections=False, every_output=False, steps=False, without=("a", "b"))
    assert list(least.left_out()) == [
        "what each head adds behind its sum",
        "attention of all outputs but the best",
        "values and embeddings",
        "a",
        "b",
    ]


def test_weights_are_sent_only_where_products_do_not_give_them(inspected):
    part = inspected.encoder[0]
    dot = Packing().part(part)
    assert (dot["form"], dot["scale"]) == ("dot", part.scale)
    assert {"query", "key"} <= dot.keys()
    assert "weights" not in dot
    other = Packing().part(replace(part, scale=None))
    assert other["form"] == "weights"
    assert not {"query", "key", "scale"} & other.keys()
    np.testing.assert_array_equal(other["weights"], part.weights)

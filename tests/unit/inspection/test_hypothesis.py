"""Outputs of a search as text: confidence, JSON schema, traces with the text of their tokens."""

import math

import pytest
from pydantic import TypeAdapter

from headway.inspection.hypothesis import LogProb, TextHypothesis, trace_to_dict
from headway.search.trace import SearchTrace, TracedCandidate
from headway.text import TokenizerConfig, train_tokenizer


def test_confidence_is_the_probability_of_the_output():
    output = TextHypothesis("a", math.log(0.25), -0.1, ["a"], [], True)
    assert output.confidence == pytest.approx(0.25)
    impossible = TextHypothesis("a", -math.inf, -math.inf, ["a"], [], True)
    assert impossible.confidence == 0.0


def test_an_output_has_no_extras_unless_they_are_requested():
    output = TextHypothesis("a", -1.0, -1.0, ["a"], [-1.0], True)
    assert (output.alignment, output.proven, output.attention) == (None, None, None)
    other = TextHypothesis("b", -1.0, -1.0, ["b"], [-1.0], True)
    output.unmet.append("x")
    assert other.unmet == [], "each has a list of its own"


def test_log_probabilities_may_be_null_in_json():
    schema = TypeAdapter(LogProb).json_schema()
    assert schema == {"anyOf": [{"type": "number"}, {"type": "null"}]}


def test_a_trace_gets_the_text_of_its_tokens():
    tokenizer = train_tokenizer(["dog cat"], TokenizerConfig(kind="words"))
    dog, cat = tokenizer.encode("dog cat")
    eos = tokenizer.specials["eos"]
    steps = [
        [
            TracedCandidate(0, dog, -0.123456, -0.123456, -0.1, "kept"),
            TracedCandidate(0, cat, -2.0, -2.0, -2.0, "pruned"),
        ],
        [TracedCandidate(0, eos, -0.5, -0.4, -0.3, "ended")],
    ]
    plain = trace_to_dict(SearchTrace(steps, beam=1, alpha=0.5), tokenizer)
    assert (plain["beam"], plain["alpha"]) == (1, 0.5)
    assert [step["text"] for step in plain["steps"]] == [["dog", "cat"], ["⟨eos⟩"]]
    assert plain["steps"][0]["token"] == [dog, cat]
    assert plain["steps"][0]["log_prob"] == [-0.1235, -2.0]
    assert plain["steps"][0]["fate"] == ["kept", "pruned"]

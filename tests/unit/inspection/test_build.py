"""Inspections from forced passes: likeliest tokens by hand, scores, outputs that are left alone."""

import math

import numpy as np
import pytest
import torch
from export_sources import SOURCES

from headway.data.collate import pair_batch
from headway.errors import DataError
from headway.inspection.attention import trace_forward
from headway.inspection.build import (
    check_not_blank,
    forced_output,
    inspect_encoder,
    inspect_pairs,
    likeliest,
    scored_output,
)
from headway.inspection.hypothesis import TextHypothesis
from headway.inspection.inspection import RunSummary

TEXT = SOURCES[4]
SUMMARY = RunSummary({"name": "x"})


def test_the_likeliest_are_sorted_and_the_first_of_equals_comes_first():
    probabilities = np.array([[0.1, 0.2, 0.1, 0.3, 0.1, 0.2], [0.0, 1.0, 0.0, 0.0, 0.0, 0.0]])
    with np.errstate(divide="ignore"):
        rows = likeliest(np.log(probabilities), lambda numbers: [f"t{n}" for n in numbers])
    assert [name for name, _ in rows[0]][:3] == ["t3", "t1", "t5"]
    assert [chance for _, chance in rows[0]] == [0.3, 0.2, 0.2, 0.1, 0.1]
    assert rows[1][0] == ("t1", 1.0)
    assert {chance for _, chance in rows[1][1:]} == {0.0}


def test_few_classes_are_all_shown_with_six_digits():
    log_probs = np.log(np.array([[1 / 3, 2 / 3]]))
    assert likeliest(log_probs, lambda numbers: ["no", "yes"][:: 1 if numbers[0] == 0 else -1]) == [
        [("yes", 0.666667), ("no", 0.333333)]
    ]


def test_scores_of_a_head_are_probabilities():
    output = scored_output("Rome", 0.25, span=(10, 14))
    assert output.output.log_prob == pytest.approx(math.log(0.25))
    assert (output.output.score, output.span, output.parts) == (0.25, (10, 14), [])
    assert scored_output("none", 0.0).output.log_prob == -math.inf


def test_blank_texts_are_refused():
    check_not_blank(False)
    with pytest.raises(DataError) as error:
        check_not_blank(True)
    assert str(error.value) == (
        "the text is blank, and there is nothing to look at; give some words"
    )


def test_a_forced_output_has_the_scores_of_its_tokens(translator):
    source, target = translator.task.source, translator.task.target
    [src], [tgt] = source.encode_batch([TEXT]), target.encode_batch(["cat dog"])
    output = forced_output(translator.model, "cat dog", src, tgt, target.bos, alpha=0.5)
    log_probs = trace_forward(translator.model, pair_batch([src], [tgt], target.bos)).log_probs
    expected = [log_probs[row, token] for row, token in enumerate(tgt)]
    assert output.token_log_probs == pytest.approx(expected)
    assert output.log_prob == pytest.approx(sum(expected))
    assert output.score == pytest.approx(sum(expected) / 3**0.5)
    assert (output.text, output.finished) == ("cat dog", True)


@pytest.mark.parametrize("looked", [None, [1], []])
def test_only_chosen_outputs_are_looked_at(translator, looked):
    source, target = translator.task.source, translator.task.target
    [src] = source.encode_batch([TEXT])
    output = TextHypothesis("", -1.0, -1.0, [], [], True)
    written = [
        (output, []),
        (output, target.encode_batch(["cat"])[0].tolist()),
        (output, target.encode_batch(["dog"])[0].tolist()),
    ]
    inspection = inspect_pairs(
        translator.model, TEXT, (source.tokenizer, src), target.tokenizer, written, looked, SUMMARY
    )
    chosen = [False, looked != [], looked is None]  # nothing is seen of an output without tokens
    assert [one.parts is not None for one in inspection.outputs] == chosen
    assert [one.output.tokens for one in inspection.outputs] == [
        [],
        ["cat", "⟨eos⟩"],
        ["dog", "⟨eos⟩"],
    ]
    assert bool(inspection.encoder) == any(chosen)
    assert (inspection.search, inspection.trace, inspection.begin) == (None, None, "⟨bos⟩")


def test_an_encoder_is_inspected_with_the_outputs_of_its_head(translator):
    class Reader(torch.nn.Module):
        """Gives no attention, and needs no output layer."""

        def __init__(self):
            super().__init__()
            self.weight = torch.nn.Parameter(torch.zeros(1))

        def backbone(self, batch):
            return batch["src"]

    tokenizer = translator.task.source.tokenizer
    ids = tokenizer.encode("one dog")
    outputs = [scored_output("yes", 0.75), scored_output("no", 0.25)]
    batch = {"src": torch.tensor([ids])}
    inspection = inspect_encoder("own", Reader(), "one dog", tokenizer, batch, outputs, SUMMARY)
    assert (inspection.kind, inspection.tokens) == ("own", ["one", "dog"])
    assert inspection.outputs == outputs
    assert (inspection.encoder, inspection.inputs) == ([], None)

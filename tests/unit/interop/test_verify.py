"""The comparison of a run with its export: which outputs, and which differences are accepted."""

import sys
from types import SimpleNamespace

import pytest
import torch

from headway.errors import RunError
from headway.interop import verify
from headway.interop.verify import Check, check_ctranslate2, check_hugging_face, examples

OUTPUTS = {
    "marian": "logits",
    "gpt2": "logits",
    "bert": "states and logits",
    "bert-labels": "logits",
    "bert-answer": "logits",
}


@pytest.mark.parametrize("name", OUTPUTS)
def test_a_folder_agrees_with_the_model_imported_from_it(imports, name):
    folder, trained = imports[name]
    check = check_hugging_face(trained, folder)
    assert check.difference < 1e-4
    assert check == Check(check.difference, OUTPUTS[name], 20, "made-up sequences")


def test_one_weight_of_the_next_sentence_head_makes_a_difference(imports):
    folder, trained = imports["bert"]
    bias = trained.model.next.bias.data
    bias[0] += 1
    try:
        with pytest.raises(RunError, match="the largest difference of states and logits is 1 and"):
            check_hugging_face(trained, folder)
    finally:
        bias[0] -= 1


def test_without_transformers_nothing_is_checked(imports, monkeypatch):
    monkeypatch.setitem(sys.modules, "transformers", None)
    folder, trained = imports["gpt2"]
    assert check_hugging_face(trained, folder) is None


class ConstantModel:
    """A language model whose logits are all the same number."""

    def __init__(self, number):
        self.number = number

    def __call__(self, batch):
        return torch.full((*batch["tgt_in"].shape, 3), self.number)

    def output(self, states):
        return states


@pytest.fixture
def difference(imports, monkeypatch):
    """The checked difference of a constant model and an export with another constant."""

    def check(ours, theirs):
        _, gpt2 = imports["gpt2"]
        run = SimpleNamespace(
            task=gpt2.task,
            config=gpt2.config,
            single_model=lambda what: ConstantModel(ours),
            to_device=lambda batch: batch,
        )

        def export(input_ids, attention_mask):
            logits = torch.full((*input_ids.shape, 3), theirs)
            logits[attention_mask == 0] = 1e9  # padding is not compared
            return SimpleNamespace(logits=logits)

        monkeypatch.setattr(verify, "load_hugging_face", lambda folder, name: (export, None))
        return check_hugging_face(run, None).difference

    return check


def test_differences_that_rounding_explains(difference):
    assert difference(0.5, 0.5) == 0
    assert difference(0.5, 0.50005) == pytest.approx(5e-5, rel=1e-2)
    # The limit is 1e-4 of the largest number, 0.02 here.
    assert difference(-200.0, -199.99) == pytest.approx(0.01, rel=1e-2)


@pytest.mark.parametrize(
    ("ours", "theirs", "shown", "limit"),
    [
        (0.5, 0.51, "0.01", "0.0001"),
        (200.0, 201.0, "1", "0.02"),
        (0.5, float("nan"), "nan", "0.0001"),
    ],
)
def test_differences_that_rounding_does_not_explain(difference, ours, theirs, shown, limit):
    with pytest.raises(RunError) as caught:
        difference(ours, theirs)
    assert str(caught.value) == (
        f"the export computes something else than the run: the largest difference of logits is "
        f"{shown} and rounding explains {limit}; nothing was exported: please report this with the "
        "version of transformers"
    )


def test_a_tokenizer_that_gives_other_tokens(imports, with_test_set, monkeypatch):
    trained = with_test_set(imports["gpt2"][1], ["the cat"])

    def tokenizer(text):
        return {"input_ids": [1, 2]}

    monkeypatch.setattr(verify, "load_hugging_face", lambda folder, name: (None, tokenizer))
    ids = [trained.task.codec.bos, *trained.task.codec.tokenizer.encode("the cat")]
    with pytest.raises(RunError) as caught:
        check_hugging_face(trained, None)
    assert str(caught.value) == (
        f"the exported tokenizer reads 'the cat' as [1, 2], and headway as {ids}; nothing was "
        "exported: please report this with the version of transformers"
    )


@pytest.fixture
def engine_difference(imports, monkeypatch):
    """The checked difference of Marian and an engine whose log probabilities are shifted."""

    def check(shift, quantization):
        _, marian = imports["marian"]
        expected = marian.forced(*zip(*examples(marian)[0], strict=True))

        def score_batch(sources, targets, max_input_length):
            # The engine adds the end token itself.
            assert [len(target) for target in targets] == [len(row) - 1 for row in expected]
            return [SimpleNamespace(log_probs=row + shift) for row in expected]

        engine = SimpleNamespace(score_batch=score_batch)
        monkeypatch.setattr(verify, "load_ctranslate2", lambda folder, threads: engine)
        return check_ctranslate2(marian, None, quantization)

    return check


def test_only_quantised_weights_may_differ_by_more_than_rounding(engine_difference):
    check = engine_difference(0.0005, "float32")
    assert check.difference == pytest.approx(0.0005, rel=1e-2)
    assert check == Check(check.difference, "log probabilities", 20, "made-up sequences")
    assert engine_difference(0.5, "int8").difference == pytest.approx(0.5)
    with pytest.raises(RunError) as caught:
        engine_difference(0.5, "float32")
    assert str(caught.value) == (
        "the export computes something else than the run: the largest difference of log "
        "probabilities is 0.5 and rounding explains 0.001; nothing was exported: please report "
        "this with the version of ctranslate2"
    )

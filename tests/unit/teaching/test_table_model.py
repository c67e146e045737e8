"""The probability table: its trie, its refusals, and how it behaves as a StepModel."""

import pytest
import torch

from headway.errors import DataError
from headway.teaching.table_model import TableModel

TABLE = {
    "": {"a": -0.5, "b": -1.0},
    "a": {"b": -0.25, "END": -2.0},
    "a b": {"END": -0.125},
}


def test_words_and_numbers():
    model = TableModel(TABLE)
    assert model.words == ["START", "END", "a", "b"]
    assert model.encode("a b END") == [2, 3, 1]
    assert model.encode(["b", "a"]) == [3, 2]
    assert model.encode("") == []
    assert model.decode([2, 3]) == "a b"


def test_steps_follow_the_whole_prefix():
    model = TableModel(TABLE)
    inf = -torch.inf
    logits, state = model.step(torch.tensor([[[0]]]), model.start({"x": torch.zeros(1)}))
    assert logits.tolist() == [[[inf, inf, -0.5, -1.0]]]
    state = state.reorder(torch.tensor([[0, 0]]))
    logits, state = model.step(torch.tensor([[[2], [3]]]), state)  # "a" and "b"
    assert logits.tolist() == [[[inf, -2.0, inf, -0.25], [inf] * 4]]
    logits, _ = model.step(torch.tensor([[[3], [3]]]), state)  # "a b" and "b b"
    assert logits.tolist() == [[[inf, -0.125, inf, inf], [inf] * 4]]


def test_several_tokens_in_one_step_and_a_prefix():
    model = TableModel(TABLE)
    at_once, _ = model.step(torch.tensor([[[0, 2, 3]]]), model.start({"x": torch.zeros(1)}))
    state = model.start({"x": torch.zeros(1)}, prefix=torch.tensor([[0, 2]]))
    after_prefix, _ = model.step(torch.tensor([[[3]]]), state)
    assert (
        at_once.tolist()
        == after_prefix.tolist()
        == [[[-torch.inf, -0.125, -torch.inf, -torch.inf]]]
    )


def test_nothing_follows_end():
    model = TableModel(TABLE)
    logits, _ = model.step(torch.tensor([[[0, 2, 3, 1]]]), model.start({"x": torch.zeros(1)}))
    assert (logits == -torch.inf).all()


def test_keys_may_be_tuples():
    tuples = {tuple(prefix.split()): nexts for prefix, nexts in TABLE.items()}
    tokens = torch.tensor([[[0, 2]]])
    outputs = [
        model.step(tokens, model.start({"x": torch.zeros(1)}))[0]
        for model in (TableModel(TABLE), TableModel(tuples))
    ]
    assert torch.equal(*outputs)


def test_a_prefix_without_its_own_beginning_is_unreachable_but_allowed():
    model = TableModel({"": {"a": 0.0}, "b c": {"END": 0.0}})
    logits, _ = model.step(torch.tensor([[[0]]]), model.start({"x": torch.zeros(1)}))
    assert logits[0, 0].tolist() == [-torch.inf, -torch.inf, 0.0, -torch.inf, -torch.inf]


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (
            {"a": {"b": 0.5}},
            "table row 'a': 'b' has 0.5, expected a log probability, at most 0",
        ),
        (
            {"a": {"b": float("nan")}},
            "table row 'a': 'b' has nan, expected a log probability, at most 0",
        ),
        (
            {"a END": {"b": -1.0}},
            "table row 'a END': a prefix contains no START and no END; write the start as '' "
            "and list END among the words that follow",
        ),
        (
            {"START": {"b": -1.0}},
            "table row 'START': a prefix contains no START and no END; write the start as '' "
            "and list END among the words that follow",
        ),
    ],
)
def test_refusals(table, message):
    with pytest.raises(DataError) as caught:
        TableModel(table)
    assert str(caught.value) == message


def test_an_empty_batch_is_refused():
    with pytest.raises(ValueError, match="give it a tensor with one row per sentence"):
        TableModel(TABLE).start({})

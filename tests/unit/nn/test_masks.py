"""Masks: what may attend to what, written out."""

import torch

from headway.nn import masks


def test_padding_hides_keys():
    valid = torch.tensor([[True, True, False], [True, False, False]])
    mask = masks.padding(valid)
    assert mask.shape == (2, 1, 1, 3)
    assert mask.dtype == torch.bool
    assert torch.equal(mask[:, 0, 0], valid)


def test_causal_sees_itself_and_before():
    assert masks.causal(3, 3)[0, 0].tolist() == [
        [True, False, False],
        [True, True, False],
        [True, True, True],
    ]


def test_causal_queries_are_the_last_of_the_keys():
    mask = masks.causal(2, 4)
    assert mask.shape == (1, 1, 2, 4)
    assert mask[0, 0].tolist() == [[True, True, True, False], [True, True, True, True]]


def test_causal_of_length_one_and_of_nothing():
    assert masks.causal(1, 1).tolist() == [[[[True]]]]
    assert masks.causal(1, 5).all()
    assert masks.causal(0, 3).shape == (1, 1, 0, 3)


def test_together_they_allow_what_both_allow():
    causal = masks.causal(2, 2)
    padding = masks.padding(torch.tensor([[True, True], [False, True]]))
    together = causal & padding
    assert together.shape == (2, 1, 2, 2)
    assert together[0, 0].tolist() == [[True, False], [True, True]]
    assert together[1, 0].tolist() == [[False, False], [False, True]]


def test_descent_by_hand():
    """Two hypotheses, one old slot that only the first sees; two new tokens each."""
    visible = torch.tensor([[[True], [False]]])  # (1, 2, 1)
    seen = masks.descent(visible, 2)
    assert seen.int().tolist() == [
        [[[1, 1, 0, 0, 0], [1, 1, 1, 0, 0]], [[0, 0, 0, 1, 0], [0, 0, 0, 1, 1]]]
    ]


def test_sequence_to_sequence_by_hand():
    """A source of two, padded to three, and a target of two."""
    mask = masks.sequence_to_sequence(torch.tensor([[True, True, False]]), 2)
    assert mask.dtype == torch.bool
    assert mask[0, 0].int().tolist() == [
        [1, 1, 0, 0, 0],
        [1, 1, 0, 0, 0],
        [1, 1, 0, 0, 0],
        [1, 1, 0, 1, 0],
        [1, 1, 0, 1, 1],
    ]


def test_sequence_to_sequence_has_the_other_two_within_it():
    valid = torch.tensor([[True, True, True], [True, False, False]])
    mask = masks.sequence_to_sequence(valid, 4)
    assert mask.shape == (2, 1, 7, 7)
    assert torch.equal(mask[:, :, :3, :3], masks.padding(valid).expand(2, 1, 3, 3))
    assert torch.equal(mask[:, :, 3:, 3:], masks.causal(4, 4).expand(2, 1, 4, 4))
    nothing = masks.sequence_to_sequence(torch.ones(2, 0, dtype=torch.bool), 4)
    assert torch.equal(nothing, masks.causal(4, 4).expand(2, 1, 4, 4))

"""Pooling: the mean over what is no padding, and BERT's layer over the first token."""

import torch

from headway.nn.pooling import Pooler, all_states, mean_pool


def test_padding_is_left_out():
    states = torch.tensor([[[1.0, 2.0], [3.0, 6.0], [99.0, 99.0]], [[4.0, 4.0]] * 3])
    valid = torch.tensor([[True, True, False], [True, True, True]])
    assert mean_pool(states, valid).tolist() == [[2.0, 4.0], [4.0, 4.0]]


def test_a_row_of_padding_alone_is_zero():
    assert mean_pool(torch.ones(1, 2, 3), torch.zeros(1, 2, dtype=torch.bool)).tolist() == [
        [0.0] * 3
    ]


def test_all_states_follow_each_other_and_padding_is_zero():
    states = torch.tensor([[[1.0, 2.0], [3.0, torch.nan]], [[4.0, 5.0], [6.0, 7.0]]])
    valid = torch.tensor([[True, False], [True, True]])
    assert all_states(states, valid).tolist() == [[1, 2, 0, 0], [4, 5, 6, 7]]


def test_pooler_by_its_formula():
    torch.manual_seed(0)
    pooler = Pooler(3)
    assert pooler.dense.bias.tolist() == [0, 0, 0]
    torch.nn.init.normal_(pooler.dense.bias)
    x = torch.randn(2, 3)
    expected = torch.tanh(x @ pooler.dense.weight.T + pooler.dense.bias)
    torch.testing.assert_close(pooler(x), expected)


def test_relu_in_the_place_of_tanh():
    pooler = Pooler(2, "relu")
    torch.nn.init.eye_(pooler.dense.weight)
    assert pooler(torch.tensor([[2.0, -3.0]])).tolist() == [[2.0, 0.0]]

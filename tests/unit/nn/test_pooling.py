"""Pooling: the mean over what is no padding."""

import torch

from headway.nn.pooling import mean_pool


def test_padding_is_left_out():
    states = torch.tensor([[[1.0, 2.0], [3.0, 6.0], [99.0, 99.0]], [[4.0, 4.0]] * 3])
    valid = torch.tensor([[True, True, False], [True, True, True]])
    assert mean_pool(states, valid).tolist() == [[2.0, 4.0], [4.0, 4.0]]


def test_a_row_of_padding_alone_is_zero():
    assert mean_pool(torch.ones(1, 2, 3), torch.zeros(1, 2, dtype=torch.bool)).tolist() == [
        [0.0] * 3
    ]

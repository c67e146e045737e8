"""Optimisers by name: decay on matrices only, L2 in the gradient or apart from it."""

import pytest
import torch
from torch import nn

from headway.training.config import TrainConfig
from headway.training.optimizer import make_optimizer


def step_of(name, gradient, weight=1.0, **settings):
    """A matrix and a bias after one step, both filled with `weight` before it."""
    layer = nn.Linear(2, 2)
    for parameter in layer.parameters():
        nn.init.constant_(parameter, weight)
        parameter.grad = torch.full_like(parameter, gradient)
    make_optimizer(layer, TrainConfig(optimizer=name, eps=1e-12, **settings), 0.1).step()
    return layer.weight[0, 0].item(), layer.bias[0].item()


def test_adamw_decays_apart_from_the_gradient():
    # Adam's first step has length lr; decay takes lr * decay of the weight.
    assert step_of("adamw", 3.0, weight_decay=0.5) == pytest.approx((1 - 0.05 - 0.1, 1 - 0.1))


def test_adam_has_no_decay():
    assert step_of("adam", 3.0, weight_decay=0.5) == pytest.approx((0.9, 0.9))


def test_adam_with_l2_adds_decay_to_the_gradient():
    # 0.5 * 1 - 0.4 > 0: decay reverses the gradient of the matrix, and no other.
    assert step_of("adam_l2", -0.4, weight_decay=0.5) == pytest.approx((0.9, 1.1))


def test_sgd_by_hand():
    assert step_of("sgd", 2.0, weight_decay=0.5) == pytest.approx((1 - 0.1 * 2.5, 1 - 0.1 * 2.0))


def test_momentum_and_betas_are_passed_on():
    layer = nn.Linear(2, 2)
    sgd = make_optimizer(layer, TrainConfig(optimizer="sgd", momentum=0.7), 0.1)
    adam = make_optimizer(layer, TrainConfig(betas=(0.8, 0.9), eps=1e-3), 0.1)
    assert sgd.param_groups[0]["momentum"] == 0.7
    assert adam.param_groups[1]["betas"] == (0.8, 0.9)
    assert adam.param_groups[1]["eps"] == 1e-3


def test_every_parameter_is_in_one_group_and_frozen_ones_in_none():
    layer = nn.Sequential(nn.Linear(2, 2), nn.LayerNorm(2))
    layer[0].bias.requires_grad_(False)
    optimizer = make_optimizer(layer, TrainConfig(weight_decay=0.3), 0.1)
    groups = [(g["weight_decay"], len(g["params"])) for g in optimizer.param_groups]
    assert groups == [(0.3, 1), (0.0, 2)]

"""Optimisers by name, with decay on matrices only."""

from collections.abc import Iterable

import torch
from torch import nn

from .config import TrainConfig


def make_optimizer(model: nn.Module, config: TrainConfig, lr: float) -> torch.optim.Optimizer:
    """The optimiser of the run file, with fused kernels, which are fastest on a CPU too."""
    groups = _groups(model.parameters(), 0.0 if config.optimizer == "adam" else config.weight_decay)
    if config.optimizer == "sgd":
        return torch.optim.SGD(groups, lr=lr, momentum=config.momentum, fused=True)
    maker = torch.optim.AdamW if config.optimizer == "adamw" else torch.optim.Adam
    return maker(groups, lr=lr, betas=config.betas, eps=config.eps, fused=True)


def _groups(parameters: Iterable[nn.Parameter], decay: float) -> list[dict[str, object]]:
    """Parameter groups; biases and norm gains have one dimension and no decay."""
    trained = [p for p in parameters if p.requires_grad]
    return [
        {"params": [p for p in trained if p.ndim > 1], "weight_decay": decay},
        {"params": [p for p in trained if p.ndim <= 1], "weight_decay": 0.0},
    ]

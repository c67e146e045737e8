"""Pooling: one vector from the states of an input."""

from typing import Literal

import torch
from torch import Tensor, nn

from .layers import make_dense


def mean_pool(states: Tensor, valid: Tensor) -> Tensor:
    """The mean over the tokens without padding. Shape: (B, S, D), valid (B, S) -> (B, D)."""
    weights = valid[:, :, None].to(states.dtype)
    return (states * weights).sum(1) / weights.sum(1).clamp(min=1)


def all_states(states: Tensor, valid: Tensor) -> Tensor:
    """All states one after the other, padding as zeros. Shape: (B, S, D), (B, S) -> (B, S*D)."""
    return states.masked_fill(~valid[..., None], 0.0).flatten(1)


Squash = Literal["tanh", "relu"]


class Pooler(nn.Module):
    """`tanh(W x + b)` of the pooled vector, as in BERT (Devlin et al. 2019).

    Args:
        activation: `relu` in the classifier of DistilBERT (Sanh et al. 2019).
    """

    may_rest = True
    """Losses over tokens alone give it no gradient; distributed training must allow for that."""

    def __init__(self, d_model: int, activation: Squash = "tanh") -> None:
        super().__init__()
        self.dense = make_dense(d_model, d_model)
        self.activation = torch.tanh if activation == "tanh" else torch.relu

    def forward(self, pooled: Tensor) -> Tensor:
        """Shape: (B, D) -> (B, D)."""
        output: Tensor = self.activation(self.dense(pooled))
        return output

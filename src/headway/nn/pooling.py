"""From the states of a text to one vector."""

from typing import Literal

import torch
from torch import Tensor, nn

from .layers import make_dense


def mean_pool(states: Tensor, valid: Tensor) -> Tensor:
    """The mean over what is no padding. Shape: (B, S, D), valid (B, S) -> (B, D)."""
    weights = valid[:, :, None].to(states.dtype)
    return (states * weights).sum(1) / weights.sum(1).clamp(min=1)


Squash = Literal["tanh", "relu"]


class Pooler(nn.Module):
    """`tanh(W x + b)`, over the state of the first token (Devlin et al. 2019).

    Args:
        activation: in place of tanh; DistilBERT (Sanh et al. 2019) has `relu` before its labels.
    """

    may_rest = True
    """A loss that asks for tokens alone gives it no gradient, and several processes must know."""

    def __init__(self, d_model: int, activation: Squash = "tanh") -> None:
        super().__init__()
        self.dense = make_dense(d_model, d_model)
        self.activation = torch.tanh if activation == "tanh" else torch.relu

    def forward(self, pooled: Tensor) -> Tensor:
        """Shape: (B, D) -> (B, D)."""
        found: Tensor = self.activation(self.dense(pooled))
        return found

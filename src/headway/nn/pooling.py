"""From the states of a text to one vector."""

from torch import Tensor


def mean_pool(states: Tensor, valid: Tensor) -> Tensor:
    """The mean over what is no padding. Shape: (B, S, D), valid (B, S) -> (B, D)."""
    weights = valid[:, :, None].to(states.dtype)
    return (states * weights).sum(1) / weights.sum(1).clamp(min=1)

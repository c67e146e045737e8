"""Dropout whose masks are cheap on a CPU.

`bernoulli_` draws one number per element and was a fifth of a training step; here one 64-bit draw
gives four masks of 16 bits. The rate is met to 1/65536, and the scale is that of the rate met, so
that the expectation is exact.
"""

import torch
from torch import Tensor, nn

from .random import generator

_STEPS = 65536  # values of the 16 bits that decide about one element


def threshold(rate: float) -> int:
    """How many of the 65536 values drop an element."""
    return round(rate * _STEPS)


def keep_mask(shape: torch.Size, rate: float, device: torch.device) -> Tensor:
    """Bool, True with probability 1 - rate."""
    size = shape.numel()
    words = torch.empty((size + 3) // 4, dtype=torch.int64, device=device)
    words.random_(-(2**63), None, generator=generator())
    # int16 is signed: compare with the threshold moved by half the range.
    return (words.view(torch.int16)[:size] >= threshold(rate) - _STEPS // 2).view(shape)


def scale(rate: float) -> float:
    """What kept elements are multiplied by."""
    return _STEPS / (_STEPS - threshold(rate))


def factors(like: Tensor, rate: float) -> Tensor:
    """What each element is multiplied by: 0 with probability `rate`, else the scale."""
    if torch.compiler.is_compiling():  # the compiler draws masks its own way, and well
        return nn.functional.dropout(torch.ones_like(like), rate)
    kept = keep_mask(like.shape, rate, like.device)
    return torch.mul(kept, scale(rate)).to(like.dtype)


class Dropout(nn.Module):
    """Zeroes elements with probability `rate` in training and scales the rest."""

    def __init__(self, rate: float) -> None:
        super().__init__()
        self.rate = rate

    def forward(self, x: Tensor) -> Tensor:
        if not self.training or self.rate == 0.0:
            return x
        return x * factors(x, self.rate)

    def add(self, x: Tensor, branch: Tensor) -> Tensor:
        """`x + dropout(branch)` in one pass over memory."""
        if not self.training or self.rate == 0.0:
            return x + branch
        return torch.addcmul(x, branch, factors(branch, self.rate))

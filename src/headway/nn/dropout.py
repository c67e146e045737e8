"""Dropout with masks that are cheap on a CPU.

`bernoulli_` draws one number per element and took a fifth of a training step; here one 64-bit draw
decides about four elements, with 16 bits each. The rate is rounded to 1/65536, and elements are
scaled by the rounded rate, so that the expectation is exact.
"""

import torch
from torch import Tensor, nn

from .rng import generator

_STEPS = 65536  # values of the 16 bits that decide about one element


def threshold(rate: float) -> int:
    """The number of 16-bit values, of 65536, that drop an element."""
    return round(rate * _STEPS)


def keep_mask(shape: torch.Size, rate: float, device: torch.device) -> Tensor:
    """A random bool tensor, True with probability 1 - rate."""
    size = shape.numel()
    words = torch.empty((size + 3) // 4, dtype=torch.int64, device=device)
    words.random_(-(2**63), None, generator=generator())
    # int16 is signed: shift the threshold by half the range.
    return (words.view(torch.int16)[:size] >= threshold(rate) - _STEPS // 2).view(shape)


def scale(rate: float) -> float:
    """The factor of kept elements."""
    return _STEPS / (_STEPS - threshold(rate))


def factors(like: Tensor, rate: float) -> Tensor:
    """A random factor for each element: 0 with probability `rate`, else the scale."""
    if torch.compiler.is_compiling():  # the compiler has fast masks of its own
        return nn.functional.dropout(torch.ones_like(like), rate)
    # As bytes, because products of bools with a number take four times as long.
    kept = keep_mask(like.shape, rate, like.device).view(torch.uint8)
    return kept.to(torch.get_default_dtype()).mul_(scale(rate)).to(like.dtype)


class Dropout(nn.Module):
    """Zeroes elements with probability `rate` in training and scales up the others."""

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

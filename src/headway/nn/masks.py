"""Attention masks. No other file makes them.

A mask is `torch.bool`, True = may attend, and broadcasts to (B, H, Q, K). A fully masked row gets
zeros from `attend`, not NaN. `padding`, `causal` and `sequence_to_sequence` are the bidirectional,
left-to-right and source-to-target masks of UniLM (Dong et al. 2019).
"""

from functools import cached_property

import torch
from torch import Tensor


class Shared:
    """A mask shared by all layers of a pass; tensors derived from it are computed once.

    Args:
        mask: (B, 1, Q|1, K).
    """

    def __init__(self, mask: Tensor) -> None:
        self.mask = mask
        self._biased: tuple[Tensor, Tensor] | None = None  # the last bias, and it masked

    @cached_property
    def is_open(self) -> bool:
        """Whether every query may attend to some key."""
        return bool(self.mask.any(dim=-1).all())

    @cached_property
    def added(self) -> Tensor:
        """The additive mask: 0 where the mask is True, -inf elsewhere."""
        # Adding it is several times faster than filling through a mask broadcast over heads.
        return torch.zeros(self.mask.shape).masked_fill_(~self.mask, -torch.inf)

    def biased(self, bias: Tensor) -> Tensor:
        """The additive mask with a bias: the bias where the mask is True, -inf elsewhere.

        Shape: (B, H, Q, K) -> (B, H, Q, K).
        """
        if self._biased is None or self._biased[0] is not bias:
            self._biased = bias, bias.masked_fill(~self.mask, -torch.inf)
        return self._biased[1]


Mask = Tensor | Shared


def padding(valid: Tensor) -> Tensor:
    """The mask that hides padding keys. Shape: valid (B, K) -> (B, 1, 1, K)."""
    return valid[:, None, None, :]


def causal(queries: int, keys: int, device: torch.device | None = None) -> Tensor:
    """The mask in which position i sees j <= i; queries are the last of the keys. (1, 1, Q, K)."""
    ones = torch.ones(queries, keys, dtype=torch.bool, device=device)
    return ones.tril(diagonal=keys - queries)[None, None]


def sequence_to_sequence(src_valid: Tensor, n_target: int) -> Tensor:
    """The mask of source and target as one sequence: all see the source, the target is causal.

    Shape: src_valid (B, S) -> (B, 1, S+T, S+T).
    """
    B, S = src_valid.shape
    hidden = src_valid.new_zeros(S, n_target)
    target = torch.cat([hidden, causal(n_target, n_target, src_valid.device)[0, 0]])  # (S+T, T)
    source = src_valid[:, None, :].expand(B, S + n_target, S)
    return torch.cat([source, target.expand(B, -1, -1)], dim=2)[:, None]


def descent(visible: Tensor, t: int) -> Tensor:
    """The mask of `t` new tokens per hypothesis: they see its past and, causally, each other.

    Shape: visible (B, N, K), the slots that each hypothesis sees -> (B, N, t, K + N*t), with the
        new slots after the old ones, ordered by hypothesis.
    """
    B, N, _ = visible.shape
    own = torch.eye(N, dtype=torch.bool, device=visible.device)[:, None, :, None]  # (N, 1, N, 1)
    earlier = torch.ones(t, t, dtype=torch.bool, device=visible.device).tril()[:, None]  # (t, 1, t)
    new = (own & earlier).flatten(2).expand(B, N, t, N * t)
    return torch.cat([visible[:, :, None].expand(-1, -1, t, -1), new], dim=-1)

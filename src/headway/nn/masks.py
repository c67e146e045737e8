"""Attention masks, made here and nowhere else.

A mask is `torch.bool`, True = may attend, and broadcasts to (B, H, Q, K). A row that may attend to
nothing gets zeros from `attend`, not NaN. One network reads in three patterns (Dong et al. 2019) by
three masks: in both directions (`padding`), left to right (`causal`), and `sequence_to_sequence`.
"""

from functools import cached_property

import torch
from torch import Tensor


class Shared:
    """A mask that the layers of a pass have in common: what they make of it is made once.

    Args:
        mask: (B, 1, Q|1, K).
    """

    def __init__(self, mask: Tensor) -> None:
        self.mask = mask
        self._biased: tuple[Tensor, Tensor] | None = None  # a bias, and what came of it

    @cached_property
    def is_open(self) -> bool:
        """Whether every query may attend to something."""
        return bool(self.mask.any(dim=-1).all())

    @cached_property
    def added(self) -> Tensor:
        """What to add to scores: 0 where one may attend, -inf elsewhere."""
        # Adding is several times faster than filling through a mask that is spread over heads.
        return torch.zeros(self.mask.shape).masked_fill_(~self.mask, -torch.inf)

    def biased(self, bias: Tensor) -> Tensor:
        """What to add to scores where there is a bias: it, or -inf. (B, H, Q, K)."""
        if self._biased is None or self._biased[0] is not bias:
            self._biased = bias, bias.masked_fill(~self.mask, -torch.inf)
        return self._biased[1]


Mask = Tensor | Shared


def padding(valid: Tensor) -> Tensor:
    """Hides padding keys. Shape: valid (B, K) -> (B, 1, 1, K)."""
    return valid[:, None, None, :]


def causal(queries: int, keys: int, device: torch.device | None = None) -> Tensor:
    """Position i sees j <= i; the queries are the last of the keys. Shape: (1, 1, Q, K)."""
    ones = torch.ones(queries, keys, dtype=torch.bool, device=device)
    return ones.tril(diagonal=keys - queries)[None, None]


def sequence_to_sequence(src_valid: Tensor, n_target: int) -> Tensor:
    """Of a source and a target in one stream: the source sees itself, the target also what is
    before it in the target.

    Shape: src_valid (B, S) -> (B, 1, S+T, S+T).
    """
    B, S = src_valid.shape
    hidden = src_valid.new_zeros(S, n_target)
    ahead = torch.cat([hidden, causal(n_target, n_target, src_valid.device)[0, 0]])  # (S+T, T)
    source = src_valid[:, None, :].expand(B, S + n_target, S)
    return torch.cat([source, ahead.expand(B, -1, -1)], dim=2)[:, None]


def descent(visible: Tensor, t: int) -> Tensor:
    """What `t` new tokens of each hypothesis see: its past, and its own new tokens up to each.

    Shape: visible (B, N, K), the slots that each hypothesis descends from -> (B, N, t, K + N*t),
        the new slots behind the old ones, hypothesis by hypothesis.
    """
    B, N, _ = visible.shape
    own = torch.eye(N, dtype=torch.bool, device=visible.device)[:, None, :, None]  # (N, 1, N, 1)
    earlier = torch.ones(t, t, dtype=torch.bool, device=visible.device).tril()[:, None]  # (t, 1, t)
    new = (own & earlier).flatten(2).expand(B, N, t, N * t)
    return torch.cat([visible[:, :, None].expand(-1, -1, t, -1), new], dim=-1)

"""Attention masks, made here and nowhere else.

A mask is `torch.bool`, True = may attend, and broadcasts to (B, H, Q, K). A row that may attend to
nothing gets zeros from `attend`, not NaN.
"""

import torch
from torch import Tensor


def padding(valid: Tensor) -> Tensor:
    """Hides padding keys. Shape: valid (B, K) -> (B, 1, 1, K)."""
    return valid[:, None, None, :]


def causal(queries: int, keys: int, device: torch.device | None = None) -> Tensor:
    """Position i sees j <= i; the queries are the last of the keys. Shape: (1, 1, Q, K)."""
    ones = torch.ones(queries, keys, dtype=torch.bool, device=device)
    return ones.tril(diagonal=keys - queries)[None, None]


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

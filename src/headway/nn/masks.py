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

"""Batches of windows to forecast, as a task would make them."""

from collections.abc import Iterator

import torch
from torch import Tensor

Batch = dict[str, Tensor]


def windows_batch(
    windows: Tensor, horizon: int, covariates: Tensor | None = None, future: int = 0
) -> Batch:
    """A batch of windows (B, L + H, C), each scaled by mean and deviation of its history.

    `targets` and `location` are for tests alone, in the units of the windows.

    Args:
        covariates: (B, L + H, K), of which the last H - future steps are not known.
    """
    length = windows.size(1) - horizon
    history = windows[:, :length]
    location = history.mean(1)  # (B, C)
    scale = history.std(1, correction=0).clamp(min=1e-3)
    src = (history - location[:, None]) / scale[:, None]
    src = torch.cat([src, src.new_zeros(len(src), future, src.size(2))], dim=1)
    if covariates is not None:
        src = torch.cat([src, covariates[:, : length + future]], dim=2)
    return {
        "src": src,
        "src_valid": torch.ones(src.shape[:2], dtype=torch.bool),
        "location": location,
        "scale": scale,
        "targets": windows[:, length:],
        "values": windows[:, length:] - location[:, None],
        "values_valid": torch.ones_like(windows[:, length:], dtype=torch.bool),
    }


def in_batches(batch: Batch, size: int) -> Iterator[Batch]:
    """The windows of a batch in batches of another size."""
    for begin in range(0, len(batch["src"]), size):
        yield {name: tensor[begin : begin + size] for name, tensor in batch.items()}


def to_values(logits: Tensor, batch: Batch) -> Tensor:
    """Outputs of a model in the units of the values (B, H, C)."""
    horizon = logits.view(len(logits), -1, batch["scale"].size(1))
    return horizon * batch["scale"][:, None] + batch["location"][:, None]

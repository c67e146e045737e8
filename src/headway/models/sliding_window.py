"""Sliding windows: a language model decodes beyond its training length.

Attention over more tokens than in training fails with all position encodings: learned vectors do
not exist, and rotations have unseen angles. So the model decodes in windows of the trained length,
each of which starts with the newer half of the previous one, as long texts are scored
(`tasks/lm_windows.py`). Models with a state of fixed size (recurrent networks, Markov chains) need
no windows.
"""

from collections.abc import Mapping

import torch
from torch import Tensor, nn

from ..nn.decoding import DecoderState, KVCache, RecurrentCache, StepModel


class Sliding(nn.Module):
    """A `StepModel` of any length, over one that takes at most `size` tokens, BOS included.

    When the window is full, the model restarts with BOS and the newest tokens, computed in one
    pass: spread over half a window, that is less than one more pass per token. The first token must
    be BOS.

    Args:
        size: tokens of a window; at least 2.
    """

    def __init__(self, model: StepModel, size: int) -> None:
        super().__init__()
        self.model: StepModel = model
        self.size = size
        self.n_kept = size - size // 2  # tokens after BOS in a new window

    def start(self, batch: Mapping[str, Tensor], prefix: Tensor | None = None) -> DecoderState:
        rows = next(iter(batch.values()))
        window = torch.zeros(rows.size(0), 1, 0, dtype=torch.long, device=rows.device)
        state = DecoderState(
            {}, {"window": RecurrentCache(window), "model": self.model.start(batch)}
        )
        return state if prefix is None else self.step(prefix[:, None], state)[1]

    def step(self, tokens: Tensor, state: DecoderState) -> tuple[Tensor, DecoderState]:
        """tokens (B, N, t) -> logits of the next one (B, N, V)."""
        earlier, inner = state.cache["window"], state.cache["model"]
        assert isinstance(earlier, RecurrentCache)
        assert isinstance(inner, DecoderState)
        window = torch.cat([earlier.value, tokens], dim=2)  # (B, N, W)
        if window.size(2) > self.size:
            window = torch.cat([window[:, :, :1], window[:, :, -self.n_kept :]], dim=2)
            tokens, inner = window, self._restart(window)
        logits, inner = self.model.step(tokens, inner)
        return logits, state.successor({"window": RecurrentCache(window), "model": inner})

    def _restart(self, window: Tensor) -> DecoderState:
        """The state before the first token, for all hypotheses of the window."""
        state = self.model.start({"tgt_in": window[:, 0]})
        n = window.size(1)
        return state if n == 1 else state.reorder(torch.zeros_like(window[:, :, 0]))


def needs_window(model: StepModel) -> bool:
    """Whether a language model has a KV cache, and not a state of fixed size."""
    state = model.start({"tgt_in": torch.zeros(1, 1, dtype=torch.long)})
    return any(isinstance(entry, KVCache) for entry in state.cache.values())

"""How strongly the last output of a language model depends on each input position."""

from typing import Any

import torch
from torch import Tensor
from torch.func import functional_call


def norms(model: Any, tokens: Tensor, outputs: Tensor) -> Tensor:
    """Frobenius norm of d logits of `outputs` at the last position / d embedding at each position.

    Each position gets its own copy of its token's embedding, so that repeated words are separate.

    Shape: tokens (B, T), outputs (n,) token ids -> (B, T).
    """
    B, T = tokens.shape
    rows = model.embedding.detach()[tokens].flatten(0, 1).requires_grad_()  # (B * T, D)
    positions = torch.arange(B * T, device=tokens.device).view(B, T)
    hidden = functional_call(model, {"embedding": rows}, ({"tgt_in": positions},))
    logits = model.output(hidden[:, -1])[:, outputs]  # (B, n)
    squares = torch.zeros(B, T, dtype=rows.dtype, device=rows.device)
    for logit in logits.sum(0):  # rows of a batch are independent
        (gradient,) = torch.autograd.grad(logit, rows, retain_graph=True)
        squares += gradient.view(B, T, -1).square().sum(-1)
    return squares.sqrt()

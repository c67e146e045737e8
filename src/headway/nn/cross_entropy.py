"""Cross-entropy of a linear output layer without storing all logits.

Logits and their gradients are computed in chunks of positions, while they are in the CPU cache.
This saves a quarter of a small model's training step, and memory does not grow with positions x
vocabulary.
"""

from typing import Any

import torch
from torch import Tensor

CHUNK = 512


def linear_cross_entropy(
    hidden: Tensor, weight: Tensor, bias: Tensor | None, targets: Tensor, smoothing: float = 0.0
) -> Tensor:
    """Sum over positions of the label-smoothed cross-entropy of `hidden @ weight.T + bias`.

    With smoothing eps the target distribution is `(1 - eps) onehot + eps / V`.

    Shape: hidden (n, D), weight (V, D), bias (V,), targets (n,) -> scalar.
    """
    # Under autocast hidden states may have lower precision than the weight; the sums must not.
    return _LinearCrossEntropy.apply(hidden.to(weight.dtype), weight, bias, targets, smoothing)


def linear_log_prob(hidden: Tensor, weight: Tensor, bias: Tensor | None, targets: Tensor) -> Tensor:
    """Log probability of each target, computed in chunks.

    Shape: hidden (n, D), weight (V, D), bias (V,), targets (n,) -> (n,).
    """
    parts = []
    for h, y in zip(hidden.split(CHUNK), targets.split(CHUNK), strict=True):
        logits = _logits(h, weight, bias)
        parts.append(logits.gather(1, y[:, None]).squeeze(1) - logits.logsumexp(1))
    return torch.cat(parts) if parts else hidden.new_zeros(0)


def _logits(hidden: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """Logits in float32 at least: half precision is too coarse for a softmax over a vocabulary."""
    logits = torch.nn.functional.linear(hidden, weight, bias)
    return logits.to(torch.promote_types(logits.dtype, torch.float32))


class _LinearCrossEntropy(torch.autograd.Function):
    """Autograd function that computes the gradients of hidden, weight and bias in `forward`.

    Per position, with logits z = W h + b, p = softmax(z) and target y:
    `loss = lse(z) - (1 - eps) z_y - eps mean(z)`, `dloss/dz = p - (1 - eps) onehot(y) - eps / V`.
    The two smoothing terms are linear in h, so that they need no (n, V) matrix.
    """

    @staticmethod
    def forward(
        ctx: Any,
        hidden: Tensor,
        weight: Tensor,
        bias: Tensor | None,
        targets: Tensor,
        smoothing: float,
    ) -> Tensor:
        needed = ctx.needs_input_grad[:3]
        grads = [
            torch.zeros_like(value) if need and value is not None else None
            for value, need in zip((hidden, weight, bias), needed, strict=True)
        ]
        mean_weight = weight.mean(0)
        mean_bias = bias.mean() if bias is not None else 0.0
        # MPS has no float64.
        wide = torch.float32 if hidden.device.type == "mps" else torch.float64
        total = hidden.new_zeros((), dtype=wide)
        for start in range(0, hidden.size(0), CHUNK):
            part = slice(start, start + CHUNK)
            loss, gradient = _chunk(hidden[part], weight, bias, targets[part], smoothing)
            if smoothing:
                loss = loss - smoothing * (hidden[part] @ mean_weight + mean_bias)
            total += loss.sum(dtype=wide)
            _accumulate(grads, part, gradient, hidden[part], weight)
        _subtract_smoothing(grads, hidden, mean_weight, smoothing)
        ctx.save_for_backward(*grads)
        return total.to(torch.promote_types(hidden.dtype, torch.float32))

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> tuple[Tensor | None, ...]:
        grads = [None if g is None else g * grad_output.to(g.dtype) for g in ctx.saved_tensors]
        return (*grads, None, None)


def _chunk(
    hidden: Tensor, weight: Tensor, bias: Tensor | None, targets: Tensor, smoothing: float
) -> tuple[Tensor, Tensor]:
    """Losses (n,) without the term `eps mean(z)`, and `p - (1 - eps) onehot(y)` (n, V)."""
    logits = _logits(hidden, weight, bias)
    of_target = logits.gather(1, targets[:, None])
    top = logits.amax(1, keepdim=True)
    probs = logits.softmax(1)
    # The largest probability is at least 1/V, so its logarithm is finite; that of p_y may not be.
    lse = top - probs.amax(1, keepdim=True).log()
    loss = lse - (1.0 - smoothing) * of_target
    probs.scatter_add_(1, targets[:, None], torch.full_like(of_target, smoothing - 1.0))
    return loss.squeeze(1), probs.to(hidden.dtype)


def _accumulate(
    grads: list[Tensor | None], part: slice, gradient: Tensor, hidden: Tensor, weight: Tensor
) -> None:
    """Adds a chunk's part to the gradients of hidden, weight and bias, in place."""
    of_hidden, of_weight, of_bias = grads
    if of_hidden is not None:
        torch.mm(gradient, weight, out=of_hidden[part])
    if of_weight is not None:
        of_weight.addmm_(gradient.t(), hidden)
    if of_bias is not None:
        of_bias += gradient.sum(0)


def _subtract_smoothing(
    grads: list[Tensor | None], hidden: Tensor, mean_weight: Tensor, smoothing: float
) -> None:
    """Adds the term `- eps / V` of every logit's gradient to the gradients, in place."""
    if not smoothing:
        return
    of_hidden, of_weight, of_bias = grads
    if of_hidden is not None:
        of_hidden -= smoothing * mean_weight
    if of_weight is not None:
        of_weight -= (smoothing / of_weight.size(0)) * hidden.sum(0)
    if of_bias is not None:
        of_bias -= smoothing * hidden.size(0) / of_bias.size(0)

"""Learning rate as a function of the update, peak at the end of the warm-up."""

import math


def learning_rate(kind: str, peak: float, step: int, warmup: int, total: int) -> float:
    """The rate of update `step` (counted from 1) of `total`."""
    if step <= warmup:
        return peak * step / warmup
    if kind == "constant":
        return peak
    if kind == "inverse_sqrt":
        return peak * math.sqrt(max(warmup, 1) / step)
    done = min((step - warmup) / max(total - warmup, 1), 1.0)
    if kind == "linear":
        return peak * (1.0 - done)
    return peak * 0.5 * (1.0 + math.cos(math.pi * done))

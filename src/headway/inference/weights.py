"""The weights that a model is loaded with: those that the run kept, or those of a checkpoint."""

import re

from torch import Tensor

from ..errors import ConfigError, RunError
from ..nn.lora import merged
from ..runs import RunDir

BEST, LAST = "best", "last"


def load_weights(
    run: RunDir, choice: str | None = None
) -> tuple[dict[str, Tensor], dict[str, str]]:
    """The weights and their metadata: "rule" and "step".

    Args:
        choice: `best` (by validation), `last`, or the number of a step; by default the weights that
            the run kept by its own rule.

    Raises:
        ConfigError: another word.
        RunError: they are not there, or damaged.
    """
    if choice is None:
        return run.load_weights()
    if choice not in (BEST, LAST) and not re.fullmatch(r"[1-9][0-9]{0,17}", choice):
        raise ConfigError(
            f"weights {choice!r} are not known; expected {BEST}, {LAST} or the number of a step"
        )
    steps = run.checkpoints()
    if not steps:
        raise RunError(
            f"{run.path} has no checkpoints to take weights from; use those that it kept, without "
            "choosing"
        )
    if choice == LAST:
        step = steps[-1]
    elif choice == BEST:
        step = _best_step(run, steps[-1])
    else:
        step = int(choice)
    if step in steps:
        tensors = run.load_checkpoint(step).tensors
        prefix = "average." if any(name.startswith("average.") for name in tensors) else "model."
        named = {n.removeprefix(prefix): t for n, t in tensors.items() if n.startswith(prefix)}
        return merged(named), {"rule": choice, "step": str(step)}
    kept, info = run.load_weights()
    if info["step"] == str(step) and info["rule"].startswith(BEST):
        return kept, info
    has = ", ".join(map(str, steps))
    raise RunError(
        f"{run.path} has no checkpoint of step {step}, only of {has}; name one of them, or train "
        "with a larger train.keep"
    )


def _best_step(run: RunDir, last: int) -> int:
    progress = run.load_checkpoint(last).state.get("progress")
    if not isinstance(progress, dict) or progress.get("best") is None:
        raise RunError(f"{run.path} was not validated and has no best weights; use {LAST}")
    return int(progress["best_step"])

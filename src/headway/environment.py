"""What bit-exact resuming depends on beside the run file: libraries, threads, device, processes."""

import os
import platform
from typing import Any

import numpy as np
import torch

from .device import pick_device
from .errors import RunError
from .runs import RunDir


def current_environment(device: str) -> dict[str, Any]:
    """The facts of this process.

    Args:
        device: as the run file names it.
    """
    return {
        "torch": torch.__version__,
        "numpy": np.__version__,
        "threads": torch.get_num_threads(),
        "device": str(pick_device(device)),
        "machine": f"{platform.machine()} {torch.backends.cpu.get_cpu_capability()}",
        "processes": int(os.environ.get("WORLD_SIZE", "1")),
    }


def require_same_environment(run: RunDir, now: dict[str, Any]) -> None:
    """Refuses to go on under other facts than the run began with."""
    different = [
        f"{name} was {run.facts.get(name)} and is {value}"
        for name, value in now.items()
        if run.facts.get(name) != value
    ]
    if different:
        raise RunError(
            f"{run.path} cannot go on exactly: {'; '.join(different)}; "
            "restore that, or add `inexact=True`"
        )

"""Which device to compute on, in which precision, and whether compiled."""

import shutil
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

import torch
from torch import nn

from .errors import ConfigError

Note = Callable[[str], None]


def pick_device(name: str) -> torch.device:
    """CUDA, Apple or CPU for `auto`, else the device of that name."""
    if name == "auto":
        if torch.cuda.is_available():
            name = "cuda"
        elif torch.backends.mps.is_available():
            name = "mps"
        else:
            name = "cpu"
    try:
        return torch.zeros(0, device=name).device
    except (RuntimeError, AssertionError) as error:
        reason = str(error).splitlines()[0]
        raise ConfigError(f"device = {name!r} cannot be used here ({reason}); try 'auto'") from None


def autocast(
    device: torch.device, precision: str, note: Note
) -> Callable[[], AbstractContextManager[object]]:
    """A context for each forward pass: bfloat16 if it is wanted and the hardware has it."""
    if precision == "fp32":
        return nullcontext
    has_it = {
        "cpu": torch.cpu._is_avx512_bf16_supported,
        "cuda": torch.cuda.is_bf16_supported,
    }.get(device.type, lambda: True)()
    if not has_it:
        note(f"this {device.type} has no bfloat16 arithmetic; computing in fp32")
        return nullcontext
    return lambda: torch.autocast(device.type, torch.bfloat16)


def compile_model(model: nn.Module, setting: str, device: torch.device, note: Note) -> bool:
    """Compiles the teacher-forced pass in place, where it is wanted and can be done."""
    if setting == "off" or (setting == "auto" and device.type != "cuda"):
        return False
    if device.type == "cpu" and not any(map(shutil.which, ("g++", "clang++", "cl"))):
        note("no C++ compiler was found; training without torch.compile")
        return False
    # What cannot be compiled runs as it is.
    torch._dynamo.config.suppress_errors = True
    model.compile(dynamic=True)
    return True

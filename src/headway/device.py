"""Selects device, precision and compilation."""

import shutil
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

import torch
from torch import nn

from .errors import ConfigError

Note = Callable[[str], None]


def pick_device(name: str) -> torch.device:
    """The device of a name; `auto` is CUDA, Apple's GPU or the CPU, the first that exists."""
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
        if reason.startswith("Expected one of"):  # the list of torch has twenty names
            reason = "no device of PyTorch"
        raise ConfigError(f"device = {name!r} cannot be used here ({reason}); try 'auto'") from None


def autocast(
    device: torch.device, precision: str, note: Note
) -> Callable[[], AbstractContextManager[object]]:
    """A function that makes the context of a forward pass: bfloat16 if set and supported."""
    if precision == "fp32":
        return nullcontext
    has_bf16 = {
        "cpu": torch.cpu._is_avx512_bf16_supported,
        "cuda": torch.cuda.is_bf16_supported,
    }.get(device.type, lambda: True)()
    if not has_bf16:
        note(f"this {device.type} has no bfloat16 arithmetic; computing in fp32")
        return nullcontext
    return lambda: torch.autocast(device.type, torch.bfloat16)


def compile_model(model: nn.Module, setting: str, device: torch.device, note: Note) -> bool:
    """Compiles the teacher-forced pass in place if set and possible; returns whether it did."""
    if setting == "off" or (setting == "auto" and device.type != "cuda"):
        return False
    if device.type == "cpu" and not any(map(shutil.which, ("g++", "clang++", "cl"))):
        note("there is no C++ compiler; training without torch.compile")
        return False
    # Parts that cannot be compiled run eagerly.
    torch._dynamo.config.suppress_errors = True
    model.compile(dynamic=True)
    return True

"""Which device to compute on."""

import torch

from ..errors import ConfigError


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

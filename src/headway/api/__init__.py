"""What `import headway` gives: run files, training, and trained runs in use."""

from .config import RunConfig, read_config
from .translator import (
    Attention,
    Evaluation,
    Output,
    Scored,
    Translation,
    Translator,
    load,
    resume,
    train,
)

__all__ = [
    "Attention",
    "Evaluation",
    "Output",
    "RunConfig",
    "Scored",
    "Translation",
    "Translator",
    "load",
    "read_config",
    "resume",
    "train",
]

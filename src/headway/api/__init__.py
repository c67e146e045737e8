"""What `import headway` gives: run files, training, and trained runs in use."""

from .assembly import resume, train
from .config import RunConfig, read_config
from .translator import Attention, Evaluation, Output, Scored, Translation, Translator, load

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

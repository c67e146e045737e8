"""What `import headway` gives: run files, training, and trained runs in use."""

from ..data.glossary import Glossary
from .attention import Attention
from .config import RunConfig, read_config
from .learning import resume, train
from .request import Request
from .results import Evaluation, Output, Scored, Translation
from .translator import Translator, load

__all__ = [
    "Attention",
    "Evaluation",
    "Glossary",
    "Output",
    "Request",
    "RunConfig",
    "Scored",
    "Translation",
    "Translator",
    "load",
    "read_config",
    "resume",
    "train",
]

"""What `import headway` gives: run files, training, and trained runs in use."""

from ..data.glossary import Glossary
from .attention import Attention
from .classifier import Classifier, LabelEvaluation, Prediction
from .config import RunConfig, read_config
from .importing import Imported, import_run
from .inspection import Inspection
from .language_model import LanguageModel, TextEvaluation
from .learning import resume, train
from .loading import load
from .page import Page
from .pretrained import Pretrained
from .request import Request
from .results import Evaluation, Output, Scored, Translation
from .translator import Translator

__all__ = [
    "Attention",
    "Classifier",
    "Evaluation",
    "Glossary",
    "Imported",
    "Inspection",
    "LabelEvaluation",
    "LanguageModel",
    "Output",
    "Page",
    "Prediction",
    "Pretrained",
    "Request",
    "RunConfig",
    "Scored",
    "TextEvaluation",
    "Translation",
    "Translator",
    "import_run",
    "load",
    "read_config",
    "resume",
    "train",
]

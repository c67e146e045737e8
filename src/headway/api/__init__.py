"""What `import headway` gives: run files, training, and trained runs in use."""

from ..data.glossary import Glossary
from .attention import Attention
from .classifier import Classifier, LabelEvaluation, Prediction
from .config import RunConfig, read_config
from .generation import Generation
from .inspection import Inspection
from .language_model import LanguageModel, TextEvaluation
from .learning import resume, train
from .loading import load
from .page import Page
from .request import Request
from .results import Evaluation, Output, Scored, Translation
from .translator import Translator

__all__ = [
    "Attention",
    "Classifier",
    "Evaluation",
    "Generation",
    "Glossary",
    "Inspection",
    "LabelEvaluation",
    "LanguageModel",
    "Output",
    "Page",
    "Prediction",
    "Request",
    "RunConfig",
    "Scored",
    "TextEvaluation",
    "Translation",
    "Translator",
    "load",
    "read_config",
    "resume",
    "train",
]

"""What `import headway` gives: run files, training, and trained runs in use."""

from ..data.glossary import Glossary
from .answerer import Answered, Answerer, Candidate
from .attention import Attention
from .classifier import Classifier, Prediction
from .config import RunConfig, read_config
from .embedding import Embedder, cosines, nearest
from .filling import Filled, Filler
from .importing import Imported, import_run
from .inspection import Inspection
from .language_model import LanguageModel, TextEvaluation
from .learning import resume, train
from .loading import load
from .page import Page
from .predictor import Predictor
from .pretrained import Pretrained
from .regressor import Regressor
from .request import Request
from .results import Evaluation, Output, OutputEvaluation, Scored, Translation
from .tagger import Entity, Tagged, Tagger
from .translator import Translator
from .writing import Generation

__all__ = [
    "Answered",
    "Answerer",
    "Attention",
    "Candidate",
    "Classifier",
    "Embedder",
    "Entity",
    "Evaluation",
    "Filled",
    "Filler",
    "Generation",
    "Glossary",
    "Imported",
    "Inspection",
    "LanguageModel",
    "Output",
    "OutputEvaluation",
    "Page",
    "Prediction",
    "Predictor",
    "Pretrained",
    "Regressor",
    "Request",
    "RunConfig",
    "Scored",
    "Tagged",
    "Tagger",
    "TextEvaluation",
    "Translation",
    "Translator",
    "cosines",
    "import_run",
    "load",
    "nearest",
    "read_config",
    "resume",
    "train",
]

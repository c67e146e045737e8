"""The public names of `import headway`: run files, training, and trained models in use.

Each name is imported on first use, and `train` and `resume` load the trainer when they are called.
A program that translates loads neither the trainer nor the converters nor the other tasks.
"""

import os
import warnings
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .arguments import checked

if TYPE_CHECKING:
    from .data.glossary import Glossary
    from .errors import ConfigError, DataError, HeadwayError, InputError, RunError
    from .inference.classifier import Classifier, Prediction
    from .inference.embedder import Embedder, cosines, nearest
    from .inference.language_model import Generation, LanguageModel, TextEvaluation
    from .inference.load import load
    from .inference.masked_lm import FillCandidate, FillResult, Pretrained
    from .inference.predictor import Predictor
    from .inference.question_answering import AnswerCandidate, Answerer, AnswerPrediction
    from .inference.regressor import Regressor
    from .inference.requests import TranslationRequest
    from .inference.results import Evaluation, OutputEvaluation, ScoredText, Translation
    from .inference.tagger import Entity, TaggedText, Tagger
    from .inference.translator import Translator
    from .inspection.attention import Attention
    from .inspection.html_page import Page
    from .inspection.hypothesis import TextHypothesis
    from .inspection.inspection import Inspection
    from .interop.import_model import Imported, import_run
    from .run_config import RunConfig, read_config
    from .training.progress import Display

__all__ = [
    "AnswerCandidate",
    "AnswerPrediction",
    "Answerer",
    "Attention",
    "Classifier",
    "ConfigError",
    "DataError",
    "Embedder",
    "Entity",
    "Evaluation",
    "FillCandidate",
    "FillResult",
    "Generation",
    "Glossary",
    "HeadwayError",
    "Imported",
    "InputError",
    "Inspection",
    "LanguageModel",
    "OutputEvaluation",
    "Page",
    "Prediction",
    "Predictor",
    "Pretrained",
    "Regressor",
    "RunConfig",
    "RunError",
    "ScoredText",
    "TaggedText",
    "Tagger",
    "TextEvaluation",
    "TextHypothesis",
    "Translation",
    "TranslationRequest",
    "Translator",
    "cosines",
    "import_run",
    "load",
    "nearest",
    "read_config",
    "resume",
    "train",
]

MODULES = {
    "AnswerCandidate": ".inference.question_answering",
    "AnswerPrediction": ".inference.question_answering",
    "Answerer": ".inference.question_answering",
    "Attention": ".inspection.attention",
    "Classifier": ".inference.classifier",
    "ConfigError": ".errors",
    "DataError": ".errors",
    "Embedder": ".inference.embedder",
    "Entity": ".inference.tagger",
    "Evaluation": ".inference.results",
    "FillCandidate": ".inference.masked_lm",
    "FillResult": ".inference.masked_lm",
    "Generation": ".inference.language_model",
    "Glossary": ".data.glossary",
    "HeadwayError": ".errors",
    "Imported": ".interop.import_model",
    "InputError": ".errors",
    "Inspection": ".inspection.inspection",
    "LanguageModel": ".inference.language_model",
    "OutputEvaluation": ".inference.results",
    "Page": ".inspection.html_page",
    "Prediction": ".inference.classifier",
    "Predictor": ".inference.predictor",
    "Pretrained": ".inference.masked_lm",
    "Regressor": ".inference.regressor",
    "RunConfig": ".run_config",
    "RunError": ".errors",
    "ScoredText": ".inference.results",
    "TaggedText": ".inference.tagger",
    "Tagger": ".inference.tagger",
    "TextEvaluation": ".inference.language_model",
    "TextHypothesis": ".inspection.hypothesis",
    "Translation": ".inference.results",
    "TranslationRequest": ".inference.requests",
    "Translator": ".inference.translator",
    "cosines": ".inference.embedder",
    "import_run": ".interop.import_model",
    "load": ".inference.load",
    "nearest": ".inference.embedder",
    "read_config": ".run_config",
}
"""The module of each public name, imported on first use of the name."""
OLD_NAMES = {
    "Answered": "AnswerPrediction",
    "Candidate": "AnswerCandidate",
    "Filled": "FillResult",
    "Filler": "FillCandidate",
    "Output": "TextHypothesis",
    "Request": "TranslationRequest",
    "Scored": "ScoredText",
    "Tagged": "TaggedText",
}
"""Names of version 0.1 and their replacements; the old names still work, with a warning."""


def __getattr__(name: str) -> Any:
    if name in MODULES:
        return getattr(import_module(MODULES[name], __package__), name)
    if name in OLD_NAMES:
        new = OLD_NAMES[name]
        message = f"headway.{name} is now headway.{new}; the old name will be removed in 1.0"
        warnings.warn(message, DeprecationWarning, stacklevel=3)
        return getattr(import_module(MODULES[new], __package__), new)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


@checked
def train(config: "RunConfig", out: str | Path, display: "Display | None" = None) -> Any:
    """Trains into the run directory `out`, which must not exist or be empty, and loads the result.

    The type of the result depends on the task, as with `load`.

    Args:
        config: from `read_config`, or made in Python; relative data files then start from
            `data.root`, or else from the working directory.
        display: shows the progress; without it nothing is shown.

    Raises:
        HeadwayError: with its remedy; the work until then stays in `out`.
    """
    from .training.trainer import make_run

    make_run(config, out, display)
    return _report_and_load(out)


@checked
def resume(
    out: str | Path,
    display: "Display | None" = None,
    inexact: bool = False,
    data_root: str | Path | None = None,
) -> Any:
    """Continues an interrupted run exactly where it stopped, and loads the result.

    Args:
        inexact: continue although torch, threads or data have changed since the run started.
        data_root: the folder of the data, if they were moved.
    """
    from .training.trainer import resume_run

    resume_run(out, display, inexact, data_root)
    return _report_and_load(out)


def _report_and_load(out: str | Path) -> Any:
    from .inference.load import load
    from .inspection.report import write_report

    model = load(out)
    if os.environ.get("RANK", "0") == "0":  # of several processes only the first writes
        write_report(out, model)
    return model

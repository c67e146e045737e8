"""The run file's `model.score`: a name of `SCORES`, or a table for a score with settings."""

from typing import Annotated, Any

from ..config import Choice, OneOf
from ..nn.scores import SCORES


def _with_settings() -> dict[str, type]:
    return {name: spec.settings for name, spec in SCORES.items() if spec.settings is not None}


def _formulas() -> dict[str, str]:
    return {name: f"`{spec.formula}`" for name, spec in SCORES.items()}


ScoreTable = Annotated[Any, Choice("name", _with_settings)]
ScoreSetting = Annotated[str, OneOf(lambda: SCORES, _formulas)] | ScoreTable
ScoreOrAuto = Annotated[str, OneOf(lambda: ("auto", *SCORES), _formulas)] | ScoreTable

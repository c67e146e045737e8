"""A tagger, an answerer and a regressor, trained once for all files of this folder."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from predictor_runs import train_predictors


@pytest.fixture(scope="session")
def trained_predictors(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("predictors")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HEADWAY_CACHE", str(folder / "cache"))
        train_predictors(folder)
    return folder


@pytest.fixture(scope="module")
def predictors(trained_predictors: Path) -> Iterator[Path]:
    """The folder with the runs `tag`, `answer` and `regress`, with its cache in use."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HEADWAY_CACHE", str(trained_predictors / "cache"))
        yield trained_predictors

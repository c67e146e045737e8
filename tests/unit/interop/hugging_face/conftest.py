"""Saved models of transformers, each made once, without its progress bars."""

from pathlib import Path

import pytest
import transformers
from hf_cases import make, save


@pytest.fixture(autouse=True)
def quiet() -> None:
    transformers.utils.logging.disable_progress_bar()


@pytest.fixture(scope="session")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    transformers.utils.logging.disable_progress_bar()
    return tmp_path_factory.mktemp("saved")


@pytest.fixture(scope="session")
def gpt2(saved: Path) -> Path:
    return save(make("GPT2LMHeadModel"), saved / "gpt2")


@pytest.fixture(scope="session")
def bert(saved: Path) -> Path:
    return save(make("BertForPreTraining"), saved / "bert")


@pytest.fixture(scope="session")
def marian(saved: Path) -> Path:
    return save(make("MarianMTModel"), saved / "marian")

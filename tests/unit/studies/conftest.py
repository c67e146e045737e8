"""A trained run of a study, without its model."""

from pathlib import Path

import pytest

from headway.studies.learned import StudyRun


@pytest.fixture
def study_run() -> StudyRun:
    return StudyRun(None, Path("runs", "rnn"), steps=7, minutes=1.5, parameters=1234)

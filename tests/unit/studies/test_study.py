"""The table of studies, their files, and refused arguments and folders; nothing is trained."""

import json
from pathlib import Path

import pytest

from headway.errors import ConfigError, RunError
from headway.studies import steps, study
from headway.studies.steps import StepSizes
from headway.studies.study import run_study


@pytest.fixture
def small_study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory, and tiny sizes for the study that trains nothing."""
    monkeypatch.setattr(steps, "SIZES", StepSizes((2,), 4, d_model=8, vocabulary=12, rounds=1))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_page_a_record_and_a_picture(small_study):
    finding = run_study("steps", seed=3)
    folder = small_study / "runs" / "study-steps"
    assert sorted(path.name for path in folder.iterdir()) == [
        "steps.json",
        "steps.md",
        "steps.svg",
    ]
    record = json.loads(json.dumps(finding.to_dict()))
    assert json.loads((folder / "steps.json").read_text()) == record
    assert finding.to_dict()["seed"] == 3
    page = (folder / "steps.md").read_text()
    assert page == finding.markdown()
    assert "(steps.svg)" in page
    run_study("steps", seed=4)  # the same study may replace its results
    assert json.loads((folder / "steps.json").read_text())["seed"] == 4


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("recal",), "no study 'recal'; did you mean recall? expected one of gradients, recall,"),
        (("zzz",), "no study 'zzz'; expected one of gradients, recall, steps"),
        (("recall", None, 1, 0.0), "a budget of 0 minutes: expected a number above 0"),
        (("recall", None, 1, -2.5), "a budget of -2.5 minutes: expected a number above 0"),
        (("recall", None, 1, float("nan")), "a budget of nan minutes: expected a number above 0"),
        (("steps", None, 1, 2.0), "the study steps trains nothing and has no minutes; leave out"),
        (("recall", None, -1), "seed = -1: expected a whole number of at least 0"),
    ],
)
def test_invalid_arguments_are_refused(small_study, arguments, message):
    with pytest.raises(ConfigError) as error:
        run_study(*arguments)
    assert str(error.value).startswith(message)
    assert not (small_study / "runs").exists()


def test_folders_that_hold_something_else(small_study):
    Path("file").write_text("mine")
    with pytest.raises(RunError, match=r"^`out` file is a file; name a folder$"):
        run_study("steps", "file")
    Path("other").mkdir()
    Path("other/recall.json").write_text("{}")
    with pytest.raises(RunError, match=r"^other holds the study recall \(other/recall\.json\);"):
        run_study("steps", "other")
    for content in ("not json", "[]", '{"study": "recall"}'):
        Path("mine").mkdir(exist_ok=True)
        Path("mine/steps.json").write_text(content)
        with pytest.raises(RunError, match="mine has files of the name steps that are not of this"):
            run_study("steps", "mine")
        assert Path("mine/steps.json").read_text() == content
    Path("page").mkdir()
    Path("page/steps.md").write_text("my notes")
    with pytest.raises(RunError, match=r"page/steps\.json does not say so\); give another `out`$"):
        run_study("steps", "page")


def test_a_folder_that_cannot_be_written(small_study):
    Path("file").write_text("mine")
    with pytest.raises(RunError, match=r"^`out` file/below cannot be written: Not a directory;"):
        run_study("steps", "file/below")


def test_the_studies_that_train():
    assert set(study.TRAINING) == {"gradients", "recall"}
    assert study.STUDIES == ("gradients", "recall", "steps")

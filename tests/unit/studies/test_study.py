"""Which studies there are, what they refuse and what they leave, without training anything."""

import json
from pathlib import Path

import pytest

from headway.errors import ConfigError, RunError
from headway.studies import gradients, recall, steps, study
from headway.studies.gradients import Measured
from headway.studies.learned import Learned
from headway.studies.steps import Sizes
from headway.studies.study import run_study
from headway.view.points import Mark


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The one study that trains nothing, as small as can be."""
    monkeypatch.setattr(steps, "SIZES", Sizes((2,), 4, d_model=8, vocabulary=12, rounds=1))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_page_a_record_and_a_picture(place):
    finding = run_study("steps", seed=3)
    folder = place / "runs" / "study-steps"
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
def test_what_cannot_be_asked_for(place, arguments, message):
    with pytest.raises(ConfigError) as error:
        run_study(*arguments)
    assert str(error.value).startswith(message)
    assert not (place / "runs").exists()


def test_folders_that_hold_something_else(place):
    Path("file").write_text("mine")
    with pytest.raises(RunError, match=r"^--out file is a file; name a folder$"):
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
    with pytest.raises(RunError, match=r"page/steps\.json does not say so\); give another --out$"):
        run_study("steps", "page")


def test_a_folder_that_cannot_be_written(place):
    Path("file").write_text("mine")
    with pytest.raises(RunError, match=r"^--out file/below cannot be written: Not a directory;"):
        run_study("steps", "file/below")


def learned(name: str) -> Learned:
    return Learned(None, Path("runs", name), steps=7, minutes=1.5, parameters=1234)


def test_recall_reports_longer_distances_apart():
    sizes = recall.Sizes(trained=(8, 16), within=(8, 16), beyond=(32,), n_test=10)
    shares = {"GRU": {8: Mark(1.0, 0.7, 1.0), 16: Mark(0.5, 0.2, 0.8), 32: Mark(0.0, 0.0, 0.3)}}
    facts = {"seed": 1, "minutes": 1.5}
    finding = recall.found(shares, {"GRU": learned("GRU")}, sizes, facts)
    within, beyond, costs = (table.rows for table in finding.tables)
    assert within[1] == ["GRU", "100.0 [70.0, 100.0]", "50.0 [20.0, 80.0]"]
    assert beyond == [["distance", "32"], ["GRU", "0.0 [0.0, 30.0]"]]
    assert costs[1] == ["GRU", "1,234", "7", "1.5"]
    [row] = finding.to_dict()["rows"]
    assert row["beyond"] == {"32": {"value": 0.0, "low": 0.0, "high": 0.3}}
    assert set(row["within"]) == {"8", "16"}
    # The stroke ends where training ended.
    strokes = [line for line in finding.picture.splitlines() if 'class="line' in line]
    assert [stroke.count("L") for stroke in strokes if "h28" not in stroke] == [1]


def test_only_the_right_word_alone_is_right():
    class Parrot:
        def translate(self, sources):
            class Output:
                text = "3"

            return [Output() for _ in sources]

    random = recall.make_lookups(1, 1, 1, 40, (8, 9), (8,)).test[8]
    right = sum(example.answer == "3" for example in random)
    mark = recall.share_right(Parrot(), random)
    assert mark.value == right / 40
    assert mark.low < mark.value < mark.high


def test_gradients_are_relative_to_the_nearest_and_those_too_small_are_not_drawn():
    sizes = gradients.Sizes(distances=(1, 2, 4), seeds=2, n_test=10)
    start = [{1: 2.0, 2: 1.0, 4: 1e-12}, {1: 4.0, 2: 3.0, 4: 1e-12}]
    right = {1: Mark(1.0), 2: Mark(0.5), 4: Mark(0.0)}
    kind = Measured(start, {1: 1.0, 2: 1.0, 4: 0.25}, right)
    facts = {"seed": 1, "minutes": 1.0}
    finding = gradients.found({"RNN": kind}, {"RNN": learned("RNN")}, sizes, facts)
    at_start, after, answered = (table.rows for table in finding.tables)
    assert at_start == [["distance", "1", "2", "4"], ["RNN", "1", "0.62", "3.8e-13"]]
    assert after[1] == ["RNN", "1", "1", "0.25"]
    assert answered[1] == ["RNN", "100%", "50%", "0%"]
    assert "RNN, 2: 0.62 [0.5, 0.75]" in finding.picture
    assert "RNN, 4: 0.25" in finding.picture
    assert "e-13" not in finding.picture
    [row] = json.loads(json.dumps(finding.to_dict()))["rows"]
    assert row["start"][1] == {"1": 4.0, "2": 3.0, "4": 1e-12}


def test_every_study_that_trains_has_run_files_for_its_models():
    for module in (gradients, recall):
        for name in module.MODELS:
            config = module.run_file(name, module.SIZES, seed=5)
            assert config.seed == 5
            assert config.model.d_model == module.SIZES.d_model
            assert config.train.minutes is config.train.steps is None  # the study's budget
    assert set(study.TRAINING) == {"gradients", "recall"}

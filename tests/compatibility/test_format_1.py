"""Runs of every released format, from format 1 on, are loaded, used, resumed and exported.

What they must answer is in `expected.json` of each, written when they were made (`make_runs.py`).
Modules may move from release to release; commands, run directories and `import headway` stay, and
nothing else is used here.
"""

import json
import re
import shutil
from contextlib import redirect_stderr
from io import StringIO
from pathlib import Path

import pytest
from compatibility_asking import (
    AFTER_RESUMING,
    CLOSE,
    EXPECTED,
    ask,
    command,
    differences,
    figures,
)

import headway
from headway.cli import main
from headway.errors import RunError
from headway.models import FAMILIES

HERE = Path(__file__).parent
FORMATS = sorted(HERE.glob("format-*"))
RUNS = sorted(path.parent for folder in FORMATS for path in folder.glob(f"*/{EXPECTED}"))
LARGEST = 3_000_000
"""Bytes of all runs of a format."""


def expected_of(run: Path) -> dict:
    return json.loads((run / EXPECTED).read_text("utf-8"))


WANTED = {run: expected_of(run) for run in RUNS}
BEGUN = [run for run in RUNS if "resumed" in WANTED[run]]
EXPORTS = [(run, to) for run in RUNS for to in WANTED[run].get("exported", [])]


def named(value) -> str:
    return f"{value.parent.name}/{value.name}" if isinstance(value, Path) else str(value)


def each(runs):
    return pytest.mark.parametrize("run", runs, ids=named)


def contents() -> dict[str, tuple[int, int]]:
    """Every file of all formats, with its size and when it was written."""
    return {
        str(path.relative_to(HERE)): (path.stat().st_size, path.stat().st_mtime_ns)
        for folder in FORMATS
        for path in folder.rglob("*")
        if path.is_file()
    }


@pytest.fixture(autouse=True)
def _place(tmp_path, monkeypatch):
    """A cache of its own."""
    monkeypatch.setenv("HEADWAY_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("HEADWAY_DATA", raising=False)


@pytest.fixture(autouse=True, scope="module")
def _untouched():
    """Using runs changes nothing in them."""
    before = contents()
    yield
    assert contents() == before


def copied(run: Path, tmp_path: Path) -> Path:
    """A copy that may be written to."""
    return Path(shutil.copytree(run, tmp_path / run.name))


def answers(model, asked: list[dict], close: float) -> list[str]:
    """Where a run answers otherwise than it did."""
    return [
        line
        for one in asked
        for line in differences(
            ask(model, one["what"], one["given"]), one["found"], close, one["what"]
        )
    ]


@each(RUNS)
def test_it_answers_as_it_did(run):
    assert answers(headway.load(run, device="cpu"), WANTED[run]["asked"], CLOSE) == []


@each(RUNS)
def test_commands_know_it(run, monkeypatch):
    wanted = WANTED[run]
    monkeypatch.chdir(run.parent / "data")
    assert wanted["family"] in command("info", run, "--json")
    for verb, *arguments in wanted["commands"]:
        lines = command(verb, run, *arguments).splitlines()
        assert all(json.loads(line) for line in lines), verb
        assert lines, verb
    if "evaluated" in wanted:
        expected = wanted["evaluated"]
        found = figures(run, expected["arguments"])
        # Later versions may have more metrics.
        assert [name for name in found if name in expected["metrics"]] == expected["metrics"]
        old = {name: found[name] for name in expected["figures"]}
        assert differences(old, expected["figures"], CLOSE) == []


@each(BEGUN)
def test_it_goes_on_to_its_end(run, tmp_path):
    copy = copied(run, tmp_path)
    model = headway.resume(copy, inexact=True, data_root=run.parent / "data")
    assert answers(model, WANTED[run]["resumed"], AFTER_RESUMING) == []
    log = (copy / "log.jsonl").read_text("utf-8").splitlines()
    assert json.loads(log[-1])["finished"] is True
    # One that began again would come to the same end, with another log.
    before = (run / "log.jsonl").read_text("utf-8").splitlines()
    assert log[: len(before)] == before


def test_its_metric_wer_is_what_ser_is_now(tmp_path):
    """Outputs that are wrong as a whole; `wer` counts edits of words since format 2."""
    [run] = [run for run in BEGUN if run.name == "interrupted-translate"]
    copy = copied(run, tmp_path)
    text = (copy / "run.toml").read_text("utf-8")
    (copy / "run.toml").write_text(text.replace('metric = "auto"', 'metric = "wer"'), "utf-8")
    log = (copy / "log.jsonl").read_text("utf-8").replace('"exact": ', '"wer": 99.0, "exact": ')
    (copy / "log.jsonl").write_text(log, "utf-8")
    best = {"metric": "ser", "value": 99.0, "step": 20}
    assert json.loads(command("info", copy, "--json"))["best"] == best
    headway.load(copy)

    said = StringIO()
    with redirect_stderr(said):
        code = main(["resume", str(copy), "--inexact", "--data-root", str(run.parent / "data")])
    assert code == 0, said.getvalue()
    assert 'train.metric = "wer" of this run is called "ser" now' in said.getvalue()
    records = [json.loads(line) for line in (copy / "log.jsonl").read_text("utf-8").splitlines()]
    judged = [sorted({"wer", "ser"} & set(record)) for record in records if "exact" in record]
    n_before = log.count('"exact"')
    assert judged[:n_before] == [["wer"]] * n_before
    assert judged[n_before:] == [["ser"]] * (len(judged) - n_before) != []
    assert json.loads((copy / "headway.json").read_text("utf-8"))["format"] == 1
    command("average", copy, "--last", "2", "--out", tmp_path / "mean")  # a new run, of format 2
    assert headway.load(tmp_path / "mean").config.train.metric == "ser"
    assert json.loads(command("info", copy, "--json"))["best"]["metric"] == "ser"


def test_its_checkpoints_are_averaged(tmp_path):
    [run, *_] = [run for run in BEGUN if run.name == "interrupted-translate"]
    command("average", run, "--last", "2", "--out", tmp_path / "mean")
    assert headway.load(tmp_path / "mean").translate(["the man sees the woman"])[0].outputs


@pytest.mark.parametrize(("run", "to"), EXPORTS, ids=named)
def test_other_libraries_get_it(run, to, tmp_path):
    found = json.loads(command("export", run, "--to", to, "--out", tmp_path / "out", "--json"))
    assert found["check"]["difference"] < 1e-3
    assert any((tmp_path / "out").iterdir())


@each([run for run in RUNS if run.name == "pretrain-masked_next-encoder"])
def test_another_run_begins_with_it(run, tmp_path):
    file = tmp_path / "run.toml"
    data = f'root = "{run.parent / "data"}"\ntrain = "labels.csv"\nvalid = "labels-valid.csv"'
    train = "steps = 5\nevaluate_every = 5"
    text = f'task = "classify"\ninit = "{run}"\n[data]\nmax_length = 40\n{data}\n[train]\n{train}\n'
    file.write_text(text, "utf-8")
    model = headway.train(headway.read_config(file), tmp_path / "tuned")
    assert model.predict(["a lovely song"])[0].label in ("good", "bad")


LATER = {"forecast", "naive", "seasonal", "ridge"}
"""The task and the families that came with format 2."""


def test_nothing_is_left_out():
    """A new family, task or objective needs a run here: see `make_runs.py`."""
    wanted = WANTED.values()
    assert {one["family"] for one in wanted} >= set(FAMILIES) - LATER
    reference = command("config")
    for key, names in (("task", "task"), ("pretrain.objective", "objective")):
        missing = _named_by(reference, key) - {one[names] for one in wanted} - LATER
        assert not missing, f"{key}: no run of {', '.join(sorted(missing))}"
    for family in FAMILIES:
        assert f'"{family}"' in reference


def _named_by(reference: str, key: str) -> set[str]:
    """The values of a key, from the line of the reference that lists them."""
    [line, *_] = [
        line for line in reference.splitlines() if f"`{key}`" in line and "one of" in line
    ]
    listed = line.split("one of", 1)[1].split("|")[0].split("(default")[0]
    return set(listed.split('"')[1::2])


@pytest.mark.parametrize("folder", FORMATS, ids=named)
def test_they_stay_small_and_tell_nothing_of_machines(folder):
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) < LARGEST
    for path in files:
        content = path.read_bytes()
        assert not re.search(rb"/(tmp|work|root|home)/", content), path


@each([run for run in RUNS if run.name == "translate-transformer"])
def test_a_format_of_the_future_is_refused(run, tmp_path):
    copy = copied(run, tmp_path)
    header = json.loads((copy / "headway.json").read_text("utf-8"))
    (copy / "headway.json").write_text(json.dumps({**header, "format": 1000}), "utf-8")
    with pytest.raises(RunError, match="format 1000"):
        headway.load(copy)

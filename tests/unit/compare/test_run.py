"""Which runs a comparison makes, and which run files it refuses, without training anything."""

from pathlib import Path

import pytest

from headway.compare import run as studied
from headway.compare.by_length import ByLength
from headway.compare.evaluate import metric_of, scored_set
from headway.compare.run import compare, unique_names
from headway.errors import ConfigError, RunError
from headway.inference.classifier import Classifier
from headway.inference.load import trained_classes
from headway.inference.translator import Translator
from headway.run_config import read_config
from headway.training.progress import Silent

DATA = '[data]\ntrain = "train.tsv"\nvalid = "valid.tsv"\ntest = "test.tsv"\n'


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("train", "valid", "test", "other"):
        (tmp_path / f"{name}.tsv").write_text("a\tb\n")
    monkeypatch.delenv("HEADWAY_DATA", raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run_file(name: str, more: str = "", data: str = DATA) -> Path:
    path = Path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(data + more)
    return path


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    """Training is only written down, and ends in failure."""
    calls = []

    def train(config, out, display):
        calls.append((str(out), config))
        raise RunError("the loss is not a finite number")

    monkeypatch.setattr(studied, "train", train)
    return calls


def test_names_are_stems_or_as_many_folders_as_it_takes() -> None:
    assert unique_names([Path("a/gru.toml"), Path("b/v1.2.toml")]) == ["gru", "v1.2"]
    paths = ["x/dates/gru.toml", "y/dates/gru.toml", "y/words/gru.toml", "rnn.toml"]
    assert unique_names([Path(path) for path in paths]) == [
        "x-dates-gru",
        "y-dates-gru",
        "words-gru",
        "rnn",
    ]


def test_a_run_file_given_twice() -> None:
    with pytest.raises(
        ConfigError, match=r"^a\.toml and a/\.\./a\.toml would have the same name; give each"
    ):
        unique_names([Path("a.toml"), Path("b.toml"), Path("a/../a.toml")])


def test_seeds_count_up_and_one_budget_takes_the_place_of_all(started: list) -> None:
    a = run_file("a.toml", "[train]\nminutes = 3\nepochs = 2\n", "seed = 5\n" + DATA)
    b = run_file("b.toml", "[train]\nsteps = 7\n")
    result = compare([a, b], out="out", seeds=2, steps=40)
    assert [path for path, _ in started] == [
        str(Path("out", name)) for name in ("a-seed5", "a-seed6", "b-seed1", "b-seed2")
    ]
    assert [config.seed for _, config in started] == [5, 6, 1, 2]
    for _, config in started:
        assert (config.train.steps, config.train.minutes, config.train.epochs) == (40, None, None)
    assert [(name, failure.seed) for name, failure in result.failures] == [
        ("a", 5),
        ("a", 6),
        ("b", 1),
        ("b", 2),
    ]
    assert {failure.error for _, failure in result.failures} == {"the loss is not a finite number"}
    assert Path("out/compare.json").exists()
    assert Path("out/compare.md").exists()


def test_without_a_budget_run_files_keep_theirs(started: list) -> None:
    a = run_file("a.toml", "[train]\nepochs = 2\n")
    b = run_file("b.toml", "[train]\nminutes = 3\n")
    result = compare([a, b], out="out")
    assert [(c.train.epochs, c.train.minutes) for _, c in started] == [(2, None), (None, 3)]
    assert result.budget.to_dict() is None


def test_a_bad_run_file_does_not_stop_the_others(started: list) -> None:
    good = run_file("good.toml")
    bad = run_file("bad.toml", "[train]\nlearning = 1\nclip = -1\n")
    nowhere = run_file("nowhere.toml", data=DATA.replace("test.tsv", "nowhere.tsv"))
    nothing = run_file("nothing.toml", data='[data]\ntrain = "train.tsv"\n')
    result = compare([bad, nowhere, nothing, good], out="out", steps=1)
    assert len(started) == 1
    reasons = {name: failure.error for name, failure in result.failures}
    assert "unknown key train.learning" in reasons["bad"]
    assert "\n" not in reasons["bad"]
    assert "no file" in reasons["nowhere"]
    assert reasons["nothing"].startswith("there is nothing to score on: give data.test, or at")


def test_a_bad_run_file_is_named_before_anything_is_trained() -> None:
    notes: list[str] = []

    class Notes(Silent):
        def note(self, text: str) -> None:
            notes.append(text)

    compare([run_file("good.toml"), "missing.toml"], out="out", steps=1, display=Notes())
    assert notes[0] == "missing: left out: missing.toml: no such file; check the name"
    assert any("good, seed 1: training" in note for note in notes[1:])


def test_nothing_but_bad_run_files() -> None:
    bad = run_file("bad.toml", "[train]\nlearning = 1\n")
    with pytest.raises(ConfigError, match=r"unknown key train\.learning(.|\n)*missing\.toml"):
        compare([bad, "missing.toml"], out="out")
    assert not Path("out").exists()


@pytest.mark.parametrize(
    ("more", "data", "message"),
    [
        ('[train]\nmetric = "chrf"\n', DATA, r"the metric differs \(exact and chrf\); make it"),
        (
            "",
            DATA.replace("test.tsv", "other.tsv"),
            r"data they are scored on differs \(data\.test .*test\.tsv and data\.test .*other\.tsv",
        ),
        ("", DATA.replace("test = ", "# "), r"\(data\.test .*test\.tsv and data\.valid .*valid"),
    ],
)
def test_run_files_about_different_things(more: str, data: str, message: str) -> None:
    a, b = run_file("a.toml"), run_file("b.toml", more, data)
    with pytest.raises(ConfigError, match=rf"^a\.toml and b\.toml cannot be compared: .*{message}"):
        compare([a, b], out="out")


def test_the_same_test_data_under_other_names_are_the_same(started: list) -> None:
    a = run_file("a.toml")
    b = run_file("folder/b.toml", data=DATA.replace('= "', '= "../'))
    compare([a, b], out="out", steps=1)
    assert len(started) == 2


def test_other_tasks_have_no_lengths(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Translator, "scores_by_length", False)
    classes = trained_classes().items()
    able = ", ".join(sorted(name for name, cls in classes if cls.scores_by_length))
    message = f"by input length are for task {able}, and these run files are for translate; leave"
    with pytest.raises(ConfigError, match=message):
        compare([run_file("a.toml")], out="out", by_length=ByLength())


def test_other_tasks_have_no_tokenised_references(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Translator, "evaluation_options", frozenset())
    monkeypatch.setattr(Classifier, "evaluation_options", frozenset({"tokenized"}))
    message = "tokenised references are for task classify, .* for translate; leave out `tokenized`"
    with pytest.raises(ConfigError, match=message):
        compare([run_file("a.toml")], out="out", tokenized=True)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"seeds": 0}, "seeds = 0: expected at least 1"),
        ({"minutes": 1, "steps": 1}, "give minutes or steps, not both"),
    ],
)
def test_questions_that_make_no_sense(options: dict, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        compare([run_file("a.toml")], out="out", **options)
    with pytest.raises(ConfigError, match="nothing to compare: name at least one run file"):
        compare([], out="out")


def make_run_folder(path: str) -> None:
    """A folder with the files that mark a run."""
    Path(path).mkdir(parents=True)
    for name in ("headway.json", "run.toml"):
        Path(path, name).write_text("{}")


def test_a_run_of_other_settings_is_refused_before_anything_is_trained(started: list) -> None:
    a, b = run_file("a.toml"), run_file("b.toml")
    compare([a, b], out="out", steps=10)
    make_run_folder("out/b-seed1")
    started.clear()
    b.write_text(DATA + '[model]\nd_model = 32\n[train]\nclip = 2.0\noptimizer = "sgd"\n')
    with pytest.raises(RunError) as error:
        compare([a, b], out="out", steps=20)
    assert str(error.value) == (
        f"{Path('out/b-seed1')} was made with other settings: model.d_model was left out and is "
        "32, train.clip was 1.0 and is 2.0, train.optimizer was adamw and is sgd, ...; give "
        f"another `out`, or remove {Path('out/b-seed1')} to train it again"
    )
    assert started == []


def test_another_budget_is_another_run(started: list) -> None:
    a = run_file("a.toml")
    compare([a], out="out", minutes=5)
    make_run_folder("out/a-seed1")
    with pytest.raises(RunError, match=r"train\.minutes was 5\.0 and is left out, train\.steps"):
        compare([a], out="out", steps=20)


def test_a_foreign_run_is_refused(started: list) -> None:
    make_run_folder("out/a-seed1")
    message = r"a-seed1 is not a run of a comparison \(a-seed1\.toml is missing\); give ano"
    with pytest.raises(RunError, match=message):
        compare([run_file("a.toml")], out="out")


def test_a_folder_that_cannot_be_written() -> None:
    Path("out").write_text("a file")
    with pytest.raises(RunError, match=r"^`out` out cannot be written: .*; name another folder"):
        compare([run_file("a.toml")], out="out")


@pytest.mark.parametrize(
    ("target", "metric"),
    [("a dog runs in the park", "bleu"), ("dogs", "exact"), ("一只狗在公园里跑", "chrf")],
)
def test_the_references_decide_what_runs_are_judged_by(target: str, metric: str) -> None:
    """As they decide in training, so that runs are ranked by the metric that chose the weights."""
    Path("test.tsv").write_text(f"x\t{target}\n", encoding="utf-8")
    assert metric_of(read_config(run_file("a.toml"))) == metric
    assert metric_of(read_config(run_file("a.toml", '[train]\nmetric = "loss"\n'))) == metric
    assert metric_of(read_config(run_file("a.toml", '[train]\nmetric = "ter"\n'))) == "ter"


def test_all_runs_are_judged_by_the_metric_of_the_comparison(monkeypatch) -> None:
    """A run's own decision is about its validation data, and may be another one."""
    Path("valid.tsv").write_text("x\ta dog runs in the park\n", encoding="utf-8")
    used = []
    real = studied.evaluate_run
    monkeypatch.setattr(
        studied,
        "evaluate_run",
        lambda run, options: used.append(options.metric) or real(run, options),
    )
    result = compare([run_file("a.toml", '[model]\npreset = "tiny"\n')], out="out", steps=1)
    assert (result.metric, used) == ("exact", ["exact"])
    assert result.runs[0].judged.metric == "exact"


def test_without_validation_data_all_seeds_hold_out_the_same(started) -> None:
    rows = "".join(f"{i}\t{i}\n" for i in range(200))
    Path("train.tsv").write_text(rows, encoding="utf-8")
    with pytest.raises(ConfigError):
        scored_set(read_config(run_file("a.toml", data='[data]\ntrain = "train.tsv"\n')))
    compare([Path("a.toml")], out="out", seeds=2)
    (_, first), (_, second) = started
    assert (first.seed, second.seed) == (1, 2)
    assert first.data == second.data
    assert scored_set(first) == "valid"


def test_what_runs_are_scored_on() -> None:
    assert scored_set(read_config(run_file("a.toml"))) == "test"

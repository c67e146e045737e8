"""The demos with small data and few steps: everything but the score."""

import json
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from headway.data.config import default_cache
from headway.demo import demo, forecast_demo, pronunciations, text_demos
from headway.demo.demo import DEMOS, DemoResult, run_demo
from headway.demo.text_demos import dates_demo, pronounce_demo
from headway.errors import ConfigError, RunError
from headway.inference.load import load
from headway.run_config import RunConfig, read_config
from headway.training.progress import Silent

RECIPES = Path(__file__).parents[3] / "recipes"
SMALL = {"steps": 6, "n_train": 300, "n_varied": 60, "n_valid": 20, "n_test": 30, "n_unseen": 10}
LETTERS = "abcdefghij"


class Notes(Silent):
    """Records the notes."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def note(self, text: str) -> None:
        self.texts.append(text)


@pytest.fixture(scope="module", autouse=True)
def _small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HEADWAY_CACHE", str(tmp_path_factory.mktemp("cache")))
        patch.setitem(DEMOS, "dates", partial(dates_demo, **SMALL))
        shares = {"valid_share": 0.1, "test_share": 0.1}
        patch.setitem(DEMOS, "pronounce", partial(pronounce_demo, steps=4, **shares))
        yield


@pytest.fixture(scope="module")
def notes() -> Notes:
    return Notes()


@pytest.fixture(scope="module")
def dates(tmp_path_factory: pytest.TempPathFactory, notes: Notes) -> DemoResult:
    return run_demo("dates", tmp_path_factory.mktemp("dates") / "run", notes)


def test_the_dates_demo_leaves_a_run_that_can_be_used(dates: DemoResult, notes: Notes) -> None:
    assert dates.report == dates.run / "report.html"
    assert notes.texts[0] == "making the data"
    assert notes.texts[-1] == "scoring the test sets"
    assert dates.steps == 6
    assert 0 < dates.minutes < 5
    model = load(dates.run)
    assert dates.parameters == model.n_parameters
    (again,) = model.translate([dates.rows[0].source])
    assert again.text == dates.rows[0].output
    assert dates.rows[0].confidence == pytest.approx(again.outputs[0].confidence, rel=1e-4)


def test_held_out_sets_are_scored_apart(dates: DemoResult) -> None:
    assert {name: score.signature for name, score in dates.metrics.items()} == {
        "exact": "exact|n:30|interval:wilson95",
        "exact_unseen_languages": "exact|n:10|interval:wilson95",
        "exact_unseen_patterns": "exact|n:10|interval:wilson95",
    }
    assert list(dates.scores) == [
        "Test set: 30 dates that are not in the training data",
        "10 dates in languages never seen",
        "10 dates in patterns never seen",
    ]


def test_marks_follow_the_outputs_not_the_wish(dates: DemoResult) -> None:
    """Six steps teach nothing, and the demo says so."""
    assert dates.metrics["exact"].value < 50
    for row in dates.rows:
        assert row.is_right == (row.output == row.expected)
    assert not all(row.is_right for row in dates.rows)


def test_another_seed_is_another_training_on_the_same_data(
    dates: DemoResult, tmp_path: Path
) -> None:
    other = run_demo("dates", tmp_path / "run", seed=7)
    assert other.data == dates.data
    assert load(other.run).config.seed == 7
    assert [row.confidence for row in other.rows] != [row.confidence for row in dates.rows]


def test_figures_for_scripts_are_json(dates: DemoResult) -> None:
    figures = json.loads(json.dumps(dates.to_dict()))
    assert figures["demo"] == "dates"
    assert figures["run"] == str(dates.run)
    assert figures["data"] == str(dates.data)
    assert set(figures["metrics"]["exact"]) == {"value", "low", "high", "signature"}
    assert figures["steps"] == 6
    assert figures["rows"][0]["source"] == "3. März 2021"
    assert figures["rows"][0]["expected"] == "2021-03-03"


def test_the_page_shows_scores_samples_curves_and_attention(dates: DemoResult) -> None:
    page = dates.report.read_text(encoding="utf-8")
    for part in ("Scores", "Samples", "Training", "Attention", "Notes", "What to type next"):
        assert f'<h2 dir="auto">{part}</h2>' in page
    assert f"{dates.metrics['exact'].value:.2f}</div>" in page
    assert "MIÉRCOLES, 12 DE OCTUBRE DE 1892" in page
    assert "train: 360 examples" in page


def test_the_data_are_kept_under_their_content(dates: DemoResult, tmp_path: Path) -> None:
    assert dates.data.parent == default_cache() / "demo"
    before = {path.name: path.stat().st_mtime_ns for path in dates.data.iterdir()}
    assert set(before) == {
        "test-unseen-language.tsv",
        "test-unseen-pattern.tsv",
        "test.tsv",
        "train-varied.tsv",
        "train.tsv",
        "valid.tsv",
    }
    again = run_demo("dates", tmp_path / "again")
    assert again.data == dates.data
    assert {path.name: path.stat().st_mtime_ns for path in dates.data.iterdir()} == before
    assert again.metrics == dates.metrics  # the same data and seed give the same model
    assert again.rows == dates.rows

    other = demo._write_data(dates_demo(seed=2, **SMALL))
    assert other != dates.data
    assert not list(other.parent.glob(".new-*"))


def test_the_pronunciation_demo_counts_any_listed_pronunciation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = {
        a + b + c: [f"{a} {b} {c}", f"{a} {c}"] for a in LETTERS for b in LETTERS for c in "xy"
    }
    monkeypatch.setattr(pronunciations, "read_pronunciations", lambda *, stress: words)
    result = run_demo("pronounce", tmp_path / "run")
    lines = (result.data / "test.tsv").read_text().splitlines()
    n_test = len(lines) // 2  # a header, and two lines for a word
    assert list(result.scores) == [f"Test set: {n_test} words that are not in the training data"]
    assert list(result.metrics) == ["ser", "per"]
    figures = result.to_dict()["metrics"]
    assert figures.keys() == {"wer", "ser", "per"}
    assert figures["wer"] == figures["ser"]  # the older name
    assert result.metrics["ser"].signature == (
        f"ser|any-of-references|n:{n_test}|nrefs:2|interval:wilson95"
    )
    for row in result.rows:
        answers = words.get(row.source, [])
        assert row.is_right == (row.output in answers if answers else None)
        assert (row.expected in answers) if answers else row.expected is None
    assert [row.source for row in result.rows if row.source not in words] == list(
        text_demos.NEW_WORDS
    )
    assert any("--group --metric ser --metric per" in command.line for command in result.commands)


def test_an_unknown_name_is_refused_with_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        run_demo("date", tmp_path / "run")
    assert str(caught.value) == "no demo 'date'; expected one of dates, pronounce, forecast"
    assert not (tmp_path / "run").exists()


def test_a_directory_in_use_is_refused(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("mine")
    with pytest.raises(RunError, match=r"is not empty \(it holds thesis.txt\)"):
        run_demo("dates", tmp_path)


@pytest.mark.parametrize(
    ("recipe", "config"),
    [
        ("dates.toml", text_demos.dates_config()),
        ("pronounce.toml", text_demos.pronounce_config()),
        ("forecast/day-length.toml", forecast_demo.forecast_config()),
    ],
)
def test_the_recipe_is_the_demos_run_file(
    recipe: str, config: RunConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HEADWAY_DATA", raising=False)
    read = read_config(RECIPES / recipe)
    root = (RECIPES / recipe).parent
    assert read == replace(config, data=replace(config.data, root=str(root)))

"""Figures of the pages: they come from `benchmarks/results.json`, which a command renews."""

import importlib.util
import json
import re
import sys
from datetime import date

import pytest
from docs_pages import PAGES, ROOT
from test_docs import text_of

KEYS = {"command", "source", "machine", "date", "commit", "figures"}
BENCHMARKS_PAGE = ROOT / "docs" / "benchmarks.md"


def load(path):
    specification = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


results_program = load(ROOT / "benchmarks" / "results.py")
generate = load(ROOT / "docs" / "generate.py")
PLAN = results_program.read_plan()
RESULTS = results_program.read_results()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_pages_show_the_figures_of_the_file(page):
    assert generate.fill(text_of(page), RESULTS) == text_of(page), "run `make docs`"


def test_marks_are_complete():
    for page in PAGES:
        text = text_of(page)
        assert text.count("<!-- results:") == text.count("<!-- /results -->")
        assert text.count("<!-- results:") == len(generate.FIGURE.findall(text)), page


def test_every_figure_is_planned_measured_and_shown():
    planned = {f"{name}.{key}" for name, entry in PLAN.items() for key in entry["figures"]}
    measured = {f"{name}.{key}" for name, entry in RESULTS.items() for key in entry["figures"]}
    marks = [mark for page in PAGES for mark in generate.FIGURE.findall(text_of(page))]
    assert planned == measured == {name for mark in marks for name in mark[1].split()}


@pytest.mark.parametrize("name", RESULTS)
def test_an_entry_says_when_and_where_it_was_measured(name):
    entry = RESULTS[name]
    assert entry.keys() == KEYS
    assert entry["command"] == PLAN[name]["command"]
    assert entry["source"] in ("measured", "recorded")
    assert "core" in entry["machine"]
    assert date.fromisoformat(entry["date"])
    assert re.fullmatch(r"[0-9a-f]{7,}\+?", entry["commit"])


def test_results_on_the_page_of_benchmarks_are_marked():
    """A figure that is typed by hand would drift."""
    rows = [line for line in text_of(BENCHMARKS_PAGE).splitlines() if line.startswith("| ")]
    for row in rows:
        result = generate.FIGURE.sub("", row).split(" | ")[1]
        unmarked = re.findall(r"\d+\.\d+", re.sub(r"\(floor [\d.]+\)", "", result))
        assert not unmarked, row


@pytest.mark.parametrize("name", [name for name in PLAN if "recipe" in PLAN[name]])
def test_recipes_name_the_same_scores(name):
    figures = RESULTS[name]["figures"]
    recipe = (ROOT / "recipes" / PLAN[name]["recipe"]).read_text(encoding="utf-8")
    for key in figures.keys() - {"interval", "words", "seeds", "showcase"}:
        assert figures[key] in recipe, f"{PLAN[name]['recipe']} does not name {figures[key]}"


# The program


@pytest.fixture
def renew(tmp_path):
    """Renews a figure by a command that prints some lines; returns success and the file."""

    def renew(code, form="{ratios[a/b]:.1f}", **changes):
        entry = {"command": f'"{sys.executable}" -c "{code}"', "figures": {"ratio": form}}
        path = tmp_path / "results.json"
        done = results_program.renew("speed", {**entry, **changes}, None, path)
        return done, json.loads(path.read_text()) if path.exists() else None

    return renew


LINE = (
    "import json, os; print('noise'); print(json.dumps({'ratios': {'a/b': %s}})); print('1 passed')"
)


def test_a_benchmark_is_run_and_its_figure_written(renew):
    done, results = renew(LINE % "1.25")
    assert done
    assert results["speed"].keys() == KEYS
    assert results["speed"]["source"] == "measured"
    assert results["speed"]["figures"] == {"ratio": "1.2"}
    assert f"{results_program.os.cpu_count()} cores" in results["speed"]["machine"]


def test_several_runs_give_a_range(renew, tmp_path):
    counter = str(tmp_path / "runs")
    code = f"open('{counter}', 'a').write('x'); " + LINE % f"os.path.getsize('{counter}') / 2"
    _, results = renew(code, times=3)
    assert results["speed"]["figures"] == {"ratio": "0.5 to 1.5"}


@pytest.mark.parametrize(
    ("code", "form", "message"),
    [
        ("raise SystemExit(3)", "{a}", "speed: exit code 3"),
        ("print('hello')", "{a}", "speed: it printed no line of JSON"),
        (LINE % "1", "{ratios[a/c]}", "speed: 'a/c'"),
    ],
)
def test_a_failure_leaves_the_figures_as_they_are(renew, capfd, code, form, message):
    _, before = renew(LINE % "2")
    done, after = renew(code, form)
    assert not done
    assert after == before
    assert message in capfd.readouterr().err


def test_names_and_corpora_are_checked_first(capfd):
    for arguments, message in (
        (["speeed"], "no benchmark 'speeed'; expected one of multi30k, "),
        (["multi30k"], "multi30k needs the corpus multi30k; give --data FOLDER"),
    ):
        with pytest.raises(SystemExit):
            results_program.main(arguments)
        assert message in capfd.readouterr().err


def test_the_range_of_several_figures():
    results = {"a": {"figures": {"x": "1.5 to 1.8"}}, "b": {"figures": {"y": "2.1", "z": "0.9"}}}
    assert generate.figure(["a.x"], results) == "1.5 to 1.8"
    assert generate.figure(["a.x", "b.y", "b.z"], results) == "0.9 to 2.1"
    filled = generate.fill("<!-- results: b.y -->1<!-- /results --> times", results)
    assert filled == "<!-- results: b.y -->2.1<!-- /results --> times"

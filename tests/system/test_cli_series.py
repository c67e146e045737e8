"""Series with a class or a value from the command line: train, predict, evaluate, view, info."""

import json

import pytest
from cli_workdir import commands_in
from labelled_series import example, run_text, ts_line, ts_text, write_labelled

from headway.cli import main
from headway.compare.by_length import ByLength
from headway.compare.evaluate import ScoringOptions, evaluate_run

SEEDS = range(100, 120)


@pytest.fixture(scope="module")
def workdir(tmp_path_factory):
    folder = tmp_path_factory.mktemp("series")
    with commands_in(folder):
        write_labelled(folder)
        for name in ("classes", "values"):
            (folder / f"{name}.toml").write_text(run_text(name, steps=60))
            assert main(["train", f"{name}.toml", "--out", name]) == 0
        yield folder


def test_labels_are_learned_and_printed(headway):
    code, out, error = headway("predict", "classes", "classify-test.ts")
    assert code == 0, error
    lines = [line.split("\t") for line in out.splitlines()]
    hits = sum(line[0] == example(seed)[1] for line, seed in zip(lines, SEEDS, strict=True))
    assert hits >= 18
    code, out, _ = headway("evaluate", "classes", "--json")
    assert json.loads(out)["metrics"]["accuracy"]["value"] == pytest.approx(100 * hits / 20)


def test_values_are_printed_with_the_lengths(headway):
    code, out, error = headway("predict", "values", "regress-test.ts", "--json")
    assert code == 0, error
    records = [json.loads(line) for line in out.splitlines()]
    for record, seed in zip(records, SEEDS, strict=True):
        assert record["series"] == {"name": "", "steps": len(example(seed)[0])}
        assert isinstance(record["value"], float)
    code, out, _ = headway("evaluate", "values")
    assert code == 0
    assert "always the mean of the training data" in out


def test_info_and_view(headway, workdir):
    code, out, _ = headway("info", "classes")
    assert code == 0
    assert "encoder" in out
    assert headway("view", "values", "regress-test.ts", "--out", "v.html")[0] == 0
    assert '"kind":"regress"' in (workdir / "v.html").read_text()


def test_scores_by_the_number_of_steps(workdir):
    found = evaluate_run("classes", ScoringOptions(ByLength((20,))))
    lengths = [len(example(seed)[0]) for seed in SEEDS]
    assert found.length_unit == "steps"
    assert [part.n for part in found.by_length] == [
        sum(length <= 20 for length in lengths),
        sum(length > 20 for length in lengths),
    ]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("word.ts", ts_text(["1,2:3,red:up"]), "word.ts:6: 'red'"),
        ("narrow.ts", ts_text(["1,2:up"]), "narrow.ts:6: 1 dimension where 2 were expected"),
        ("infinite.ts", ts_text(["1,inf:3,4:up"]), "infinite.ts:6: 'inf'"),
        ("blank.ts", ts_text(["?,?:?,?:up"]), "blank.ts:6: the series has no values"),
        ("empty.ts", "", "empty.ts: no line @data"),
        ("one.tsv", "up\t1\t2\n", "one.tsv:1: the columns are 1; expected 1, 2"),
    ],
)
def test_files_that_are_not_predicted(headway, workdir, name, text, message):
    (workdir / name).write_text(text)
    code, out, error = headway("predict", "classes", name)
    assert (code, out) == (1, "")
    assert message in error
    assert error.count("\n") == 1


def test_an_unknown_label_is_not_evaluated(headway, workdir):
    (workdir / "sideways.ts").write_text(ts_text([ts_line(example(100)[0], "sideways")]))
    code, out, error = headway("evaluate", "classes", "--data", "sideways.ts")
    assert (code, out) == (1, "")
    assert "sideways.ts:6: " in error
    assert "'sideways'" in error
    assert error.count("\n") == 1


def test_one_class_is_not_trained(headway, workdir):
    lines = [ts_line(example(seed)[0], "up") for seed in range(12)]
    (workdir / "same.ts").write_text(ts_text(lines))
    settings = run_text("classes").replace("classify-train.ts", "same.ts")
    (workdir / "same.toml").write_text(settings)
    code, _, error = headway("train", "same.toml", "--out", "same")
    assert code == 1
    assert "error" in error.splitlines()[-1]
    assert "label" in error.splitlines()[-1]


def test_the_leak_check_compares_values_alone(headway, workdir):
    """A series counts whatever its name and times are."""
    rows = ["series,date,a,kind"]
    rows += [f"s{i},2024-01-{t:02},{i * t},{'ab'[i % 2]}" for i in range(8) for t in (1, 2, 3)]
    held = ["series,date,a,kind"]
    held += [f"other,2025-03-{t:02},{5 * t},b" for t in (1, 2, 3)]
    held += [f"new,2025-03-{t:02},{99 + t},a" for t in (1, 2, 3)]
    (workdir / "rows.csv").write_text("\n".join(rows) + "\n")
    (workdir / "held.csv").write_text("\n".join(held) + "\n")
    entry = '{{ file = "{}", id = "series", series = ["a"], label = "kind" }}'
    settings = run_text("classes")
    for old, new in {"classify-train.ts": "rows.csv", "classify-test.ts": "held.csv"}.items():
        settings = settings.replace(f'"{old}"', entry.format(new))
    (workdir / "leak.toml").write_text(settings)
    code, out, error = headway("train", "leak.toml", "--out", "leak")
    assert code == 0, error
    assert "leak check: of 8 training examples 1 also occur in the valid data" in out + error


def test_values_too_large_name_their_line_and_leave_no_run(headway, workdir):
    lines = [ts_line(example(seed)[0], f"{seed + 1}e300") for seed in range(12)]
    (workdir / "huge.ts").write_text(ts_text(lines))
    (workdir / "huge.toml").write_text(run_text("values").replace("regress-train.ts", "huge.ts"))
    code, _, error = headway("train", "huge.toml", "--out", "huge")
    assert code == 1
    assert "huge.ts:6: the value 1e300 is too large; numbers may be at most" in error
    assert not (workdir / "huge").exists()


def test_a_series_without_values_is_refused_or_left_out(headway, workdir):
    rows = ["item_id,time,1,2", *(f"a,{t},{t},{-t}" for t in range(15)), "b,0,,", "b,1,,"]
    (workdir / "missing.csv").write_text("\n".join(rows) + "\n")
    code, _, error = headway("predict", "classes", "missing.csv", "--format", "series")
    assert code == 1, error
    assert "missing.csv:17: the series has no values; give at least one" in error
    code, out, error = headway(
        "predict", "classes", "missing.csv", *("--format", "series", "--on-error", "keep")
    )
    assert code == 1
    assert out.splitlines()[1] == ""
    assert "1 of 2 lines cannot be used and are empty in the output:" in error

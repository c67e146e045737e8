"""The result of a comparison: statistics by hand, tables, Markdown, JSON, pictures."""

import json
import math
from pathlib import Path
from xml.etree import ElementTree

import pytest

from headway.compare.evaluate import LengthScore, RunEvaluation
from headway.compare.result import Budget, ComparedRun, Comparison, ComparisonRow, Failure
from headway.errors import ConfigError
from headway.metrics.score import Score
from headway.view.svg_charts import Mark


def score(value: float, low: float | None = None, high: float | None = None) -> Score:
    return Score("BLEU", value, low, high, "nrefs:1")


def trained(seed: int, bleu: Score, lower: bool = False, **changes) -> ComparedRun:
    lengths = changes.pop("lengths", ())
    scored = RunEvaluation("bleu", bleu, lower, 100, 500.0, "output tokens", lengths, "words")
    figures = {"parameters": 12_345, "updates": 300, "speed": 1000.0}
    figures |= {"minutes_to_best": 0.5, "minutes": 2.0}
    return ComparedRun(
        seed, Path(f"out/a-seed{seed}"), scored, **{**figures, **changes}, machine="cpu"
    )


def row(name: str, *runs: ComparedRun, failures: tuple[Failure, ...] = ()) -> ComparisonRow:
    return ComparisonRow(name, Path(f"{name}.toml"), runs, failures)


def comparison(
    *rows: ComparisonRow, seeds: int = 1, budget: Budget | None = None, **changes
) -> Comparison:
    facts = {"task": "translate", "metric": "bleu", "scored_set": "test", **changes}
    return Comparison.of(rows, budget=budget or Budget(steps=1500), seeds=seeds, **facts)


def test_means_and_intervals_over_seeds_by_hand() -> None:
    result = row("a", trained(1, score(30, 28, 31)), trained(2, score(33, 32, 36)))
    assert result.value == 31.5
    assert result.mark() == Mark(31.5, 30.0, 33.5, [30, 33])
    record = result.to_dict()
    assert (record["value"], record["low"], record["high"]) == (31.5, 30.0, 33.5)
    assert record["seeds"] == {"low": 30, "high": 33}


def test_one_seed_is_its_own_mean() -> None:
    assert row("a", trained(1, score(30, 28, 31))).mark() == Mark(30.0, 28.0, 31.0, ())


def test_an_interval_that_a_seed_lacks_is_none() -> None:
    mark = row("a", trained(1, score(30, 28, 31)), trained(2, score(33))).mark()
    assert (mark.low, mark.high) == (None, None)


def test_a_figure_that_a_seed_lacks_is_none() -> None:
    result = row("a", trained(1, score(30)), trained(2, score(30), speed=None, minutes=3.0))
    assert result.mean_of(lambda run: run.speed) is None
    assert result.mean_of(lambda run: run.minutes) == 2.5
    assert row("a").mean_of(lambda run: run.minutes) is None


@pytest.mark.parametrize(("lower", "order"), [(False, ["c", "a", "b"]), (True, ["b", "a", "c"])])
def test_the_best_is_first_and_what_failed_is_last(lower: bool, order: list[str]) -> None:
    values = {"a": 2.0, "b": 1.0, "c": 3.0}
    rows = [row("x", failures=(Failure("why"),))]
    rows += [row(name, trained(1, score(value), lower)) for name, value in values.items()]
    assert [item.name for item in comparison(*rows).rows] == [*order, "x"]


def test_the_table() -> None:
    result = comparison(
        row("gru", trained(1, score(30.128, 29, 31)), failures=(Failure("diverged", 2),)),
        row("markov", trained(1, score(9.5), updates=None, minutes_to_best=None, speed=None)),
        row("typo", failures=(Failure("typo.toml: unknown key"),)),
        seeds=2,
    )
    assert result.text().splitlines() == [
        "BLEU on the test set (100 inputs), more is better; budget: 1,500 updates each; "
        "2 seeds each",
        "",
        "run       BLEU             95%                  seeds  parameters  updates  train/s"
        "  decode/s  best at  minutes",
        "gru      30.13  [29.00, 31.00]  30.13..30.13 (1 of 2)      12,345      300    1,000"
        "       500      0.5      2.0",
        "markov    9.50               -    9.50..9.50 (1 of 2)      12,345        -        -"
        "       500        -      2.0",
        "typo    failed               -                      -           -        -        -"
        "         -        -        -",
        "",
        "BLEU: mean over seeds; 95%: interval of the test data, mean of the seeds' own; seeds: "
        "lowest to highest.",
        "train/s: tokens per second in training (median of the log); decode/s: output tokens per "
        "second while scoring. Tokens are each run's own.",
        "best at: minutes until the best validation; minutes: of training and validations.",
        "Signature of BLEU: nrefs:1.",
        "Trained on cpu.",
        "failed: gru, seed 2: diverged",
        "failed: typo: typo.toml: unknown key",
    ]


def test_markdown_has_the_table_the_picture_and_the_reasons() -> None:
    result = comparison(row("a|b", trained(1, score(1.2344))), row("c", failures=(Failure("w"),)))
    lines = result.markdown().splitlines()
    assert lines[2:6] == [
        "| run | BLEU | 95% | parameters | updates | train/s | decode/s | best at | minutes |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
        "| a\\|b | 1.234 | - | 12,345 | 300 | 1,000 | 500 | 0.5 | 2.0 |",  # small: three digits
        "| c | failed | - | - | - | - | - | - | - |",
    ]
    assert "![Quality with intervals](compare.svg)" in lines
    assert lines[-1] == "- failed: c: w"


def test_what_the_reader_has_to_know_is_said() -> None:
    result = comparison(row("a", trained(1, score(1))), budget=Budget(), scored_set="valid")
    assert result.summary() == (
        "BLEU on the validation set (100 inputs), more is better; budget: as each run file says"
    )
    text = result.text()
    assert "Each run file sets its own budget; budgets may differ." in text
    assert "The run files name no data.test: these data also chose the weights." in text
    assert "it does not include the variation between seeds" in text


LENGTHS = (
    LengthScore(1, 5, "1–5", 60, score(40, 35, 45)),
    LengthScore(6, 30, "6–30", 40, score(20, 15, 24)),
)
OTHER = (
    LengthScore(1, 5, "1–5", 60, score(42, 37, 46)),
    LengthScore(6, 30, "6–30", 40, score(21, 16, 25)),
)


def test_quality_by_length() -> None:
    runs = [trained(1, score(30), lengths=LENGTHS), trained(2, score(31), lengths=OTHER)]
    result = comparison(row("a", *runs), row("x", failures=(Failure("w"),)), seeds=2)
    [_, table, _] = result.text().partition("by words")
    assert table == "by words"
    lines = result.text().splitlines()
    start = lines.index("by words                1–5               6–30")
    assert lines[start + 1 : start + 3] == [
        "inputs                   60                 40",
        "a         41.0 [36.0, 45.5]  20.5 [15.5, 24.5]",
    ]
    assert "![Quality by input length](by-length.svg)" in result.markdown()
    record = result.to_dict()
    assert record["length_unit"] == "words"
    assert record["rows"][0]["by_length"][1] == {
        "low": 6,
        "high": 30,
        "n": 40,
        "score": {"value": 20.5, "low": 15.5, "high": 24.5},
    }
    picture = result.length_picture()
    assert picture is not None
    assert "BLEU by input length" in ElementTree.fromstring(picture).get("aria-label", "")


def test_without_lengths_there_is_no_such_picture() -> None:
    result = comparison(row("a", trained(1, score(30))))
    assert result.length_picture() is None
    assert "by-length.svg" not in result.markdown()
    assert result.to_dict()["length_unit"] is None


def test_the_picture_names_every_run_that_has_a_score() -> None:
    runs = [trained(1, score(30, 29, 31)), trained(2, score(32, 31, 33))]
    result = comparison(row("a", *runs), row("x", failures=(Failure("w"),)), seeds=2)
    words = list(ElementTree.fromstring(result.picture()).itertext())
    assert {"a", "31.00"} <= set(words)
    assert "x" not in words
    assert any("circles: seeds" in word for word in words)


def test_json_has_everything_and_no_infinity() -> None:
    result = comparison(
        row("a", trained(1, score(math.inf))), row("b", failures=(Failure("why", 3, Path("r")),))
    )
    record = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    assert {k: record[k] for k in ("task", "metric", "set", "n", "budget", "seeds")} == {
        "task": "translate",
        "metric": "bleu",
        "set": "test",
        "n": 100,
        "budget": {"steps": 1500},
        "seeds": 1,
    }
    a, b = record["rows"]
    assert (a["value"], a["runs"][0]["score"]["value"]) == (None, None)
    assert a["runs"][0]["score"]["signature"] == "nrefs:1"
    assert (a["parameters"], a["train_tokens_per_second"]) == (12_345, 1000.0)
    assert (b["value"], b["seeds"], b["runs"]) == (None, None, [])
    assert b["failures"] == [{"seed": 3, "run": "r", "error": "why"}]


def test_nothing_but_failures_is_said_too() -> None:
    result = comparison(row("a", failures=(Failure("why", 1),)))
    assert result.text().startswith("bleu on the test set: no run finished\n")
    assert result.text().endswith("failed: a, seed 1: why")
    assert "compare.svg" not in result.markdown()
    assert result.to_dict()["lower_is_better"] is None


@pytest.mark.parametrize(
    ("budget", "message"),
    [
        ({"minutes": 5, "steps": 10}, "a budget of 5 minutes and one of 10 steps: give minutes or"),
        ({"minutes": 0}, "a budget of 0 minutes: expected a number above 0"),
        ({"minutes": math.nan}, "a budget of nan minutes: expected a number above 0"),
        ({"steps": -3}, "a budget of -3 steps: expected a number above 0"),
    ],
)
def test_budgets_that_are_none(budget: dict, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        Budget(**budget)


def test_budgets_in_words() -> None:
    assert Budget(minutes=2.5).words == "2.5 minutes each"
    assert Budget(minutes=2.5).to_dict() == {"minutes": 2.5}
    assert Budget().to_dict() is None

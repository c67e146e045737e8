"""The settings of `[answer]`: defaults, bounds and messages, as a run file gives them."""

import pytest

from headway.config import load, parse, to_toml
from headway.errors import ConfigError
from headway.run_config import RunConfig
from headway.tasks.config import AnswerConfig

RUN_FILE = 'task = "answer"\ndata.train = "rows.jsonl"\n'
PART, SHARE = "a number of at least 0 and less than 1", "a number of at least 0 and of at most 1"
COUNT = "a whole number of at least 1"


def test_an_empty_table_has_the_defaults():
    assert parse({}, AnswerConfig, "run.toml") == AnswerConfig(0.5, 0.1, 30)


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"overlap": 0, "elsewhere": 0, "longest": 1}, AnswerConfig(0.0, 0.0, 1)),
        ({"overlap": 0.999, "elsewhere": 1}, AnswerConfig(0.999, 1.0, 30)),
    ],
    ids=["smallest", "largest"],
)
def test_bounds_are_part_of_the_range_unless_said(settings, expected):
    config = parse(settings, AnswerConfig, "run.toml")
    assert config == expected
    assert (type(config.overlap), type(config.elsewhere)) == (float, float)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"overlap": 1}, f"overlap = 1: expected {PART}"),
        ({"overlap": -0.1}, f"overlap = -0.1: expected {PART}"),
        ({"overlap": "half"}, f'overlap = "half": expected {PART}'),
        ({"elsewhere": 1.5}, f"elsewhere = 1.5: expected {SHARE}"),
        ({"elsewhere": float("nan")}, f"elsewhere = nan: expected {SHARE}"),
        ({"longest": 0}, f"longest = 0: expected {COUNT}"),
        ({"longest": 2.5}, f"longest = 2.5: expected {COUNT}"),
        ({"longst": 3}, "unknown key longst; did you mean longest?"),
    ],
    ids=str,
)
def test_values_out_of_range(settings, message):
    with pytest.raises(ConfigError) as caught:
        parse(settings, AnswerConfig, "run.toml")
    assert str(caught.value) == f"run.toml: {message}"


def test_all_mistakes_are_reported_at_once():
    with pytest.raises(ConfigError) as caught:
        parse({"overlap": 1, "longest": 0}, AnswerConfig, "run.toml")
    assert str(caught.value).splitlines() == [
        f"run.toml: overlap = 1: expected {PART}",
        f"run.toml: longest = 0: expected {COUNT}",
    ]


def test_a_run_file_gives_them_to_the_task_and_writes_them_back(tmp_path):
    file = tmp_path / "run.toml"
    file.write_text(f"{RUN_FILE}[answer]\noverlap = 0.25\nlongest = 8\n")
    config = load(file, RunConfig)
    assert config.make_task().config == config.answer == AnswerConfig(0.25, 0.1, 8)
    file.write_text(to_toml(config))
    assert load(file, RunConfig).answer == config.answer


def test_a_mistake_is_named_with_its_table(tmp_path):
    file = tmp_path / "run.toml"
    file.write_text(f"{RUN_FILE}[answer]\nlongest = 0\n")
    with pytest.raises(ConfigError) as caught:
        load(file, RunConfig)
    assert str(caught.value) == f"{file}: answer.longest = 0: expected {COUNT}"


def test_a_run_file_without_the_table_has_the_defaults(tmp_path):
    file = tmp_path / "run.toml"
    file.write_text(RUN_FILE)
    assert load(file, RunConfig).answer == AnswerConfig()

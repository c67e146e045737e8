"""The table of tasks, and tasks as objects that have settings before they have codecs."""

import pytest
from forecast_runs import series

from headway.data.codecs.text import TextConfig
from headway.data.config import DataConfig
from headway.errors import ConfigError
from headway.run_config import RunConfig
from headway.tasks import OBJECTIVES, TASKS, make_task
from headway.tasks.config import AnswerConfig
from headway.tasks.pretrain.config import CONFIGS

DATA = DataConfig(train="a.tsv", max_length=70)
COLUMNS = {
    "source": ("a b", "b"),
    "target": ("b a", "a"),
    "text": ("a b.", "b."),
    "label": ("yes", "no"),
    "words": ("a b", "b"),
    "tags": ("X Y", "Y"),
    "question": ("a", "b"),
    "context": ("a b", "a b"),
    "answers": ('[{"text": "b", "answer_start": 2}]', '[{"text": "a", "answer_start": 0}]'),
    "value": ("1", "2"),
}
"""Two values of each column that must be there."""
SERIES = {**COLUMNS, "target": (series([1, 2, 4]), series([5, 3]))}
"""The same for tasks that read series."""


def data_of(name):
    """Data of a task; series may have any length."""
    return DataConfig(train="a.csv") if name == "forecast" else DATA


@pytest.mark.parametrize("name", TASKS)
def test_a_run_file_makes_a_task_of_the_class_in_the_table(name):
    task = RunConfig(data_of(name), task=name).make_task()
    expected = OBJECTIVES["masked"] if name == "pretrain" else TASKS[name]
    assert type(task) is expected
    assert (task.name, task.max_length) == (name, data_of(name).max_length)
    if name != "pretrain":
        assert type(task.config) is (TASKS[name].config_class or type(None))


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_each_objective_has_its_class_and_its_settings(objective):
    config = RunConfig(DATA, task="pretrain", pretrain=CONFIGS[objective]())
    task = config.make_task()
    assert type(task) is OBJECTIVES[objective]
    assert task.config is config.pretrain
    assert OBJECTIVES[objective].config_class is CONFIGS[objective]


def test_settings_reach_the_task():
    config = RunConfig(DATA, task="answer", answer=AnswerConfig(longest=3))
    assert config.make_task().config.longest == 3
    assert make_task("answer").config == AnswerConfig()


@pytest.mark.parametrize("name", TASKS)
def test_codecs_are_those_of_a_new_task(name, tmp_path):
    """Codecs are in the returned copy only; settings are in both."""
    task = RunConfig(data_of(name), task=name).make_task()
    task.columns = tuple(column for column in task.columns if column not in task.optional)
    values = SERIES if name == "forecast" else COLUMNS
    columns = [values[column] for column in task.columns]
    rows = list(zip(*columns, strict=True))
    fitted = task.fit_codecs(lambda: iter(rows), TextConfig(kind="words"))
    fitted.save_codecs(tmp_path)
    for other in (task.load_codecs(tmp_path), fitted.load_codecs(tmp_path)):
        assert (type(other), other.config) == (type(task), task.config)
        assert other.max_length == task.max_length
        assert {name: codec.fingerprint() for name, codec in other.codecs.items()} == {
            name: codec.fingerprint() for name, codec in fitted.codecs.items()
        }
    made = "inputs" if name == "forecast" else "codec"
    assert not hasattr(task, made)
    assert hasattr(fitted, made)


@pytest.mark.parametrize("name", TASKS)
def test_runs_are_compared_by_a_metric_of_the_task(name):
    task = make_task(name)
    metric = task.comparison_metric(["a man runs in the park"])
    assert metric in task.metrics
    assert metric != "loss"


def test_a_task_that_is_not_in_the_table():
    with pytest.raises(ConfigError, match=f"^task = 'sing': expected one of {', '.join(TASKS)}$"):
        make_task("sing")


def test_a_misspelt_task_is_refused_with_the_nearest():
    with pytest.raises(ConfigError, match=r'expected one of translate, .*; did you mean "tag"\?'):
        make_task("tags")
    with pytest.raises(ValueError, match=r'did you mean "classify"\?'):
        RunConfig(DataConfig(train="a.tsv"), task="clasify")

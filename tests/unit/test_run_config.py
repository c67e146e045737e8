"""Run files: defaults that depend on the task, and stored run files."""

import pytest

from headway.errors import ConfigError
from headway.run_config import load_run_config, read_config
from headway.runs import RunDir
from headway.tasks import OBJECTIVES, TASKS


def write_run_file(folder, *lines):
    path = folder / "run.toml"
    path.write_text("\n".join(lines), "utf-8")
    return path


@pytest.mark.parametrize("task", sorted(set(TASKS) - {"pretrain"}))
def test_the_default_family_fits_the_task(tmp_path, task):
    path = write_run_file(
        tmp_path, f'task = "{task}"', 'data.train = "a.tsv"', "[model]", "dropout = 0.25"
    )
    model = read_config(path).model
    assert (model.family, model.dropout) == (TASKS[task].family, 0.25)


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_the_default_family_fits_the_objective(tmp_path, objective):
    path = write_run_file(
        tmp_path,
        'task = "pretrain"',
        f'pretrain.objective = "{objective}"',
        'data.train = { file = "a.txt", format = "documents" }',
        "[model]",
        "dropout = 0.25",
    )
    model = read_config(path).model
    assert (model.family, model.dropout) == (OBJECTIVES[objective].family, 0.25)


def test_a_named_family_is_used(tmp_path):
    path = write_run_file(
        tmp_path, 'task = "classify"', 'data.train = "a.tsv"', 'model.family = "recurrent_encoder"'
    )
    assert read_config(path).model.family == "recurrent_encoder"


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (['task = "tga"', "[model]", "layers = 2"], 'task = "tga": expected one of .*mean "tag"'),
        (["task = 5"], "task = 5: expected one of"),
        (['task = "pretrain"', "pretrain = 3"], "pretrain = 3: expected a table"),
        (['task = "pretrain"', "[pretrain]", "objective = 3"], "pretrain.objective = 3: expected"),
        (["model = 3"], "model = 3: expected a table"),
    ],
)
def test_an_invalid_task_or_table_is_refused_with_a_message(tmp_path, lines, message):
    with pytest.raises(ConfigError, match=message):
        read_config(write_run_file(tmp_path, 'data.train = "a.tsv"', *lines))


@pytest.mark.parametrize(("number", "metric"), [(1, "ser"), (2, "wer")])
def test_the_metric_that_format_1_called_wer(tmp_path, number, metric):
    """In format 1 `wer` was the share of wrong outputs; since format 2 it counts word edits."""
    lines = ["[data]", 'train = "pairs.tsv"', "[train]", 'metric = "wer"', "[search]", "beam = 5"]
    assert read_config(write_run_file(tmp_path, *lines)).train.metric == "wer"
    run = RunDir.create(tmp_path / "run", {}, "\n".join(lines))
    header = (run.path / "headway.json").read_text().replace('"format": 2', f'"format": {number}')
    (run.path / "headway.json").write_text(header)
    (run.path / "manifest.json").unlink()
    assert load_run_config(RunDir.open(run.path)).train.metric == metric

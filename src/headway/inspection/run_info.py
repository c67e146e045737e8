"""Facts of a run directory, finished or not, as plain data. `headway info` prints them."""

from collections.abc import Mapping
from typing import Any

from .. import config as configs
from ..data.config import Corpus, as_corpora, column_of
from ..models import FAMILIES, build_model
from ..run_config import RunConfig, load_run_config
from ..runs import RunDir
from ..runs.directory import IMPORTED_FROM, WEIGHTS
from ..tasks import TASKS
from ..tasks.base import Task


def info(run: RunDir) -> dict[str, Any]:
    """Task, model, data, progress and weights of a run; None where undecided yet."""
    config = load_run_config(run)
    task = config.make_task().load_codecs(run.codecs) if run.codecs.exists() else None
    tensors, rule = run.load_weights() if (run.path / WEIGHTS).exists() else ({}, {})
    weights: dict[str, Any] | None = None
    if rule:
        weights = {"rule": rule["rule"], "step": int(rule["step"])}
    return {
        "run": str(run.path),
        "task": config.task,
        "model": configs.to_dict(config)["model"],
        "parameters": sum(t.numel() for t in tensors.values()) or _n_parameters(config, task),
        "vocabulary": None if task is None else task.describe(),
        "data": _data(run, config),
        "steps": _steps(run, config),
        "best": best_validation(run, config),
        "weights": weights,
        "seed": config.seed,
        "facts": run.facts,
        "headway": run.version,
        "format": run.format,
    }


def best_validation(run: RunDir, config: RunConfig) -> dict[str, Any] | None:
    """Metric, value and step of the best validation; None without validations."""
    task = config.make_task()
    metric = task.metric(config.train.metric)
    key = "valid_loss" if metric == "loss" else metric
    sign = -1 if task.prefers_less(metric) else 1
    validations = [record for record in run.log.read() if key in record]
    if not validations:
        return None

    def rank(record: Mapping[str, Any]) -> tuple[float, float]:
        # As in training: the loss decides between equals; in format 1, the first is the best.
        return sign * record[key], 0.0 if run.format == 1 else -record.get("valid_loss", 0.0)

    best = max(validations, key=rank)
    return {"metric": metric, "value": best[key], "step": best["step"]}


def _n_parameters(config: RunConfig, task: Task | None) -> int | None:
    if task is None or config.train.batch_tokens is None:
        return None  # the model's sizes are resolved together with batch_tokens
    return sum(
        parameter.numel() for parameter in build_model(config.model, task.vocabularies).parameters()
    )


def _data(run: RunDir, config: RunConfig) -> dict[str, Any]:
    """Files of each data set as named in the run file, and the keys of the prepared data."""
    keys = {}
    if run.expects("data.json"):
        keys = run.read_json("data.json")
    sets = {
        name: {
            "files": [
                file
                for corpus in as_corpora(getattr(config.data, name), f"data.{name}")
                for file in _files(corpus)
            ],
            "key": keys.get(name),
        }
        for name in ("train", "valid", "test")
        if getattr(config.data, name)
    }
    return {"root": config.data.root, **sets}


def _files(corpus: Corpus) -> list[str]:
    if corpus.file is not None:
        return [corpus.file]
    files = (column_of(corpus, column) for task in TASKS.values() for column in task.columns)
    return [str(file) for file in dict.fromkeys(files) if file is not None]


def _steps(run: RunDir, config: RunConfig) -> dict[str, Any]:
    """The progress of a run; an unfinished one resumes from its last checkpoint."""
    records, checkpoints = run.log.read(), run.checkpoints()
    is_finished = bool(records) and records[-1].get("finished") is True
    if not is_finished:
        last = max(checkpoints, default=0)
        records = [record for record in records if (record.get("step") or 0) <= last]
    return {
        "done": max([0, *checkpoints, *(record.get("step") or 0 for record in records)]),
        "planned": config.train.steps if _has_steps(run, config) else 0,
        "finished": is_finished,
        "checkpoints": checkpoints,
        "minutes": max([0.0, *(record.get("minutes") or 0.0 for record in records)]),
    }


def _has_steps(run: RunDir, config: RunConfig) -> bool:
    if IMPORTED_FROM in run.facts:
        return False
    return FAMILIES[config.model.family].learns == "gradient"

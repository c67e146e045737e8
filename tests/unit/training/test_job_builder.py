"""From run file and data to a job: resolved settings, the plan, the start of a run."""

import json
from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch
from quick_plans import plan_few_updates
from training_cases import Recorder, config_of, make_context

from headway.errors import ConfigError
from headway.run_config import load_run_config
from headway.training.config import TrainConfig
from headway.training.distributed import Processes
from headway.training.job_builder import PLANNED, build_job, restore_checkpoint
from headway.training.loop import fit
from headway.training.run_data import prepare_codecs, prepare_data

OPEN = TrainConfig(epochs=2, batch_tokens=32, accumulate=2)


def build(folder, out="run", group=None, **settings):
    context = make_context(folder, config_of(folder, train=replace(OPEN, **settings)), out=out)
    task = prepare_codecs(context)
    data = prepare_data(context, task, inexact=False)
    context.group = group or context.group
    return context, build_job(context, task, *data)


def test_nothing_is_left_open_and_all_of_it_is_in_the_run_file(folder):
    context, job = build(folder)
    assert load_run_config(context.run).train == job.config
    for name in (*PLANNED, "batch_tokens", "accumulate", "lr", "label_smoothing"):
        assert getattr(job.config, name) is not None, name
    assert job.config.label_smoothing == 0.1  # the task's
    # 16 targets of three tokens in micro-batches of 16 tokens: 4 of 5 rows or fewer.
    assert job.config.steps == job.total == 4
    *_, updates, validations = context.notes["Settings"]
    assert updates.startswith(f"{job.total} updates of 32 tokens in 2 parts")
    assert validations == (
        "4 validations on 16 examples, one after every 1 updates, ranked by exact"
    )


def test_the_number_of_updates_is_decided_once(folder):
    context, _ = build(folder)
    plan = {"steps": 77, "epochs": 2, "warmup": 5, "evaluate_every": 11, "evaluate_share": 0.5}
    plan["metric"] = "chrf"
    context.run.write_text("plan.json", json.dumps(plan))
    task = prepare_codecs(context)
    job = build_job(context, task, *prepare_data(context, task, inexact=False))
    assert {name: getattr(job.config, name) for name in PLANNED} == plan


def test_the_same_seed_gives_the_same_weights(folder):
    weights = [build(folder, out)[1].model.state_dict() for out in ("first", "second")]
    assert weights[0].keys() == weights[1].keys()
    assert all(torch.equal(weights[0][name], weights[1][name]) for name in weights[0])


def test_a_job_has_an_average_and_a_validator_where_they_are_wanted(folder):
    _, job = build(folder)
    assert job.average is None
    assert job.validator.metric == "exact"  # the targets are single words
    assert build(folder, "averaged", ema=0.9)[1].average.decay == 0.9


def test_micro_batches_must_be_divisible_among_processes(folder):
    with pytest.raises(ConfigError) as caught:
        build(folder, group=Processes(0, 3))
    assert str(caught.value) == (
        "train.accumulate=2 micro-batches cannot be divided among 3 processes; "
        "try train.accumulate=3"
    )


def test_a_resumed_job_continues_after_its_checkpoint_and_forgets_later_records(folder):
    context, job = build(folder, steps=2, evaluate_every=1)
    fit(job)
    context.run.log.append({"step": 3, "loss": 0.0})  # beyond the last checkpoint
    context.display = Recorder()
    _, fresh = build(folder, "other", steps=2, evaluate_every=1)
    restore_checkpoint(context, fresh)
    assert fresh.progress == job.progress
    assert fresh.progress.step == 2
    assert all(
        torch.equal(value, job.model.state_dict()[name])
        for name, value in fresh.model.state_dict().items()
    )
    assert context.display.notes == ["finished at step 2 of 2"]
    assert max(record["step"] for record in context.run.log.read()) == 2


def test_a_job_without_a_checkpoint_starts_with_an_empty_log(folder):
    context, job = build(folder)
    context.run.log.append({"step": 0, "notes": {}})
    restore_checkpoint(context, job)
    assert job.progress.step == 0
    assert context.run.log.read() == []


def test_a_plan_of_format_1_has_the_metric_of_the_task(folder):
    context, _ = build(folder)
    plan = {"steps": 77, "epochs": 2, "warmup": 5, "evaluate_every": 11}
    context.run.write_text("plan.json", json.dumps(plan))
    task = prepare_codecs(context)
    job = build_job(context, task, *prepare_data(context, task, inexact=False))
    assert job.validator.metric == "bleu"
    assert job.config.evaluate_share is None


def test_the_trial_is_part_of_a_budget_in_minutes(folder, monkeypatch):
    """Else a run with a deadline would end late by the time of its trial."""
    ticks = iter([100.0, 107.0])
    plan_few_updates(monkeypatch)
    clock = SimpleNamespace(perf_counter=lambda: next(ticks))
    monkeypatch.setattr("headway.training.job_builder.time", clock)
    _, job = build(folder, minutes=1.0)
    assert job.progress.seconds == 7.0

"""Comparison of run files: each is trained with each seed and scored in the same way.

Every run has its own run directory under `out`, next to a file with the requested settings, so that
the same call resumes an interrupted comparison and trains nothing twice. `evaluate.py` scores the
runs; `result.py` makes tables and pictures.
"""

import json
import shlex
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any

from .. import config as configs
from ..api import resume, train
from ..data.config import files_of
from ..errors import ConfigError, HeadwayError, RunError
from ..inference.load import trained_classes
from ..inspection.run_info import best_validation, info
from ..run_config import RunConfig, load_run_config, read_config
from ..runs import RunDir
from ..runs.atomic import make_directory, write_bytes
from ..runs.directory import HEADER, RUN_FILE
from ..training.progress import Display, Silent
from ..training.stop_signals import Interrupted
from .by_length import ByLength
from .evaluate import ScoringOptions, evaluate_run, metric_of, scored_corpora, scored_set
from .result import SETS, Budget, ComparedRun, Comparison, ComparisonRow, Failure

OUT = Path("runs", "compare")
MOST_DIFFERENCES = 3  # in an error message


def compare(
    paths: Sequence[str | Path],
    *,
    out: str | Path = OUT,
    seeds: int = 1,
    minutes: float | None = None,
    steps: int | None = None,
    by_length: ByLength | None = None,
    tokenized: bool = False,
    display: Display | None = None,
) -> Comparison:
    """Trains missing runs, scores all runs, and writes tables and pictures into `out`.

    A run that fails is listed in the result and does not stop the others.

    Args:
        paths: run files of one task, with one metric and the same test data.
        out: the folder of a run directory NAME-seedN for each run, `compare.md`, `compare.json`,
            `compare.svg` and, by length, `by-length.svg`.
        seeds: number of seeds for each run file, counted up from the run file's own.
        minutes: minutes of training for each run, instead of the budget of its run file.
        steps: number of updates of each run, instead of the budget of its run file.
        by_length: also score by input length.
        tokenized: the references are already tokenised; BLEU uses them unchanged.
        display: shows progress. Default: none.

    Raises:
        ConfigError: the run files cannot be compared, or none can be read.
        RunError: `out` cannot be written, or has a run with other settings.
    """
    budget, out = Budget(minutes, steps), Path(out)
    if seeds < 1:
        raise ConfigError(f"seeds = {seeds}: expected at least 1")
    entries = _entries(paths, budget)
    first = _check_comparable(entries)
    if by_length is not None:
        able = {name for name, cls in trained_classes().items() if cls.scores_by_length}
        _check_task(first.task, able, "figures by input length are", "`by_length`")
    if tokenized:
        able = {
            name for name, cls in trained_classes().items() if "tokenized" in cls.evaluation_options
        }
        _check_task(first.task, able, "tokenised references are", "`tokenized`")
    runs = [run for entry in entries for run in _planned(entry, out, seeds)]
    for run in runs:
        run.refuse_other_settings()
    with _writing(out):
        make_directory(out)
        for run in runs:
            run.write_request()
    display = display or Silent()
    metric = metric_of(first)
    for entry in entries:
        if entry.config is None:
            display.note(f"{entry.name}: left out: {entry.error}")
    display.note(f"ranked by {metric} on the {SETS[scored_set(first)]}")
    failures = _train(runs, display)
    figures = _score(runs, failures, ScoringOptions(by_length, tokenized, metric), display)
    comparison = Comparison.of(
        [_row(entry, runs, figures, failures) for entry in entries],
        task=first.task,
        metric=metric,
        scored_set=scored_set(first),
        budget=budget,
        seeds=seeds,
    )
    with _writing(out):
        _write(comparison, out)
    return comparison


@dataclass(frozen=True)
class _Entry:
    """A run file under a unique name: its settings, or the error of reading them."""

    name: str
    file: Path
    config: RunConfig | None
    error: str = ""


@dataclass(frozen=True)
class _Planned:
    """A run that the comparison needs."""

    name: str
    config: RunConfig
    path: Path

    @property
    def request(self) -> Path:
        """The file of the requested settings; the run directory has the resolved ones."""
        return self.path.with_name(f"{self.path.name}.toml")

    @property
    def is_started(self) -> bool:
        return (self.path / HEADER).exists() and (self.path / RUN_FILE).exists()

    @property
    def is_finished(self) -> bool:
        records = RunDir.open(self.path).log.read() if self.is_started else []
        return bool(records) and records[-1].get("finished") is True

    def refuse_other_settings(self) -> None:
        """Refuses an existing run of this name with other settings."""
        if not self.is_started:
            return
        if not self.request.exists():
            raise RunError(
                f"{self.path} is not a run of a comparison ({self.request.name} is missing); "
                "give another `out`"
            )
        old = configs.to_dict(_read_request(self.request))
        different = list(_differences(old, configs.to_dict(self.config)))
        if different:
            more = ", ..." if len(different) > MOST_DIFFERENCES else ""
            raise RunError(
                f"{self.path} was made with other settings: "
                f"{', '.join(different[:MOST_DIFFERENCES])}{more}; give another `out`, or remove "
                f"{self.path} to train it again"
            )

    def write_request(self) -> None:
        if not self.is_started:
            write_bytes(self.request, configs.to_toml(self.config).encode())


def _read_request(path: Path) -> RunConfig:
    try:
        return configs.parse(tomllib.loads(path.read_text("utf-8")), RunConfig, str(path))
    except (OSError, ValueError, ConfigError) as error:
        raise RunError(f"{path} cannot be read ({error}); give another `out`") from None


def _differences(old: Mapping[str, Any], new: Mapping[str, Any], prefix: str = "") -> Iterator[str]:
    """Each setting that differs, with its old and its new value."""
    for key in sorted(old.keys() | new.keys()):
        before, now = old.get(key), new.get(key)
        if isinstance(before, dict) and isinstance(now, dict):
            yield from _differences(before, now, f"{prefix}{key}.")
        elif before != now:
            yield f"{prefix}{key} was {_value_text(before)} and is {_value_text(now)}"


def _value_text(value: Any) -> str:
    return "left out" if value is None else str(value)


# Planning the runs


def _entries(paths: Sequence[str | Path], budget: Budget) -> list[_Entry]:
    """The run files with the common budget, in order.

    Raises:
        ConfigError: no run file can be read.
    """
    files = [Path(path) for path in paths]
    if not files:
        raise ConfigError("there is nothing to compare: name at least one run file")
    entries = []
    for name, file in zip(unique_names(files), files, strict=True):
        try:
            config, _ = _with_budget(read_config(file), budget).with_held_out()
            _scored_files(config)  # checks that they exist, before any training
            entries.append(_Entry(name, file, config))
        except HeadwayError as error:
            entries.append(_Entry(name, file, None, str(error).replace("\n", "; ")))
    if not any(entry.config for entry in entries):
        raise ConfigError("\n".join(entry.error for entry in entries))
    return entries


def unique_names(files: Sequence[Path]) -> list[str]:
    """The stem of each run file, preceded by as many of its folders as make it unique.

    Raises:
        ConfigError: a file is given twice, or two would have the same name.
    """
    whole = [file.resolve().with_suffix("").parts for file in files]
    names = []
    for parts in whole:
        n = 1
        while n < len(parts) and sum(other[-n:] == parts[-n:] for other in whole) > 1:
            n += 1
        names.append("-".join(part.strip("/\\:") for part in parts[-n:]))
    for name, count in Counter(names).items():
        if count > 1:
            same = [str(file) for other, file in zip(names, files, strict=True) if other == name]
            raise ConfigError(
                f"{' and '.join(same)} would have the same name; give each run file once, "
                "under a different name"
            )
    return names


def _with_budget(config: RunConfig, budget: Budget) -> RunConfig:
    """The settings with this budget only: of several budgets the smallest would end training."""
    if budget.to_dict() is None:
        return config
    settings = replace(config.train, steps=budget.steps, minutes=budget.minutes, epochs=None)
    return replace(config, train=settings)


def _check_comparable(entries: Sequence[_Entry]) -> RunConfig:
    """Refuses run files of different task, metric or scored data; returns the first settings."""
    known = [(entry.file, entry.config) for entry in entries if entry.config is not None]
    file, first = known[0]
    for other, config in known[1:]:
        for name, expected, value in (
            ("task", first.task, config.task),
            ("metric", metric_of(first), metric_of(config)),
            ("data they are scored on", _scored_files(first), _scored_files(config)),
        ):
            if value != expected:
                raise ConfigError(
                    f"{file} and {other} cannot be compared: the {name} differs "
                    f"({_named(expected)} and {_named(value)}); make it the same or compare them "
                    "separately"
                )
    return first


def _check_task(task: str, able: set[str], feature: str, flag: str) -> None:
    if task not in able:
        raise ConfigError(
            f"{feature} for task {', '.join(sorted(able))}, and these run files are for {task}; "
            f"leave out {flag}"
        )


def _scored_files(config: RunConfig) -> tuple[Any, ...]:
    """The name of the scored set, and the resolved files of its corpora."""
    name, root = scored_set(config), Path(config.data.root or ".")
    result: list[Any] = [name]
    corpora = scored_corpora(config)
    for corpus in corpora:
        files = files_of(corpus, config.make_task().columns_of(corpora, root), root)
        columns = None if corpus.file is None else replace(corpus, file="")
        result.append((tuple(path.resolve() for _, path in files), columns))
    return tuple(result)


def _named(value: Any) -> str:
    if not isinstance(value, tuple):
        return str(value)
    name, *corpora = value
    return f"data.{name} {', '.join(str(path) for paths, _ in corpora for path in paths)}"


def _planned(entry: _Entry, out: Path, seeds: int) -> Iterator[_Planned]:
    if entry.config is None:
        return
    for seed in range(entry.config.seed, entry.config.seed + seeds):
        path = out / f"{entry.name}-seed{seed}"
        yield _Planned(entry.name, replace(entry.config, seed=seed), path)


# Training and scoring


def _train(runs: Sequence[_Planned], display: Display) -> dict[Path, str]:
    """Trains unfinished runs; returns the errors of those that failed."""
    failures = {}
    for number, run in enumerate(runs, 1):
        label = f"run {number} of {len(runs)}: {run.name}, seed {run.config.seed}"
        try:
            if run.is_finished:
                display.note(f"{label}: finished before")
            elif run.is_started:
                display.note(f"{label}: resuming in {run.path}")
                _resume(run, display)
            else:
                display.note(f"{label}: training into {run.path}")
                train(run.config, run.path, display)
        except Interrupted:
            raise
        except HeadwayError as error:
            failures[run.path] = str(error).replace("\n", "; ")
            display.note(f"{label}: failed: {failures[run.path]}")
    return failures


def _resume(run: _Planned, display: Display) -> None:
    """Resumes a run; an error names the command whose options it mentions."""
    try:
        resume(run.path, display)
    except Interrupted:
        raise
    except HeadwayError as error:
        raise RunError(f"headway resume {shlex.quote(str(run.path))}: {error}") from None


def _score(
    runs: Sequence[_Planned],
    failures: dict[Path, str],
    options: ScoringOptions,
    display: Display,
) -> dict[Path, ComparedRun]:
    """The results of the runs that did not fail; adds those that fail now to `failures`."""
    figures = {}
    left = [run for run in runs if run.path not in failures]
    for number, run in enumerate(left, 1):
        label = f"scoring {number} of {len(left)}: {run.name}, seed {run.config.seed}"
        display.note(label)
        try:
            figures[run.path] = _evaluate(run, options)
        except HeadwayError as error:
            failures[run.path] = str(error).replace("\n", "; ")
            display.note(f"{label}: failed: {failures[run.path]}")
    return figures


def _evaluate(run: _Planned, options: ScoringOptions) -> ComparedRun:
    directory = RunDir.open(run.path)
    records = directory.log.read()
    best = best_validation(directory, load_run_config(directory))
    speeds = [r["tokens_per_second"] for r in records if "tokens_per_second" in r]
    return ComparedRun(
        seed=run.config.seed,
        run=run.path,
        judged=evaluate_run(run.path, options),
        parameters=info(directory)["parameters"],
        updates=max((r["step"] for r in records if "tokens_per_second" in r), default=None),
        speed=median(speeds) if speeds else None,
        minutes_to_best=None if best is None else _minutes(records, best["step"]),
        minutes=_minutes(records),
        machine=_machine(directory.facts),
    )


def _machine(facts: Mapping[str, Any]) -> str:
    threads = facts.get("threads")
    count = f"{threads} thread{'' if threads == 1 else 's'}"
    return f"{facts.get('device')}, {count}, {facts.get('machine')}"


def _minutes(records: Sequence[Mapping[str, Any]], step: int | None = None) -> float | None:
    """Minutes until a step, or in total; None if the log has no times."""
    timed = (r for r in records if "minutes" in r and step in (None, r.get("step")))
    return max((r["minutes"] for r in timed), default=None)


# Writing the result


def _row(
    entry: _Entry,
    runs: Sequence[_Planned],
    figures: Mapping[Path, ComparedRun],
    failures: Mapping[Path, str],
) -> ComparisonRow:
    if entry.config is None:
        return ComparisonRow(entry.name, entry.file, (), (Failure(entry.error),))
    mine = [run for run in runs if run.name == entry.name]
    return ComparisonRow(
        entry.name,
        entry.file,
        tuple(figures[run.path] for run in mine if run.path in figures),
        tuple(
            Failure(failures[run.path], run.config.seed, run.path)
            for run in mine
            if run.path in failures
        ),
    )


def _write(comparison: Comparison, out: Path) -> None:
    """Writes tables and pictures, each completely or not at all."""
    record = json.dumps(comparison.to_dict(), indent=2, ensure_ascii=False)
    files = {"compare.json": record + "\n", "compare.md": comparison.markdown()}
    if comparison.runs:
        files["compare.svg"] = comparison.picture()
    by_length = comparison.length_picture()
    if by_length is not None:
        files["by-length.svg"] = by_length
    for name, content in files.items():
        write_bytes(out / name, content.encode("utf-8", "backslashreplace"))


@contextmanager
def _writing(out: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise RunError(
            f"`out` {out} cannot be written: {error.strerror}; name another folder or make room"
        ) from None

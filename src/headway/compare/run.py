"""Run files held against each other: each trained with each seed, scored alike, put in one table.

Every run is a run directory of its own under `out`, with the settings asked for beside it, so that
the same call goes on where the last one stopped and trains nothing twice. How runs are judged is
`judging.py`, what is said about them `comparison.py`.
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
from ..data.config import as_corpora, files_of
from ..errors import ConfigError, HeadwayError, RunError
from ..inference.load import trained_classes
from ..inspection.run_info import best_validation, info
from ..run_config import RunConfig, load_run_config, read_config
from ..runs import RunDir
from ..runs.atomic import make_directory, write_bytes
from ..runs.directory import HEADER, RUN_FILE
from ..training.loop import Interrupted
from ..training.progress import Display, Silent
from .by_length import ByLength
from .evaluate import Way, judged, metric_of, scored_set
from .result import Budget, ComparedRun, Comparison, ComparisonRow, Failure

OUT = Path("runs", "compare")
MOST_DIFFERENCES = 3  # named in a refusal


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
    """Trains what is not trained yet, scores everything, writes tables and pictures into `out`.

    A run that fails is in the result and does not stop the others.

    Args:
        paths: run files of one task, with one metric and the same test data.
        out: holds a run directory NAME-seedN for each run, `compare.md`, `compare.json`,
            `compare.svg` and, by length, `by-length.svg`.
        seeds: how many of each; they count up from the run file's own.
        minutes: of training for each run, in place of the budget its run file gives.
        steps: number of updates of each run, likewise.
        by_length: also score by input length.
        tokenized: the references are tokenised already: BLEU takes them as they are.
        display: where progress is shown; nowhere if left out.

    Raises:
        ConfigError: the run files cannot be compared, or none can be read.
        RunError: `out` cannot be written, or has a run that was made with other settings.
    """
    budget, out = Budget(minutes, steps), Path(out)
    if seeds < 1:
        raise ConfigError(f"seeds = {seeds}: expected at least 1")
    entries = _entries(paths, budget)
    first = _alike(entries)
    if by_length is not None:
        able = {name for name, cls in trained_classes().items() if cls.scores_by_length}
        _check_task(first.task, able, "figures by input length are", "--by-length")
    if tokenized:
        able = {
            name for name, cls in trained_classes().items() if "tokenized" in cls.evaluation_options
        }
        _check_task(first.task, able, "tokenised references are", "--tokenized")
    runs = [run for entry in entries for run in _planned(entry, out, seeds)]
    for run in runs:
        run.refuse_other_settings()
    with _writing(out):
        make_directory(out)
        for run in runs:
            run.write_request()
    display = display or Silent()
    for entry in entries:
        if entry.config is None:
            display.note(f"{entry.name}: left out: {entry.error}")
    failures = _train(runs, display)
    figures = _judge(runs, failures, Way(by_length, tokenized), display)
    comparison = Comparison.of(
        [_row(entry, runs, figures, failures) for entry in entries],
        task=first.task,
        metric=metric_of(first),
        scored_set=scored_set(first),
        budget=budget,
        seeds=seeds,
    )
    with _writing(out):
        _write(comparison, out)
    return comparison


@dataclass(frozen=True)
class _Entry:
    """A run file under a name of its own: its settings, or why it has none."""

    name: str
    file: Path
    config: RunConfig | None
    error: str = ""


@dataclass(frozen=True)
class _Planned:
    """A run that is to be there in the end."""

    name: str
    config: RunConfig
    path: Path

    @property
    def request(self) -> Path:
        """The settings as asked for; the run directory has them with everything filled in."""
        return self.path.with_name(f"{self.path.name}.toml")

    @property
    def is_begun(self) -> bool:
        return (self.path / HEADER).exists() and (self.path / RUN_FILE).exists()

    @property
    def is_finished(self) -> bool:
        records = RunDir.open(self.path).log.read() if self.is_begun else []
        return bool(records) and records[-1].get("finished") is True

    def refuse_other_settings(self) -> None:
        """Refuses a run of this name that is not the one asked for."""
        if not self.is_begun:
            return
        if not self.request.exists():
            raise RunError(
                f"{self.path} is not a run of a comparison ({self.request.name} is not beside it); "
                "give another --out"
            )
        made = configs.to_dict(_read_request(self.request))
        different = list(_differences(made, configs.to_dict(self.config)))
        if different:
            more = ", ..." if len(different) > MOST_DIFFERENCES else ""
            raise RunError(
                f"{self.path} was made with other settings: "
                f"{', '.join(different[:MOST_DIFFERENCES])}{more}; give another --out, or remove "
                f"{self.path} to train it anew"
            )

    def write_request(self) -> None:
        if not self.is_begun:
            write_bytes(self.request, configs.to_toml(self.config).encode())


def _read_request(path: Path) -> RunConfig:
    try:
        return configs.parse(tomllib.loads(path.read_text("utf-8")), RunConfig, str(path))
    except (OSError, ValueError, ConfigError) as error:
        raise RunError(f"{path} cannot be read ({error}); give another --out") from None


def _differences(
    made: Mapping[str, Any], asked: Mapping[str, Any], prefix: str = ""
) -> Iterator[str]:
    """Each setting that is not the same, with what it was and what it is."""
    for key in sorted(made.keys() | asked.keys()):
        before, now = made.get(key), asked.get(key)
        if isinstance(before, dict) and isinstance(now, dict):
            yield from _differences(before, now, f"{prefix}{key}.")
        elif before != now:
            yield f"{prefix}{key} was {_shown(before)} and is {_shown(now)}"


def _shown(value: Any) -> str:
    return "left out" if value is None else str(value)


# Which runs


def _entries(paths: Sequence[str | Path], budget: Budget) -> list[_Entry]:
    """The run files with the budget in place, in the order given.

    Raises:
        ConfigError: none can be read.
    """
    files = [Path(path) for path in paths]
    if not files:
        raise ConfigError("there is nothing to compare: name at least one run file")
    entries = []
    for name, file in zip(unique_names(files), files, strict=True):
        try:
            config = _with_budget(read_config(file), budget)
            _scored_files(config)  # are there, before anything is trained
            entries.append(_Entry(name, file, config))
        except HeadwayError as error:
            entries.append(_Entry(name, file, None, str(error).replace("\n", "; ")))
    if not any(entry.config for entry in entries):
        raise ConfigError("\n".join(entry.error for entry in entries))
    return entries


def unique_names(files: Sequence[Path]) -> list[str]:
    """The stem of each run file, with as many of its folders before it as tell it apart.

    Raises:
        ConfigError: one file is given twice, or two would have one name.
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
                f"{' and '.join(same)} cannot be told apart; give each run file once, under a "
                "name of its own"
            )
    return names


def _with_budget(config: RunConfig, budget: Budget) -> RunConfig:
    """One budget takes the place of all that a run file may have: the smallest would win."""
    if budget.to_dict() is None:
        return config
    settings = replace(config.train, steps=budget.steps, minutes=budget.minutes, epochs=None)
    return replace(config, train=settings)


def _alike(entries: Sequence[_Entry]) -> RunConfig:
    """The first run file's settings, once all are known to be about the same thing."""
    known = [(entry.file, entry.config) for entry in entries if entry.config is not None]
    file, first = known[0]
    for other, config in known[1:]:
        for what, mine, yours in (
            ("task", first.task, config.task),
            ("metric", metric_of(first), metric_of(config)),
            ("data they are scored on", _scored_files(first), _scored_files(config)),
        ):
            if mine != yours:
                raise ConfigError(
                    f"{file} and {other} cannot be compared: the {what} differs ({_named(mine)} "
                    f"and {_named(yours)}); make it the same or compare them apart"
                )
    return first


def _check_task(task: str, able: set[str], what: str, flag: str) -> None:
    if task not in able:
        raise ConfigError(
            f"{what} for task {', '.join(sorted(able))}, and these run files are for {task}; "
            f"leave out {flag}"
        )


def _scored_files(config: RunConfig) -> tuple[Any, ...]:
    """Which set it is, and its corpora by their files, however run files name these."""
    name, root = scored_set(config), Path(config.data.root or ".")
    found: list[Any] = [name]
    corpora = as_corpora(getattr(config.data, name), f"data.{name}")
    for corpus in corpora:
        files = files_of(corpus, config.make_task().columns_of(corpora, root), root)
        columns = None if corpus.file is None else replace(corpus, file="")
        found.append((tuple(path.resolve() for _, path in files), columns))
    return tuple(found)


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


# Training and judging


def _train(runs: Sequence[_Planned], display: Display) -> dict[Path, str]:
    """Trains what is not finished; why some runs failed."""
    failures = {}
    for number, run in enumerate(runs, 1):
        told = f"run {number} of {len(runs)}: {run.name}, seed {run.config.seed}"
        try:
            if run.is_finished:
                display.note(f"{told}: finished before")
            elif run.is_begun:
                display.note(f"{told}: going on in {run.path}")
                _resume(run, display)
            else:
                display.note(f"{told}: training into {run.path}")
                train(run.config, run.path, display)
        except Interrupted:
            raise
        except HeadwayError as error:
            failures[run.path] = str(error).replace("\n", "; ")
            display.note(f"{told}: failed: {failures[run.path]}")
    return failures


def _resume(run: _Planned, display: Display) -> None:
    """Goes on, and says in a refusal which command has the options that it names."""
    try:
        resume(run.path, display)
    except Interrupted:
        raise
    except HeadwayError as error:
        raise RunError(f"headway resume {shlex.quote(str(run.path))}: {error}") from None


def _judge(
    runs: Sequence[_Planned],
    failures: dict[Path, str],
    way: Way,
    display: Display,
) -> dict[Path, ComparedRun]:
    """The figures of the runs that did not fail; adds those that fail now to `failures`."""
    figures = {}
    left = [run for run in runs if run.path not in failures]
    for number, run in enumerate(left, 1):
        told = f"scoring {number} of {len(left)}: {run.name}, seed {run.config.seed}"
        display.note(told)
        try:
            figures[run.path] = _figures(run, way)
        except HeadwayError as error:
            failures[run.path] = str(error).replace("\n", "; ")
            display.note(f"{told}: failed: {failures[run.path]}")
    return figures


def _figures(run: _Planned, way: Way) -> ComparedRun:
    directory = RunDir.open(run.path)
    records = directory.log.read()
    best = best_validation(directory, load_run_config(directory))
    speeds = [r["tokens_per_second"] for r in records if "tokens_per_second" in r]
    return ComparedRun(
        seed=run.config.seed,
        run=run.path,
        judged=judged(run.path, way),
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
    """Spent until a step was dealt with, or in all; None if the log keeps no time."""
    found = (r for r in records if "minutes" in r and step in (None, r.get("step")))
    return max((r["minutes"] for r in found), default=None)


# What is left behind


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
    """Tables and pictures, each whole or not at all."""
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
            f"--out {out} cannot be written: {error.strerror}; name another folder or make room"
        ) from None

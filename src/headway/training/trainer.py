"""Training from end to end: codecs, stores, model, plan, loop.

Each part of a run is read if it exists, else made. Starting and resuming therefore share one path,
and a kill at any moment loses at most the work since the last checkpoint.
"""

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

from .. import config as configs
from ..environment import current_environment, require_same_environment
from ..errors import ConfigError, DataError, RunError
from ..models import FAMILIES
from ..run_config import RunConfig, load_run_config, with_absolute_root
from ..runs import RunDir
from ..runs.directory import AVERAGED_FROM, IMPORTED_FROM
from .calibration import calibrate_run
from .context import TrainingContext
from .counting import count_run
from .distributed import Processes, processes
from .job_builder import PLAN, build_job, restore_checkpoint
from .journal import summary_writer
from .loop import fit
from .progress import Display, Silent
from .run_data import prepare_codecs, prepare_data


def make_run(config: RunConfig, out: str | Path, display: Display | None = None) -> None:
    """Trains a model into the run directory `out`, which must not exist or be empty.

    Raises:
        HeadwayError: with its remedy; the work until then stays in `out`, which is removed if there
            was none.
    """
    config = _inherited(with_absolute_root(config, Path.cwd()))
    _check_extras(config)
    config, lines = config.with_held_out()
    with processes() as group:
        run = _together(group, lambda: _create(Path(out), config), lambda: RunDir.open(out))
        try:
            _run(run, config, group, display, inexact=False, lines=lines)
        except (ConfigError, DataError):
            # A mistake in the run file or the data, before there is anything to keep: the same
            # command must work once it is fixed.
            if group.is_first and not (run.path / PLAN).exists():
                with run.lock():
                    run.discard()
            raise


def resume_run(
    out: str | Path,
    display: Display | None = None,
    inexact: bool = False,
    data_root: str | Path | None = None,
) -> None:
    """Resumes a stopped run exactly.

    Args:
        inexact: resume although torch, threads or data have changed since the run started.
        data_root: the folder of the data, if they were moved.
    """
    run = RunDir.open(out)
    config = load_run_config(run)
    for old, new in run.renamed_metrics.items():
        if config.train.metric == new and display is not None:
            display.note(f'train.metric = "{old}" of this run is called "{new}" now')
    if data_root is not None:
        root = str(Path(data_root).expanduser().resolve())
        config = replace(config, data=replace(config.data, root=root))
    if AVERAGED_FROM in run.facts:
        raise RunError(
            f"{run.path} is an average of checkpoints and cannot be resumed; resume "
            f"{run.facts[AVERAGED_FROM]}, or train a new run with init = {str(run.path)!r}"
        )
    if IMPORTED_FROM in run.facts:
        raise RunError(
            f"{run.path} was imported and cannot be resumed; train a new run with init = "
            f"{str(run.path)!r}"
        )
    _check_extras(config)
    with processes() as group:
        if not inexact:
            require_same_environment(run, current_environment(config.device))
        _run(run, config, group, display, inexact)


def _inherited(config: RunConfig) -> RunConfig:
    """The run file with the vocabulary of `init` and, unless `model` is set, its model.

    Raises:
        ConfigError: [text] is set as well, or the model cannot be trained for the task.
    """
    if config.init is None:
        return config
    origin = Path(config.init).expanduser().resolve()
    parent = load_run_config(RunDir.open(origin))
    defaults = RunConfig(config.data, task=config.task, pretrain=config.pretrain)
    if config.text not in (defaults.text, parent.text):
        raise ConfigError(
            f"init = {config.init!r} brings its vocabulary, so [text] cannot be set; leave it out"
        )
    model = parent.model if config.model == defaults.model else config.model
    try:
        return replace(config, init=str(origin), model=model, text=parent.text)
    except ValueError as error:
        raise ConfigError(f"init = {config.init!r}: {error}") from None


def _check_extras(config: RunConfig) -> None:
    """Checks for optional packages now, before the data are prepared."""
    FAMILIES[config.model.family].require()
    if config.train.tensorboard:
        summary_writer()


def _create(out: Path, config: RunConfig) -> RunDir:
    return RunDir.create(out, current_environment(config.device), configs.to_toml(config))


def _together(
    group: Processes, first: Callable[[], RunDir], others: Callable[[], RunDir]
) -> RunDir:
    """The run that the first process makes and the others open; all fail if the first fails."""
    problem, run = None, None
    if group.is_first:
        try:
            run = first()
        except RunError as error:
            problem = str(error)
    problem = group.share(problem)
    if problem is not None:
        raise RunError(problem)
    return run or others()


def _run(
    run: RunDir,
    config: RunConfig,
    group: Processes,
    display: Display | None,
    inexact: bool,
    lines: Sequence[str] = (),
) -> None:
    display = display if display is not None and group.is_first else Silent()
    with run.lock() if group.is_first else nullcontext():
        if inexact and group.is_first:
            run.record_facts(current_environment(config.device))
        context = TrainingContext(run, config, group, display)
        for line in lines:
            context.note("Data", line)
        task = prepare_codecs(context)
        training, validation = prepare_data(context, task, inexact)
        if FAMILIES[config.model.family].learns == "counting":
            count_run(context, task, training, validation)
        else:
            job = build_job(context, task, training, validation)
            restore_checkpoint(context, job)
            context.log_start(job.progress.step)
            fit(job)
            context.log_end(job.progress.step)
        calibrate_run(context, task, training, validation)
    group.wait()

"""Shared by `train` and `resume`: the display during training, and the summary at the end."""

import json
import os
import shlex
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .termination import Terminated, raising_terminated

if TYPE_CHECKING:
    from ..training.progress import Display


def show_training(out: Path, work: Callable[["Display"], object], as_json: bool) -> None:
    """Runs `work` with a display and prints a summary of the run."""
    with display_for(out) as display:
        work(display)
    if os.environ.get("RANK", "0") == "0":  # of several processes only the first prints
        _print_summary(out, as_json)


@contextmanager
def display_for(out: Path) -> Iterator["Display"]:
    """The display while a run is made in `out`; a signal ends the work with a message."""
    from ..training.progress import make_display

    display = make_display()
    try:
        with _stoppable(out):
            yield display
    finally:
        display.close()


@contextmanager
def _stoppable(out: Path) -> Iterator[None]:
    """Reports how to continue after a signal before the loop; the loop handles its own."""
    from ..training.stop_signals import Interrupted

    try:
        with raising_terminated():
            yield
    except (KeyboardInterrupt, Terminated) as error:
        number = signal.SIGTERM if isinstance(error, Terminated) else signal.SIGINT
        if not (out / "run.toml").exists():
            raise Interrupted("stopped before the run started", number) from None
        command = f"headway resume {shlex.quote(str(out))}"
        raise Interrupted(f"stopped; continue with: {command}", number) from None


def _print_summary(out: Path, as_json: bool) -> None:
    from ..inspection.report import REPORT
    from ..inspection.run_info import info
    from ..runs import RunDir

    facts, page = info(RunDir.open(out)), out / REPORT
    if as_json:
        result = {name: facts[name] for name in ("run", "steps", "best", "weights")}
        print(json.dumps({**result, "report": str(page)}))
    else:
        print("\n".join(_lines(out, facts, page)))


def _lines(out: Path, facts: dict[str, Any], page: Path) -> Iterator[str]:
    from ..inference.load import trained_class
    from ..inspection.report import usual_commands
    from ..inspection.run_summary import duration
    from ..run_config import load_run_config
    from ..runs import RunDir

    steps, best, weights = facts["steps"], facts["best"], facts["weights"]
    yield f"run:      {out} ({steps['done']} updates, {duration(steps['minutes'])})"
    if best is not None:
        figure = f"{best['metric']} {best['value']:.4g}"
        yield f"best:     {figure} on validation, at step {best['step']}"
    yield f"weights:  {weights['rule']}, step {weights['step']}"
    yield f"report:   {page}"
    run = RunDir.open(out)
    config = load_run_config(run)
    uses = trained_class(config.task).commands_for(config)
    yield "next:"
    for command in usual_commands(run, config, run.log.read(), uses):
        yield f"  {command.line}  # {command.purpose}"

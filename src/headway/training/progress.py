"""Progress output of training: a live bar on a terminal, plain lines elsewhere."""

import sys
import time
from collections.abc import Mapping
from typing import Protocol

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn


class Display(Protocol):
    """Receives the events of training and decides which to show."""

    def note(self, text: str) -> None:
        """Shows a line of text."""
        ...

    def update(self, step: int, total: int, figures: Mapping[str, float]) -> None:
        """Shows an update; figures: loss, lr, tokens_per_second, seconds_left."""
        ...

    def validation(self, step: int, figures: Mapping[str, float], is_best: bool) -> None: ...

    def samples(self, rows: list[tuple[str, str, str]]) -> None:
        """Shows rows of source, output and reference."""
        ...

    def close(self) -> None: ...


class Silent:
    """Shows nothing; for library use and all processes but the first."""

    def note(self, text: str) -> None: ...

    def update(self, step: int, total: int, figures: Mapping[str, float]) -> None: ...

    def validation(self, step: int, figures: Mapping[str, float], is_best: bool) -> None: ...

    def samples(self, rows: list[tuple[str, str, str]]) -> None: ...

    def close(self) -> None: ...


class LineDisplay:
    """A line every few seconds, for logs and pipes."""

    def __init__(self, seconds: float = 15.0) -> None:
        self.seconds = seconds
        self.last = time.monotonic()

    def note(self, text: str) -> None:
        print(text, file=sys.stderr, flush=True)

    def update(self, step: int, total: int, figures: Mapping[str, float]) -> None:
        if time.monotonic() - self.last >= self.seconds or step == total:
            self.last = time.monotonic()
            self.note(f"step {step}/{total}  {_figures(figures)}")

    def validation(self, step: int, figures: Mapping[str, float], is_best: bool) -> None:
        scores = "  ".join(f"{name} {value:.4g}" for name, value in figures.items())
        self.note(f"step {step}  validation: {scores}{'  (best)' if is_best else ''}")

    def samples(self, rows: list[tuple[str, str, str]]) -> None:
        for row in rows:
            source, output, reference = (text.replace("\n", "⏎") for text in row)
            self.note(f"    {source}\n  = {reference}\n  > {output}")

    def close(self) -> None: ...


class Live(LineDisplay):
    """A progress bar that stays at the bottom of a terminal."""

    def __init__(self) -> None:
        super().__init__()
        self.console = Console(stderr=True, highlight=False)
        self.progress = Progress(
            TextColumn("[bold]{task.description}"),
            BarColumn(bar_width=30),
            TextColumn("{task.completed}/{task.total}  {task.fields[figures]}"),
            console=self.console,
            transient=True,
        )
        self.bar: TaskID | None = None

    def note(self, text: str) -> None:
        self.console.print(text, markup=False, emoji=False)

    def update(self, step: int, total: int, figures: Mapping[str, float]) -> None:
        if self.bar is None:
            self.progress.start()
            self.bar = self.progress.add_task("training", total=total, figures="")
        self.progress.update(self.bar, completed=step, total=total, figures=_figures(figures))

    def close(self) -> None:
        self.progress.stop()
        self.bar = None


def make_display() -> Display:
    """A live bar if standard error is a terminal, else plain lines."""
    return Live() if sys.stderr.isatty() else LineDisplay()


def _figures(figures: Mapping[str, float]) -> str:
    return (
        f"loss {figures['loss']:.3f}  {figures['tokens_per_second']:,.0f} tokens/s  "
        f"lr {figures['lr']:.2e}  {clock(figures['seconds_left'])} left"
    )


def clock(seconds: float) -> str:
    """A duration as `1:02:03`, or `2:03` below an hour."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"

"""The demos: they make data, train a small model, score it, use it and write a report.

A demo consists of data, settings and a showcase; `run_demo` trains and scores an ordinary run.
The demos are in `text_demos.py` and `forecast_demo.py`. The command line prints the result.
"""

import hashlib
import os
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from ..api import train
from ..data.config import default_cache
from ..data.store import writing_to
from ..errors import ConfigError
from ..inspection.report import write_report
from ..metrics.score import Score
from ..training.progress import Display, Silent
from ..view.report import Command, Sample
from .base import Demo, DemoFindings
from .forecast_demo import forecast_demo
from .text_demos import dates_demo, pronounce_demo

DEMOS: dict[str, Callable[..., Demo]] = {
    "dates": dates_demo,
    "pronounce": pronounce_demo,
    "forecast": forecast_demo,
}


@dataclass(frozen=True)
class DemoResult:
    """The result of a demo.

    Attributes:
        data: the folder of the data files, which `headway resume` and `evaluate` use again.
        report: the path of the report.
        findings: its scores and samples.
        unit: of the scores.
        minutes: from making the data to the written report.
        commands: suggested next commands.
    """

    name: str
    run: Path
    data: Path
    report: Path
    findings: DemoFindings
    unit: str
    parameters: int
    steps: int
    minutes: float
    commands: list[Command]

    @property
    def scores(self) -> dict[str, dict[str, Score]]:
        """Description of the test set -> metric -> score."""
        return self.findings.scores

    @property
    def metrics(self) -> dict[str, Score]:
        """The same scores under one name each (`exact`, `exact_unseen_languages`)."""
        return self.findings.metrics

    @property
    def rows(self) -> list[Sample]:
        """The showcase."""
        return self.findings.rows

    def to_dict(self) -> dict[str, Any]:
        """The result as plain data; `wer` is an older name of `ser`, with the same score."""
        metrics = {name: score.to_dict() for name, score in self.metrics.items()}
        if "ser" in metrics:
            metrics = {"wer": metrics["ser"], **metrics}
        return {
            "demo": self.name,
            "run": str(self.run),
            "data": str(self.data),
            "report": str(self.report),
            "metrics": metrics,
            "parameters": self.parameters,
            "steps": self.steps,
            "minutes": self.minutes,
            "rows": [asdict(row) for row in self.rows],
        }


def run_demo(
    name: str,
    out: str | Path,
    display: Display | None = None,
    steps: int | None = None,
    seed: int | None = None,
) -> DemoResult:
    """Makes the data, trains into the run directory `out`, scores the model, writes the report.

    Args:
        steps: number of updates. Default: as many as the demo needs for its score.
        seed: seed of the training; the data stay the same. Default: the seed of the data.

    Raises:
        ConfigError: there is no demo of that name, or `steps` is below 1.
        MissingExtra: a package for making the data is not installed.
    """
    started = time.perf_counter()
    if name not in DEMOS:
        raise ConfigError(f"no demo {name!r}; expected one of {', '.join(DEMOS)}")
    if steps is not None and steps < 1:
        raise ConfigError(f"steps={steps}; expected 1 or more")
    run, display = Path(out), display or Silent()
    display.note("making the data")
    demo = DEMOS[name]() if steps is None else DEMOS[name](steps=steps)
    folder = _write_data(demo)
    config = replace(
        demo.config,
        data=replace(demo.config.data, root=str(folder)),
        seed=demo.config.seed if seed is None else seed,
    )
    model = train(config, run, display)
    display.note("scoring the test sets")
    findings = demo.examine(model)
    commands = demo.commands(run, findings.rows)
    page = write_report(
        run,
        model,
        title=demo.title,
        subtitle=demo.about,
        scores={label: list(by_metric.values()) for label, by_metric in findings.scores.items()},
        samples=findings.rows,
        commands=commands,
    )
    return DemoResult(
        name=name,
        run=run,
        data=folder,
        report=page,
        findings=findings,
        unit=demo.unit,
        parameters=model.n_parameters,
        steps=int(model.weights_info["step"]),
        minutes=(time.perf_counter() - started) / 60,
        commands=commands,
    )


def _write_data(demo: Demo) -> Path:
    """Writes the demo's data, completely or not at all, into a folder named by their content."""
    home = default_cache() / "demo"
    with writing_to(home / demo.name):
        home.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=home, prefix=".new-") as staging:
            new = Path(staging) / "data"
            demo.write(new)
            folder = home / f"{demo.name}-{_digest(new)}"
            if not folder.exists():
                os.replace(new, folder)
    return folder


def _digest(folder: Path) -> str:
    digest = hashlib.blake2b(digest_size=6)
    for path in sorted(folder.iterdir()):
        digest.update(f"{path.name} {path.stat().st_size} ".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()

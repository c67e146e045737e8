"""The studies by name, and the files they write: a page, a record and a picture.

Each study has its own file; this file has the table of studies and writes the results.
"""

import json
import math
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ..config.messages import nearest
from ..errors import ConfigError, RunError
from ..runs.atomic import make_directory, write_bytes
from ..training.progress import Display, Silent
from .finding import Finding
from .gradients import study_gradients
from .recall import study_recall
from .steps import study_steps

TRAINING = {"gradients": study_gradients, "recall": study_recall}
STUDIES = (*TRAINING, "steps")
FORMS = ("json", "md", "svg")


def run_study(
    name: str,
    out: str | Path | None = None,
    seed: int = 1,
    minutes: float | None = None,
    display: Display | None = None,
) -> Finding:
    """Runs a study, and writes NAME.md, NAME.json and NAME.svg into `out`.

    Args:
        out: by default runs/study-NAME; results of the same study are replaced, existing runs are
            used again.
        minutes: minutes of training for each model, instead of the study's own.
        display: shows progress. Default: none.

    Raises:
        ConfigError: there is no such study, or the budget is invalid.
        RunError: `out` cannot be written or has other content, or a training failed.
    """
    _check(name, seed, minutes)
    folder = Path("runs", f"study-{name}") if out is None else Path(out)
    _refuse_others(name, folder)
    display = display or Silent()
    with _writing(folder):
        make_directory(folder)
        if name == "steps":
            finding = study_steps(seed, display)
        else:
            finding = TRAINING[name](folder, seed, minutes, display)
        record = json.dumps(finding.to_dict(), indent=2, ensure_ascii=False) + "\n"
        contents = (record, finding.markdown(), finding.picture)
        for form, content in zip(FORMS, contents, strict=True):
            write_bytes(folder / f"{name}.{form}", content.encode())
    return finding


def _check(name: str, seed: int, minutes: float | None) -> None:
    if name not in STUDIES:
        near = nearest(name, STUDIES)
        hint = f"did you mean {near}? " if near else ""
        raise ConfigError(f"no study {name!r}; {hint}expected one of {', '.join(STUDIES)}")
    if seed < 0:
        raise ConfigError(f"seed = {seed}: expected a whole number of at least 0")
    if minutes is not None and not 0 < minutes < math.inf:
        raise ConfigError(f"a budget of {minutes:g} minutes: expected a number above 0")
    if minutes is not None and name not in TRAINING:
        raise ConfigError(
            f"the study {name} trains nothing and has no minutes; leave out `minutes`"
        )


def _refuse_others(name: str, folder: Path) -> None:
    """Refuses a folder with another study, or with files of this name from elsewhere."""
    if folder.exists() and not folder.is_dir():
        raise RunError(f"`out` {folder} is a file; name a folder")
    for other in STUDIES:
        written = folder / f"{other}.json"
        if other != name and written.exists():
            raise RunError(f"{folder} holds the study {other} ({written}); give another `out`")
    if not any((folder / f"{name}.{form}").exists() for form in FORMS):
        return
    written = folder / f"{name}.json"
    try:
        known = json.loads(written.read_bytes())
    except (OSError, ValueError):
        known = None
    if not isinstance(known, dict) or known.get("study") != name:
        raise RunError(
            f"{folder} has files of the name {name} that are not of this study ({written} does "
            "not say so); give another `out`"
        )


@contextmanager
def _writing(out: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise RunError(
            f"`out` {out} cannot be written: {error.strerror}; name another folder or make room"
        ) from None

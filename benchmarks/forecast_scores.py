"""The scores of a recipe for forecasts at several horizons, and over several seeds.

Each run is trained and scored by the commands that a user would type, in a folder of its own. A
run that is there already is finished if it was interrupted, and scored. Progress goes to standard
error; the last line, on standard output, is JSON.
"""

import argparse
import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

HEADWAY = (sys.executable, "-m", "headway")
HORIZONS = (96, 192, 336, 720)
"""Those of published tables."""
FLOOR = "ridge"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("recipe", type=Path, help="a run file, as in recipes/forecast/")
    parser.add_argument("--horizons", type=int, nargs="+", default=HORIZONS, metavar="STEPS")
    parser.add_argument("--seeds", type=int, default=1, help="runs of the first horizon")
    parser.add_argument("--out", type=Path, default=Path("runs"), help="folder of the runs")
    given = parser.parse_args(arguments)
    if given.seeds < 1:
        parser.error(f"--seeds is {given.seeds}; expected 1 or more")
    first = given.horizons[0]
    try:
        runs = {
            horizon: scores(given.recipe, given.out, horizon, seed=1) for horizon in given.horizons
        }
        others = [
            scores(given.recipe, given.out, first, seed) for seed in range(2, given.seeds + 1)
        ]
    except subprocess.CalledProcessError as error:  # its message is on standard error
        return error.returncode
    print(json.dumps(summary(given.recipe.stem, runs, others)))
    return 0


def scores(recipe: Path, out: Path, horizon: int, seed: int) -> dict[str, Any]:
    """What `headway evaluate --json` prints of one run, with the minutes of its training."""
    run = out / f"{recipe.stem}-{horizon}{'' if seed == 1 else f'-seed{seed}'}"
    if not run.exists():
        settings = (f"forecast.horizon={horizon}", f"seed={seed}")
        headway("train", recipe, *settings, "--out", run)
    known = steps(run)
    if not known["finished"]:
        headway("resume", run)
        known = steps(run)
    found: dict[str, Any] = json.loads(headway("evaluate", run, "--json"))
    found["minutes"] = known["minutes"]
    mse = found["metrics"]["mse"]["value"]
    print(f"{run}: MSE {mse:.4f} after {found['minutes']:.1f} minutes", file=sys.stderr, flush=True)
    return found


def steps(run: Path) -> dict[str, Any]:
    """What is known of the training of a run."""
    known: dict[str, Any] = json.loads(headway("info", run, "--json"))["steps"]
    return known


def headway(*arguments: str | Path) -> str:
    """What a command prints; its progress goes to standard error."""
    command = [*HEADWAY, *map(str, arguments)]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, encoding="utf-8").stdout


def summary(
    recipe: str, runs: dict[int, dict[str, Any]], others: Sequence[dict[str, Any]]
) -> dict[str, Any]:
    """Scores by horizon, of the model and the ridge regression, and the range over the seeds."""

    def by_horizon(of: dict[int, dict[str, Any]], metric: str) -> dict[str, float]:
        return {f"{h} steps": round(each[metric]["value"], 4) for h, each in of.items()}

    own = {horizon: run["metrics"] for horizon, run in runs.items()}
    floor = {horizon: run["floors"][FLOOR] for horizon, run in runs.items()}
    first, *_ = runs.values()
    seeds = [run["metrics"]["mse"]["value"] for run in (first, *others)]
    return {
        "name": "forecast_scores",
        "recipe": recipe,
        "mse": by_horizon(own, "mse"),
        "mae": by_horizon(own, "mae"),
        "interval": {
            f"{h} steps": [each["mse"][end] for end in ("low", "high")]  # None for too few windows
            for h, each in own.items()
        },
        "coverage": {f"{h} steps": round(m["coverage"]["value"], 1) for h, m in own.items()},
        f"{FLOOR} mse": by_horizon(floor, "mse"),
        "seeds": [round(mse, 4) for mse in seeds],
        "minutes": {f"{h} steps": round(run["minutes"], 1) for h, run in runs.items()},
    }


if __name__ == "__main__":
    sys.exit(main())

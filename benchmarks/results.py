"""Renews the figures of README and docs: runs benchmarks and writes `results.json`.

    python benchmarks/results.py                      # all benchmarks that need no corpora
    python benchmarks/results.py train_speed demo     # these
    python benchmarks/results.py --data FOLDER        # all; FOLDER has a folder for each corpus

`plan.toml` has the command of each benchmark and the figures to take from the JSON that it prints
last. `docs/generate.py` copies the figures into the pages.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
ROOT = HERE.parent
PLAN = HERE / "plan.toml"
RESULTS = HERE / "results.json"

Table = dict[str, dict[str, Any]]


def read_plan(path: Path = PLAN) -> Table:
    return tomllib.loads(path.read_text(encoding="utf-8"))


def read_results(path: Path = RESULTS) -> Table:
    results: Table = json.loads(path.read_text(encoding="utf-8"))
    return results


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="benchmarks; default: all")
    parser.add_argument("--data", type=Path, help="folder with a folder for each corpus")
    given = parser.parse_args(arguments)
    plan = read_plan()
    for name in given.names:
        if name not in plan:
            parser.error(f"no benchmark {name!r}; expected one of {', '.join(plan)}")
        if "data" in plan[name] and given.data is None:
            parser.error(f"{name} needs the corpus {plan[name]['data']}; give --data FOLDER")
    names = [
        name
        for name in plan
        if (name in given.names or not given.names)
        and ("data" not in plan[name] or given.data is not None)
    ]
    minutes = sum(plan[name]["minutes"] for name in names)
    say(f"{len(names)} benchmarks, about {minutes} minutes: {', '.join(names)}")
    failed = [name for name in names if not renew(name, plan[name], given.data)]
    if failed:
        say(f"failed, their figures are as before: {', '.join(failed)}")
    return 1 if failed else 0


def renew(name: str, entry: dict[str, Any], data: Path | None, path: Path = RESULTS) -> bool:
    """Runs a benchmark and replaces its entry in the file; False if it failed."""
    say(f"{name}: {entry['command']}")
    try:
        lines = [run(entry, data) for _ in range(entry.get("times", 1))]
        figures = {key: in_words(form, lines) for key, form in entry["figures"].items()}
    except (OSError, ValueError, LookupError) as error:
        say(f"{name}: {error}")
        return False
    results = read_results(path) if path.exists() else {}
    results[name] = {
        "command": entry["command"],
        "source": "measured",
        "machine": machine(),
        "date": datetime.now(UTC).date().isoformat(),
        "commit": commit(),
        "figures": figures,
    }
    write_results(results, path)
    return True


def run(entry: dict[str, Any], data: Path | None) -> dict[str, Any]:
    """The JSON object that a benchmark prints last.

    Raises:
        ValueError: it failed, or printed no object.
    """
    environment = dict(os.environ)
    environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{environment.get('PATH', '')}"
    if "data" in entry:
        assert data is not None
        environment["HEADWAY_DATA"] = str((data / entry["data"]).resolve())
    done = subprocess.run(
        entry["command"],
        shell=True,
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        encoding="utf-8",
    )
    if done.returncode != 0:
        raise ValueError(f"exit code {done.returncode}")
    objects = [line for line in done.stdout.splitlines() if line.startswith("{")]
    if not objects:
        raise ValueError("it printed no line of JSON")
    line: dict[str, Any] = json.loads(objects[-1])
    return line


def in_words(form: str, lines: Sequence[dict[str, Any]]) -> str:
    """A figure as the pages show it; of several runs the lowest and the highest.

    Args:
        form: a format string over the keys of a line, such as `{ratios[headway/peer]:.1f}`.
    """
    texts = {form.format(**line) for line in lines}
    if len(texts) == 1:
        return texts.pop()
    ordered = sorted(texts, key=lambda text: float(text.rstrip("%").replace(",", "")))
    return f"{ordered[0]} to {ordered[-1]}"


def write_results(results: Table, path: Path = RESULTS) -> None:
    """Writes the file completely or not at all, in the order of the plan."""
    plan = read_plan()
    ordered = {name: results[name] for name in [*plan, *results] if name in results}
    new = path.with_suffix(".new")
    new.write_text(json.dumps(ordered, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    os.replace(new, path)


def machine() -> str:
    """Cores, processor and versions, in words."""
    import torch

    capability = torch.backends.cpu.get_cpu_capability()
    gpu = torch.cuda.get_device_name() if torch.cuda.is_available() else "no GPU"
    versions = f"Python {platform.python_version()}, torch {torch.__version__}"
    return f"{os.cpu_count()} cores, {processor()}, {capability}, {gpu}; {versions}"


def processor() -> str:
    """The name of the processor: from Linux if it says, else the architecture."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def commit() -> str:
    """The commit of the checkout; a `+` says that files differ from it."""

    def git(*arguments: str) -> str:
        done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True)
        return done.stdout.strip()

    changed = git("status", "--porcelain", "--untracked-files=no", "--", "src", "recipes")
    return git("rev-parse", "--short", "HEAD") + ("+" if changed else "")


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())

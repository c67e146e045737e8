"""Measures the house: sizes of rooms, loaded modules, cold start, code written twice.

    python tools/measure_house.py [CHECKOUT ...] [--run DIR] [--rounds 5]

Give several checkouts to see them side by side; times are taken in turn, round by round. The last
line is JSON. `--run` names a translation run (format 1 is read by every version) for the cold start
of `headway translate` on one line; without it, that line is left out. Code written twice is counted
by a command named `duplicates`, if there is one.
"""

import argparse
import ast
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

LOADED = """
import sys
{statement}
print(sum(name.split(".")[0] == "headway" for name in sys.modules))
"""
STATEMENTS = {
    "headway.load": "import headway; headway.load",
    "headway.serve": "import headway.serve.engine; import headway.serve.{app}",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("checkouts", nargs="*", type=Path, default=[Path()])
    parser.add_argument("--run", type=Path)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    figures = {str(path): measure(path.resolve()) for path in options.checkouts}
    if options.run is not None:
        starts = cold_starts([path.resolve() for path in options.checkouts], options)
        for path, seconds in zip(options.checkouts, starts, strict=True):
            figures[str(path)]["cold start, s"] = round(statistics.median(seconds), 2)
    show(figures)
    print(json.dumps({"name": "house", "checkouts": figures}))


def measure(checkout: Path) -> dict[str, Any]:
    """All figures of a checkout that need no clock."""
    package = checkout / "src" / "headway"
    sources = {path: path.read_text(encoding="utf-8") for path in sorted(package.rglob("*.py"))}
    trees = {path: ast.parse(text) for path, text in sources.items()}
    lines = {path: text.count("\n") for path, text in sources.items()}
    longest = max(lines, key=lines.__getitem__)
    function, length = longest_function(trees, package)
    names = Counter(
        node.name
        for tree in trees.values()
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
    )
    app = "app" if (package / "serve" / "app.py").exists() else "http"
    return {
        "files": len(sources),
        "lines": sum(lines.values()),
        "rooms": rooms(lines, package),
        "longest file": f"{longest.relative_to(package)} ({lines[longest]})",
        "longest function": f"{function} ({length})",
        "class names used twice": sum(count > 1 for count in names.values()),
        **{
            f"modules loaded by {name}": loaded(checkout, statement.format(app=app))
            for name, statement in STATEMENTS.items()
        },
        "duplicates": duplicates(package),
    }


def longest_function(trees: dict[Path, ast.Module], package: Path) -> tuple[str, int]:
    spans = [
        ((node.end_lineno or 0) - node.lineno + 1, f"{path.relative_to(package)}:{node.name}")
        for path, tree in trees.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    length, name = max(spans)
    return name, length


def rooms(lines: dict[Path, int], package: Path) -> dict[str, list[int]]:
    """Files and lines by room."""
    totals: dict[str, list[int]] = {}
    for path, count in lines.items():
        room = path.relative_to(package).parts[0].removesuffix(".py")
        files_and_lines = totals.setdefault(room, [0, 0])
        files_and_lines[0] += 1
        files_and_lines[1] += count
    return totals


def environment(checkout: Path) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(checkout / "src"), "OMP_NUM_THREADS": "1"}


def loaded(checkout: Path, statement: str) -> int:
    """How many modules of headway a statement loads."""
    done = subprocess.run(
        [sys.executable, "-c", LOADED.format(statement=statement)],
        env=environment(checkout),
        capture_output=True,
        text=True,
        check=True,
    )
    return int(done.stdout)


def cold_starts(checkouts: list[Path], options: argparse.Namespace) -> list[list[float]]:
    """Seconds of `headway translate` on one line, in turn; the first round only warms up."""
    command = [sys.executable, "-m", "headway", "translate", str(options.run.resolve())]
    seconds: list[list[float]] = [[] for _ in checkouts]
    for number in range(options.rounds + 1):
        for checkout, taken in zip(checkouts, seconds, strict=True):
            started = time.perf_counter()
            subprocess.run(
                command,
                env=environment(checkout),
                input="a dog\n",
                capture_output=True,
                text=True,
                check=True,
            )
            if number:
                taken.append(time.perf_counter() - started)
    return seconds


def duplicates(package: Path) -> int | None:
    """Pairs of places that share six or more lines."""
    if shutil.which("duplicates") is None:
        return None
    command = ["duplicates", "--repo", str(package), "--most", "1", "--seconds", "120"]
    done = subprocess.run(command, capture_output=True, text=True)
    number = re.search(r"^(\d+) pairs?", done.stdout, flags=re.M)
    return int(number[1]) if number else None


def show(figures: dict[str, dict[str, Any]]) -> None:
    """A line for each figure, a column for each checkout."""
    names = [name for name in next(iter(figures.values())) if name != "rooms"]
    print("", *figures, sep=" | ")
    for name in names:
        print(name, *(values.get(name) for values in figures.values()), sep=" | ")
    every = {room: None for values in figures.values() for room in values["rooms"]}
    for room in every:
        cells = [values["rooms"].get(room) for values in figures.values()]
        print(
            room, *("-" if cell is None else f"{cell[0]}, {cell[1]}" for cell in cells), sep=" | "
        )


if __name__ == "__main__":
    main()

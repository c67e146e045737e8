"""The scores of `headway demo` over several seeds of the training, on the same data.

A model depends on the rounding of its machine as on its seed, so one run is not a promise: the
range over several seeds is. Progress goes to standard error; the last line, on standard output, is
JSON.
"""

import argparse
import json
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from alike import start_alike

from headway.demo.demo import DemoResult, run_demo
from headway.errors import HeadwayError


def summary(results: Sequence[DemoResult]) -> dict[str, Any]:
    """Lowest and highest score and time, and the lines of the showcase that are wrong."""
    values = {
        name: [result.metrics[name].value for result in results] for name in results[0].metrics
    }
    values["minutes"] = [result.minutes for result in results]
    rows = [row for result in results for row in result.rows if row.is_right is not None]
    return {
        "name": "demo",
        "seeds": len(results),
        "lowest": {name: round(min(each), 2) for name, each in values.items()},
        "highest": {name: round(max(each), 2) for name, each in values.items()},
        "showcase": len(rows),
        "right": sum(bool(row.is_right) for row in rows),
        "wrong": [[row.source, row.output] for row in rows if not row.is_right],
    }


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--demo", default="dates", help="dates or pronounce")
    parser.add_argument("--seeds", type=int, default=8, help="number of runs")
    parser.add_argument("--steps", type=int, help="updates, in place of the demo's")
    given = parser.parse_args(arguments)
    if given.seeds < 1:
        parser.error(f"--seeds is {given.seeds}; expected 1 or more")
    results = []
    try:
        with tempfile.TemporaryDirectory() as folder:
            for seed in range(1, given.seeds + 1):
                out = Path(folder) / str(seed)
                results.append(run_demo(given.demo, out, steps=given.steps, seed=seed))
                print(json.dumps(summary(results[-1:])), file=sys.stderr, flush=True)
    except HeadwayError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    print(json.dumps(summary(results), ensure_ascii=False))
    return 0


if __name__ == "__main__":
    start_alike()
    sys.exit(main())

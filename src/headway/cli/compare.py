"""`headway compare`: trains run files under one budget and prints one table."""

import json
from pathlib import Path
from typing import Annotated

import typer

from ..errors import ConfigError, RunError
from .options import Json, Threads, Tokenized, set_threads, whole_numbers
from .progress import display_for

RunFiles = Annotated[
    list[Path], typer.Argument(metavar="RUN.toml ...", help="The run files to compare.")
]
Seeds = Annotated[
    int,
    typer.Option("--seeds", min=1, help="Runs for each file; seeds count up from its seed."),
]
Minutes = Annotated[
    float | None,
    typer.Option("--minutes", help="Minutes of training for each run; overrides its run file."),
]
Steps = Annotated[
    int | None,
    typer.Option("--steps", help="Updates for each run; overrides its run file."),
]
Out = Annotated[
    Path,
    typer.Option(
        "--out", metavar="DIR", help="The folder for runs and tables; runs in it are reused."
    ),
]
Lengths = Annotated[
    bool, typer.Option("--by-length", help="Also score by the length of the input.")
]
Edges = Annotated[
    str | None,
    typer.Option(
        "--edges",
        metavar="5,10,20",
        help="With --by-length: the longest input of each group but the last. Default: groups of "
        "equal size.",
    ),
]


def compare(
    run_files: RunFiles,
    seeds: Seeds = 1,
    minutes: Minutes = None,
    steps: Steps = None,
    out: Out = Path("runs", "compare"),
    by_length: Lengths = False,
    edges: Edges = None,
    tokenized: Tokenized = False,
    threads: Threads = None,
    as_json: Json = False,
) -> None:
    """Trains run files under one budget and prints one table.

    The table has quality, speed and size, for one task on the same test data; also written as
    Markdown, JSON and pictures. After a stop, the same command continues; a finished run is not
    trained again.

    Example: headway compare small.toml large.toml --minutes 10 --seeds 3
    """
    from ..compare.by_length import ByLength
    from ..compare.run import compare as run_comparison
    from ..training.stop_signals import Interrupted

    if edges is not None and not by_length:
        raise ConfigError(f"--edges {edges} needs --by-length; add it or leave --edges out")
    numbers = None if edges is None else whole_numbers("--edges", edges, example="5,10,20")
    length_groups = ByLength(numbers) if by_length else None
    set_threads(threads)
    try:
        with display_for(out) as display:
            result = run_comparison(
                run_files,
                out=out,
                seeds=seeds,
                minutes=minutes,
                steps=steps,
                by_length=length_groups,
                tokenized=tokenized,
                display=display,
            )
    except Interrupted as error:
        message = f"stopped; trained runs are kept in {out}; the same command continues"
        raise Interrupted(message, error.exit_code - 128) from None
    print(json.dumps(result.to_dict(), ensure_ascii=False) if as_json else result.text())
    if result.failures:
        failed, total = len(result.failures), len(result.failures) + len(result.runs)
        raise RunError(f"{failed} of {total} runs failed; the table has the reasons")

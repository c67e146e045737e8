"""`headway serve`: trained runs over HTTP, until a signal arrives."""

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import ConfigError, DataError
from .options import COMPUTING, Json, Weights, check_engine, whole
from .streams import log
from .translate import ComputeType, EngineName

if TYPE_CHECKING:
    from ..serve.engine import Engine
    from ..serve.limits import Limits
    from ..serve.run_status import ServedRun

LIMITS, ACCESS = "Limits", "Access"
TOKEN = "HEADWAY_TOKEN"
PATIENCE = 120  # seconds beyond the time limit of a request after which a process counts as stuck

Runs = Annotated[
    list[str],
    typer.Argument(
        metavar="[NAME=]DIR",
        help="Run directories, served by NAME. Default name: that of the folder.",
    ),
]
Host = Annotated[str, typer.Option("--host", help="Address to listen on; 0.0.0.0: all addresses.")]
Port = Annotated[int, typer.Option("--port", parser=whole, metavar="N", help="0: any free port.")]
TokenFile = Annotated[
    Path | None,
    typer.Option(
        "--token-file",
        metavar="FILE",
        help=f"A file with the token that requests must carry; or set {TOKEN}.",
        rich_help_panel=ACCESS,
    ),
]
Cors = Annotated[
    list[str] | None,
    typer.Option(
        "--cors",
        metavar="ORIGIN",
        help="Allow requests from pages of this origin, such as https://example.org; repeatable.",
        rich_help_panel=ACCESS,
    ),
]
AllowedHost = Annotated[
    list[str] | None,
    typer.Option(
        "--allowed-host",
        metavar="NAME",
        help="Also serve requests for this host name, such as that of a proxy; * is any; "
        "repeatable.",
        rich_help_panel=ACCESS,
    ),
]
Workers = Annotated[
    int | None,
    typer.Option(
        "--workers",
        min=1,
        help="Worker processes. Default: one for each core, at most 4.",
        rich_help_panel=COMPUTING,
    ),
]
Threads = Annotated[
    int,
    typer.Option("--threads", min=1, help="Threads of each worker.", rich_help_panel=COMPUTING),
]
BatchTokens = Annotated[
    int | None,
    typer.Option(
        "--batch-tokens",
        min=1,
        help="Tokens times hypotheses in one batch; 1 disables batching.",
        rich_help_panel=COMPUTING,
    ),
]


def _limit(option: str, description: str) -> Any:
    return typer.Option(option, parser=whole, metavar="N", help=description, rich_help_panel=LIMITS)


MaxBody = Annotated[int | None, _limit("--max-body", "Bytes of a request.")]
MaxTexts = Annotated[int | None, _limit("--max-texts", "Texts of a request.")]
MaxCharacters = Annotated[int | None, _limit("--max-characters", "Characters of a text.")]
MaxBeam = Annotated[int | None, _limit("--max-beam", "Hypotheses of a search.")]
MaxQueue = Annotated[int | None, _limit("--max-queue", "Waiting texts.")]
MaxSeconds = Annotated[int | None, _limit("--max-seconds", "Time limit of a request.")]


def serve(
    runs: Runs,
    host: Host = "127.0.0.1",
    port: Port = 8000,
    token_file: TokenFile = None,
    cors: Cors = None,
    allowed_host: AllowedHost = None,
    max_body: MaxBody = None,
    max_texts: MaxTexts = None,
    max_characters: MaxCharacters = None,
    max_beam: MaxBeam = None,
    max_queue: MaxQueue = None,
    max_seconds: MaxSeconds = None,
    engine: EngineName = "headway",
    compute_type: ComputeType = "default",
    workers: Workers = None,
    threads: Threads = 1,
    batch_tokens: BatchTokens = None,
    as_json: Json = False,
    weights: Weights = None,
) -> None:
    """Answers HTTP requests with trained runs.

    It runs until it is stopped (Ctrl-C, SIGTERM).

    Requests that arrive together are batched. Running requests are finished before it stops. --json
    prints one object when the server is ready: url, models, process.

    Example: headway serve runs/mine --port 8000
    """
    from ..serve.server import require_extras

    require_extras()
    import asyncio

    from ..serve.allowed_hosts import AllowedHosts
    from ..serve.app import make_app
    from ..serve.batcher import BUDGET
    from ..serve.limits import Limits
    from ..serve.server import address_of, listen, run
    from ..serve.workers import make_worker_pool

    token = read_token(token_file)
    flags = {"body": max_body, "texts": max_texts, "characters": max_characters}
    flags |= {"beam": max_beam, "queue": max_queue, "seconds": max_seconds}
    limits = Limits(**{name: value for name, value in flags.items() if value is not None})
    folders = named(runs)
    with listen(host, port) as listener:
        served, engines = _load_runs(folders, limits, engine, compute_type, weights)
        pool = make_worker_pool(engines, workers, threads, limits.seconds + PATIENCE)
        if workers is not None and pool.workers != workers:
            log(f"--workers {workers}: using one thread, since this system cannot fork processes")
        try:
            app, service = make_app(
                served,
                pool,
                limits,
                token,
                hosts=AllowedHosts(host, allowed_host or ()),
                origins=cors or (),
                budget=batch_tokens or BUDGET,
            )
            asyncio.run(service.warm_up())

            def ready() -> None:
                _announce(address_of(listener), list(served), as_json)

            is_finished = run(app, listener, limits.seconds, ready, service.batcher.drain)
        finally:
            pool.close()
    log("stopped")
    if not is_finished:
        raise KeyboardInterrupt


def named(runs: list[str]) -> dict[str, Path]:
    """Run directories by their names on the server.

    Raises:
        ConfigError: two have the same name, or a name is empty.
    """
    folders: dict[str, Path] = {}
    for argument in runs:
        name, equals, folder = argument.partition("=")
        # A path may contain an equals sign; a name contains no slash.
        if not equals or "/" in name or Path(argument).exists():
            folder = argument
            name = Path(argument).resolve().name
        if not name:
            raise ConfigError(f"{argument}: expected NAME=DIR or DIR")
        if name in folders:
            raise ConfigError(
                f"two runs would be called {name!r} ({folders[name]}, {folder}); name one: NAME=DIR"
            )
        folders[name] = Path(folder)
    return folders


def read_token(file: Path | None) -> str | None:
    """The token from a file or from the environment; never from the arguments, which are public.

    Raises:
        ConfigError: the token is empty, or both are set.
        DataError: the file cannot be read.
    """
    inherited = os.environ.get(TOKEN)
    if file is None:
        if inherited is not None and not inherited.strip():
            raise ConfigError(f"{TOKEN} is empty; set a token or unset it")
        return None if inherited is None else inherited.strip()
    if inherited is not None:
        raise ConfigError(f"--token-file {file} and {TOKEN} both set a token; leave one out")
    try:
        token = file.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "not UTF-8"
        raise DataError(f"--token-file {file} cannot be read: {reason}") from None
    if not token:
        raise ConfigError(f"--token-file {file} is empty; write a token into it")
    return token


def _load_runs(
    folders: dict[str, Path],
    limits: "Limits",
    engine: str,
    compute_type: str,
    weights: str | None,
) -> tuple[dict[str, "ServedRun"], dict[str, "Engine"]]:
    """The runs with their validators and engines.

    A run without weights yet has no engine; its training log can be read.
    """
    import torch

    from ..inference.load import load
    from ..run_config import load_run_config
    from ..runs import RunDir
    from ..runs.directory import WEIGHTS
    from ..serve.engine import Engine
    from ..serve.run_status import ServedRun
    from ..serve.validate import RequestValidator

    check_engine(engine, compute_type)
    # A thread pool does not survive a fork: none may exist before the workers are forked.
    torch.set_num_threads(1)
    served: dict[str, ServedRun] = {}
    engines = {}
    for name, folder in folders.items():
        run = RunDir.open(folder)
        if weights is None and not (run.path / WEIGHTS).exists():
            served[name] = ServedRun(name, run, load_run_config(run))
            log(f"{name} has no weights yet: only its training log can be read")
            continue
        trained = load(folder, weights=weights)
        served[name] = RequestValidator(name, trained, limits, engine)
        engines[name] = Engine(trained, compute_type)
    return served, engines


def _announce(address: str, models: list[str], as_json: bool) -> None:
    log(f"serving {', '.join(models)} at {address}")
    if as_json:
        print(json.dumps({"url": address, "models": models, "process": os.getpid()}), flush=True)
    sys.stderr.flush()

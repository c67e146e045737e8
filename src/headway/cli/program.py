"""The program: table of verbs, error messages and exit codes.

0 done, 1 failed, 2 wrong usage, 130 and 143 interrupted. Errors that the user can fix are one line
each; tracebacks are shown only with `--debug`.
"""

import sys
import traceback
from collections.abc import Callable
from typing import Annotated, NoReturn

import typer

from ..errors import ConfigError, HeadwayError, is_out_of_memory
from . import (
    average,
    compare,
    config,
    demo,
    embed,
    export,
    fill,
    forecast,
    generate,
    import_,
    info,
    predict,
    resume,
    score,
    search_report,
    serve,
    study,
    train,
    translate,
    view,
)
from .evaluate import command
from .flags import with_flags
from .options import Grouped
from .process_setup import end_process, keep_freed_memory, skip_meta_kernels, wait_asleep
from .streams import log, utf8_output
from .termination import Terminated, raising_terminated

INTERRUPTED, TERMINATED = 130, 143
OUT_OF_MEMORY = (
    "out of memory; close other programs, use a smaller model, or lower train.batch_tokens and "
    "data.max_length"
)
BROKEN_PIPE = 141  # the code of shells for a program whose reader is gone
VERBS: dict[str, Callable[..., None]] = {
    "demo": demo.demo,
    "train": train.train,
    "resume": resume.resume,
    "translate": translate.translate,
    "predict": predict.predict,
    "forecast": forecast.forecast,
    "generate": generate.generate,
    "fill": fill.fill,
    "embed": embed.embed,
    "evaluate": command.evaluate,
    "score": score.score,
    "search-report": search_report.search_report,
    "compare": compare.compare,
    "study": study.study,
    "serve": serve.serve,
    "view": view.view,
    "info": info.info,
    "config": config.config,
    "average": average.average,
    "import": import_.import_model,
    "export": export.export,
}
USES_MODELS = {"translate", "predict", "forecast", "generate", "fill", "embed", "score", "info"}
"""Verbs that only use models of headway: they compile, train and convert nothing."""
# The base class of errors in the command line, reached by a name that every typer has.
UsageError = typer.BadParameter.__mro__[1]


def main(arguments: list[str] | None = None) -> int:
    """Runs one command.

    Args:
        arguments: default: those of the process.

    Returns:
        The exit code.
    """
    line = sys.argv[1:] if arguments is None else arguments
    line, debug = _without_debug(line)
    if arguments is None and line[:1] and line[0] in USES_MODELS:
        skip_meta_kernels()  # this process does nothing else; a caller's may train afterwards
    with utf8_output(), raising_terminated():
        try:
            _check_encoding(line)
            _run(line)
        except typer.Exit as error:
            return error.exit_code
        except KeyboardInterrupt:
            log("interrupted")
            return INTERRUPTED
        except Terminated:
            log("terminated")
            return TERMINATED
        except BrokenPipeError:
            return BROKEN_PIPE
        except Exception as error:
            return _explain(error, debug)
    return 0


def run() -> NoReturn:
    """Runs the command of this process and ends it."""
    code = main()
    line, _ = _without_debug(sys.argv[1:])
    # A thread may still compute for a command that was stopped.
    if line[:1] and (line[0] in USES_MODELS or code in (INTERRUPTED, TERMINATED)):
        end_process(code)
    sys.exit(code)


def _without_debug(arguments: list[str]) -> tuple[list[str], bool]:
    """The arguments without `--debug`, which may be before or after the verb."""
    end = arguments.index("--") if "--" in arguments else len(arguments)
    options = [argument for argument in arguments[:end] if argument != "--debug"]
    return options + arguments[end:], len(options) < end


def _check_encoding(arguments: list[str]) -> None:
    """Refuses bytes that are no text: run files and weights cannot have such names.

    Raises:
        ConfigError: an argument is not UTF-8.
    """
    for argument in arguments:
        try:
            argument.encode()
        except UnicodeEncodeError:
            raise ConfigError(
                f"the argument {argument!r} is not UTF-8; write it in UTF-8, or rename the file"
            ) from None


def _run(arguments: list[str]) -> None:
    command = typer.main.get_command(_app())
    with command.make_context("headway", list(arguments)) as context:
        command.invoke(context)
    print(end="", flush=True)  # here, so that a failure is reported


def _app() -> typer.Typer:
    app = typer.Typer(
        add_completion=False,
        rich_markup_mode=None,  # plain help takes half the time of boxes
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback(invoke_without_command=True)(_start)
    for name, verb in VERBS.items():
        app.command(name, cls=Grouped)(verb)
    return app


def _start(
    context: typer.Context,
    show_version: Annotated[
        bool,
        typer.Option(
            "--version", help="Print the versions of headway, torch and the optional packages."
        ),
    ] = False,
    debug: Annotated[
        bool,
        typer.Option("--debug", help="Show the traceback of an error; also after the verb."),
    ] = False,
) -> None:
    """Trains attention models on your own sequences, and uses them.

    Start with `headway demo`, or with `headway train RUN.toml --out DIR`. Each verb explains
    itself: `headway train --help`.
    """
    if show_version:
        from .versions import versions

        print(*versions(), sep="\n")
    elif context.invoked_subcommand is None:
        print(context.get_help())
    else:
        keep_freed_memory()
        wait_asleep()


def _explain(error: Exception, debug: bool) -> int:
    """Prints the error and returns the exit code."""
    if debug:
        traceback.print_exception(error)
    if isinstance(error, HeadwayError):
        for line in with_flags(str(error)).splitlines():
            log(f"error: {line}")
        return error.exit_code
    if isinstance(error, UsageError):
        context = getattr(error, "ctx", None)
        path = context.command_path if context else "headway"
        message = error.format_message().rstrip(".")  # type: ignore[attr-defined]
        log(f"error: {message}; see {path} --help")
        return 2
    if is_out_of_memory(error):
        log(f"error: {OUT_OF_MEMORY}")
        return 1
    what = " ".join(f"{type(error).__name__}: {error}".split())
    hint = "" if debug else "; run again with --debug for the traceback"
    log(f"error: {what} (this is a bug{hint})")
    return 1

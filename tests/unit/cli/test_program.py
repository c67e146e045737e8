"""The program: arguments of all verbs, error messages, exit codes."""

import sys

import pytest
import typer

from headway.cli import program
from headway.cli.program import VERBS, _check_encoding, _explain, _without_debug, main
from headway.cli.termination import Terminated
from headway.errors import ConfigError, RunError


@pytest.fixture
def raising(monkeypatch):
    """Makes `headway info` raise an error."""

    def install(error: BaseException) -> None:
        def verb() -> None:
            raise error

        monkeypatch.setitem(VERBS, "info", verb)

    return install


@pytest.mark.parametrize(
    ("error", "code", "stderr"),
    [
        (ConfigError("no such key"), 2, "headway: error: no such key\n"),
        (RunError("first\nsecond"), 1, "headway: error: first\nheadway: error: second\n"),
        (KeyboardInterrupt(), 130, "headway: interrupted\n"),
        (Terminated(), 143, "headway: terminated\n"),
        (BrokenPipeError(), 141, ""),
        (MemoryError(), 1, f"headway: error: {program.OUT_OF_MEMORY}\n"),
        (
            KeyError("two\nlines"),
            1,
            "headway: error: KeyError: 'two\\nlines' "
            "(this is a bug; run again with --debug for the traceback)\n",
        ),
        (
            ValueError("two\n  lines"),
            1,
            "headway: error: ValueError: two lines "
            "(this is a bug; run again with --debug for the traceback)\n",
        ),
    ],
)
def test_exit_codes_and_messages(raising, capsys, error, code, stderr):
    raising(error)
    assert main(["info"]) == code
    assert capsys.readouterr() == ("", stderr)


@pytest.mark.parametrize("arguments", [["--debug", "info"], ["info", "--debug"]])
def test_debug_before_or_after_the_verb_shows_the_traceback(raising, capsys, arguments):
    raising(KeyError("lost"))
    assert main(arguments) == 1
    stderr = capsys.readouterr().err
    assert stderr.startswith("Traceback")
    assert stderr.endswith("headway: error: KeyError: 'lost' (this is a bug)\n")


def test_debug_after_two_dashes_is_an_argument():
    assert _without_debug(["info", "run"]) == (["info", "run"], False)
    assert _without_debug(["--debug", "info", "--debug"]) == (["info"], True)
    assert _without_debug(["info", "--", "--debug"]) == (["info", "--", "--debug"], False)
    assert _without_debug(["--debug", "--", "--debug"]) == (["--", "--debug"], True)


def test_arguments_that_are_not_utf8_are_refused():
    _check_encoding(["naïve", "日本"])
    with pytest.raises(ConfigError) as caught:
        _check_encoding(["info", "run\udcff"])
    assert str(caught.value) == (
        "the argument 'run\\udcff' is not UTF-8; write it in UTF-8, or rename the file"
    )


def test_usage_errors_name_the_help(capsys):
    assert _explain(typer.BadParameter("'x' is not a number."), debug=False) == 2
    assert capsys.readouterr().err == (
        "headway: error: Invalid value: 'x' is not a number; see headway --help\n"
    )
    assert main(["info"]) == 2
    assert capsys.readouterr().err == (
        "headway: error: Missing argument 'DIR'; see headway info --help\n"
    )


def test_help_and_version_are_successes(capsys):
    assert main(["info", "--help"]) == main(["--version"]) == main([]) == 0
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(("verb", "skips"), [("score", True), ("train", False), ("--help", False)])
def test_only_verbs_that_use_models_skip_the_meta_kernels(monkeypatch, capsys, verb, skips):
    calls = []
    monkeypatch.setattr(program, "skip_meta_kernels", lambda: calls.append(True))
    monkeypatch.setattr(sys, "argv", ["headway", verb, "--help"])
    assert main() == 0
    assert bool(calls) == skips
    calls.clear()
    assert main([verb, "--help"]) == 0
    assert not calls, "a caller may train later in this process"

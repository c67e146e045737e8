"""Commands in this process, so that torch is imported once; each file has a `place` for them."""

import io
import sys

import pytest

from headway.cli import main


@pytest.fixture
def headway(place, capfd):
    """Runs a command: exit code, standard output, standard error."""

    def run(*arguments: str, typed: str | None = None) -> tuple[int, str, str]:
        with pytest.MonkeyPatch.context() as patch:
            if typed is not None:
                patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(typed.encode())))
            capfd.readouterr()
            code = main(list(arguments))
        return code, *capfd.readouterr()

    return run


@pytest.fixture
def fails(headway):
    """Runs a command that must fail with the code and end with one line, which is given back."""

    def run(code: int, *arguments: str, typed: str | None = None) -> str:
        got, stdout, stderr = headway(*arguments, typed=typed)
        assert (got, stdout) == (code, ""), stderr
        last = stderr.splitlines()[-1]
        assert last.startswith("headway: error: ")
        assert "Traceback" not in stderr
        return last.removeprefix("headway: error: ")

    return run

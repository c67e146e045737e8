"""Messages of the library name Python arguments; the command line shows them as flags."""

import ast
import re
from pathlib import Path

import pytest

import headway
from headway.cli.flags import ARGUMENT, with_flags
from headway.cli.program import VERBS

PACKAGE = Path(headway.__file__).parent
# Commands and flags that pages and reports print for the user to type, and the server's operator.
PRINTED = {"demo", "inspection/report.py", "search/config.py", "serve/allowed_hosts.py"}


@pytest.mark.parametrize(
    ("message", "shown"),
    [
        ("choose another `out`", "choose another --out"),
        ("or add `inexact=True`", "or add --inexact"),
        ('cut off (`too_long="cut"`)', "cut off (--cut)"),
        ('`to="hf"`, or `by_length`', "--to hf, or --by-length"),
        ("continue with `headway resume runs/a`", "continue with `headway resume runs/a`"),
    ],
)
def test_arguments_are_shown_as_flags(message, shown):
    assert with_flags(message) == shown


def library_texts():
    """All texts of the package outside `cli` but docstrings, each with its file and line."""
    for path in sorted(PACKAGE.rglob("*.py")):
        name = path.relative_to(PACKAGE).as_posix()
        if name.startswith("cli/") or name in PRINTED or name.split("/")[0] in PRINTED:
            continue
        tree = ast.parse(path.read_text("utf-8"))
        docs = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        for node in ast.walk(tree):
            is_text = isinstance(node, ast.Constant) and isinstance(node.value, str)
            if is_text and id(node) not in docs:
                yield f"{name}:{node.lineno}", node.value


def test_no_message_of_the_library_has_a_flag():
    flags = re.compile(r"(^|[ (])--[a-z]")
    found = [(place, text) for place, text in library_texts() if flags.search(text)]
    assert [text for _, text in found if text != "--data FILE"] == [], found


def test_every_argument_in_a_message_is_a_flag_of_some_command():
    import typer

    from headway.cli.program import _app

    commands = typer.main.get_command(_app()).commands
    assert set(commands) == set(VERBS)
    known = {flag for command in commands.values() for p in command.params for flag in p.opts}
    named = [
        with_flags(match[0]).split()[0]
        for _, text in library_texts()
        for match in ARGUMENT.finditer(text)
    ]
    assert "--out" in named
    assert set(named) <= known

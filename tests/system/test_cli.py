"""The program around the verbs, as a user runs it: help, usage errors, bugs, broken streams.

Whole processes where the process matters (streams, start-up time); the rest calls `main`, so that
torch is imported once. Each verb has a file of its own, `test_cli_<verb>.py`.
"""

import os
import re
import resource
import subprocess
import sys
from pathlib import Path

import pytest
from cli_workdir import start

VERBS = ("demo", "train", "resume", "translate", "evaluate", "score", "search-report", "info")
VERBS += ("compare", "config", "average", "export", "generate", "fill", "embed")


# Starting


def test_help_is_quick_and_light(workdir):
    code = (
        "import sys; from headway.cli import main; main(['--help']);"
        "print(*{'torch', 'numpy', 'sacrebleu', 'tokenizers', 'rich'} & set(sys.modules))"
    )
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert out.splitlines()[-1] == "", "heavy packages were imported"
    assert "Usage: headway" in out
    # Processor time, which other programs do not change; about 0.4.
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < 1.0


def test_without_arguments_there_is_help(headway):
    code, stdout, _ = headway()
    assert code == 0
    assert stdout == headway("--help")[1]
    for verb in VERBS:
        assert re.search(rf"^  {verb} +\w", stdout, re.MULTILINE)
    assert "..." not in stdout.partition("Commands:")[2], "a summary is cut off"


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_explains_itself(headway, verb):
    code, stdout, _ = headway(verb, "--help")
    assert code == 0
    assert f"  Example: headway {verb} " in stdout
    assert "--json" in stdout


def test_version(headway):
    code, stdout, _ = headway("--version")
    assert (code, stdout.splitlines()[0]) == (0, "headway 0.2.0")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["trian"], "No such command 'trian'"),
        (["train", "run.toml"], "Missing option '--out'; see headway train --help"),
        (["train", "--out", "x"], "Missing argument 'RUN.toml'; see headway train --help"),
        (["info", "run", "--jsno"], "No such option: --jsno"),
        (["translate", "run", "--beam", "many"], "--beam"),
        (["average", "run", "--last", "0", "--out", "x"], "--last"),
    ],
)
def test_wrong_usage(fails, arguments, message):
    assert message in fails(2, *arguments)


@pytest.mark.parametrize("verb", ["resume", "translate", "evaluate", "score", "info"])
def test_directories_that_are_no_run(fails, tmp_path, verb):
    (tmp_path / "notes.txt").write_text("mine")
    assert "is not a run directory (it has no headway.json)" in fails(1, verb, str(tmp_path))
    assert "does not exist" in fails(1, verb, str(tmp_path / "absent"))


# When things go wrong


def test_debug_shows_where_a_mistake_was_found(headway):
    code, _, stderr = headway("info", "absent", "--debug")
    assert code == 1
    assert stderr.startswith("Traceback")
    assert stderr.splitlines()[-1].startswith("headway: error: absent does not exist")


def test_debug_after_two_dashes_is_a_file(headway, trained):
    assert "cannot read --debug" in headway("translate", "run", "--", "--debug")[2]


FULL = "headway: error: standard output cannot be written: No space left on device; "
needs_full = pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")


@needs_full
@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("arguments", [("config",), ("--help",), ("--version",)], ids=" ".join)
def test_a_full_disk_behind_standard_output(workdir, arguments, unbuffered):
    surroundings = {**os.environ, "PYTHONUNBUFFERED": unbuffered}
    with open("/dev/full", "w") as full:
        process = start(*arguments, stdout=full, cwd=workdir, env=surroundings)
        _, stderr = process.communicate(timeout=300)
    assert (process.returncode, stderr) == (1, f"{FULL}make room or write elsewhere\n")


@needs_full
def test_a_full_disk_behind_standard_error_leaves_the_exit_code(workdir):
    with open("/dev/full", "w") as full:
        process = start("info", "absent", stderr=full, cwd=workdir)
        stdout, _ = process.communicate(timeout=300)
    assert (process.returncode, stdout) == (1, "")


@pytest.mark.parametrize(
    "arguments",
    [
        (b"info", b"no\xff"),
        (b"train", b"run\xff.toml", b"--out", b"new"),
        (b"train", b"run.toml", b"--out", b"new\xff"),
        (b"config", b"run.toml", b"data.root=\xff"),
        (b"translate", b"run", b"inputs.txt", b"--prefix", b"six \xff"),
        (b"no\xff",),
    ],
)
def test_an_argument_that_is_no_text(fails, workdir, arguments):
    [wrong] = [repr(os.fsdecode(argument)) for argument in arguments if b"\xff" in argument]
    assert fails(2, *map(os.fsdecode, arguments)) == (
        f"the argument {wrong} is not UTF-8; write it in UTF-8, or rename the file"
    )
    assert not list(workdir.glob("new*"))


def test_an_argument_that_is_no_text_in_a_process(workdir):
    process = start(b"config", b"run\xff.toml", cwd=workdir)
    stdout, stderr = process.communicate(timeout=300)
    assert (process.returncode, stdout) == (2, "")
    assert stderr == (
        "headway: error: the argument 'run\\udcff.toml' is not UTF-8; write it in UTF-8, or rename "
        "the file\n"
    )


def test_a_reader_that_goes_away(workdir):
    reading, writing = os.pipe()
    os.close(reading)
    process = start("config", stdout=writing, cwd=workdir)
    os.close(writing)
    _, stderr = process.communicate(timeout=300)
    assert (process.returncode, stderr) == (141, "")

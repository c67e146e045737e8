"""Options that several commands share: parsing, refusals and groups in the help."""

import errno
import re
from pathlib import Path

import pytest
import torch
import typer

from headway.cli.options import (
    COMPUTING,
    SEARCH,
    Grouped,
    check_engine,
    refuse_options,
    set_threads,
    warn,
    whole,
    whole_numbers,
    writing,
)
from headway.errors import ConfigError, RunError


def test_a_whole_number():
    assert [whole(text) for text in ("7", "-1", "0")] == [7, -1, 0]
    for text in ("2.5", "many", ""):
        with pytest.raises(typer.BadParameter, match=f"^{re.escape(repr(text))} is not a whole"):
            whole(text)


def test_whole_numbers_with_commas():
    assert whole_numbers("--beams", "1, 2,10", example="1,5") == (1, 2, 10)
    for text in ("", "1,", "1;2", "-1", "1.5", "²"):
        with pytest.raises(ConfigError) as caught:
            whole_numbers("--beams", text, example="1,5")
        assert str(caught.value) == (
            f"--beams {text}: expected whole numbers with commas, such as 1,5"
        )


def test_a_file_that_cannot_be_written_is_named_with_its_option(tmp_path):
    with pytest.raises(RunError) as caught, writing("--out", Path("vectors.npy")):
        raise OSError(errno.ENOSPC, "No space left on device")
    assert str(caught.value) == (
        "--out vectors.npy cannot be written: No space left on device; name another path or make "
        "room"
    )
    with pytest.raises(ValueError, match="another"), writing("--out", tmp_path):
        raise ValueError("another")


def test_options_of_other_tasks_are_refused_if_they_have_a_value():
    refuse_options(Path("run"), "tag", {"--beam": None, "--group": False, "--source": ""})
    with pytest.raises(ConfigError) as caught:
        refuse_options(Path("run"), "tag", {"--beam": None, "--group": True})
    assert str(caught.value) == (
        "--group has no meaning for run, which was trained for task 'tag'; leave it out"
    )


def test_warnings_go_to_standard_error(capsys):
    warn("blank line")
    assert capsys.readouterr() == ("", "headway: warning: blank line\n")


def test_threads_are_set_only_if_there_is_a_number():
    usual = torch.get_num_threads()
    try:
        set_threads(usual + 1)
        set_threads(None)
        assert torch.get_num_threads() == usual + 1
    finally:
        torch.set_num_threads(usual)


def test_engines_and_compute_types():
    check_engine("headway", "default")
    check_engine("ctranslate2", "int8")
    for arguments, message in {
        ("quick", "default"): "--engine quick: expected headway or ctranslate2",
        ("ctranslate2", "int4"): "--compute-type int4: expected one of default, float32, int8",
        ("headway", "int8"): "--compute-type int8 is a setting of the engine ctranslate2; add "
        "--engine ctranslate2 or leave it out",
    }.items():
        with pytest.raises(ConfigError) as caught:
            check_engine(*arguments)
        assert str(caught.value) == message


def help_of(command) -> str:
    """The help of a command."""
    app = typer.Typer(rich_markup_mode=None, add_completion=False)
    app.command(cls=Grouped)(command)
    built = typer.main.get_command(app)
    with built.make_context("test", [], resilient_parsing=True) as context:
        return built.get_help(context)


def test_help_has_a_heading_for_each_group_search_before_later_ones():
    def command(
        name: str = typer.Argument("x"),
        threads: int = typer.Option(1, "--threads", rich_help_panel=COMPUTING),
        beam: int = typer.Option(1, "--beam", rich_help_panel=SEARCH),
        loud: bool = typer.Option(False, "--loud"),
    ) -> None:
        """Does it."""

    text = help_of(command)
    headings = re.findall(r"^(\w[\w ]+):$", text, re.MULTILINE)
    assert headings == ["Arguments", "Options", SEARCH, COMPUTING]
    assert "--beam" in text.partition(f"{SEARCH}:")[2].partition(f"{COMPUTING}:")[0]


def test_values_of_a_docstring_are_filled_in_when_help_is_shown():
    def command() -> None:
        """Knows {metrics}."""

    command.help_values = lambda: {"metrics": "bleu, chrf"}
    assert "Knows bleu, chrf." in help_of(command)

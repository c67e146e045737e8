"""Flags of search settings: made from the declarations, read as settings."""

import inspect

import pytest
import typer

from headway.cli.search_options import SearchOptions, number, with_search_options
from headway.errors import ConfigError
from headway.search.config import SETTINGS


def test_flags_and_pairs_become_settings():
    options = SearchOptions({"beam": 8}, ["search.min_ratio = 0.5", "method=sample", "stop=safe"])
    assert options.settings(seed=3, alpha=None) == {
        "beam": 8,
        "min_ratio": 0.5,
        "method": "sample",
        "stop": "safe",
        "seed": 3,
    }
    assert SearchOptions().settings() == {}


@pytest.mark.parametrize("pair", ["beam", "=3", " =3", ""])
def test_a_pair_without_key_or_value(pair):
    with pytest.raises(ConfigError) as caught:
        SearchOptions(pairs=[pair]).settings()
    assert str(caught.value) == (f"--search {pair}: expected KEY=VALUE, for example min_ratio=0.5")


def test_a_setting_that_is_given_twice():
    for options, more in (
        (SearchOptions({"beam": 5}, ["beam=4"]), {}),
        (SearchOptions(pairs=["beam=4"]), {"beam": 5}),
    ):
        with pytest.raises(ConfigError) as caught:
            options.settings(**more)
        assert str(caught.value) == (
            "--search beam=4 and an option of its own set search.beam; leave one of them out"
        )


def test_the_flags_of_a_command_line_by_name():
    assert SearchOptions({"n_best": 2}, ["stop=safe"]).named() == ["--nbest", "--search"]
    assert SearchOptions().named() == []


def test_a_command_gets_the_flags_that_are_declared_for_it():
    calls = []

    @with_search_options("translate")
    def command(run: str, search: SearchOptions, threads: int = 1) -> None:
        calls.append((run, search, threads))

    parameters = list(inspect.signature(command).parameters)
    declared = [name for name, setting in SETTINGS.items() if "translate" in setting.commands]
    assert "beam" in declared
    assert parameters == ["run", *declared, "search_pairs", "threads"]
    unset = dict.fromkeys(declared)
    command(run="r", **{**unset, "beam": 4}, search_pairs=["stop=safe"], threads=2)
    command(run="r", **unset, search_pairs=None)
    assert calls == [("r", SearchOptions({"beam": 4}, ["stop=safe"]), 2), ("r", SearchOptions(), 1)]


def test_a_command_may_leave_out_the_pairs():
    @with_search_options("search-report", any_setting=False)
    def command(search: SearchOptions) -> None: ...

    assert "search_pairs" not in inspect.signature(command).parameters


def test_numbers():
    assert (number("1e-2"), number("3")) == (0.01, 3.0)
    with pytest.raises(typer.BadParameter, match=r"^'many' is not a number$"):
        number("many")

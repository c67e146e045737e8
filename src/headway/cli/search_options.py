"""Command-line flags of search settings, from their declarations in `search/config.py`."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import wraps
from typing import Annotated, Any, Literal, get_args, get_origin

import typer

from ..config import read_value, summaries
from ..config.schema import split
from ..errors import ConfigError
from ..search.config import SETTINGS, SearchConfig
from ..search.setting import Setting
from .options import SAMPLING, SEARCH, whole

PAIRS = "search_pairs"  # the parameter of --search


@dataclass(frozen=True)
class SearchOptions:
    """The search settings of a command line.

    Attributes:
        flags: value by the name of the setting, for flags that are set.
        pairs: values of `--search`, each `KEY=VALUE`.
    """

    flags: Mapping[str, Any] = field(default_factory=dict)
    pairs: Sequence[str] = ()

    def settings(self, **more: Any) -> dict[str, Any]:
        """Settings by name, from flags, `--search` and `more`, whose values may be None.

        Values of `--search` are parsed as TOML, or taken as text if they are none: `method=sample`.
        The search checks names and values.

        Raises:
            ConfigError: a pair has no `=`, or a setting is set in both ways.
        """
        settings: dict[str, Any] = {}
        for pair in self.pairs:
            name, equals, value = pair.removeprefix("search.").partition("=")
            if not equals or not name.strip():
                raise ConfigError(f"--search {pair}: expected KEY=VALUE, for example min_ratio=0.5")
            settings[name.strip()] = read_value(value)
        more = {name: value for name, value in more.items() if value is not None}
        chosen = {**self.flags, **more}
        for name in settings.keys() & chosen.keys():
            raise ConfigError(
                f"--search {name}={settings[name]} and an option of its own set search.{name}; "
                "leave one of them out"
            )
        return settings | chosen

    def named(self) -> list[str]:
        """The flags that are set, `--search` included."""
        return [SETTINGS[name].flag for name in self.flags] + ["--search"] * bool(self.pairs)


NO_SEARCH_OPTIONS = SearchOptions()


def with_search_options(
    command: str, any_setting: bool = True
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """A decorator that replaces the parameter `search` of a command by the flags declared for it.

    Args:
        any_setting: whether to add `--search KEY=VALUE`.
    """
    flags = [_flag(setting) for setting in SETTINGS.values() if command in setting.commands]
    added = [*flags, _pairs()] if any_setting else flags

    def decorate(function: Callable[..., None]) -> Callable[..., None]:
        @wraps(function)
        def run(**arguments: Any) -> None:
            values = {flag.name: arguments.pop(flag.name) for flag in flags}
            chosen = {name: value for name, value in values.items() if value is not None}
            pairs = arguments.pop(PAIRS, None) or ()
            function(**arguments, search=SearchOptions(chosen, pairs))

        parameters: list[inspect.Parameter] = []
        for own in inspect.signature(function).parameters.values():
            own = own.replace(kind=inspect.Parameter.KEYWORD_ONLY)
            parameters += added if own.name == "search" else [own]
        run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        run.__annotations__ = {each.name: each.annotation for each in parameters}
        return run

    return decorate


def _flag(setting: Setting) -> inspect.Parameter:
    """The parameter of one setting; None if the flag is absent."""
    base, _ = split(setting.type)
    if get_origin(base) is Literal:
        base, parser, metavar = str, None, "|".join(get_args(base))
    else:
        parser, metavar = {int: (whole, "N"), float: (number, "NUMBER")}[base]
    option = typer.Option(
        setting.flag,
        parser=parser,
        metavar=metavar,
        help=summaries(SearchConfig)[setting.name],
        rich_help_panel=SAMPLING if setting.methods == ("sample",) else SEARCH,
    )
    return _parameter(setting.name, Annotated[base | None, option])


def _pairs() -> inspect.Parameter:
    option = typer.Option(
        "--search",
        metavar="KEY=VALUE",
        help="Any setting of [search], such as min_ratio=0.5; repeatable.",
        rich_help_panel=SEARCH,
    )
    return _parameter(PAIRS, Annotated[list[str] | None, option])


def _parameter(name: str, annotation: Any) -> inspect.Parameter:
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation
    )


def number(text: str) -> float:
    """A number from the command line."""
    try:
        return float(text)
    except ValueError:
        raise typer.BadParameter(f"{text!r} is not a number") from None

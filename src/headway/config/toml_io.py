"""Reads run files and command-line overrides into tables for `parsing`, and writes settings."""

import difflib
import os
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import is_dataclass
from datetime import date, time
from pathlib import Path
from typing import Any, TypeVar

import tomli_w

from ..errors import ConfigError
from ..file_limits import NESTING, RUN_FILE_BYTES, TOO_DEEP, TOO_LARGE, check_values, read_bounded
from .messages import show
from .parsing import COMMAND_LINE, parse
from .schema import NONE_WORD, Key, choice_of, has_key, join, keys, tables_in

T = TypeVar("T")


Tables = dict[str, Any]
_NO_DATA = "a run file names data, it does not contain them"
_PART = r"""(?:[\w-]++|"(?:[^"\\\n]|\\.)*+"|'[^'\n]*+')"""
_LONG_KEY = re.compile(rf"(?<![\w-])(?:{_PART}[ \t]*+\.[ \t]*+){{{NESTING},}}")
"""A dotted key of too many parts."""


def load(
    path: str | Path,
    cls: type[T],
    overrides: Iterable[str] = (),
    complete: Callable[[Tables], Tables] = lambda tables: tables,
) -> T:
    """Settings of class `cls` from a TOML file, changed by overrides such as `train.lr=3e-4`.

    Args:
        complete: adds keys to the tables before they are checked.

    Raises:
        ConfigError: the file cannot be read, an override is invalid, or settings are wrong.
    """
    raw = _read_toml(path)
    overridden: dict[str, str] = {}
    problems = []
    for override in overrides:
        try:
            key, text = _apply(raw, override, str(path))
        except ConfigError as error:
            problems.append(f"{COMMAND_LINE}: {error}")
        else:
            overridden[key] = text
    if problems:
        raise ConfigError("\n".join(problems))
    return parse(complete(raw), cls, str(path), overridden)


def _other_file(path: Path) -> str:
    """Advice for a run file that does not exist: a similar name in its folder."""
    folder = path.parent
    names = os.listdir(folder) if folder.is_dir() else []
    near = difflib.get_close_matches(path.name, names, n=1, cutoff=0.8)
    return f"did you mean {folder / near[0]}?" if near else "check the name"


def _read_toml(path: str | Path) -> Tables:
    try:
        content = read_bounded(path, RUN_FILE_BYTES, ConfigError, _NO_DATA)
    except FileNotFoundError:
        raise ConfigError(f"{path}: no such file; {_other_file(Path(path))}") from None
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from None
    try:
        text = content.decode("utf-8-sig")  # some editors write a byte order mark
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        wrong = error.object[error.start]
        raise ConfigError(
            f"{path}:{line}: byte 0x{wrong:02x} is not UTF-8; save the file as UTF-8"
        ) from None
    try:
        return _parse_toml(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(_syntax(path, text, str(error))) from None
    except ValueError as error:
        raise ConfigError(f"{path}: {error}; a run file has tables of keys") from None


def _parse_toml(text: str) -> Tables:
    """The tables of a TOML text.

    Raises:
        ValueError: it is no TOML, is nested too deeply or has a number of hundreds of digits.
    """
    if _LONG_KEY.search(text):  # the library takes hours for keys of many thousand parts
        raise ValueError(f"a key has more than {NESTING} parts")
    try:
        tables = tomllib.loads(text)
    except RecursionError:
        raise ValueError(TOO_DEEP) from None
    except tomllib.TOMLDecodeError:
        raise
    except ValueError:  # of the interpreter, which reads no longer number
        raise ValueError(TOO_LARGE) from None
    check_values(tables)
    return tables


def _syntax(path: str | Path, text: str, message: str) -> str:
    """Tomllib's message with the line number after the path, where editors expect it."""
    position = re.search(r" \(at (?:line (\d+), column (\d+)|end of document)\)$", message)
    if not position:
        return f"{path}: not valid TOML: {message}"
    line = position[1] or str(text.rstrip("\n").count("\n") + 1)
    column = f"column {position[2]}" if position[2] else "at the end of the file"
    reason = message[: position.start()]
    return f"{path}:{line}: not valid TOML: {reason[:1].lower()}{reason[1:]} ({column})"


def _apply(raw: dict[str, Any], override: str, origin: str) -> tuple[str, str]:
    """Writes one override into the tables; returns its dotted key and the text of its value."""
    name, equals, text = override.partition("=")
    if not equals:
        raise ConfigError(f"{override!r} has no '='; write it as key=value, for example train.lr=3")
    path = _key_path(name.strip(), override)
    table, dotted = raw, ""
    for part in path[:-1]:
        dotted = join(dotted, part)
        table = table.setdefault(part, {})
        if not isinstance(table, dict):
            raise ConfigError(
                f"{override!r} needs {dotted} to be a table, but it is {show(table)} in {origin}"
            )
    table[path[-1]] = read_value(text)
    return join(dotted, path[-1]), text


def _key_path(name: str, override: str) -> list[str]:
    path = []
    try:
        table = tomllib.loads(f"{name} = 0") if "\n" not in name else {}
    except tomllib.TOMLDecodeError:
        table = {}
    while isinstance(table, dict) and len(table) == 1:
        part, table = next(iter(table.items()))
        path.append(part)
    if not path:
        raise ConfigError(f"{override!r}: {name!r} is not a key; expected words joined by dots")
    return path


def read_value(text: str) -> Any:
    """The value of a command-line text: parsed as TOML, or the text if it is none: `translate`."""
    try:
        values = tomllib.loads(f"value = {text}")
    except tomllib.TOMLDecodeError:
        return text
    value = values["value"]
    # No setting is a date, and a second line would be a second key.
    return text if isinstance(value, (date, time)) or len(values) > 1 else value


def to_toml(settings: Any) -> str:
    """The TOML text of a settings object."""
    return tomli_w.dumps(to_dict(settings))


def to_dict(settings: Any) -> dict[str, Any]:
    """The tables of a settings object, without keys whose value and default are None."""
    cls: type = type(settings)
    return {
        key.name: _plain(value, key)
        for key in keys(cls)
        if (value := getattr(settings, key.name)) is not None or key.default is not None
    }


def _plain(value: Any, key: Key) -> Any:
    if value is None:
        return NONE_WORD
    if is_dataclass(value):
        return {**_name(value, key), **to_dict(value)}
    if isinstance(value, Mapping):
        return {name: _plain(item, key) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item, key) for item in value]
    return value


def _name(value: Any, key: Key) -> dict[str, str]:
    """The entry with the name that a Choice picked, for classes without such a field."""
    cls: type = type(value)
    for section in tables_in(key.type):
        choice = choice_of(section)
        if choice and cls in choice.table().values() and not has_key(cls, choice.key):
            return {choice.key: choice.name_of(value)}
    return {}

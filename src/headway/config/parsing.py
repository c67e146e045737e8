"""From plain tables to settings; reports all problems, one line each.

Parsing is pure: each step returns its value and its problems, so that a union can try its members
and discard those that do not fit. `toml_io` reads files and the command line.
"""

import dataclasses
import sys
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import MISSING, dataclass, field
from itertools import islice
from types import NoneType
from typing import Annotated, Any, Literal, TypeVar, get_args, get_origin

import annotated_types as at

from ..errors import ConfigError
from .messages import accepts_none_word, did_you_mean, expected, nearest_key, shorten, show
from .schema import (
    NONE_WORD,
    SCALARS,
    Choice,
    Key,
    alternatives,
    choice_of,
    has_key,
    join,
    keys,
    known_keys,
    section_of,
    split,
)

T = TypeVar("T")
Read = tuple[Any, list[str]]
"""A value and its problems; the value is valid only if there are none."""

COMMAND_LINE = "command line"
_MANY_KEYS = 12
_LONGEST_NUMBER = 60
_MOST_PROBLEMS = 20
"""Problems that are looked for in a table or list; a hostile file may have a hundred thousand."""


def parse(
    raw: Mapping[str, Any],
    cls: type[T],
    origin: str,
    overridden: Mapping[str, str] | None = None,
) -> T:
    """Settings of class `cls` from plain tables.

    Args:
        origin: name of the source in messages, usually the file name.
        overridden: dotted keys from the command line, each with its text there.

    Raises:
        ConfigError: with one line for each problem.
    """
    reader = _Reader(cls, origin, overridden or {})
    settings, problems = reader.table(cls, raw, "")
    if len(problems) > _MOST_PROBLEMS:
        problems = [*problems[:_MOST_PROBLEMS], f"{origin}: there are more; fix these first"]
    if problems:
        raise ConfigError("\n".join(problems))
    return settings


@dataclass(frozen=True)
class _Reader:
    root: type
    origin: str
    overridden: Mapping[str, str] = field(default_factory=dict)

    def read(self, tp: Any, value: Any, key: str) -> Read:
        """A value of any type that settings may have."""
        members = alternatives(tp)
        if len(members) > 1:
            return self._union(tp, members, value, key)
        base, metadata = split(tp)
        origin = get_origin(base)
        if choice := choice_of(tp):
            return self._chosen(choice, value, key)
        if dataclasses.is_dataclass(base):
            return self.table(base, value, key)  # type: ignore[arg-type]
        if base is Any:
            return value, []
        if origin is Literal:
            return self._literal(tp, value, key)
        if origin is None:
            return self._scalar(tp, value, key)
        entries, problems = self._entries(tp, value, key)
        if not problems and metadata and not _accepts(Annotated[origin, *metadata], entries):
            return None, [self._mismatch(tp, value, key)]
        return entries, problems

    def table(self, cls: type, value: Any, key: str) -> Read:
        """An instance of a dataclass from a table."""
        if not isinstance(value, Mapping):
            return None, [self._mismatch(cls, value, key)]
        arguments: dict[str, Any] = {}
        unknown = (name for name in value if not has_key(cls, name))
        problems = [
            self._unknown(join(key, name), value[name], self._advice(cls, key, name))
            for name in islice(unknown, _MOST_PROBLEMS)
        ]
        for setting in keys(cls):
            name = join(key, setting.name)
            if setting.name in value:
                argument, more = self.read(setting.type, value[setting.name], name)
            elif setting.default is MISSING:
                argument, more = self._missing(setting, name)
            else:
                continue
            arguments[setting.name] = argument
            problems += more
        if problems:
            return None, problems
        try:
            return cls(**arguments), []
        except ValueError as error:
            return None, [self._refusal(key, str(error))]

    def _chosen(self, choice: Choice, value: Any, key: str) -> Read:
        """An instance of the class that a key of the section picks from a table of classes."""
        if not isinstance(value, Mapping):
            return None, [self._mismatch(Annotated[Any, choice], value, key)]
        classes = choice.table()
        picked = value.get(choice.key, choice.default)
        picked_key = join(key, choice.key)
        known = Literal[tuple(classes)]  # type: ignore[valid-type]
        if picked is None:
            return None, [self._problem(picked_key, f"missing key {picked_key}: {_wanted(known)}")]
        if not isinstance(picked, str) or picked not in classes:
            return self._literal(known, picked, picked_key)
        cls = classes[picked]
        entries: dict[str, Any] = {choice.key: picked} if has_key(cls, choice.key) else {}
        unknown: list[str] = []
        for name, item in value.items():
            if has_key(cls, name):
                entries[name] = item
            elif name != choice.key and len(unknown) < _MOST_PROBLEMS:
                advice = self._foreign(choice, picked, key, name)
                unknown.append(self._unknown(join(key, name), item, advice))
        settings, problems = self.table(cls, entries, key)
        return settings, unknown + problems

    def _union(self, tp: Any, members: tuple[Any, ...], value: Any, key: str) -> Read:
        if NoneType in members and (
            value is None or (value == NONE_WORD and accepts_none_word(tp))
        ):
            return None, []
        fitting = []
        for member in members:
            if member is not NoneType:
                result, problems = self.read(member, value, key)
                if not problems:
                    return result, []
                if _same_shape(member, value):
                    fitting.append(problems)
        # Problems inside a table or a list are those of the member with that shape.
        if fitting:
            return None, min(fitting, key=len)
        return None, [self._mismatch(tp, value, key, _near_name(members, value))]

    def _entries(self, tp: Any, value: Any, key: str) -> Read:
        """A list, a tuple or a table of equal entries."""
        base = split(tp)[0]
        origin, arguments = get_origin(base), get_args(base)
        if origin is dict and isinstance(value, Mapping):
            read, problems = self._each(
                (arguments[1], item, join(key, name)) for name, item in value.items()
            )
            return dict(zip(value, read, strict=not problems)), problems
        fixed = origin is tuple and arguments[-1] is not Ellipsis
        if (
            origin is dict
            or not isinstance(value, (list, tuple))
            or (fixed and len(value) != len(arguments))
        ):
            return None, [self._mismatch(tp, value, key)]
        types = arguments if fixed else arguments[:1] * len(value)
        read, problems = self._each(
            (item_type, item, f"{key}[{index}]")
            for index, (item_type, item) in enumerate(zip(types, value, strict=True))
        )
        return origin(read), problems

    def _each(self, entries: Iterable[tuple[Any, Any, str]]) -> tuple[list[Any], list[str]]:
        """The entries, each a type, a value and a key, up to too many problems."""
        read, problems = [], []
        for tp, item, key in entries:
            value, more = self.read(tp, item, key)
            read.append(value)
            problems += more
            if len(problems) >= _MOST_PROBLEMS:
                break
        return read, problems

    def _literal(self, tp: Any, value: Any, key: str) -> Read:
        allowed = get_args(split(tp)[0])
        # 1 == True in Python, but not in a run file.
        if any(type(value) is type(option) and value == option for option in allowed):
            return value, []
        return None, [self._mismatch(tp, value, key, _near_name((tp,), value))]

    def _scalar(self, tp: Any, value: Any, key: str) -> Read:
        is_number = isinstance(value, SCALARS) and not isinstance(value, str)
        if split(tp)[0] is str and is_number and key in self.overridden:
            value = self.overridden[key]  # name=2021 on the command line: the shell drops quotes
        if not _accepts(tp, value):
            return None, [self._mismatch(tp, value, key)]
        return (float(value) if split(tp)[0] is float else value), []

    def _missing(self, setting: Key, key: str) -> Read:
        section = section_of(setting.type)
        if section is not None and NoneType not in alternatives(setting.type):
            return self.read(section, {}, key)  # names the missing keys of the section
        return None, [self._problem(key, f"missing key {key}: {_wanted(setting.type)}")]

    def _foreign(self, choice: Choice, picked: str, section: str, name: str) -> str:
        """Advice for a key that the picked class lacks: a similar key, or the owner of the key."""
        classes, dotted = choice.table(), join(section, name)
        here = _dotted(classes[picked], section)
        near = nearest_key(dotted, [*here, *known_keys(self.root)])
        owners = [owner for owner, cls in classes.items() if near in _dotted(cls, section)]
        if not owners or picked in owners:
            return self._advice(classes[picked], section, name)
        own = nearest_key(dotted, here)
        if own and near != dotted:
            return f"; did you mean {own}?"
        whose = f"{'it' if near == dotted else near} belongs to {', '.join(map(show, owners))}"
        return f" for {join(section, choice.key)} = {show(picked)}; {whose}"

    def _advice(self, cls: type, section: str, name: str) -> str:
        """Advice for an unknown key: a similar key, or the known keys if they are few."""
        here = _dotted(cls, section)
        near = nearest_key(join(section, name), [*here, *known_keys(self.root)])
        if near:
            return f"; did you mean {near}?"
        return f"; known here: {', '.join(here)}" if len(here) <= _MANY_KEYS else ""

    def _unknown(self, key: str, value: Any, advice: str) -> str:
        typed = all(
            any(_within(leaf, typed) for typed in self.overridden) for leaf in _leaves(value, key)
        )
        origin = COMMAND_LINE if typed else self.origin
        return self._problem(key, f"unknown key {shorten(key)}{advice}", origin)

    def _mismatch(self, tp: Any, value: Any, key: str, advice: str = "") -> str:
        advice = advice or _rewriting(tp, value)
        text = f"{show(value)}: {_wanted(tp)}{advice}"
        return self._problem(key, f"{shorten(key)} = {text}" if key else text)

    def _problem(self, key: str, text: str, origin: str | None = None) -> str:
        typed = any(_within(key, typed) for typed in self.overridden)
        return f"{origin or (COMMAND_LINE if typed else self.origin)}: {text}"

    def _refusal(self, section: str, sentence: str) -> str:
        """The message of a class that refuses its settings, with the names of their sources."""
        both = any(_within(typed, section) and typed != section for typed in self.overridden)
        text = f"{section}: {sentence}" if section else sentence
        return self._problem(section, text, f"{self.origin} and {COMMAND_LINE}" if both else None)


def _dotted(cls: type, section: str) -> list[str]:
    return [join(section, setting.name) for setting in keys(cls)]


def _wanted(tp: Any) -> str:
    return f"expected {expected(tp)}"


def _accepts(tp: Any, value: Any) -> bool:
    """Whether a scalar or a container satisfies its type and bounds, without coercion."""
    base, bounds = split(tp)
    return _has_type(base, value) and all(_is_within(bound, value) for bound in bounds)


def _has_type(base: Any, value: Any) -> bool:
    """Whether a value has a scalar type; the entries of containers are already checked."""
    if base not in SCALARS:
        return True
    if isinstance(value, bool) or base is bool:  # in Python, a bool is an int
        return isinstance(value, bool) and base is bool
    if base is float:
        is_number = isinstance(value, int | float) and value == value  # no NaN
        return is_number and (isinstance(value, float) or abs(value) <= sys.float_info.max)
    return isinstance(value, base)


def _is_within(bound: Any, value: Any) -> bool:
    match bound:
        case at.Ge(limit):
            return bool(value >= limit)
        case at.Gt(limit):
            return bool(value > limit)
        case at.Le(limit):
            return bool(value <= limit)
        case at.Lt(limit):
            return bool(value < limit)
        case at.MultipleOf(factor):
            return bool(value % factor == 0)
        case at.MinLen(count):
            return len(value) >= count
        case at.MaxLen(count):
            return len(value) <= count
    raise TypeError(f"{bound!r} is not a bound of settings")


def _near_name(members: tuple[Any, ...], value: Any) -> str:
    """Advice for a misspelt name: the nearest name that the types allow."""
    literals = [base for member in members if get_origin(base := split(member)[0]) is Literal]
    allowed = [name for literal in literals for name in get_args(literal)]
    names = [name for name in allowed if isinstance(name, str)]
    return did_you_mean(str(value), names) if len(allowed) > 1 else ""


def _rewriting(tp: Any, value: Any) -> str:
    """Advice for a value that fits in another notation: "0.1", "True", 1e5, 2021."""
    scalars = [member for member in alternatives(tp) if split(member)[0] in SCALARS]
    for other in _other_forms(value):
        if any(_accepts(member, other) for member in scalars):
            return f"; write {show(other)}"
    return ""


def _other_forms(value: Any) -> Iterator[Any]:
    if isinstance(value, str) and len(value) <= _LONGEST_NUMBER:
        with suppress(tomllib.TOMLDecodeError):
            yield tomllib.loads(f"value = {value.lower()}")["value"]
    elif isinstance(value, float) and value.is_integer():
        yield int(value)
    elif isinstance(value, SCALARS):
        yield show(value)


def _same_shape(tp: Any, value: Any) -> bool:
    """Whether a value is a container of the type: a table or a list."""
    base = split(tp)[0]
    if isinstance(value, Mapping):
        return dataclasses.is_dataclass(base) or get_origin(base) is dict or bool(choice_of(tp))
    return isinstance(value, list) and get_origin(base) in (list, tuple)


def _within(key: str, outer: str) -> bool:
    return key == outer or outer == "" or key.startswith((f"{outer}.", f"{outer}["))


def _leaves(value: Any, key: str) -> Iterator[str]:
    """The dotted keys of all values in a table that are not tables."""
    if isinstance(value, Mapping) and value:
        for name, item in value.items():
            yield from _leaves(item, join(key, name))
    else:
        yield key

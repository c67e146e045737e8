"""Checks of the arguments of public functions and classes, with messages for people.

Type hints are the rule. Whether values fit together is left to the function or class.
"""

import builtins
import inspect
import os
import reprlib
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import fields
from functools import cache, wraps
from types import GenericAlias, NoneType, UnionType
from typing import Any, Literal, ParamSpec, TypeVar, Union, get_args, get_origin, get_type_hints

from .errors import ConfigError

P = ParamSpec("P")
R = TypeVar("R")
LISTS = (Iterable, Sequence, Collection, list)
"""Hints of lists: any iterable is taken, except texts, bytes, tables and sets."""
NOUNS = {
    "str": ("a text", "texts"),
    "bool": ("True or False", "truth values"),
    "int": ("a whole number", "whole numbers"),
    "float": ("a number", "numbers"),
    "PathLike": ("a path", "paths"),
    "ndarray": ("a NumPy array", "NumPy arrays"),
    "RunConfig": ("a RunConfig, which read_config returns", "RunConfig objects"),
    "TrainedModel": ("a model, which load returns", "models"),
}
"""Types in messages, in the singular and in the plural."""


def checked(function: Callable[P, R]) -> Callable[P, R]:
    """The function, with its arguments checked against their type hints when it is called.

    Where the hint is a list, the function gets a list, also for a generator.

    Raises:
        TypeError: names the argument, its value and the values that are expected.
        ConfigError: of several names, none is given.
    """
    own_name = function.__name__
    if own_name == "__init__":
        own_name = function.__qualname__.split(".")[-2]
    signature = inspect.signature(function)

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            bound = signature.bind(*args, **kwargs)
        except TypeError as error:
            known = ", ".join(name for name in signature.parameters if name != "self")
            raise TypeError(f"{own_name}: {error}; its arguments are {known}") from None
        for name, hint in _hints(function).items():
            if name in bound.arguments:
                value = bound.arguments[name]
                bound.arguments[name] = _accepted(f"{own_name}: {name}", value, hint)
        return function(*bound.args, **bound.kwargs)

    return call


def check_fields(instance: Any) -> None:
    """Checks the values of a dataclass against the hints of its fields.

    As with `checked`, other iterables become lists.

    Raises:
        TypeError: as `checked`.
    """
    cls: Any = type(instance)
    for name, hint in _field_hints(cls).items():
        value = _accepted(f"{cls.__name__}: {name}", getattr(instance, name), hint)
        object.__setattr__(instance, name, value)  # it may be frozen


@cache
def _field_hints(cls: type) -> dict[str, Any]:
    hints = get_type_hints(cls)
    return {field.name: hints[field.name] for field in fields(cls)}


@cache
def _hints(function: Callable[..., Any]) -> dict[str, Any]:
    """The hints of the arguments of a function, but those of `**settings`."""
    names = _Names(sys.modules[function.__module__])
    hints = get_type_hints(function, localns=names)
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind is parameter.VAR_KEYWORD:
            hints.pop(parameter.name)
        elif parameter.kind is parameter.VAR_POSITIONAL:
            hints[parameter.name] = GenericAlias(Iterable, hints[parameter.name])
    return hints


class _Names(dict[str, Any]):
    """The names in hints that are texts; one that only type checkers know allows every value."""

    def __init__(self, module: Any) -> None:
        self.module = module

    def __missing__(self, name: str) -> Any:
        return getattr(self.module, name, getattr(builtins, name, object))


def _accepted(label: str, value: Any, hint: Any) -> Any:
    """The value, as a list if it is another iterable of what the hint allows."""
    members = _members(hint)
    if any(_is_of(value, member) for member in members):
        return value
    lists = [member for member in members if get_origin(member) in LISTS]
    if not lists or not _is_listed(value):
        message = f"{label} {_shown(value)}; expected {_noun(hint)}{_remedy(value, lists)}"
        names = [name for member in members for name in _names(member)]
        raise ConfigError(message) if type(value) in map(type, names) else TypeError(message)
    items = list(value)
    item_hint: Any = Union.__getitem__(tuple(get_args(member)[0] for member in lists))
    for i, item in enumerate(items):
        items[i] = _accepted(f"{label}[{i}]", item, item_hint)
    return value if isinstance(value, list | tuple) else items


def _members(hint: Any) -> tuple[Any, ...]:
    return get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)


def _names(hint: Any) -> tuple[Any, ...]:
    return get_args(hint) if get_origin(hint) is Literal else ()


def _is_of(value: Any, hint: Any) -> bool:
    """Whether a value fits one hint that is no list."""
    origin = get_origin(hint)
    if origin is Literal:
        return any(type(value) is type(name) and value == name for name in _names(hint))
    if origin is tuple:  # the function counts them
        item_hints = [arg for arg in get_args(hint) if arg is not Ellipsis]
        return isinstance(value, list | tuple) and all(
            any(_is_of(item, item_hint) for item_hint in item_hints) for item in value
        )
    if hint in (Any, object) or isinstance(hint, TypeVar):
        return True
    if hint in (int, float):
        numbers = "__index__" if hint is int else "__float__"  # also those of NumPy
        return hasattr(value, numbers) and not isinstance(value, bool)
    if origin in LISTS:
        return False
    return isinstance(value, _class(origin or hint))


def _class(hint: type) -> type:
    return os.PathLike if issubclass(hint, os.PathLike) else hint


def _is_listed(value: Any) -> bool:
    return isinstance(value, Iterable) and not isinstance(value, str | bytes | Mapping | Set)


def _shown(value: Any) -> str:
    """A value in a message: `is None`, `is 3 (int)`."""
    kind = "" if value is None else f" ({type(value).__name__})"
    return f"is {reprlib.repr(value)}{kind}"


def _remedy(value: Any, lists: Sequence[Any]) -> str:
    if isinstance(value, bytes):
        return "; decode it"
    takes_texts = any(str in _members(get_args(member)[0]) for member in lists)
    return f"; write [{reprlib.repr(value)}]" if takes_texts and isinstance(value, str) else ""


def _noun(hint: Any, number: Literal[0, 1] = 0) -> str:
    """The values that a hint allows, in words; in the plural if the number is 1."""
    nouns = list(dict.fromkeys(_nouns(hint, number)))
    return nouns[0] if len(nouns) == 1 else f"{', '.join(nouns[:-1])} or {nouns[-1]}"


def _nouns(hint: Any, number: Literal[0, 1]) -> Iterator[str]:
    members = _members(hint)
    has_paths = any(isinstance(m, type) and issubclass(m, os.PathLike) for m in members)
    for member in members:
        origin = get_origin(member)
        if origin is Literal:
            yield from map(repr, _names(member))
        elif origin in LISTS and get_args(member) == (Any,):
            yield ("a list", "lists")[number]
        elif origin in LISTS:
            yield f"{('a list', 'lists')[number]} of {_noun(get_args(member)[0], 1)}"
        elif origin is tuple:
            yield f"{('a pair', 'pairs')[number]} of {_noun(get_args(member)[0], 1)}"
        elif member is NoneType:
            yield "None"
        elif member is str and has_paths:
            yield NOUNS["PathLike"][number]
        elif not issubclass(member, Exception):  # an error in place of a value is for programs
            name = _class(member).__name__
            yield NOUNS.get(name, (f"a {name}", f"{name} objects"))[number]

"""The schema of a settings class: keys, types, defaults and docstrings.

All code that reads, writes or documents settings inspects classes by this file. An unsupported type
is a mistake of the programmer and raises TypeError, never ConfigError.
"""

import ast
import dataclasses
import inspect
import re
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import MISSING, dataclass
from functools import cache
from itertools import pairwise
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import annotated_types

SCALARS = (bool, int, float, str)
NONE_WORD = "none"
"""The text for None if a missing key means something else; TOML has no null."""

_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"}


@dataclass(frozen=True)
class Choice:
    """Annotates a field whose class is picked by a key of its section.

    Written as `model: Annotated[Any, Choice(key="family", table=families, default="markov")]`. The
    table is a callable, so that the declaration imports nothing. A class with two names must have a
    field called `key`, so that an instance has its name.
    """

    key: str
    table: Callable[[], Mapping[str, type]]
    default: str | None = None

    def name_of(self, instance: Any) -> str:
        """The name of the instance's class in the table."""
        if hasattr(instance, self.key):
            return str(getattr(instance, self.key))
        names = [name for name, cls in self.table().items() if cls is type(instance)]
        if len(names) != 1:
            raise TypeError(
                f"{type(instance).__name__} has {len(names)} names of {self.key}; "
                f"give it a field {self.key!r}"
            )
        return names[0]


@dataclass(frozen=True)
class OneOf:
    """Annotates a text that must be one of some names, looked up when a file is read.

    Written as `task: Annotated[str, OneOf(lambda: TASKS)]`: a `Literal` whose names can be
    extended.

    Attributes:
        meanings: the meaning of some or all names, for the reference page.
    """

    names: Callable[[], Iterable[str]]
    meanings: Callable[[], Mapping[str, str]] = dict


@dataclass(frozen=True)
class Key:
    """One setting of a section."""

    name: str
    type: Any
    default: Any  # MISSING if the key is required
    doc: str


@cache
def keys(cls: type) -> tuple[Key, ...]:
    """The settings of a dataclass in the order of their declaration."""
    hints = get_type_hints(cls, include_extras=True)
    docs = _attribute_docs(cls)
    settings = []
    for field in dataclasses.fields(cls):
        if not field.init:
            continue
        default = field.default
        if field.default_factory is not MISSING:
            default = field.default_factory()
        key = Key(field.name, hints[field.name], default, docs.get(field.name, ""))
        _check(cls, key)
        settings.append(key)
    return tuple(settings)


def summaries(cls: type) -> dict[str, str]:
    """The first sentence of each setting's docstring as plain text: help of flags and fields."""
    sentences = {}
    for key in keys(cls):
        sentence = re.split(r"(?<=\.)\s", key.doc, maxsplit=1)[0]
        sentences[key.name] = " ".join(sentence.replace("`", "").split())
    return sentences


def split(tp: Any) -> tuple[Any, tuple[Any, ...]]:
    """A type without its `Annotated`, and its constraints, one by one.

    A text with `OneOf` becomes the Literal of its names.
    """
    if get_origin(tp) is not Annotated:
        return tp, ()
    base, *metadata = get_args(tp)
    flat: list[Any] = []
    for item in metadata:
        # Interval and Len are groups of the elementary constraints. Asking a protocol is slow.
        is_single = isinstance(item, annotated_types.BaseMetadata | OneOf | Choice)
        is_group = not is_single and isinstance(item, annotated_types.GroupedMetadata)
        flat.extend(item if is_group else [item])
    for item in flat:
        if isinstance(item, OneOf):
            return Literal[tuple(item.names())], ()
    return base, tuple(flat)


def alternatives(tp: Any) -> tuple[Any, ...]:
    """The members of a union in order, each with the bounds of the union that apply to it."""
    base, metadata = split(tp)
    if get_origin(base) not in (Union, UnionType):
        return (tp,)
    return tuple(
        Annotated[member, *metadata]
        if metadata and member is not NoneType and get_origin(member) is not Literal
        else member
        for member in get_args(base)
    )


def meanings_of(tp: Any) -> dict[str, str]:
    """The meanings of the names that a type allows, if their table has them."""
    metadata = [item for member in alternatives(tp) for item in get_args(member)[1:]]
    tables = [item for item in metadata if isinstance(item, OneOf)]
    return {name: meaning for table in tables for name, meaning in table.meanings().items()}


def choice_of(tp: Any) -> Choice | None:
    """The Choice of a type, if it has one."""
    return next((item for item in split(tp)[1] if isinstance(item, Choice)), None)


def section_of(tp: Any) -> Any | None:
    """The dataclass or Choice type inside `X` or `X | None`; None if the key is no section."""
    members = [member for member in alternatives(tp) if member is not NoneType]
    return members[0] if len(members) == 1 and _is_section(members[0]) else None


def tables_in(tp: Any) -> Iterator[Any]:
    """All dataclass and Choice types inside a type, also within unions, lists and tables."""
    for member in alternatives(tp):
        base = split(member)[0]
        if _is_section(member):
            yield member
        elif get_origin(base) is not Literal:
            for part in get_args(base):
                yield from tables_in(part)


def classes_of(tp: Any) -> list[type]:
    """The classes of a dataclass or Choice type."""
    choice = choice_of(tp)
    return list(choice.table().values()) if choice else [split(tp)[0]]


def has_key(cls: type, name: str) -> bool:
    return any(key.name == name for key in keys(cls))


def known_keys(cls: type, prefix: str = "") -> Iterator[str]:
    """All dotted keys of a file for this class, over all choices."""
    for key in keys(cls):
        dotted = join(prefix, key.name)
        yield dotted
        for section in (member for member in alternatives(key.type) if _is_section(member)):
            if choice := choice_of(section):
                yield join(dotted, choice.key)
            for inner in classes_of(section):
                yield from known_keys(inner, dotted)


def join(prefix: str, name: str) -> str:
    """A dotted key; parts are quoted if TOML requires it."""
    part = name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else quote(name)
    return f"{prefix}.{part}" if prefix else part


def quote(text: str) -> str:
    """A text as a TOML string on one line; characters that cannot be printed are escaped."""
    return f'"{"".join(map(_escaped, text))}"'


def _escaped(character: str) -> str:
    if character in _ESCAPES or character.isprintable():
        return _ESCAPES.get(character, character)
    code = ord(character)
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _is_section(tp: Any) -> bool:
    return dataclasses.is_dataclass(split(tp)[0]) or choice_of(tp) is not None


def _check(cls: type, key: Key) -> None:
    """Refuses settings that could not be read back unchanged."""
    where = f"{cls.__name__}.{key.name}"
    _check_type(where, key.type, none_is_absence=key.default is None)
    section = split(section_of(key.type))[0]
    if not dataclasses.is_dataclass(section) or key.default is MISSING or key.default is None:
        return
    if key.default != section():  # type: ignore[operator]
        raise TypeError(f"{where}: its default must be the class's own; set defaults there")


def _check_type(where: str, tp: Any, none_is_absence: bool = False) -> None:
    members = alternatives(tp)
    bases = [split(member)[0] for member in members]
    if str in bases and NoneType in bases and not none_is_absence:
        raise TypeError(f"{where}: a text that may be None needs the default None")
    for member, base in zip(members, bases, strict=True):
        origin = get_origin(base)
        if _is_section(member) or origin is Literal or base in (*SCALARS, Any, NoneType):
            continue
        arguments = [part for part in get_args(base) if part is not Ellipsis]
        if origin not in (list, tuple, dict) or (origin is dict and arguments[0] is not str):
            raise TypeError(f"{where}: run files do not support the type {base}")
        for part in arguments:
            _check_type(where, part)


def _attribute_docs(cls: type) -> dict[str, str]:
    """The string literal after each field, of the class and of its base classes."""
    docs: dict[str, str] = {}
    for base in reversed(cls.__mro__):
        if not dataclasses.is_dataclass(base):
            continue
        try:
            source = textwrap.dedent(inspect.getsource(base))
        except (OSError, TypeError):  # made at run time, without source
            continue
        body = ast.parse(source).body[0].body  # type: ignore[attr-defined]
        for field, text in pairwise(body):
            if (
                isinstance(field, ast.AnnAssign)
                and isinstance(field.target, ast.Name)
                and isinstance(text, ast.Expr)
                and isinstance(text.value, ast.Constant)
                and isinstance(text.value.value, str)
            ):
                docs[field.target.id] = inspect.cleandoc(text.value.value)
    return docs

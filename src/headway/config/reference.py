"""The reference page of a run file, generated from the settings classes."""

import inspect
from collections.abc import Iterator
from dataclasses import MISSING
from types import NoneType
from typing import Any

from .messages import expected, show
from .schema import (
    Choice,
    Key,
    alternatives,
    choice_of,
    join,
    keys,
    meanings_of,
    section_of,
    split,
    tables_in,
)
from .toml_io import to_dict


def describe(cls: type) -> str:
    """Markdown with a heading and a table of keys for every section of a settings class."""
    return "\n\n".join(_section(cls, "", "## Top level")) + "\n"


def _section(cls: type, prefix: str, heading: str, skip: str = "") -> Iterator[str]:
    """The blocks of one class, then those of its nested sections."""
    settings = [key for key in keys(cls) if key.name != skip]
    rows = [_row(key, prefix) for key in settings if section_of(key.type) is None]
    # A top level without keys needs no heading; an empty section does.
    if rows or prefix:
        yield heading
    if prefix and (doc := _class_doc(cls)):
        yield doc
    if rows:
        yield "\n".join(["| key | value | default | meaning |", "|---|---|---|---|", *rows])
    level = "####" if heading.startswith("### ") else "##"  # a table of an option is below it
    for key in settings:
        name = join(prefix, key.name)
        optional = " (optional)" if NoneType in alternatives(key.type) else ""
        inline = "" if section_of(key.type) else ", written as a table"
        for part in dict.fromkeys(tables_in(key.type)):  # each once, in order
            if (choice := choice_of(part)) and inline:
                yield from _tables(choice, name)
            elif choice:
                yield from _choice(choice, name, key.doc, optional)
            else:
                yield from _section(split(part)[0], name, f"{level} `[{name}]`{inline}{optional}")


def _choice(choice: Choice, name: str, doc: str, optional: str) -> Iterator[str]:
    classes = choice.table()
    yield f"## `[{name}]`{optional}"
    names = ", ".join(f"`{show(option)}`" for option in classes)
    default = f"default `{show(choice.default)}`" if choice.default else "required"
    yield f"{doc} `{join(name, choice.key)}` is one of {names} ({default}).".strip()
    for option, cls in classes.items():
        heading = f"### `[{name}]` with `{choice.key} = {show(option)}`"
        yield from _section(cls, name, heading, skip=choice.key)


def _tables(choice: Choice, name: str) -> Iterator[str]:
    """The tables of a key that may also have a value that is no table."""
    for option, cls in choice.table().items():
        heading = f"#### `{name}` written as a table with `{choice.key} = {show(option)}`"
        yield from _section(cls, name, heading, skip=choice.key)


def _row(key: Key, prefix: str) -> str:
    names = "; ".join(f"`{name}`: {text}" for name, text in meanings_of(key.type).items() if text)
    doc = f"{key.doc} {names}." if names else key.doc
    cells = [f"`{join(prefix, key.name)}`", expected(key.type), _default(key), doc]
    return f"| {' | '.join(_cell(cell) for cell in cells)} |"


def _default(key: Key) -> str:
    if key.default is MISSING:
        return "**required**"
    return "not set" if key.default is None else f"`{show(_plain(key.default))}`"


def _plain(value: Any) -> Any:
    return to_dict(value) if hasattr(value, "__dataclass_fields__") else value


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def _class_doc(cls: type) -> str:
    doc = inspect.cleandoc(cls.__doc__ or "")
    # Python gives a dataclass without a docstring its signature as one.
    return "" if doc.startswith(f"{cls.__name__}(") else doc

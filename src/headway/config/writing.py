"""Settings back to plain tables and TOML, such that parsing gives the same settings again."""

from collections.abc import Mapping
from dataclasses import is_dataclass
from typing import Any

import tomli_w

from headway.config.schema import NONE_WORD, Key, choice_of, has_key, keys, tables_in


def to_toml(settings: Any) -> str:
    """The TOML text of a settings object."""
    return tomli_w.dumps(to_dict(settings))


def to_dict(settings: Any) -> dict[str, Any]:
    """The tables of a settings object; a key that is None by default and by value is left out."""
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
    """The entry that says which class a Choice picked, for classes that do not hold it."""
    cls: type = type(value)
    for section in tables_in(key.type):
        choice = choice_of(section)
        if choice and cls in choice.table().values() and not has_key(cls, choice.key):
            return {choice.key: choice.name_of(value)}
    return {}

"""Typed run files: TOML in, frozen dataclasses out, mistakes explained in words.

Generic machinery: no concrete setting is known here. A room writes its settings as a plain frozen
dataclass with type hints, `Annotated` bounds, attribute docstrings and a `__post_init__` that
raises ValueError; this package reads, checks, writes and documents it.
"""

from headway.config.files import load, read_value
from headway.config.parsing import parse
from headway.config.reference import describe
from headway.config.schema import Choice
from headway.config.writing import to_dict, to_toml

__all__ = ["Choice", "describe", "load", "parse", "read_value", "to_dict", "to_toml"]

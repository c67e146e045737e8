"""Typed run files: TOML in, frozen dataclasses out, an error message for every mistake.

The package has no concrete settings. A room declares its settings as a plain frozen dataclass with
type hints, `Annotated` bounds, attribute docstrings and a `__post_init__` that raises ValueError;
this package reads, checks, writes and documents it.
"""

from .parsing import parse
from .reference import describe
from .schema import Choice, OneOf, summaries
from .toml_io import load, read_value, to_dict, to_toml

__all__ = [
    "Choice",
    "OneOf",
    "describe",
    "load",
    "parse",
    "read_value",
    "summaries",
    "to_dict",
    "to_toml",
]

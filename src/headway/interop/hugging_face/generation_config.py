"""Maps search settings to entries of `generation_config.json` and back.

`search/config.py` declares the entry of each setting. This file has the values that differ: the
library counts lengths differently and names sampling and stopping otherwise.
"""

from collections.abc import Callable, Mapping
from math import isfinite
from typing import Any

from ...config.schema import split
from ...search import SETTINGS, HuggingFaceEntry, NoEntry, SearchConfig, Setting
from ..unsupported import UnsupportedSettings

WRITTEN: Mapping[str, Callable[[SearchConfig], Any]] = {
    "method": lambda search: search.method == "sample",
    "beam": lambda search: 1 if search.method == "sample" else search.beam,
    "alpha": lambda search: search.alpha if _has_beam(search) else None,
    "stop": lambda search: _early_stopping(search) if _has_beam(search) else None,
    "max_length": lambda search: search.max_length + 1,  # the library counts the begin token too
    # Here the library counts the begin token, but not the end token.
    "min_length": lambda search: min(search.min_length, search.max_length),
}
"""Entries whose value is not the setting's own; None leaves the entry out."""
READ: Mapping[str, Callable[[float], float]] = {"max_length": lambda value: value - 1}
"""Settings whose value is not the entry's own."""


def search_obstacles(search: SearchConfig) -> list[str]:
    """The settings that `generation_config.json` cannot express, each with the reason."""
    unsupported = UnsupportedSettings()
    if search.method == "exhaustive":
        unsupported.add("search.method", search.method, "only beam and sample")
    for name, setting in SETTINGS.items():
        value, entry = getattr(search, name), setting.hugging_face
        if isinstance(entry, NoEntry) and entry.is_refused and value != setting.default:
            unsupported.add(f"search.{name}", value, entry.reason)
    if search.stop == "safe" and search.beam == 1:
        unsupported.add("search.stop", search.stop, "a beam of 1 stops at its first end")
    return unsupported.messages


def generation_of(search: SearchConfig) -> dict[str, Any]:
    """The entries of `generation_config.json`."""
    entries = {}
    for name, setting in SETTINGS.items():
        entry = setting.hugging_face
        if isinstance(entry, HuggingFaceEntry) and search.method in setting.methods:
            value = WRITTEN[name](search) if name in WRITTEN else getattr(search, name)
            if value is not None:
                entries[entry.name] = value
    return entries


def search_of(generation: Mapping[str, Any], longest: int) -> SearchConfig:
    """The search settings of a folder: beam size, length penalty, lengths, repetitions.

    Sampling is not read: each call asks for it, and beam search is the default.

    Args:
        longest: number of positions of the model.
    """
    settings = {
        name: _read(setting, generation.get(entry.name))
        for name, setting in SETTINGS.items()
        if isinstance(entry := setting.hugging_face, HuggingFaceEntry) and entry.is_read
    }
    return SearchConfig(**{**settings, "max_length": min(longest, settings["max_length"])})


def _read(setting: Setting, value: Any) -> Any:
    """The setting's value; the default if the entry is no finite number or below the bound."""
    if not isinstance(value, int | float) or isinstance(value, bool) or not isfinite(value):
        return setting.default
    value = READ[setting.name](value) if setting.name in READ else value
    number, bounds = split(setting.type)
    least = next((bound.ge for bound in bounds if hasattr(bound, "ge")), float("-inf"))
    return number(value) if value >= least else setting.default


def _has_beam(search: SearchConfig) -> bool:
    return search.method == "beam" and search.beam > 1


def _early_stopping(search: SearchConfig) -> bool | str:
    return True if search.stop == "finished" else "never"

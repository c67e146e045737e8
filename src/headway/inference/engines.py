"""The table of search engines of other libraries, imported on first use.

An engine is a module with `make_engine`, `require_supported` and `COMPUTE_TYPES`, and a row of
`ENGINES`. headway's own search needs no row.
"""

from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Protocol, cast

import numpy as np

from ..errors import ConfigError
from ..search import Hypothesis, SearchConfig

if TYPE_CHECKING:
    from .translator import Translator

OWN = "headway"
"""headway's own search, which every model has."""
ENGINES = {"ctranslate2": "headway.interop.ctranslate2.engine"}
"""Modules of the other engines, by name."""


class SearchEngine(Protocol):
    """The search of another library, with the interface of `Translate.predict`."""

    def predict(
        self, sources: Sequence[np.ndarray], config: SearchConfig
    ) -> list[list[Hypothesis]]:
        """The n best outputs of each encoded source, in the order given."""


class EngineModule(Protocol):
    """The interface of an engine's module."""

    COMPUTE_TYPES: tuple[str, ...]

    def make_engine(self, translator: "Translator", compute_type: str) -> SearchEngine:
        """Makes the engine with the model of a run."""

    def require_supported(self, config: SearchConfig) -> None:
        """Refuses search settings that the engine does not have."""


def engine_names() -> tuple[str, ...]:
    """All engines, headway's own first."""
    return (OWN, *ENGINES)


def engine_module(name: str) -> EngineModule:
    """The module of an engine.

    Raises:
        ConfigError: there is no such engine.
    """
    if name not in ENGINES:
        raise ConfigError(f"no engine {name!r}; expected {' or '.join(engine_names())}")
    return cast(EngineModule, import_module(ENGINES[name]))

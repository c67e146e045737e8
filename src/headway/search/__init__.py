"""Search: functions over a `StepModel`, the same for every family.

`greedy` and `beam` look for good outputs, `constrained` for those with given terms, `exhaustive`
for the best there is; `sample` draws some, `stream` gives one as it grows, `score_targets` scores
given ones. They are put together from parts, one per file: `candidates` (what may come next),
`logits_rules` (what may not), `length` (limits and normalisation), `finished` (hypotheses put
aside), `backtrace` (tokens along the parents). No file here knows a model family.

`config` declares the settings and loads no torch, so that a command line can be made from it; the
other names are loaded when they are first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .config import SETTINGS, SearchConfig
from .setting import METHODS, HuggingFaceEntry, NoEntry, PromptUse, Setting

if TYPE_CHECKING:
    from ..nn.decoding import StepModel
    from .beam_search import beam
    from .constrained_search import constrained, n_places
    from .constraints import Constraints, Term
    from .exhaustive_search import ExhaustiveResult, exhaustive
    from .force_decode import score_targets
    from .greedy_search import greedy, sample, stream
    from .length import length_limits, length_minimums
    from .logits_rules import LogitsRules, Prefix, TokenBytes, make_logits_rules
    from .result import Hypothesis
    from .trace import SearchTrace, TracedCandidate, Tracer

__all__ = [
    "METHODS",
    "SETTINGS",
    "Constraints",
    "ExhaustiveResult",
    "HuggingFaceEntry",
    "Hypothesis",
    "LogitsRules",
    "NoEntry",
    "Prefix",
    "PromptUse",
    "SearchConfig",
    "SearchTrace",
    "Setting",
    "StepModel",
    "Term",
    "TokenBytes",
    "TracedCandidate",
    "Tracer",
    "beam",
    "constrained",
    "exhaustive",
    "greedy",
    "length_limits",
    "length_minimums",
    "make_logits_rules",
    "n_places",
    "sample",
    "score_targets",
    "stream",
]

_LOADED_LATER = {
    "..nn.decoding": ["StepModel"],
    ".beam_search": ["beam"],
    ".constrained_search": ["constrained", "n_places"],
    ".constraints": ["Constraints", "Term"],
    ".exhaustive_search": ["ExhaustiveResult", "exhaustive"],
    ".force_decode": ["score_targets"],
    ".greedy_search": ["greedy", "sample", "stream"],
    ".length": ["length_limits", "length_minimums"],
    ".logits_rules": ["LogitsRules", "Prefix", "TokenBytes", "make_logits_rules"],
    ".result": ["Hypothesis"],
    ".trace": ["SearchTrace", "TracedCandidate", "Tracer"],
}
_MODULE_OF = {name: module for module, names in _LOADED_LATER.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_MODULE_OF[name], __name__), name)
    globals()[name] = value
    return value

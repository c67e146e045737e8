"""Search: functions over a `StepModel`, which work for every model family.

`greedy` and `beam` search for good outputs, `constrained` for outputs that contain required terms,
`exhaustive` for the best output. `sample` draws outputs, `stream` yields the tokens of an output as
they are chosen, `score_targets` scores known outputs. Their parts have a file each: `candidates`
(continuations), `logits_rules` (forbidden tokens), `length` (limits and normalisation), `finished`
(finished hypotheses), `backtrace` (tokens along the parents). No file here knows a model family.

`config` declares the settings without loading torch, so that a command line can be built from it;
the other names are loaded on first use.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .config import SETTINGS, SearchConfig
from .setting import METHODS, HuggingFaceEntry, NoEntry, PromptUse, Setting

if TYPE_CHECKING:
    from ..nn.decoding import StepModel
    from .beam_search import beam
    from .constrained_search import constrained, count_slots
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
    "count_slots",
    "exhaustive",
    "greedy",
    "length_limits",
    "length_minimums",
    "make_logits_rules",
    "sample",
    "score_targets",
    "stream",
]

_LOADED_LATER = {
    "..nn.decoding": ["StepModel"],
    ".beam_search": ["beam"],
    ".constrained_search": ["constrained", "count_slots"],
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

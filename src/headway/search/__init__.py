"""Search: functions over a `StepModel`, the same for every family.

`greedy` and `beam` look for good outputs, `constrained` for those with given terms, `exhaustive`
for the best there is; `sample` draws some, `stream` gives one as it grows, `forced` scores given
ones. They are put together from parts, one per file: `candidates` (what may come next), `rules`
(what may not), `length` (limits and normalisation), `shelf` (hypotheses put aside), `history`
(back-tracking). No file here knows a model family.
"""

from ..nn.step import StepModel
from .beam_search import beam
from .config import SearchConfig
from .constrained_search import constrained, n_places
from .constraints import Constraints, Term
from .exhaustive_search import Exhausted, exhaustive
from .forced_score import forced
from .length import length_limits, length_minimums
from .result import Hypothesis
from .rules import Prefix, Rules, Spellings, make_rules
from .trace import SearchTrace, TracedCandidate, Tracer
from .walk import greedy, sample, stream

__all__ = [
    "Constraints",
    "Exhausted",
    "Hypothesis",
    "Prefix",
    "Rules",
    "SearchConfig",
    "SearchTrace",
    "Spellings",
    "StepModel",
    "Term",
    "TracedCandidate",
    "Tracer",
    "beam",
    "constrained",
    "exhaustive",
    "forced",
    "greedy",
    "length_limits",
    "length_minimums",
    "make_rules",
    "n_places",
    "sample",
    "stream",
]

"""Search: functions over a `StepModel`, the same for every family.

`greedy` and `beam` look for good outputs, `forced` scores given ones. They are put together from
small parts, one per file: `candidates` (what may come next), `length` (limits and normalisation),
`shelf` (hypotheses put aside), `history` (back-tracking). No file here knows a model family.
"""

from .beam_search import beam
from .config import SearchConfig
from .forced_score import forced
from .greedy_search import greedy
from .length import length_limits
from .result import Hypothesis

__all__ = ["Hypothesis", "SearchConfig", "beam", "forced", "greedy", "length_limits"]

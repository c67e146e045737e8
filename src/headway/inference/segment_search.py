"""headway's own search over encoded segments: hypotheses, and traces of how they were found.

Requests become segments in `requests.py`; hypotheses become text in `translator.py`. Engines of
other libraries are in `engines.py`.
"""

from collections.abc import Sequence

from ..models import SequenceModel
from ..models.ensemble import Ensemble
from ..search import Hypothesis, SearchConfig
from ..search.trace import SearchTrace
from ..tasks.translate import Translate
from .requests import Segment


def search_segments(
    task: Translate,
    model: SequenceModel | Ensemble,
    segments: Sequence[Segment],
    config: SearchConfig,
    first: int = 0,
) -> list[list[Hypothesis]]:
    """The hypotheses of each segment, best first.

    Args:
        first: number of the first request, which random draws depend on.
    """
    has_prefix = any(segment.begins for segment in segments)
    return task.predict(
        model,
        [segment.ids for segment in segments],
        config,
        prefixes=[segment.prefix for segment in segments] if has_prefix else None,
        constraints=[segment.constraints for segment in segments],
        ids=[first + segment.row + (segment.part << 32) for segment in segments],
    )


def trace_segments(
    task: Translate,
    model: SequenceModel | Ensemble,
    segments: Sequence[Segment],
    config: SearchConfig,
) -> tuple[list[list[Hypothesis]], list[SearchTrace]]:
    """The hypotheses of each segment, and every step of its search."""
    hypotheses, traces = [], []
    for segment in segments:
        best, trace = task.trace(model, segment.ids, config, segment.prefix, segment.constraints)
        hypotheses.append(best)
        traces.append(trace)
    return hypotheses, traces

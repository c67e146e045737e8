"""The metrics that compare output texts with reference texts.

Each file of metrics has a table of its own. Tasks with text outputs use `TEXT_METRICS`.
"""

from .error_rate import ERROR_RATES
from .exact import EXACT_MATCH
from .metric import Metric
from .translation import TRANSLATION_METRICS

TEXT_METRICS: dict[str, Metric] = {**TRANSLATION_METRICS, **EXACT_MATCH, **ERROR_RATES}

"""The names of metrics in reports and charts."""

from .labels import LABEL_METRICS
from .text_metrics import TEXT_METRICS
from .values import VALUE_METRICS

DISPLAY_NAMES = {
    **{
        name: metric.label
        for table in (TEXT_METRICS, LABEL_METRICS, VALUE_METRICS)
        for name, metric in table.items()
    },
    "perplexity": "Perplexity",
    "entity_f1": "Entity F1",
    "strict_f1": "Strict F1",
    "precision": "Precision",
    "recall": "Recall",
    "masked_accuracy": "Masked words",
    "next_accuracy": "Next sentences",
    "token_accuracy": "Tokens",
}
"""Display names by the name in run files; all other metrics are abbreviations."""


def display_name(metric: str) -> str:
    """The display name of a metric."""
    return DISPLAY_NAMES.get(metric, metric.upper())

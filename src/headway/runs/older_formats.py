"""Names that older formats of the run directory used otherwise, and what they are called now.

Format 1 called the share of outputs that are wrong as a whole `wer`, as papers on pronunciation do.
It is `ser` now, and `wer` the word error rate by edit distance.
"""

from collections.abc import Mapping
from typing import Any

METRICS: dict[int, dict[str, str]] = {1: {"wer": "ser"}}
"""By format: metrics that had another name."""


def renamed(record: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    """A record with today's names of its metrics."""
    return {names.get(key, key): value for key, value in record.items()}

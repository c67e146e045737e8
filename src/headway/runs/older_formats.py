"""Metrics that had another name in older formats of the run directory, and their current names.

Format 1 called the share of wrong outputs `wer`, as papers on pronunciation do. It is `ser` now,
and `wer` is the word error rate by edit distance.
"""

from collections.abc import Mapping
from typing import Any

METRICS: dict[int, dict[str, str]] = {1: {"wer": "ser"}}
"""By format: old names of metrics and their current names."""


def renamed(record: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    """The record with the current names of its metrics."""
    return {names.get(key, key): value for key, value in record.items()}

"""Exact match: the share of outputs that equal the reference, character by character."""

from collections.abc import Sequence

from .interval import wilson
from .metric import Metric
from .references import References, alternatives, count_label
from .score import Score


def exact_match(outputs: Sequence[str], references: References) -> Score:
    """Share of outputs equal to one of their references, in percent, with Wilson's interval.

    Nothing is normalised: case, spaces and Unicode forms matter.
    """
    rows = alternatives(outputs, references)
    right = sum(output in row for output, row in zip(outputs, rows, strict=True))
    low, high = wilson(right, len(rows))
    nrefs = count_label(rows)
    any_of = "" if nrefs == "1" else f"|any-of-references|nrefs:{nrefs}"
    signature = f"exact{any_of}|n:{len(rows)}|interval:wilson95"
    return Score("exact match", 100 * right / len(rows), 100 * low, 100 * high, signature)


EXACT_MATCH = {"exact": Metric("Exact match", exact_match, is_usual=True, takes_resamples=False)}

"""Buckets of inputs by length; they do not depend on the model.

Tokenizers differ between models, so lengths are counted in words, or in characters if inputs have
few words. `evaluate.py` scores the buckets.
"""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from ..errors import ConfigError

ABOUT = 6  # number of buckets without explicit edges
FEW_WORDS = 4  # a smaller median means dates, spellings or scripts without spaces


@dataclass(frozen=True)
class ByLength:
    """A request for scores by input length.

    Attributes:
        edges: the largest length of each bucket but the last. Default: buckets of about equal
            counts.
    """

    edges: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        edges = self.edges
        if edges is None:
            return
        rises = all(low < high for low, high in pairwise(edges))
        if not edges or edges[0] < 1 or not rises:
            raise ConfigError(
                f"edges {','.join(map(str, edges)) or 'are none'}: expected rising whole numbers "
                "of at least 1, such as 5,10,20"
            )


@dataclass(frozen=True)
class Bucket:
    """Inputs of similar length; `rows` are their indices in the set."""

    low: int
    high: int
    rows: list[int]

    @property
    def label(self) -> str:
        return str(self.low) if self.low == self.high else f"{self.low}–{self.high}"


def measure_lengths(sources: Sequence[str]) -> tuple[list[int], str]:
    """The length of each source, and the unit: `words` or `characters`."""
    words = [len(source.split()) for source in sources]
    if sources and median(words) < FEW_WORDS:
        return [len(source) for source in sources], "characters"
    return words, "words"


def equal_edges(lengths: Sequence[int], about: int = ABOUT) -> list[int]:
    """Edges of `about` buckets with counts as equal as ties allow; many ties mean fewer buckets."""
    ordered = sorted(lengths)
    n = len(ordered)
    ends = {ordered[-(-k * n // about) - 1] for k in range(1, about)} if n else set()
    return sorted(end for end in ends if end < ordered[-1])


def buckets(lengths: Sequence[int], by_length: ByLength) -> list[Bucket]:
    """The non-empty buckets, from short to long."""
    edges = equal_edges(lengths) if by_length.edges is None else list(by_length.edges)
    rows: list[list[int]] = [[] for _ in range(len(edges) + 1)]
    for row, length in enumerate(lengths):
        rows[bisect_left(edges, length)].append(row)
    lows = [min(lengths, default=0), *(edge + 1 for edge in edges)]
    highs = [*edges, max(lengths, default=0)]
    parts = zip(lows, highs, rows, strict=True)
    return [Bucket(low, high, inside) for low, high, inside in parts if inside]

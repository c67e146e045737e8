"""Entities in tagged sentences: precision, recall and F1, and the accuracy of tags.

Counted as by seqeval: an entity is correct if its type, its first and its last word are, and F1 is
over all entities of all sentences. Tags are `O`, `B-TYPE` and `I-TYPE`. A reading defines the tags
that start an entity:

- `lenient`, seqeval's default and that of the CoNLL script: `B`, and `I` after another type or `O`;
- `bio`, its strict mode for IOB2: only `B`; an `I` that continues no entity is ignored;
- `iob1`, its strict mode for IOB1: `I`, and `B` only after an entity of the same type;
- `plain`, not in seqeval: tags have no prefixes, and each word with a tag other than `O` is an
  entity, so that without `O` F1 is the share of correct tags.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError
from .interval import SEED, bootstrap, wilson
from .metric import Metric
from .score import Score

Reading = Literal["lenient", "bio", "iob1", "plain"]
Entity = tuple[str, int, int]
"""Type, first word, and the word after the last."""
Tags = Sequence[str]
OUTSIDE = "O"


def entities(tags: Tags, reading: Reading = "lenient") -> list[Entity]:
    """The entities of a sentence, in order."""
    if reading == "plain":
        return [(tag, i, i + 1) for i, tag in enumerate(tags) if tag != OUTSIDE]
    parts = [_parts(tag) for tag in tags]
    result = []
    start = 0
    while start < len(parts):
        stop = start + 1
        if _BEGINS[reading](parts, start):
            entity_type = parts[start][1]
            while stop < len(parts) and parts[stop] == ("I", entity_type):
                stop += 1
            if reading != "iob1" or not _is_cut_short(parts, stop):
                result.append((entity_type, start, stop))
        start = stop
    return result


def _parts(tag: str) -> tuple[str, str]:
    """Prefix and type of a tag."""
    return tag[:1], tag[1:].removeprefix("-")


Parts = list[tuple[str, str]]


def _begins_anywhere(parts: Parts, i: int) -> bool:
    return parts[i][0] != OUTSIDE


def _begins_with_b(parts: Parts, i: int) -> bool:
    return parts[i][0] == "B"


def _begins_iob1(parts: Parts, i: int) -> bool:
    """`B` separates an entity from a preceding one of the same type; elsewhere it is ignored."""
    prefix, entity_type = parts[i]
    if prefix == "B":
        return i > 0 and parts[i - 1][0] != OUTSIDE and parts[i - 1][1] == entity_type
    return prefix == "I"


# An `I` that continues an entity is skipped with it and never tested.
_BEGINS: dict[str, Callable[[Parts, int], bool]] = {
    "lenient": _begins_anywhere,
    "bio": _begins_with_b,
    "iob1": _begins_iob1,
}


def _is_cut_short(parts: Parts, stop: int) -> bool:
    """Whether a `B` of another type follows a lone `B`, which makes both invalid in IOB1."""
    return (
        stop < len(parts)
        and parts[stop - 1][0] == parts[stop][0] == "B"
        and (parts[stop - 1][1] != parts[stop][1])
    )


def entity_f1(
    outputs: Sequence[Tags],
    references: Sequence[Tags],
    reading: Reading = "lenient",
    resamples: int = 0,
) -> Score:
    """F1 of entities in percent, with a bootstrap interval over sentences; 0 if there are none."""
    name = "strict F1" if reading in ("bio", "iob1") else "entity F1"
    return _score(name, "f1", _f1, outputs, references, reading, resamples)


def entity_precision(
    outputs: Sequence[Tags],
    references: Sequence[Tags],
    reading: Reading = "lenient",
    resamples: int = 0,
) -> Score:
    """Share of the predicted entities that are correct."""
    name = "precision"
    return _score(name, name, _precision, outputs, references, reading, resamples)


def entity_recall(
    outputs: Sequence[Tags],
    references: Sequence[Tags],
    reading: Reading = "lenient",
    resamples: int = 0,
) -> Score:
    """Share of the reference entities that were predicted."""
    return _score("recall", "recall", _recall, outputs, references, reading, resamples)


def tag_accuracy(outputs: Sequence[Tags], references: Sequence[Tags]) -> Score:
    """Share of words whose tag is correct, `O` included, in percent, with Wilson's interval."""
    pairs = [pair for sentence in _aligned(outputs, references) for pair in sentence]
    n, right = len(pairs), sum(tag == reference for tag, reference in pairs)
    if not n:
        raise DataError("no tags to score: got 0 words, expected at least 1; check the input")
    low, high = wilson(right, n)
    signature = f"tag_accuracy|n:{n}|interval:wilson95"
    return Score("accuracy", 100 * right / n, 100 * low, 100 * high, signature)


Sums = NDArray[np.float64]
"""Numbers of correct, predicted and true entities."""


def _precision(sums: Sums) -> float:
    right, predicted, _ = sums
    return float(100 * right / predicted) if predicted else 0.0


def _recall(sums: Sums) -> float:
    right, _, true = sums
    return float(100 * right / true) if true else 0.0


def _f1(sums: Sums) -> float:
    right, predicted, true = sums
    return float(200 * right / (predicted + true)) if predicted + true else 0.0


def _score(
    name: str,
    figure: str,
    of_sums: Callable[[Sums], float],
    outputs: Sequence[Tags],
    references: Sequence[Tags],
    reading: Reading,
    resamples: int,
) -> Score:
    rows = []
    for sentence in _aligned(outputs, references):
        predicted, true = (set(entities([pair[i] for pair in sentence], reading)) for i in (0, 1))
        rows.append((len(predicted & true), len(predicted), len(true)))
    statistics = np.array(rows, np.float64)
    n = int(statistics[:, 2].sum())
    signature = f"entity_{figure}|reading:{reading}|entities:{n}|sentences:{len(rows)}"
    low = high = None
    if resamples:
        signature += f"|interval:bootstrap95|bs:{resamples}|seed:{SEED}"
        low, high = bootstrap(statistics, of_sums, resamples)
    return Score(name, of_sums(statistics.sum(axis=0)), low, high, signature)


def _aligned(
    outputs: Sequence[Tags], references: Sequence[Tags]
) -> Iterator[list[tuple[str, str]]]:
    """Output and reference of each word, sentence by sentence.

    Raises:
        DataError: there is nothing to score, or the numbers of sentences or words differ.
    """
    if len(outputs) != len(references):
        raise DataError(
            f"{len(outputs)} tagged sentences but {len(references)} references; expected one for "
            "each"
        )
    if not outputs:
        raise DataError("no sentences to score: got 0, expected at least 1; check the input")
    for number, (tags, reference) in enumerate(zip(outputs, references, strict=True), 1):
        if len(tags) != len(reference):
            raise DataError(
                f"sentence {number} has {len(tags)} tags and its reference {len(reference)}; "
                "expected one for each word"
            )
        yield list(zip(tags, reference, strict=True))


TAG_METRICS = {
    "entity_f1": Metric("Entity F1", entity_f1),
    "precision": Metric("Precision", entity_precision),
    "recall": Metric("Recall", entity_recall),
    "strict_f1": Metric("Strict F1", entity_f1),
    "accuracy": Metric("Accuracy", tag_accuracy, takes_resamples=False),
}

"""Options and results of evaluations, as `evaluate` and `compare` use them with every task.

The classes of the tasks evaluate; the commands print.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from ..config.messages import counted, shorten
from ..data.codecs.codec import Codec
from ..data.codecs.series import names_of
from ..data.config import Corpus
from ..data.formats.format import notes_of
from ..data.formats.read import Row, read_whole
from ..errors import DataError
from ..metrics.score import Score

Result = TypeVar("Result")

PLACES_SHOWN = 3


@dataclass(frozen=True)
class EvaluationOptions:
    """How a test set is evaluated.

    A model takes `metrics`, and the options that its `evaluation_options` names.

    Attributes:
        metrics: by default the usual metrics of the task.
        tokenized: whether the references are tokenised already.
        group: whether rows with the same source are one item with several references.
        cut: whether inputs that are too long are cut.
        split: whether inputs that are too long are split, and their outputs joined.
        search: search settings that replace those of the run.
    """

    metrics: Sequence[str] | None = None
    tokenized: bool = False
    group: bool = False
    cut: bool = False
    split: bool = False
    search: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class EvaluationReport:
    """Scores of a test set, with notes for the reader.

    Attributes:
        scores: scores by metric.
        record: the report as plain data, `n` first.
        summary: size of the test set and of the task, such as "500 texts, 3 labels".
        notes: lines that explain the scores.
        remarks: lines about the outputs.
        warnings: reasons why the scores may mislead, or could be better.
        outputs: one for each row of the test set, empty if the row is left out, or one for each
            group of rows; None if nothing is decoded.
        digits: decimals of the scores in a table.
        significant: significant digits that a small score has at least, with more decimals.
    """

    scores: Mapping[str, Score]
    record: Mapping[str, Any]
    summary: str
    notes: Sequence[str] = ()
    remarks: Sequence[str] = ()
    warnings: Sequence[str] = ()
    outputs: Sequence[str] | None = None
    digits: int = 2
    significant: int = 0


@dataclass(frozen=True)
class TimedEvaluation:
    """The score of a test set by one metric, and the speed of the model.

    Attributes:
        score: computes the score of some inputs, by index; of all inputs for None.
        n: size of the test set, in units of `n_of`.
        speed: units of `speed_of` per second.
        inputs: texts of the inputs; None if they are none, or if only the whole set has a score.
        notes: lines that explain the score.
        steps: numbers of steps of inputs that are series.
    """

    score: Callable[[Sequence[int] | None], Score]
    n: int
    n_of: str
    speed: float
    speed_of: str
    inputs: Sequence[str] | None = None
    notes: tuple[str, ...] = ()
    steps: Sequence[int] | None = None


def read_rows(
    corpora: Sequence[Corpus],
    columns: Sequence[str],
    root: Path,
    names: Mapping[str, tuple[str, ...]] | None = None,
) -> Iterator[Row]:
    """The rows of all corpora, as `read`; a running text is one row."""
    for corpus in corpora:
        yield from read_whole(corpus, columns, root, names)


@dataclass(frozen=True)
class UsableRows:
    """The rows of a test set that can be scored.

    Attributes:
        rows: the rows with a text in each column that they need.
        indices: their indices among all rows.
        n_all: number of all rows.
        warnings: a line about the rows that are left out, and what readers found in the others.
    """

    rows: Sequence[Row]
    indices: Sequence[int]
    n_all: int
    warnings: tuple[str, ...]

    def in_line(self, outputs: Sequence[str]) -> list[str]:
        """An output for each row of the test set; empty for a row that is left out."""
        by_row = dict(zip(self.indices, outputs, strict=True))
        return [by_row.get(row, "") for row in range(self.n_all)]


def usable_rows(
    corpora: Sequence[Corpus], codecs: Mapping[str, Codec], root: Path, needed: int
) -> UsableRows:
    """The rows of all corpora without those that are blank in one of the first `needed` columns.

    Training leaves out the same rows.

    Args:
        codecs: the codec of each column.

    Raises:
        DataError: no row is left.
    """
    rows = list(read_rows(corpora, tuple(codecs), root, names_of(codecs)))
    checked = list(codecs.values())[:needed]
    indices = [i for i, row in enumerate(rows) if not _is_blank(row, checked)]
    usable, names = set(indices), tuple(codecs)[:needed]
    blank = [row.where for i, row in enumerate(rows) if i not in usable]
    places = ", ".join(blank[:PLACES_SHOWN]) + (", ..." if len(blank) > PLACES_SHOWN else "")
    if not rows:
        raise DataError("the test data have no rows; name other data")
    if not indices:
        raise DataError(
            f"none of the {counted(len(rows), 'row')} of the test data has {' and '.join(names)} "
            f"({places}); "
            "name other data"
        )
    left_out = (
        f"left out {len(blank)} of {counted(len(rows), 'row')} without {' or '.join(names)} "
        f"({places})"
    )
    found = [str(note) for note in notes_of(rows) if note.is_warning]
    warnings = (left_out, *found) if blank else tuple(found)
    return UsableRows([rows[i] for i in indices], indices, len(rows), warnings)


def _is_blank(row: Row, codecs: Sequence[Codec]) -> bool:
    """Whether one of the first columns of a row is blank."""
    return any(codec.is_blank(value) for codec, value in zip(codecs, row.values, strict=False))


def timed(compute: Callable[[], Result]) -> tuple[Result, float]:
    """The result of a call, and the seconds it took."""
    started = time.perf_counter()
    result = compute()
    return result, time.perf_counter() - started


def warn_of_same_outputs(outputs: Sequence[Any], references: Sequence[Any]) -> list[str]:
    """A warning if a model gives one output for all inputs, although their references differ."""
    texts = set(map(str, outputs))
    if len(outputs) < 2 or len(texts) > 1 or len(set(map(str, references))) < 2:
        return []
    shown = shorten(repr(texts.pop()))
    return [f"all {len(outputs)} outputs are {shown}; the model may need more training"]


def scores_to_dict(scores: Mapping[str, Score]) -> dict[str, Any]:
    """Scores as plain data, by metric."""
    return {name: score.to_dict() for name, score in scores.items()}


def ungrouped(rows: Iterable[Row]) -> tuple[list[str], list[list[str]], list[str]]:
    """Sources, a list with the one target of each, and their locations in files."""
    sources, references, locations = [], [], []
    for row in rows:
        sources.append(row.values[0])
        references.append([row.values[1]])
        locations.append(row.where)
    return sources, references, locations


def grouped(rows: Iterable[Row]) -> tuple[list[str], list[list[str]], list[str]]:
    """Distinct sources, all targets of each, and the location of its first row."""
    targets: dict[str, list[str]] = {}
    locations = []
    for row in rows:
        source, target = row.values
        if source not in targets:
            targets[source] = []
            locations.append(row.where)
        targets[source].append(target)
    return list(targets), list(targets.values()), locations

"""The form of times that the training data show, kept in the settings of a run.

A later file, such as one day of dates, often does not show whether the day or the month comes
first. It is read in the order of the training data, or refused if it shows another.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from .config import Corpus, DataConfig, as_corpora, learned_from
from .date_order import DateOrder
from .formats.format import TableFacts
from .formats.read import read


@dataclass(frozen=True)
class KeptForm:
    """Data settings with the order of day and month, and the lines that report what was read."""

    data: DataConfig
    lines: tuple[str, ...] = ()


def with_kept_form(data: DataConfig, columns: Sequence[str], root: Path) -> KeptForm:
    """The settings of data about series, whose corpora name the order of day and month.

    If the training data fit both orders, one that validation or test data show is taken.

    Args:
        columns: the columns that the data have.
        root: the folder of relative file names.

    Raises:
        DataError: a file is missing or malformed.
    """
    trained = [_facts(corpus, columns, root) for corpus in learned_from(data)]
    facts = [each for each in trained if each is not None]
    lines = [f"columns: {each.columns}" for each in facts]
    orders = [each.order for each in facts if each.order is not None]
    order = next((each for each in orders if each.is_shown), None)
    if order is None and orders:
        order = _shown_later(data, columns, root) or orders[0]
        lines += [f"{'warning: ' * order.is_guess}{order.line}"] if order.line else []
    if order is None:
        return KeptForm(data, tuple(dict.fromkeys(lines)))
    sets = {
        key: [_ordered(corpus, order.day_first) for corpus in as_corpora(entry, f"data.{key}")]
        for key in ("train", "valid", "test")
        if (entry := getattr(data, key)) is not None and entry != []
    }
    return KeptForm(replace(data, **sets), tuple(dict.fromkeys(lines)))  # type: ignore[arg-type]


def _facts(corpus: Corpus, columns: Sequence[str], root: Path) -> TableFacts | None:
    """How the table of a corpus is read; None if it is no table."""
    facts = None
    for row in read(corpus, columns, root):  # to the end, so that later passes need not parse it
        facts = facts or row.facts
    return facts


def _shown_later(data: DataConfig, columns: Sequence[str], root: Path) -> DateOrder | None:
    """The order that validation or test data show."""
    for key in ("valid", "test"):
        for corpus in as_corpora(getattr(data, key), f"data.{key}"):
            facts = _facts(corpus, columns, root)
            if facts is not None and facts.order is not None and facts.order.is_shown:
                return facts.order
    return None


def _ordered(corpus: Corpus, day_first: bool) -> Corpus:
    return replace(corpus, day_first=day_first) if corpus.day_first is None else corpus

"""Which rows `evaluate` and `score` work on: the run's test set, or what the user names.

A row is what goes in and what comes out, by whatever names the task has for its columns.
"""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import ConfigError

if TYPE_CHECKING:
    from ..data.config import Corpus
    from ..data.formats.read import Row
    from ..inference.base import TrainedModel


def evaluation_corpora(
    model: "TrainedModel",
    source: str | None,
    target: str | None,
    data: str | None,
    form: str | None,
) -> tuple[tuple["Corpus", ...], Path]:
    """The run's test data, or what the options name, and the folder that names start from."""
    from ..data.config import as_corpora

    if data is not None and len(model.task.columns) == 1:
        return (_text_corpus(model, data, form),), Path()
    if source is not None or target is not None or data is not None:
        return (corpus_of(model, source, target, data, form),), Path()
    corpora = as_corpora(model.config.data.test, "data.test")
    if not corpora:
        remedy = "--data FILE" if len(model.task.columns) == 1 else PAIR
        raise ConfigError(f"the run file of {model.run.path} names no data.test; give {remedy}")
    return corpora, Path(model.config.data.root or ".")


PAIR = "--source and --target, or --data"


def read_test_rows(
    model: "TrainedModel",
    source: str | None,
    target: str | None,
    data: str | None,
    form: str | None,
) -> Iterator["Row"]:
    """Rows of all columns with their places; a running text is one row, all of it."""
    from ..inference.evaluation import read_rows

    corpora, root = evaluation_corpora(model, source, target, data, form)
    return read_rows(corpora, model.task.columns, root)


def _text_corpus(model: "TrainedModel", data: str, form: str | None) -> "Corpus":
    """A file of texts; one that does not tell its format is read as the training data were."""
    from ..data import config

    _require_format(form)
    if form is None and config.format_by_extension(data) is None:
        learned = [c for c in config.learned_from(model.config.data) if config.is_cut(c)]
        names = {config.format_of(corpus, single=True) for corpus in learned}
        form = next((name for name in config.format_names() if name in names), "lines")
    return config.Corpus(file=data, format=form or "auto")


def _require_format(form: str | None) -> None:
    """Refuses a name that no format has."""
    from ..config.messages import did_you_mean
    from ..data.config import format_names

    names = format_names()
    if form is not None and form not in names:
        hint = did_you_mean(form, names)
        raise ConfigError(f"--format {form}: expected one of {', '.join(names)}{hint}")


def corpus_of(
    model: "TrainedModel",
    source: str | None,
    target: str | None,
    data: str | None,
    form: str | None,
) -> "Corpus":
    """The corpus that the options of a command describe."""
    from ..data.config import Corpus

    names = model.task.columns
    if len(names) > 2 and (source is not None or target is not None):
        raise ConfigError(
            f"--source and --target are for tasks with two columns, and this run has "
            f"{', '.join(names)}; give --data"
        )
    if data is None and (source is None or target is None):
        missing = "--source" if source is None else "--target"
        raise ConfigError(f"{missing} is missing: give --source and --target together, or --data")
    if data is None and form is not None:
        raise ConfigError("--format goes with --data; --source and --target are plain lines")
    _require_format(form)
    columns: dict[str, Any] = (
        {} if len(names) > 2 else dict(zip(names, (source, target), strict=True))
    )
    if data is not None:
        columns = {name: _column(text) for name, text in columns.items()}
        if model.columns_as_trained and source is None and target is None:
            return _as_learned(model, data, form)
    return Corpus(file=data, **columns, format=form or "auto")


def _as_learned(model: "TrainedModel", data: str, form: str | None) -> "Corpus":
    """A file whose columns are those of the first training corpus, if that is a table of the same
    kind; one whose name does not tell its format has the same."""
    from ..data.config import Corpus, column_of, format_by_extension, format_of, learned_from

    learned = next(iter(learned_from(model.config.data)), Corpus())
    if form is None and format_by_extension(data) is None and learned.file is not None:
        form = format_of(learned)
    wanted = Corpus(file=data, format=form or "auto")
    if learned.file is None or format_of(learned) != format_of(wanted):
        return wanted
    places = {name: column_of(learned, name) for name in model.task.columns}
    return replace(wanted, **places)  # type: ignore[arg-type]


def _column(text: str | None) -> Any:
    """A column as the run file would have it: numbers are places, all else is a name."""
    if text is None:
        return None
    return int(text) if text.removeprefix("-").isdecimal() else text

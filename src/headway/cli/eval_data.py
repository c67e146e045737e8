"""The rows for `evaluate` and `score`: the run's test set, or the files of the options.

A row has an input and an output, in the columns of the task.
"""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import ConfigError
from .options import warn

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
    """The corpora of the options, else the run's test data, or else its validation data; and the
    folder of relative names."""
    from ..data.config import as_corpora, reads_series

    if data is not None and reads_series(model.task.columns):
        from ..inference.series_files import corpora_of

        require_format(form)
        series, folder = corpora_of(model.config.data, data, form)
        return tuple(series), folder
    if data is not None and len(model.task.columns) == 1:
        return (_text_corpus(model, data, form),), Path()
    if source is not None or target is not None or data is not None:
        return (corpus_of(model, source, target, data, form),), Path()
    settings = model.config.data
    corpora = as_corpora(settings.test, "data.test")
    if not corpora:
        corpora = as_corpora(settings.valid, "data.valid")
        remedy = PAIR if len(model.task.columns) == 2 else "--data FILE"
        if not corpora:
            raise ConfigError(f"the run file of {model.run.path} names no data.test; give {remedy}")
        warn(f"no data.test: these are the validation data, which chose the weights; give {remedy}")
    return corpora, Path(settings.root or ".")


PAIR = "--source and --target, or --data"


def read_test_rows(
    model: "TrainedModel",
    source: str | None,
    target: str | None,
    data: str | None,
    form: str | None,
) -> Iterator["Row"]:
    """Rows of all columns with their locations; a running text is one row."""
    from ..inference.evaluation import read_rows

    corpora, root = evaluation_corpora(model, source, target, data, form)
    return read_rows(corpora, model.task.columns, root)


def _text_corpus(model: "TrainedModel", data: str, form: str | None) -> "Corpus":
    """A file of texts; without a known extension it has the format of the training data."""
    from ..data import config

    require_format(form)
    if form is None and config.format_by_extension(data) is None:
        trained = [c for c in config.learned_from(model.config.data) if config.is_cut(c)]
        names = {config.format_of(corpus, single=True) for corpus in trained}
        form = next((name for name in config.format_names() if name in names), "lines")
    return config.Corpus(file=data, format=form or "auto")


def require_format(form: str | None) -> None:
    """Refuses an unknown format."""
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
            f"{', '.join(names)}; use --data"
        )
    if data is None and (source is None or target is None):
        missing = "--source" if source is None else "--target"
        raise ConfigError(f"{missing} is missing: give --source and --target together, or --data")
    if data is None and form is not None:
        raise ConfigError("--format needs --data; --source and --target are plain lines")
    require_format(form)
    columns: dict[str, Any] = (
        {} if len(names) > 2 else dict(zip(names, (source, target), strict=True))
    )
    if data is not None:
        columns = {name: _column(text) for name, text in columns.items()}
        if model.columns_as_trained and source is None and target is None:
            return _as_trained(model, data, form)
    return Corpus(file=data, **columns, format=form or "auto")


def _as_trained(model: "TrainedModel", data: str, form: str | None) -> "Corpus":
    """A file with the columns of the first training corpus, if that is a table of the same format;
    without a known extension it has that format."""
    from ..data.config import (
        Corpus,
        column_of,
        format_by_extension,
        format_of,
        learned_from,
        reads_series,
    )

    if reads_series(model.task.columns):
        from ..inference.series_files import corpora_of

        return corpora_of(model.config.data, data, form)[0][0]
    trained = next(iter(learned_from(model.config.data)), Corpus())
    if form is None and format_by_extension(data) is None and trained.file is not None:
        form = format_of(trained)
    corpus = Corpus(file=data, format=form or "auto")
    if trained.file is None or format_of(trained) != format_of(corpus):
        return corpus
    columns = {name: column_of(trained, name) for name in model.task.columns}
    return replace(corpus, **columns)  # type: ignore[arg-type]


def _column(text: str | None) -> Any:
    """A column as in a run file: a number is an index, other texts are names."""
    if text is None:
        return None
    return int(text) if text.removeprefix("-").isdecimal() else text

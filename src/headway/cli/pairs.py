"""Which rows `evaluate` and `score` work on: the run's test set, or what the user names.

A row is what goes in and what comes out, by whatever names the task has for its columns.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from ..errors import ConfigError

if TYPE_CHECKING:
    from ..api import Predictor, Translator
    from ..data.corpora import Corpus
    from ..data.read import Row


def read_pairs(
    model: "Translator | Predictor",
    source: str | None,
    target: str | None,
    data: str | None,
    form: str | None,
    as_learned: bool = False,
) -> Iterator["Row"]:
    """Rows of all columns with their places; file names start from where the user stands.

    Args:
        as_learned: whether a file whose columns are not said has those of the training data.
    """
    from ..data.corpora import as_corpora
    from ..data.read import read

    if source is None and target is None and data is None:
        corpora = as_corpora(model.config.data.test, "data.test")
        root = Path(model.config.data.root or ".")
        if not corpora:
            raise ConfigError(
                f"the run file of {model.run.path} names no data.test; "
                "give --source and --target, or --data"
            )
    else:
        corpora, root = (corpus_of(model, source, target, data, form, as_learned),), Path()
    for corpus in corpora:
        yield from read(corpus, model.task.columns, root)


def corpus_of(
    model: "Translator | Predictor",
    source: str | None,
    target: str | None,
    data: str | None,
    form: str | None,
    as_learned: bool,
) -> "Corpus":
    """The corpus that the options of a command describe."""
    from ..data.corpora import Corpus, Format

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
    if form is not None and form not in get_args(Format):
        raise ConfigError(f"--format {form}: expected one of {', '.join(get_args(Format))}")
    columns: dict[str, Any] = (
        {} if len(names) > 2 else dict(zip(names, (source, target), strict=True))
    )
    if data is not None:
        columns = {name: _column(text) for name, text in columns.items()}
        if as_learned and source is None and target is None:
            return _as_learned(model, data, form)
    return Corpus(file=data, **columns, format=form or "auto")  # type: ignore[arg-type]


def _as_learned(model: "Translator | Predictor", data: str, form: str | None) -> "Corpus":
    """A file whose columns are those of the first training corpus, if that is a table of the same
    kind; one whose name does not tell its format has the same."""
    from ..data.corpora import EXTENSIONS, Corpus, column_of, format_of, learned_from

    learned = next(iter(learned_from(model.config.data)), Corpus())
    is_told = Path(data.removesuffix(".gz")).suffix.lower() in EXTENSIONS
    if form is None and not is_told and learned.file is not None:
        form = format_of(learned)
    wanted = Corpus(file=data, format=form or "auto")  # type: ignore[arg-type]
    if learned.file is None or format_of(learned) != format_of(wanted):
        return wanted
    places = {name: column_of(learned, name) for name in model.task.columns}
    return replace(wanted, **places)  # type: ignore[arg-type]


def _column(text: str | None) -> Any:
    """A column as the run file would have it: numbers are places, all else is a name."""
    if text is None:
        return None
    return int(text) if text.removeprefix("-").isdecimal() else text


def ungrouped(rows: Iterable["Row"]) -> tuple[list[str], list[list[str]], list[str]]:
    """Sources, the one target of each as a list, and places."""
    sources, references, places = [], [], []
    for row in rows:
        sources.append(row.values[0])
        references.append([row.values[1]])
        places.append(row.where)
    return sources, references, places


def grouped(rows: Iterable["Row"]) -> tuple[list[str], list[list[str]], list[str]]:
    """Each distinct source once, where it stood first, with all its targets."""
    targets: dict[str, list[str]] = {}
    places = []
    for row in rows:
        source, target = row.values
        if source not in targets:
            targets[source] = []
            places.append(row.where)
        targets[source].append(target)
    return list(targets), list(targets.values()), places

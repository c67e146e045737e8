"""What the user says about their data: the `[data]` table of a run file and its corpora.

Only descriptions live here, with the rules that turn them into file names. Reading is in `read`,
dropping and counting in `prepare`.
"""

import difflib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from annotated_types import Ge, Gt, Le

from headway.errors import ConfigError, DataError

Format = Literal[
    "auto",
    "lines",
    "text",
    "documents",
    "tsv",
    "csv",
    "jsonl",
    "conll",
    "pronunciation",
    "squad",
]

WHOLE: tuple[Format, ...] = ("text", "documents")
"""Formats of texts that may be of any length: they are cut into blocks."""


EXTENSIONS: dict[str, Format] = {
    ".tsv": "tsv",
    ".tab": "tsv",
    ".csv": "csv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".conll": "conll",
    ".dict": "pronunciation",
}


@dataclass(frozen=True)
class Corpus:
    """One corpus: either one file per column (parallel lines) or one file that holds them all."""

    # A task looks for each of its columns under the attribute of the same name, so a new kind of
    # column is one more field here.

    file: str | None = None
    """The one file that holds all columns; leave it out when every column has its own file."""

    source: str | int | None = None
    """Without `file`: the file of the input lines. With `file`: the column of the input, by name
    or by number (1 is the first, -1 the last)."""

    target: str | int | None = None
    """Without `file`: the file of the output lines. With `file`: the column of the output, by name
    or by number (1 is the first, -1 the last)."""

    text: str | int | None = None
    """The same for the text of a language model, or of what gets a label or a value: a file of
    lines, or a column of `file`."""

    text2: str | int | None = None
    """The same for the second text, where a label or a value is given to pairs of texts."""

    label: str | int | None = None
    """The same for the label of a text."""

    value: str | int | None = None
    """The same for the number that a text has."""

    words: str | int | None = None
    """The same for sentences to be tagged: words with spaces between them."""

    tags: str | int | None = None
    """The same for their tags, one for each word."""

    question: str | int | None = None
    """The same for questions about texts."""

    context: str | int | None = None
    """The same for the texts that hold the answers."""

    answers: str | int | None = None
    """The same for the right answers, as JSON: `[{"text": "Paris", "answer_start": 17}]`, 17 being
    the number of characters before it in the text, or `[]` where there is none."""

    format: Format = "auto"
    """How `file` is written. `auto` goes by the extension: .tsv and .tab, .csv, .jsonl and .ndjson,
    .conll, .dict (pronunciation), each also with .gz behind it. A tsv file has a header line if
    columns are given by name or if its first line holds the names of the task's columns; a csv file
    always has one. A task with one column takes any other file as `lines`, each a text of its own;
    `text` makes the whole file one running text, line breaks included; `documents` several, which
    blank lines set apart, or titles (` = Title = `) as in WikiText. `squad` is the JSON of that
    data set, with or without questions that have no answer."""

    part: tuple[Annotated[float, Ge(0), Le(1)], Annotated[float, Ge(0), Le(1)]] | None = None
    """Only this part of the corpus: `[0.0, 0.9]` is its first nine tenths, by rows, by characters
    where `format = "text"`, or by whole articles where it is "squad"."""

    separator: str | None = None
    """Pronunciation lists only: what stands between the word and its symbols; by default a tab or
    else two spaces."""

    inner: str | None = None
    """Pronunciation lists only: what stands between two symbols; by default white space."""

    weight: Annotated[float, Gt(0.0)] = 1.0
    """How often the corpus is seen in an epoch: 2.0 is twice, 0.5 another half of it each epoch."""


@dataclass(frozen=True)
class DataConfig:
    """What to train on, what to validate and test with, and what is too long."""

    train: str | Corpus | list[str | Corpus]
    """The training data: one file of two columns ("pairs.tsv"), a table
    `{ source = "train.en", target = "train.de" }`, or a list of these."""

    valid: str | Corpus | list[str | Corpus] | None = None
    """The validation data, in the same forms; it chooses the weights that are kept."""

    test: str | Corpus | list[str | Corpus] | None = None
    """The test data, in the same forms: what `headway evaluate` scores unless told otherwise."""

    root: str | None = None
    """The folder that relative file names start from; by default the environment variable
    HEADWAY_DATA, or else the folder of the run file."""

    max_length: Annotated[int, Ge(2)] = 256
    """Training examples with more tokens than this in any column, or in both texts of a pair
    together, marks counted, are dropped with a count in the log. Texts in which answers are looked
    for are read in windows of this many tokens instead."""

    block: Annotated[int, Ge(2)] = 128
    """Running text and documents (`format = "text"` or `"documents"`) are learned from in blocks
    of this many tokens, none of which goes beyond its document."""

    def __post_init__(self) -> None:
        for name in ("valid", "test"):
            given = getattr(self, name)
            for corpus in given if isinstance(given, list) else [given]:
                if isinstance(corpus, Corpus) and corpus.weight != 1.0:
                    raise ValueError(
                        f"{name}.weight = {corpus.weight:g} has no meaning: a weight says how "
                        "often a corpus is trained on; leave it out"
                    )


def as_corpora(data: str | Corpus | Sequence[str | Corpus] | None, key: str) -> tuple[Corpus, ...]:
    """The corpora behind one entry of `[data]`, in order; none for None.

    Args:
        key: the dotted name of the entry (`data.train`), for messages.

    Raises:
        ConfigError: an entry that describes no corpus.
    """
    if data is None:
        return ()
    entries = [data] if isinstance(data, str | Corpus) else data
    corpora = tuple(Corpus(file=entry) if isinstance(entry, str) else entry for entry in entries)
    if not corpora:
        raise ConfigError(f"{key} is an empty list; name at least one corpus")
    for corpus in corpora:
        _check(corpus, key)
    return corpora


def learned_from(data: DataConfig) -> tuple[Corpus, ...]:
    """The training corpora of a run; none if it was imported, which is written `train = []`."""
    return () if data.train == [] else as_corpora(data.train, "data.train")


def _check(corpus: Corpus, key: str) -> None:
    if not 0 < corpus.weight < float("inf"):
        raise ConfigError(
            f"{key}.weight is {corpus.weight}; expected a number above 0, such as 2.0 for "
            "a corpus seen twice in each epoch"
        )
    if corpus.file is None and corpus.format not in ("auto", "lines"):
        raise ConfigError(f"{key}.format is {corpus.format!r}, which needs {key}.file")
    if "" in (corpus.separator, corpus.inner):
        raise ConfigError(f"{key}: a separator is empty; leave it out or name a character")
    if corpus.part is not None and not corpus.part[0] < corpus.part[1]:
        raise ConfigError(
            f"{key}.part is {list(corpus.part)}, which is no part; expected where it begins and "
            "ends, such as [0.0, 0.9]"
        )


def data_root(root: str | None, run_folder: Path) -> Path:
    """The folder relative names start from: `root`, else $HEADWAY_DATA, else `run_folder`.

    A relative `root` starts from the folder of the run file.
    """
    if root is not None:
        return run_folder / Path(root).expanduser()
    given = os.environ.get("HEADWAY_DATA")
    return Path(given).expanduser() if given else run_folder


def default_cache() -> Path:
    """Where prepared data live unless the caller says otherwise: $HEADWAY_CACHE or ~/.cache."""
    given = os.environ.get("HEADWAY_CACHE")
    return Path(given).expanduser() if given else Path.home() / ".cache" / "headway"


def format_of(corpus: Corpus, single: bool = False) -> Format:
    """The format of a corpus, with `auto` resolved.

    Args:
        single: the task has one column, so that a plain file holds all of it.

    Raises:
        ConfigError: the extension says nothing, or the format has room for one column only.
    """
    if corpus.file is None:
        return "lines"
    if corpus.format in WHOLE and not single:
        raise ConfigError(
            f"{corpus.file}: format {corpus.format!r} has texts alone, and the task has several "
            'columns; choose another format, or task = "language"'
        )
    if corpus.format == "lines" and not single:
        raise ConfigError(
            f"{corpus.file}: format 'lines' is for one file per column; leave out file and name "
            "them as source and target, or choose another format"
        )
    if corpus.format != "auto":
        return corpus.format
    extension = Path(corpus.file.removesuffix(".gz")).suffix.lower()
    if extension not in EXTENSIONS and single:
        return "lines"
    if extension not in EXTENSIONS:
        raise ConfigError(
            f"{corpus.file}: the extension {extension!r} does not tell the format; "
            "set format to one of tsv, csv, jsonl, conll, pronunciation, squad"
        )
    return EXTENSIONS[extension]


def column_of(corpus: Corpus, column: str) -> str | int | None:
    """What the corpus says of a task's column: a file, a name, a number or nothing."""
    said: str | int | None = getattr(corpus, column, None)
    return said


def files_of(corpus: Corpus, columns: Sequence[str], root: Path) -> list[tuple[str, Path]]:
    """The files a corpus is read from, each as written in the run file and as found on disk.

    Raises:
        ConfigError: a column has no file.
        DataError: a file is missing.
    """
    if corpus.file is not None:
        names = [corpus.file]
    else:
        names = [_file_of_column(corpus, column) for column in columns]
    return [(name, _existing(root / Path(name).expanduser())) for name in names]


def _file_of_column(corpus: Corpus, column: str) -> str:
    name = column_of(corpus, column)
    if isinstance(name, str):
        return name
    if name is None:
        raise ConfigError(
            f"a corpus names no {column}: give a file for each of its columns "
            f'({column} = "..."), or one table with file = "..."'
        )
    raise ConfigError(
        f"{column} = {name} is a column number, which needs file = ...; without it {column} "
        "is a file name"
    )


def _existing(path: Path) -> Path:
    if path.is_file():
        return path
    if path.is_dir():
        raise DataError(f"{path} is a folder; expected a file")
    if path.exists():
        raise DataError(f"{path} is not a plain file; copy the data to a file first")
    if not path.parent.is_dir():
        raise DataError(f"no file {path}: the folder {path.parent} does not exist; set data.root")
    near = difflib.get_close_matches(path.name, os.listdir(path.parent), n=1, cutoff=0.5)
    hint = f"did you mean {near[0]}?" if near else f"look in {path.parent} or set data.root"
    raise DataError(f"no file {path}; {hint}")

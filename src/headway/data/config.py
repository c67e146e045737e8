"""Settings of the data: the `[data]` table of a run file and its corpora.

Only descriptions and the rules that turn them into file names and formats. Reading is left to
`formats`, dropping and counting to `prepare`.
"""

import difflib
import os
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Literal

from annotated_types import Ge, Gt, Le

from ..arguments import check_fields
from ..config import OneOf
from ..errors import ConfigError, DataError
from .formats import FORMATS, FileFormat
from .formats.format import ColumnEntry

AUTO = "auto"


def format_names() -> tuple[str, ...]:
    """The allowed values of `format`."""
    return (AUTO, *FORMATS)


def _meanings() -> dict[str, str]:
    described = {name: (" and ".join(form.extensions), form) for name, form in FORMATS.items()}
    return {
        name: f"{form.meaning} ({extensions})" if extensions else form.meaning
        for name, (extensions, form) in described.items()
    }


FormatName = Annotated[str, OneOf(format_names, _meanings)]


@dataclass(frozen=True)
class RowSplit:
    """A random part of the rows: those whose number, drawn from 0 to 1, is in a range.

    Rows with the same text have the same number, up to case, accents and white space. Two ranges
    that do not overlap therefore never share a text.
    """

    above: Annotated[float, Ge(0), Le(1)] = 0.0
    """Rows with a number of at least this."""
    below: Annotated[float, Ge(0), Le(1)] = 1.0
    """Rows with a lower number than this."""
    seed: Annotated[int, Ge(0)] = 1
    """Seed of the numbers."""
    by: str | None = None
    """The column whose text determines the number. Default: the first column of the task."""


@dataclass(frozen=True)
class Corpus:
    """One corpus: one file per column (parallel lines), or one file with all columns."""

    # A task finds each of its columns in the field of the same name, so a new column is a new
    # field.

    file: str | None = None
    """The file with all columns; leave it out if every column has its own file."""

    source: str | int | None = None
    """Without `file`: the file of the input lines. With `file`: the column of the input, by name
    or by number (1 is the first, -1 the last)."""

    target: str | int | list[str] | None = None
    """Without `file`: the file of the output lines. With `file`: the column of the output, by name
    or by number (1 is the first, -1 the last). Of a forecast: the column or columns to forecast;
    by default all columns of numbers that have no other use, in a long table `y` or `target`."""

    text: str | int | None = None
    """The text of a language model, a classifier or a regression: without `file` a file of lines,
    with `file` a column, by name or by number. So are all columns below."""

    text2: str | int | None = None
    """The second text, where pairs of texts have a label or a value."""

    label: str | int | None = None
    """The label of a text or of a series."""

    value: str | int | None = None
    """The value of a text or of a series, a number."""

    words: str | int | None = None
    """The sentences to tag: words separated by spaces."""

    tags: str | int | None = None
    """The tags, one for each word, separated by spaces."""

    question: str | int | None = None
    """The questions about texts."""

    context: str | int | None = None
    """The texts that contain the answers."""

    answers: str | int | None = None
    """The right answers as JSON: `[{"text": "Paris", "answer_start": 17}]`, where 17 is the number
    of characters before the answer in the text, or `[]` if there is no answer."""

    past: str | list[str] | None = None
    """Of a forecast: columns that help to forecast and are known up to the present, numbers or
    categories."""

    known: str | list[str] | None = None
    """Of a forecast: columns that are also known for the time to forecast, such as holidays. The
    file may go on with them after the last value of the target."""

    static: str | list[str] | None = None
    """Of a forecast: columns that do not change in a series, such as the kind of a shop."""

    series: str | list[str] | None = None
    """Where series have a label or a value: the columns of their values in a long table; by default
    all columns of numbers that have no other use."""

    id: str | int | None = None
    """Long tables of series: the column that names the series of a row; by default `unique_id`,
    `item_id` or `series_id`."""

    time: str | int | list[str] | None = None
    """Series: the column of the time, or those of its parts in order (`["year", "month", "day"]`).
    Default: `ds`, `timestamp`, `date`, `datetime` or `time` (or `date` and `time` together), or
    columns named like parts, or the first column of dates; without any, steps are numbered."""

    day_first: bool | None = None
    """Series: whether dates such as `3/5/2024` are 3 May (`true`) or 5 March (`false`). By default
    a number above 12 shows it, or else the order whose times are more regular is taken. The run
    keeps the order, and reads every later file by it."""

    frequency: str | None = None
    """Series: the step of time, such as `15min`, `h`, `D`, `B` (weekdays), `W`, `M`, `Q` or `Y`;
    times are then rounded down to it, and values that share a step are joined (`aggregate`). By
    default it is inferred from the times, all of which must be a whole number of steps apart.
    Months, quarters and years keep the day on which all times are; otherwise they are dated on the
    first day, or as `ME` (last day), `BME` (last weekday) or `M-15` say. `W-SUN` is weeks that
    end on Sunday."""

    aggregate: Literal["mean", "sum"] | None = None
    """Series with a `frequency`: how values to forecast that share a step are joined: their `mean`
    (the default) or their `sum`. Other columns are averaged."""

    missing: Literal["mask", "fill", "error"] | None = None
    """Series: the treatment of missing values. `mask` (the default): they stay missing, and neither
    loss nor scores count them; `fill`: interpolated between their neighbours; `error`: refused."""

    repeated: Literal["error", "first", "last", "mean"] | None = None
    """Series: the treatment of times that occur twice, with different values: `error` (the
    default), the `first`, the `last`, or the `mean`."""

    history: str | None = None
    """Series: a file with earlier values of the same series, such as the training file for a test
    file. They are never a target."""

    format: FormatName = AUTO
    """The format of `file`. `auto` chooses by the extension, ignoring .gz; a task with one column
    reads a file with any other extension as `lines`, a task about series as `series`."""

    part: tuple[float | str, float | str] | None = None
    """Only this part of the corpus: `[0.0, 0.9]` is its first nine tenths, counted in rows, in
    characters if `format = "text"`, or in whole articles if it is "squad". Of a forecast: the steps
    to forecast; those before them remain as history. There, numbers of steps (`[8640, 11520]`,
    `[-48, 0]` for the last 48) and dates (`["2017-07-01", "2017-11-01"]`) are allowed too."""

    split: RowSplit | None = None
    """Only a random part of the rows: `{ below = 0.1 }` is about a tenth of them, `{ above = 0.1 }`
    the others. Equal texts are always on the same side."""

    separator: str | None = None
    """Pronunciation lists only: the separator between the word and its symbols; by default a tab or
    else two spaces."""

    inner: str | None = None
    """Pronunciation lists only: the separator between two symbols; by default white space."""

    weight: Annotated[float, Gt(0.0)] = 1.0
    """Passes over the corpus in an epoch: 2.0 is two, 0.5 a different half of it each epoch."""


READING_FIELDS = (
    *("id", "time", "day_first", "frequency", "aggregate", "missing", "repeated", "history"),
)
"""The fields of a corpus that say how series are read."""
NO_COLUMNS = ("file", "format", "part", "split", "separator", "inner", "weight", *READING_FIELDS)
COLUMNS = tuple(field.name for field in fields(Corpus) if field.name not in NO_COLUMNS)
"""The fields of a corpus that are columns."""
SERIES_COLUMNS = frozenset({"past", "known", "static", "series"})
"""Columns that only tasks about series have."""


@dataclass(frozen=True)
class DataConfig:
    """Training, validation and test data, and the length limit."""

    train: str | Corpus | list[str | Corpus]
    """The training data: one file of two columns ("pairs.tsv"), a table
    `{ source = "train.en", target = "train.de" }`, or a list of these."""

    valid: str | Corpus | list[str | Corpus] | None = None
    """The validation data, in the same forms; they decide which weights are kept. Default: a part
    of the training data, which is then not trained on. `[]`: no validation."""

    test: str | Corpus | list[str | Corpus] | None = None
    """The test data, in the same forms: the default of `headway evaluate`."""

    root: str | None = None
    """The folder of relative file names; by default the environment variable
    HEADWAY_DATA, or else the folder of the run file."""

    max_length: Annotated[int, Ge(2)] = 256
    """Training examples with more tokens than this in any column, or in both texts of a pair
    together, special tokens included, are dropped; the log counts them. Texts with answers are
    read in windows of this many tokens instead."""

    block: Annotated[int, Ge(2)] = 128
    """Running text and documents (`format = "text"` or `"documents"`) are cut into examples of this
    many tokens; none crosses the end of its document."""

    def __post_init__(self) -> None:
        check_fields(self)
        for name in ("valid", "test"):
            corpora = getattr(self, name)
            for corpus in corpora if isinstance(corpora, list) else [corpora]:
                if isinstance(corpus, Corpus) and corpus.weight != 1.0:
                    raise ValueError(
                        f"{name}.weight = {corpus.weight:g} has no meaning: a weight says how "
                        "often a corpus is trained on; leave it out"
                    )


def as_corpora(data: str | Corpus | Sequence[str | Corpus] | None, key: str) -> tuple[Corpus, ...]:
    """The corpora of an entry of `[data]`, in order; none for None.

    Args:
        key: the dotted name of the entry (`data.train`), for messages.

    Raises:
        ConfigError: an entry does not describe a corpus.
    """
    if data is None:
        return ()
    entries = [data] if isinstance(data, str | Corpus) else data
    corpora = tuple(Corpus(file=entry) if isinstance(entry, str) else entry for entry in entries)
    if not corpora and key != "data.valid":  # where it means that there is no validation
        raise ConfigError(f"{key} is an empty list; name at least one corpus")
    for corpus in corpora:
        _check(corpus, key)
    return corpora


def learned_from(data: DataConfig) -> tuple[Corpus, ...]:
    """The training corpora of a run; none for an imported run (`train = []`)."""
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
    if corpus.part is not None:
        _check_part(*corpus.part, key)
    if corpus.split is not None:
        _check_split(corpus, corpus.split, key)


def _check_part(start: float | str, stop: float | str, key: str) -> None:
    """Refuses a part without content, and one that is given in two ways."""
    numbers = [bound for bound in (start, stop) if not isinstance(bound, str)]
    alike = not numbers or (len(numbers) == 2 and len(set(map(_is_share, numbers))) == 1)
    is_to_end = stop == 0 and not isinstance(start, str) and start < 0
    same_side = isinstance(start, str) or isinstance(stop, str) or (start < 0) == (stop < 0)
    if alike and same_side and not is_to_end and not start < stop:  # type: ignore[operator]
        raise ConfigError(
            f"{key}.part is {[start, stop]}, which is no part; expected where it begins and ends, "
            "such as [0.0, 0.9]"
        )


def _is_share(bound: float) -> bool:
    return 0 <= bound <= 1


def shares_of(corpus: Corpus) -> tuple[float, float] | None:
    """The part of a corpus as two shares.

    Raises:
        ConfigError: it is given in steps or dates, which only series have.
    """
    if corpus.part is None:
        return None
    start, stop = corpus.part
    if isinstance(start, str) or isinstance(stop, str) or not 0 <= start <= stop <= 1:
        raise ConfigError(
            f"{corpus.file}: part = {[start, stop]} has steps or dates, which are for forecasts; "
            "expected shares, such as [0.0, 0.9]"
        )
    return float(start), float(stop)


def _check_split(corpus: Corpus, split: RowSplit, key: str) -> None:
    if not split.above < split.below:
        raise ConfigError(
            f"{key}.split goes from {split.above:g} to {split.below:g}, which is nothing; expected "
            "above to be less than below, such as { above = 0.1 }"
        )
    if is_running_text(corpus):
        raise ConfigError(
            f"{key}.split selects rows, and a running text has none; use part = [0.0, 0.9]"
        )


def data_root(root: str | None, run_folder: Path) -> Path:
    """The folder of relative file names: `root`, else $HEADWAY_DATA, else `run_folder`.

    A relative `root` is relative to the folder of the run file.
    """
    if root is not None:
        return run_folder / Path(root).expanduser()
    folder = os.environ.get("HEADWAY_DATA")
    return Path(folder).expanduser() if folder else run_folder


def default_cache() -> Path:
    """The default folder of prepared data: $HEADWAY_CACHE, else ~/.cache/headway."""
    folder = os.environ.get("HEADWAY_CACHE")
    return Path(folder).expanduser() if folder else Path.home() / ".cache" / "headway"


def known_format(corpus: Corpus) -> FileFormat | None:
    """The format that the corpus names or its extension implies, for any task; None if unknown."""
    name = corpus.format
    if name == AUTO:
        name = format_by_extension(corpus.file or "") or AUTO
    return FORMATS.get(name)


def is_cut(corpus: Corpus) -> bool:
    """Whether the texts of a corpus may have any length and are cut into blocks."""
    form = known_format(corpus)
    return form is not None and form.is_cut


def is_running_text(corpus: Corpus) -> bool:
    """Whether a corpus is one text, of which its rows are pieces."""
    form = known_format(corpus)
    return form is not None and form.rows == "pieces"


def format_by_extension(file: str) -> str | None:
    """The format that the extension of a file implies, .gz ignored; None if unknown."""
    extension = Path(file.removesuffix(".gz")).suffix.lower()
    return next((name for name, form in FORMATS.items() if extension in form.extensions), None)


def reads_series(columns: Sequence[str]) -> bool:
    """Whether columns of a task hold series: those of a forecast, or the series of a class."""
    return "series" in columns or ("target" in columns and "source" not in columns)


def parts_are_steps(columns: Sequence[str]) -> bool:
    """Whether the part of a corpus selects steps of its series, as in a forecast, and not rows."""
    return reads_series(columns) and "series" not in columns


def holds_series(corpus: Corpus) -> bool:
    """Whether a corpus is about series, by its format or by an entry that only series have."""
    form = known_format(corpus)
    entries = (getattr(corpus, name) for name in ("series", *READING_FIELDS))
    return (form is not None and form.rows == "series") or any(e is not None for e in entries)


def format_for(corpus: Corpus, columns: Sequence[str]) -> str:
    """The format of a corpus for a task with these columns, with `auto` resolved.

    Raises:
        ConfigError: as `format_of`; or the format has series and the task none, or the reverse.
    """
    if reads_series(columns):
        return _series_format(corpus)
    name = format_of(corpus, single=len(columns) == 1)
    if FORMATS[name].rows == "series":
        raise ConfigError(
            f"{corpus.file}: format {name!r} has series, which the task has no use for; expected "
            f"{', '.join(columns)}"
        )
    if given := [field for field in READING_FIELDS if getattr(corpus, field) is not None]:
        raise ConfigError(
            f"{corpus.file}: {given[0]} is for series, which the task has no use for; leave it out"
        )
    return name


def _series_format(corpus: Corpus) -> str:
    """The format of series in a corpus."""
    if corpus.file is None:
        raise ConfigError("a corpus of series needs file = ..., the file with all columns")
    name = corpus.format
    if name not in (AUTO, "csv", "tsv"):
        _check_format(corpus, single=False)
    by_extension = format_by_extension(corpus.file) if name == AUTO else name
    form = FORMATS.get(by_extension or AUTO)
    if form is not None and form.rows == "series":
        return str(by_extension)
    if by_extension in ("csv", "tsv", None):
        return "series"
    able = [name for name, form in FORMATS.items() if form.rows == "series"]
    raise ConfigError(
        f"{corpus.file}: format {by_extension!r} has no series; expected one of {', '.join(able)}"
    )


def format_of(corpus: Corpus, single: bool = False) -> str:
    """The format of a corpus, a key of `FORMATS`, with `auto` resolved.

    Args:
        single: the task has one column, so a plain file may hold it.

    Raises:
        ConfigError: the format or the extension is unknown, or the format has too few columns.
    """
    if corpus.file is None:
        return "lines"
    if corpus.format != AUTO:
        _check_format(corpus, single)
        return corpus.format
    name = format_by_extension(corpus.file)
    if name is None and not single:
        extension = Path(corpus.file.removesuffix(".gz")).suffix.lower()
        tables = [
            name
            for name, form in FORMATS.items()
            if form.columns == "all" and form.rows != "series"
        ]
        raise ConfigError(
            f"{corpus.file}: the extension {extension!r} does not tell the format; "
            f"set format to one of {', '.join(tables)}"
        )
    return name or "lines"


def _check_format(corpus: Corpus, single: bool) -> None:
    """Refuses an unknown format, and one with too few columns for the task."""
    if corpus.format not in FORMATS:
        raise ConfigError(
            f"{corpus.file}: no format {corpus.format!r}; expected one of "
            f"{', '.join(format_names())}"
        )
    columns = FORMATS[corpus.format].columns
    if columns == "one" and not single:
        raise ConfigError(
            f"{corpus.file}: format {corpus.format!r} has texts alone, and the task has several "
            'columns; choose another format, or task = "language"'
        )
    if columns == "each" and not single:
        raise ConfigError(
            f"{corpus.file}: format {corpus.format!r} is for one file per column; leave out file "
            "and name them as source and target, or choose another format"
        )


def column_of(corpus: Corpus, column: str) -> ColumnEntry:
    """The corpus's entry for a column of the task: a file, a name, a number, names or None."""
    entry: ColumnEntry = getattr(corpus, column, None)
    return entry


def columns_named(corpus: str | Corpus) -> set[str]:
    """The columns for which a corpus has an entry."""
    if isinstance(corpus, str):
        return set()
    return {name for name in COLUMNS if column_of(corpus, name) is not None}


def files_of(corpus: Corpus, columns: Sequence[str], root: Path) -> list[tuple[str, Path]]:
    """The files of a corpus, each with its name in the run file and its path on disk.

    The history of series is the last.

    Raises:
        ConfigError: a column has no file.
        DataError: a file is missing.
    """
    if corpus.file is not None:
        names = [corpus.file] + ([] if corpus.history is None else [corpus.history])
    else:
        names = [_file_of_column(corpus, column) for column in columns]
    return [(name, _existing(root / Path(name).expanduser())) for name in names]


def _file_of_column(corpus: Corpus, column: str) -> str:
    name = column_of(corpus, column)
    if isinstance(name, str):
        return name
    if name is None or isinstance(name, list):
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

"""From corpora to a store: read, encode, drop unusable examples and report the drops.

A store is named by a hash of its inputs, so it is reused while files, settings and codecs are
unchanged, and rebuilt otherwise. The file layout of stores is left to `store`.
"""

import hashlib
import json
import math
import os
import shutil
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import chain, count, islice
from pathlib import Path

import numpy as np

from ..config.messages import counted
from ..errors import ConfigError, DataError
from ..file_limits import refuse_named_pipe
from . import store as stores
from .blocks import (
    BLOCK,
    DOCUMENT_COLUMN,
    SENTENCE_COLUMN,
    Block,
    sentence_blocks,
    shift_blocks,
    text_blocks,
)
from .codecs.codec import Codec
from .codecs.text import TextCodec
from .config import Corpus, files_of, format_for, parts_are_steps
from .formats import FORMATS
from .formats.format import PLACES_SHOWN, Note, add_notes
from .formats.read import Row, read
from .leakage import LeakCheck, Leaks
from .row_rules import IndependentColumns, RowRules
from .store import (
    DIGEST,
    DOCUMENT,
    Column,
    Store,
    StoreWriter,
    building,
    entries_digest,
    file_digest,
    writing_to,
)

CHUNK_ROWS = 4096
CHUNK_AMOUNT = 4 << 20  # characters, or numbers
# Fields of corpora that were added later. Left out of keys where they are unset, so that older runs
# find their data again.
LATER = (
    *("text", "text2", "label", "value", "words", "tags", "question", "context", "answers"),
    *("part", "split", "past", "known", "static", "series"),
    *("id", "time", "day_first", "frequency", "aggregate", "missing", "repeated", "history"),
)


@dataclass(frozen=True)
class DroppedExamples:
    """Examples dropped for one reason, with `file:line` of the first few."""

    reason: str
    count: int
    places: tuple[str, ...]

    def __str__(self) -> str:
        more = ", ..." if self.count > len(self.places) else ""
        return f"dropped {self.count}: {self.reason} ({', '.join(self.places)}{more})"


@dataclass(frozen=True)
class Prepared:
    """A store and the facts of its preparation."""

    store: Store
    key: str
    sizes: tuple[int, ...]
    """Number of examples of each corpus, in the order of the store."""
    is_running: tuple[bool, ...]
    """Which corpora are stored in blocks: running text, documents."""
    dropped: tuple[DroppedExamples, ...]
    noted: tuple[Note, ...]
    """What readers found in the rows and did about it."""
    leaks: Leaks | None
    """Result of the leak check, if one was made."""
    reused: bool
    was_damaged: bool = False
    """Whether a store that was damaged, or has no digests yet, was replaced."""

    def at(self, seed: int, epoch: int) -> tuple[Store, tuple[int, ...]]:
        """Store and sizes for an epoch: running texts are cut into blocks at other positions."""
        return shift_blocks(self.store, self.sizes, self.is_running, seed, epoch)

    def sample(self, share: float, least: int) -> Store:
        """The store with about this share of its examples, and at least `least` of them.

        They are spread over the store, as whole documents if there are documents; of running text,
        whose blocks belong together, the beginning is taken.
        """
        store, n = self.store, len(self.store)
        wanted = max(min(least, n), math.ceil(share * n))
        if wanted == n:
            return store
        if DOCUMENT in store.columns:
            starts = store.documents
            chosen = _spread(len(starts) - 1, max(1, math.ceil(share * (len(starts) - 1))))
            parts = [np.arange(starts[i], starts[i + 1]) for i in chosen]
            return store.select(np.concatenate(parts))
        return store.select(np.arange(wanted) if any(self.is_running) else _spread(n, wanted))

    def new_notes(self, said: Collection[Note]) -> list[Note]:
        """What readers found, without what was said: the parts of a file have most in common."""
        return [note for note in self.noted if note not in said]

    def report(self) -> list[str]:
        """Lines for the log: the number of examples, the dropped ones and the leak check."""
        lines = [f"{counted(len(self.store), 'example')} {'found' if self.reused else 'prepared'}"]
        if self.was_damaged:
            lines.append("the stored data were damaged, or of an older headway; prepared again")
        lines += [str(dropped) for dropped in self.dropped]
        is_checked = self.leaks is not None and self.leaks.rows and self.leaks.pairs
        return lines + ([str(self.leaks)] if is_checked else [])


def _spread(n: int, wanted: int) -> np.ndarray:
    """`wanted` of the numbers below `n`, at equal distances."""
    return np.arange(wanted) * n // wanted


@dataclass(frozen=True)
class _Job:
    """Everything that determines a store."""

    corpora: Sequence[Corpus]
    codecs: Mapping[str, Codec]
    root: Path
    max_length: int | None
    block: int | None
    sentences: bool
    rules: RowRules

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(self.codecs)

    def files(self) -> list[Path]:
        files = (files_of(corpus, self.columns, self.root) for corpus in self.corpora)
        return [path for _, path in chain.from_iterable(files)]

    def key(self) -> str:
        shaped_by = {
            "format": stores.FORMAT,
            "files": [file_digest(path) for path in self.files()],
            # Without the weight, which is applied when batches are drawn.
            "corpora": [self._described(corpus) for corpus in self.corpora],
            "codecs": {name: codec.fingerprint() for name, codec in self.codecs.items()},
            "max_length": self.max_length,
        }
        if any(map(self.is_cut, self.corpora)):
            shaped_by["block"] = self.block
        if self.sentences:
            shaped_by["sentences"] = True
        if self.rules.derived:
            shaped_by["derived"] = {
                name: [column, codec.fingerprint()]
                for name, (column, codec) in self.rules.derived.items()
            }
        text = json.dumps(shaped_by)  # in order: the order of columns matters
        return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()

    def _described(self, corpus: Corpus) -> dict[str, object]:
        form = self.format(corpus)
        fields = asdict(corpus) | {"format": form, "weight": None}
        if parts_are_steps(self.columns):  # stored whole: parts in time are views
            fields["part"] = None
        return {
            name: value
            for name, value in fields.items()
            if value or value is False or name not in LATER
        }

    def format(self, corpus: Corpus) -> str:
        return format_for(corpus, self.columns)

    def is_cut(self, corpus: Corpus) -> bool:
        """Whether a corpus is stored in blocks."""
        return self.sentences or FORMATS[self.format(corpus)].is_cut

    def is_running_text(self, corpus: Corpus) -> bool:
        """Whether a corpus is one text."""
        return FORMATS[self.format(corpus)].rows == "pieces"

    @property
    def has_documents(self) -> bool:
        rows = {FORMATS[self.format(corpus)].rows for corpus in self.corpora}
        return self.sentences or "documents" in rows

    def stored(self) -> list[Column]:
        """The columns of the store."""
        derived = {name: codec for name, (_, codec) in self.rules.derived.items()}
        columns = [codec.column(name) for name, codec in {**self.codecs, **derived}.items()]
        columns += [SENTENCE_COLUMN] if self.sentences else []
        return columns + ([DOCUMENT_COLUMN] if self.has_documents else [])


def prepare(
    corpora: Sequence[Corpus],
    codecs: Mapping[str, Codec],
    where: Path,
    *,
    root: Path,
    max_length: int | None = None,
    block: int | None = None,
    sentences: bool = False,
    leak_check: LeakCheck | None = None,
    rules: RowRules | None = None,
) -> Prepared:
    """The store of these corpora, built if it does not exist.

    Args:
        codecs: the codec of each column, by the task's names, in the order of the columns.
        where: the folder of the stores, such as `default_cache() / "stores"`.
        root: the folder of relative file names.
        max_length: examples are dropped if a column, or another length that the rules define, is
            longer than this, special tokens included.
        block: the number of tokens of the examples that running text and documents are cut into;
            the end token closes only the last block of each text.
        sentences: treat every row as a document, whatever the format, and store where its
            sentences begin.
        leak_check: a fresh one; it sees the rows while they are read.
        rules: rules about several columns; none by default.

    Raises:
        DataError: a file is missing, malformed or changed meanwhile, or no example is usable.
    """
    job = _Job(corpora, codecs, root, max_length, block, sentences, rules or IndependentColumns())
    before = _states(job.files())
    key = job.key()
    path = where / key
    with building(path):
        was_there = os.path.lexists(path)
        store = _open_whole(path)
        reused = store is not None
        if store is None:
            _write(job, path, before, leak_check)
            store = Store(path)
            leaks = _save_leaks(path, leak_check)
        else:
            leaks = _load_leaks(job, path, leak_check)
    dropped = (
        DroppedExamples(d["reason"], d["count"], tuple(d["places"])) for d in store.notes["dropped"]
    )
    noted = (Note(**{**n, "places": tuple(n["places"])}) for n in store.notes.get("noted", ()))
    return Prepared(
        store,
        key,
        tuple(store.notes["sizes"]),
        tuple(map(job.is_cut, corpora)),
        tuple(dropped),
        tuple(noted),
        leaks,
        reused,
        was_damaged=was_there and not reused,
    )


def _states(files: Sequence[Path]) -> list[tuple[int, int, int]]:
    states = (path.stat() for path in files)
    return [(state.st_ino, state.st_size, state.st_mtime_ns) for state in states]


def _open_whole(path: Path) -> Store | None:
    """The store at `path`; None if it is absent, or damaged, in which case it is removed."""
    if not os.path.lexists(path):
        return None
    try:
        store = Store(path)
        store.verify()
    except (DataError, OSError, KeyError, TypeError, ValueError):
        with writing_to(path):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        return None
    return store


def _check_unchanged(files: Sequence[Path], before: list[tuple[int, int, int]]) -> None:
    """Refuses inputs that changed after they were hashed: the store would have the wrong name."""
    for file, old, new in zip(files, before, _states(files), strict=True):
        if old != new:
            raise DataError(f"{file} changed while it was being read; start again once it is still")


def _write(
    job: _Job, path: Path, before: list[tuple[int, int, int]], leak_check: LeakCheck | None
) -> None:
    tally = _Tally(job)
    sizes = []
    numbers = count()  # of documents
    with StoreWriter(path, job.stored()) as writer:
        for corpus in job.corpora:
            size = 0
            for examples in _examples(job, corpus, tally, numbers, leak_check):
                writer.append(examples)
                size += len(examples[job.columns[0]])
            sizes.append(size)
        dropped = tally.dropped()
        if not sum(sizes):
            why = "; ".join(map(str, dropped)) or "the files are empty"
            names = ", ".join(str(file) for file in job.files())
            raise DataError(f"nothing to use in {names}: {why}")
        _check_unchanged(job.files(), before)
        writer.notes = {"sizes": sizes, "dropped": [asdict(entry) for entry in dropped]}
        if tally.noted:
            writer.notes["noted"] = [asdict(note) for note in tally.noted.values()]
        if job.sentences:
            writer.notes[BLOCK] = job.block


def _examples(
    job: _Job,
    corpus: Corpus,
    tally: "_Tally",
    numbers: Iterator[int],
    leak_check: LeakCheck | None,
) -> Iterator[dict[str, list[np.ndarray]]]:
    """The examples of a corpus for the store, a chunk at a time, by column."""
    rows = read(corpus, job.columns, job.root)
    if not job.is_running_text(corpus):
        rows = _checked(rows, leak_check)
    if job.is_cut(corpus):
        blocks = _blocks(job, corpus, rows, tally, numbers)
        while group := list(islice(blocks, CHUNK_ROWS)):
            yield {name: [block[name] for block in group] for name in group[0]}
        return
    for chunk in _chunks(rows, tuple(job.codecs.values())):
        encoded = _encode(chunk, job.codecs)
        kept = tally.sift(chunk, encoded)
        examples = _chosen(encoded, kept) | _derived(job, [chunk[i] for i in kept])
        if job.has_documents:
            examples[DOCUMENT] = [np.array([next(numbers)]) for _ in kept]
        yield examples


def _checked(rows: Iterator[Row], leak_check: LeakCheck | None) -> Iterator[Row]:
    for row in rows:
        if leak_check:
            leak_check.see([row])
        yield row


def _blocks(
    job: _Job, corpus: Corpus, rows: Iterator[Row], tally: "_Tally", numbers: Iterator[int]
) -> Iterator[Block]:
    """The blocks of a corpus: of one text, if its rows are pieces of it, or of each row."""
    [(name, codec)] = job.codecs.items()
    if not isinstance(codec, TextCodec) or job.block is None:
        form = job.format(corpus)
        raise ConfigError(f"format = {form!r} has texts to cut, which the task has no use for")
    cut = sentence_blocks if job.sentences else text_blocks
    texts: Iterable[tuple[str, Iterable[str]]]
    is_one = job.is_running_text(corpus)
    if is_one:
        texts = [(f"{corpus.file}:1", (row.values[0] for row in rows))]
    else:
        texts = (
            (row.where, [] if codec.is_blank(row.values[0]) else [row.values[0]]) for row in rows
        )
    for where, parts in texts:
        number = None
        for block in cut(name, codec, parts, job.block):
            number = next(numbers) if number is None else number
            yield block | ({DOCUMENT: np.array([number])} if job.has_documents else {})
        if number is None and not is_one:
            tally.note(f"empty {name}", where)


def _chunks(rows: Iterator[Row], codecs: Sequence[Codec]) -> Iterator[list[Row]]:
    """Rows in lists of bounded number and total amount."""
    chunk: list[Row] = []
    amount = 0
    for row in rows:
        chunk.append(row)
        amount += sum(codec.amount(value) for codec, value in zip(codecs, row.values, strict=True))
        if len(chunk) >= CHUNK_ROWS or amount >= CHUNK_AMOUNT:
            yield chunk
            chunk, amount = [], 0
    if chunk:
        yield chunk


def _encode(rows: Sequence[Row], codecs: Mapping[str, Codec]) -> dict[str, list[np.ndarray]]:
    columns = zip(*(row.values for row in rows), strict=True)
    return {
        name: codec.encode_batch(column)
        for (name, codec), column in zip(codecs.items(), columns, strict=True)
    }


def _chosen(encoded: dict[str, list[np.ndarray]], kept: list[int]) -> dict[str, list[np.ndarray]]:
    return {name: [arrays[i] for i in kept] for name, arrays in encoded.items()}


def _derived(job: _Job, rows: Sequence[Row]) -> dict[str, list[np.ndarray]]:
    """The columns that are derived from others."""
    return {
        name: codec.encode_batch([row.values[job.columns.index(column)] for row in rows])
        for name, (column, codec) in job.rules.derived.items()
    }


class _Tally:
    """Finds unusable rows and counts them by reason."""

    def __init__(self, job: _Job) -> None:
        self._max_length = job.max_length
        self._rules = job.rules
        self._codecs = tuple(job.codecs.values())
        self._names = job.columns
        self._counts: dict[str, int] = {}
        self._places: dict[str, list[str]] = {}
        self.noted: dict[str, Note] = {}

    def sift(self, rows: Sequence[Row], encoded: dict[str, list[np.ndarray]]) -> list[int]:
        """The indices of the usable rows."""
        kept = []
        for i, (row, *arrays) in enumerate(zip(rows, *encoded.values(), strict=True)):
            reason = self._reason(row, arrays)
            if reason is None:
                kept.append(i)
                add_notes(self.noted, row.notes)
            else:
                self.note(reason, row.where)
        return kept

    def _reason(self, row: Row, arrays: Sequence[np.ndarray]) -> str | None:
        parts = list(zip(self._names, row.values, arrays, self._codecs, strict=True))
        is_blank = all(codec.is_blank(value) for _, value, _, codec in parts)
        if not is_blank and (problem := self._rules.complaint(row.values)):
            raise DataError(f"{row.where}: {problem}")
        for name, value, array, codec in parts:
            if len(array) <= codec.marks or codec.is_blank(value):
                if problem := codec.complaint(value):
                    raise DataError(f"{row.where}: {problem}")
                return f"empty {name}"
        return self._too_long(arrays)

    def _too_long(self, arrays: Sequence[np.ndarray]) -> str | None:
        if self._max_length is None:
            return None
        lengths = {name: len(array) for name, array in zip(self._names, arrays, strict=True)}
        for name, size in self._rules.sizes(lengths).items():
            if size > self._max_length:
                return f"{name} longer than max_length = {self._max_length}"
        return None

    def note(self, reason: str, where: str) -> None:
        """Counts a dropped row."""
        self._counts[reason] = self._counts.get(reason, 0) + 1
        places = self._places.setdefault(reason, [])
        if len(places) < PLACES_SHOWN:
            places.append(where)

    def dropped(self) -> tuple[DroppedExamples, ...]:
        return tuple(
            DroppedExamples(reason, count, tuple(self._places[reason]))
            for reason, count in self._counts.items()
        )


def _leaks_file(path: Path, check: LeakCheck) -> Path:
    """The file of the result: beside the store, because it also depends on the held-out data."""
    return path.with_name(f"{path.name}.leaks-{check.fingerprint}.json")


def _save_leaks(path: Path, check: LeakCheck | None) -> Leaks | None:
    if check is None:
        return None
    leaks = check.result()
    file = _leaks_file(path, check)
    draft = file.with_name(file.name + ".new")
    content = asdict(leaks)
    with writing_to(file):
        draft.write_text(json.dumps({**content, DIGEST: entries_digest(content)}), "utf-8")
        os.replace(draft, file)
    return leaks


def _load_leaks(job: _Job, path: Path, check: LeakCheck | None) -> Leaks | None:
    """The saved result of an earlier pass, or that of a new pass without encoding."""
    if check is None:
        return None
    try:
        refuse_named_pipe(_leaks_file(path, check), DataError)
        content = json.loads(_leaks_file(path, check).read_text("utf-8"))
        if content.pop(DIGEST) != entries_digest(content):
            raise ValueError
        return Leaks(**content)
    except (DataError, OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        for corpus in job.corpora:
            if not job.is_running_text(corpus):
                check.see(read(corpus, job.columns, job.root))
        return _save_leaks(path, check)

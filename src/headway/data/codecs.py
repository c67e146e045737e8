"""Codecs: what turns the text of a column into numbers and back.

A codec encodes, decodes, saves and loads; `prepare` asks it for nothing else. Which codec a column
has is the task's choice.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from headway.data.store import Column, integers
from headway.errors import ConfigError
from headway.text import Frame, Tokenizer, TokenizerConfig, train_tokenizer
from headway.text.specials import UNKNOWN


class Codec(Protocol):
    """What `prepare` needs of a codec."""

    @property
    def marks(self) -> int:
        """How many numbers an encoding holds beside its content."""

    def column(self, name: str) -> Column:
        """How the store keeps what this codec encodes."""

    def clean(self, text: str) -> str:
        """What of a text reaches the encoding, as text: normalised, in lower case, ..."""

    def encode_batch(self, texts: Sequence[str]) -> list[np.ndarray]:
        """One array per text."""

    def decode(self, values: Sequence[Any]) -> str:
        """The text behind one array."""

    def complaint(self, text: str) -> str | None:
        """What is wrong with a value that encodes to nothing, if that is more than a blank."""

    def fingerprint(self) -> str:
        """The same for two codecs only if they encode alike."""


class TextCodec:
    """Text as token ids.

    Args:
        ends: whether each encoding ends with the end mark, as sources and targets do.
        reads: whether the texts are only read, which puts the begin mark before them if that is
            the tokenizer's frame. What is predicted is stored without: batches add it. BART, which
            starts from another mark, predicts the begin mark first.

    Attributes:
        pad, bos, eos, unk: the ids that stand for padding, begin, end and the unknown; some of
            them may be the same one. Of what is predicted, `bos` is what batches put first.
    """

    def __init__(self, tokenizer: Tokenizer, ends: bool = True, reads: bool = False) -> None:
        self.tokenizer = tokenizer
        self.ends = ends
        ids = tokenizer.specials
        self.pad, self.bos, self.eos, self.unk = (ids[n] for n in ("pad", "bos", "eos", "unk"))
        self._begin = ids["bos"]
        self.begins = tokenizer.frame.begin and (reads or "start" in ids)
        if not reads:
            self.bos = ids.get("start", self.bos)

    @property
    def marks(self) -> int:
        return int(self.begins) + int(self.ends)

    def column(self, name: str) -> Column:
        return integers(name, self.tokenizer.size)

    def clean(self, text: str) -> str:
        return self.tokenizer.clean(text)

    def encode_batch(self, texts: Sequence[str]) -> list[np.ndarray]:
        return [self.single(ids) for ids in self.tokenizer.encode_batch(list(texts))]

    def single(self, ids: Sequence[int] | np.ndarray) -> np.ndarray:
        """The encoding of a text whose ids are given: its marks are put around them."""
        return self._joined([self._begin] * self.begins, ids, [self.eos] * self.ends)

    def opened(self, ids: Sequence[int]) -> list[int]:
        """The ids that a text is begun with, behind its begin mark if it has one."""
        return [*[self._begin] * self.begins, *ids]

    def pair(
        self,
        first: Sequence[int] | np.ndarray,
        second: Sequence[int] | np.ndarray,
        max_length: int | None = None,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Two texts as one, in the tokenizer's frame, and the segment of each id: 0, then 1.

        Args:
            first, second: ids without marks.
            max_length: both are cut off to fit into it, marks included; the longer one first, and
                of equals the second.
        """
        frame = self.tokenizer.frame
        begins, between = [self._begin] * frame.begin, [self.eos] * frame.between
        if max_length is not None:
            room = max(0, max_length - len(begins) - len(between) - 1)
            half = max(room // 2, room - len(first))
            second = second[:half]
            first = first[: room - len(second)]
        ids = self._joined(begins, first, between, second, [self.eos])
        segments = np.ones(len(ids), np.uint8)
        segments[: len(ids) - len(second) - 1] = 0
        return ids, segments

    def _joined(self, *parts: Sequence[int] | np.ndarray) -> np.ndarray:
        dtype = self.column("").dtype
        return np.concatenate([np.asarray(part, dtype) for part in parts])

    def encode_running(self, pieces: Iterable[str]) -> Iterator[np.ndarray]:
        """The ids of one text that comes in pieces, piece by piece; the end mark comes last.

        Such a text is predicted: it has no begin mark. Pieces end before white space, as
        `read_pieces` makes them: the ids are then those of the whole text. A text without tokens
        has no end mark either.
        """
        dtype = self.column("").dtype
        is_empty = True
        for ids in self.tokenizer.encode_running(pieces):
            is_empty = is_empty and not ids
            yield np.array(ids, dtype)
        if self.ends and not is_empty:
            yield np.array([self.eos], dtype)

    def decode(self, values: Sequence[int], unknown: str = UNKNOWN) -> str:
        """The text of the ids, up to the end mark if there is one.

        Args:
            unknown: stands for each unknown.
        """
        ids = [int(value) for value in values]
        if self.begins and ids[:1] == [self._begin]:  # which may be the end mark as well
            ids = ids[1:]
        end = ids.index(self.eos) if self.eos in ids else len(ids)
        return self.tokenizer.decode(ids[:end], unknown)

    def complaint(self, text: str) -> str | None:
        """A text without tokens is a blank, which is left out."""
        return None

    @property
    def is_random(self) -> bool:
        """Whether training sees the same text cut in different ways."""
        return self.tokenizer.settings.dropout > 0

    def redraw(self, values: np.ndarray, key: tuple[int, ...]) -> np.ndarray:
        """An encoding of the same text under another segmentation, which the key decides."""
        if not self.is_random:
            return values
        text = self.decode([int(value) for value in values])
        return self.single(self.tokenizer.encode_random(text, *key))

    def fingerprint(self) -> str:
        content = f"{'begins ' * self.begins}{self.ends} {self.tokenizer.to_json()}"
        return hashlib.blake2b(content.encode(), digest_size=16).hexdigest()

    def save(self, path: Path) -> None:
        self.tokenizer.save(path)

    @classmethod
    def load(cls, path: Path, ends: bool = True, reads: bool = False) -> "TextCodec":
        return cls(Tokenizer.load(path), ends, reads)


def in_blocks(arrays: Iterable[np.ndarray], size: int) -> Iterator[np.ndarray]:
    """The same numbers in the same order, `size` at a time; the last array may be shorter."""
    rest: np.ndarray | None = None
    for array in arrays:
        rest = array if rest is None else np.concatenate([rest, array])
        whole = len(rest) - len(rest) % size
        yield from rest[:whole].reshape(-1, size)
        rest = rest[whole:]
    if rest is not None and len(rest):
        yield rest


def learn_codecs(
    rows: Callable[[], Iterator[Sequence[str]]], config: "TextConfig"
) -> tuple[TextCodec, TextCodec]:
    """The codecs of source and target from pairs of texts; of one tokenizer if shared.

    Args:
        rows: begins a new pass over the pairs each time it is called.
    """
    is_shared = config.shared
    if is_shared is None:
        is_shared = config.source is None and config.target is None
    if is_shared:
        texts: Iterable[str] = chain.from_iterable(rows())
        shared = train_tokenizer(texts, config.side("source"), frame=config.frame)
        return TextCodec(shared, reads=True), TextCodec(shared)
    source = train_tokenizer((row[0] for row in rows()), config.side("source"), frame=config.frame)
    target = train_tokenizer((row[1] for row in rows()), config.side("target"))
    return TextCodec(source, reads=True), TextCodec(target)


def learn_codec(
    texts: Iterable[str],
    config: "TextConfig",
    reads: bool = False,
    extra_specials: Sequence[str] = (),
) -> TextCodec:
    """The codec of a single column.

    Args:
        reads: whether the texts are only read; else they are predicted.
        extra_specials: control tokens that the task needs beside the usual ones.

    Raises:
        ConfigError: settings for two sides, where there is one, or for texts that are only read.
    """
    if config.begin and not reads:
        raise ConfigError(
            "text.begin is for texts that are only read, and this task predicts its text, which "
            "always begins with the mark; leave it out"
        )
    for name in ("shared", "source", "target"):
        if getattr(config, name) is not None:
            raise ConfigError(
                f"text.{name} is for tasks with a source and a target, and this task has one "
                "text; leave it out"
            )
    tokenizer = train_tokenizer(texts, config.side("source"), extra_specials, config.frame)
    return TextCodec(tokenizer, reads=reads)


@dataclass(frozen=True)
class TextConfig(TokenizerConfig):
    """How text becomes tokens."""

    shared: bool | None = None
    """One vocabulary for source and target; left out, it is shared unless the two sides have
    settings of their own."""
    source: TokenizerConfig | None = None
    """Settings of the source side alone, in place of those above."""
    target: TokenizerConfig | None = None
    """Settings of the target side alone, in place of those above."""
    begin: bool = False
    """Whether a text that is only read (the source of a pair, a text that gets a label) begins with
    the begin mark, as BERT's [CLS]. What is predicted always does."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.shared and (self.source or self.target):
            raise ValueError(
                "shared = true is one vocabulary, but source or target has settings of its own; "
                "leave one of them out"
            )

    @property
    def frame(self) -> Frame:
        """The marks around texts that are only read."""
        return Frame(self.begin)

    def side(self, name: str) -> TokenizerConfig:
        """The tokenizer settings of `source` or `target`."""
        own: TokenizerConfig | None = getattr(self, name)
        names = TokenizerConfig.__dataclass_fields__
        return own or TokenizerConfig(**{key: getattr(self, key) for key in names})

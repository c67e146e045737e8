"""Codecs: what turns the text of a column into numbers and back.

A codec encodes, decodes, saves and loads; `prepare` asks it for nothing else. Which codec a column
has is the task's choice.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Protocol

import numpy as np

from headway.data.store import Column, integers
from headway.errors import ConfigError
from headway.text import Tokenizer, TokenizerConfig, train_tokenizer
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

    def decode(self, values: Sequence[int]) -> str:
        """The text behind one array."""

    def complaint(self, text: str) -> str | None:
        """What is wrong with a value that encodes to nothing, if that is more than a blank."""

    def fingerprint(self) -> str:
        """The same for two codecs only if they encode alike."""


class TextCodec:
    """Text as token ids.

    Args:
        ends: whether each encoding ends with the end mark, as sources and targets do. The begin
            mark is never stored: batches add it.

    Attributes:
        pad, bos, eos, unk: the ids that stand for padding, begin, end and the unknown; some of
            them may be the same one.
    """

    def __init__(self, tokenizer: Tokenizer, ends: bool = True) -> None:
        self.tokenizer = tokenizer
        self.ends = ends
        self.pad, self.bos, self.eos, self.unk = (
            tokenizer.specials[name] for name in ("pad", "bos", "eos", "unk")
        )

    @property
    def marks(self) -> int:
        return int(self.ends)

    def column(self, name: str) -> Column:
        return integers(name, self.tokenizer.size)

    def clean(self, text: str) -> str:
        return self.tokenizer.clean(text)

    def encode_batch(self, texts: Sequence[str]) -> list[np.ndarray]:
        ends = [self.eos] if self.ends else []
        dtype = self.column("").dtype
        return [np.array(ids + ends, dtype) for ids in self.tokenizer.encode_batch(list(texts))]

    def encode_running(self, pieces: Iterable[str]) -> Iterator[np.ndarray]:
        """The ids of one text that comes in pieces, piece by piece; the end mark comes last.

        Pieces end before white space, as `read_pieces` makes them: the ids are then those of the
        whole text. A text without tokens has no end mark either.
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
        ends = [self.eos] if self.ends else []
        return np.array(self.tokenizer.encode_random(text, *key) + ends, values.dtype)

    def fingerprint(self) -> str:
        content = f"{self.ends} {self.tokenizer.to_json()}"
        return hashlib.blake2b(content.encode(), digest_size=16).hexdigest()

    def save(self, path: Path) -> None:
        self.tokenizer.save(path)

    @classmethod
    def load(cls, path: Path, ends: bool = True) -> "TextCodec":
        return cls(Tokenizer.load(path), ends)


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
    """The codecs of source and target from pairs of texts; one and the same if shared.

    Args:
        rows: begins a new pass over the pairs each time it is called.
    """
    is_shared = config.shared
    if is_shared is None:
        is_shared = config.source is None and config.target is None
    if is_shared:
        texts: Iterable[str] = chain.from_iterable(rows())
        codec = TextCodec(train_tokenizer(texts, config.side("source")))
        return codec, codec
    source = train_tokenizer((row[0] for row in rows()), config.side("source"))
    target = train_tokenizer((row[1] for row in rows()), config.side("target"))
    return TextCodec(source), TextCodec(target)


def learn_codec(texts: Iterable[str], config: "TextConfig") -> TextCodec:
    """The codec of a single column.

    Raises:
        ConfigError: settings for two sides, where there is one.
    """
    for name in ("shared", "source", "target"):
        if getattr(config, name) is not None:
            raise ConfigError(
                f"text.{name} is for tasks with a source and a target, and this task has one "
                "text; leave it out"
            )
    return TextCodec(train_tokenizer(texts, config.side("source")))


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

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.shared and (self.source or self.target):
            raise ValueError(
                "shared = true is one vocabulary, but source or target has settings of its own; "
                "leave one of them out"
            )

    def side(self, name: str) -> TokenizerConfig:
        """The tokenizer settings of `source` or `target`."""
        own: TokenizerConfig | None = getattr(self, name)
        names = TokenizerConfig.__dataclass_fields__
        return own or TokenizerConfig(**{key: getattr(self, key) for key in names})

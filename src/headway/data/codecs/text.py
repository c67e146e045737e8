"""The codec of texts: token ids with special tokens.

Tokenizing itself is left to `headway.text`. The task chooses the codec of each column.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import numpy as np

from ...errors import ConfigError
from ...text import SpecialTokenTemplate, Tokenizer, TokenizerConfig, train_tokenizer
from ...text.special_tokens import UNKNOWN
from ..store import Column, integers
from .codec import WrittenCodec


class TextCodec(WrittenCodec):
    """Text as token ids.

    Args:
        ends: whether each encoding ends with the end token, as sources and targets do.
        reads: whether the texts are encoder inputs. These begin with the begin token if the
            tokenizer's template has one. Targets are stored without it: batches add it. BART
            starts targets with another token and predicts the begin token first.

    Attributes:
        pad, bos, eos, unk: ids of the special tokens; some may be equal. For targets `bos` is the
            token that batches put first.
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
        """The encoding of a text from its token ids: special tokens are added."""
        return self._joined([self._begin] * self.begins, ids, [self.eos] * self.ends)

    def opened(self, ids: Sequence[int]) -> list[int]:
        """Token ids after the begin token, if texts have one: an encoding without its end."""
        return [*[self._begin] * self.begins, *ids]

    def pair(
        self,
        first: Sequence[int] | np.ndarray,
        second: Sequence[int] | np.ndarray,
        max_length: int | None = None,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Two texts as one encoding, by the tokenizer's template, and the segment of each id.

        Args:
            first, second: ids without special tokens.
            max_length: both are truncated to fit into it, special tokens included; the longer
                text first, and of equally long ones the second.
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
        """The ids of one text given in pieces, piece by piece; the end token comes last.

        The text is a target: it has no begin token. Pieces must end before white space, as those
        of `read_pieces` do: then the ids are those of the whole text. A text without tokens has no
        end token either.
        """
        dtype = self.column("").dtype
        is_empty = True
        for ids in self.tokenizer.encode_running(pieces):
            is_empty = is_empty and not ids
            yield np.array(ids, dtype)
        if self.ends and not is_empty:
            yield np.array([self.eos], dtype)

    def decode(self, values: Sequence[int], unknown: str = UNKNOWN) -> str:
        """The text of the ids, up to the end token if there is one.

        Args:
            unknown: written for each unknown token.
        """
        ids = [int(value) for value in values]
        if self.begins and ids[:1] == [self._begin]:  # which may also be the end token
            ids = ids[1:]
        end = ids.index(self.eos) if self.eos in ids else len(ids)
        return self.tokenizer.decode(ids[:end], unknown)

    def complaint(self, text: str) -> str | None:
        """None: a text without tokens is blank, and blank rows are dropped."""
        return None

    @property
    def is_random(self) -> bool:
        """Whether training segments the same text differently each time (BPE dropout, sampling)."""
        return self.tokenizer.settings.dropout > 0

    def redraw(self, values: np.ndarray, key: tuple[int, ...]) -> np.ndarray:
        """An encoding of the same text with another segmentation, drawn by the key."""
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
    """The concatenated arrays in blocks of `size`; the last one may be shorter."""
    pending: np.ndarray | None = None
    for array in arrays:
        pending = array if pending is None else np.concatenate([pending, array])
        whole = len(pending) - len(pending) % size
        yield from pending[:whole].reshape(-1, size)
        pending = pending[whole:]
    if pending is not None and len(pending):
        yield pending


def fit_codecs(
    rows: Callable[[], Iterator[Sequence[str]]], config: "TextConfig"
) -> tuple[TextCodec, TextCodec]:
    """The codecs of source and target, trained on pairs of texts; with one tokenizer if shared.

    Args:
        rows: starts a new pass over the pairs at each call.
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


def fit_codec(
    texts: Iterable[str],
    config: "TextConfig",
    reads: bool = False,
    extra_specials: Sequence[str] = (),
) -> TextCodec:
    """The codec of a single column.

    Args:
        reads: whether the texts are encoder inputs; otherwise they are predicted.
        extra_specials: further special tokens of the task.

    Raises:
        ConfigError: there are settings for source and target, or for encoder inputs where texts are
            predicted.
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
    """Whether source and target share one vocabulary; by default they do unless a side has settings
    of its own."""
    source: TokenizerConfig | None = None
    """Settings of the source side alone, replacing those above."""
    target: TokenizerConfig | None = None
    """Settings of the target side alone, replacing those above."""
    begin: bool = False
    """Whether encoder inputs (sources, texts to classify) begin with the begin token, as BERT's
    [CLS]. Predicted texts always do."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.shared and (self.source or self.target):
            raise ValueError(
                "shared = true is one vocabulary, but source or target has settings of its own; "
                "leave one of them out"
            )

    @property
    def frame(self) -> SpecialTokenTemplate:
        """The special tokens of encoder inputs."""
        return SpecialTokenTemplate(self.begin)

    def side(self, name: str) -> TokenizerConfig:
        """The tokenizer settings of `source` or `target`."""
        own: TokenizerConfig | None = getattr(self, name)
        names = TokenizerConfig.__dataclass_fields__
        return own or TokenizerConfig(**{key: getattr(self, key) for key in names})

"""A trained tokenizer: text to ids, ids to text or readable tokens, and its file.

The `tokenizers` library encodes and decodes; the file is its tokenizer.json, with headway's part
under a key that the library ignores. Training is in `train.py`, the structure of the file in
`tokenizer_json.py`.
"""

import json
import os
import random
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import cached_property
from pathlib import Path
from typing import Any

import tokenizers

from ..errors import DataError, RunError
from ..file_limits import JSON_BYTES, VOCABULARY_SIZE, parse_json, read_bounded
from . import tokenizer_json
from .bpe_dropout import BpeDropout
from .config import TokenizerConfig
from .detokenize import readable, spell
from .pretokenize import build_cutter
from .special_tokens import (
    SPECIALS,
    UNKNOWN,
    SpecialTokenTemplate,
    all_specials,
    display_name,
    vocabulary_name,
)
from .tokenizer_json import Content

_KEY = "headway"  # inside "model", where the library ignores unknown keys
# 1: trained, special tokens in order, no BOS. 2: special tokens by name, and the template.
_FORMATS = (1, 2)
_CHUNK = 4096


class Tokenizer:
    """A tokenizer, from `train_tokenizer`, `Tokenizer.load` or `Tokenizer.from_hugging_face`.

    Args:
        content: the library's tokenizer.json.
        specials: the ids of the special tokens by name. If headway trained the tokenizer, 0 to 3
            are pad, bos, eos and unk; extra ones follow, then the learned pieces.
        frame: the special tokens around texts for an encoder.
        size: number of ids, if there are more than pieces.
    """

    def __init__(
        self,
        content: Content,
        settings: TokenizerConfig,
        specials: Mapping[str, int],
        frame: SpecialTokenTemplate,
        size: int = 0,
    ) -> None:
        self._content, self._settings, self._frame = content, settings, frame
        self._specials = dict(specials)
        self.spelling = tokenizer_json.spelling_of(content)
        pieces = tokenizer_json.numbered_pieces(content)
        ids = range(max(size, max(pieces) + 1))
        if len(ids) > VOCABULARY_SIZE:
            raise ValueError(f"it has {len(ids)} ids; expected at most {VOCABULARY_SIZE}")
        tokenizer_json.check_steps(content)
        self._pieces = [pieces.get(i, vocabulary_name(f"unused {i}")) for i in ids]
        named = {self._pieces[i] for i in specials.values()}
        self._special_pieces = tokenizer_json.special_pieces(content) | named
        has_text = {i for i, piece in pieces.items() if piece not in self._special_pieces}
        self._silent = frozenset(ids) - has_text
        self._backend = _backend(tokenizer_json.working_copy(content, self._special_pieces))
        self._decoder = self._backend.decoder

    @property
    def size(self) -> int:
        """Number of ids."""
        return len(self._pieces)

    @property
    def settings(self) -> TokenizerConfig:
        """The settings of its training; an imported tokenizer has only `kind`."""
        return self._settings

    @property
    def specials(self) -> dict[str, int]:
        """The ids of the special tokens by name: pad, bos, eos, unk and the extra ones."""
        return dict(self._specials)

    @property
    def frame(self) -> SpecialTokenTemplate:
        """The special tokens around texts for an encoder."""
        return self._frame

    @property
    def pieces(self) -> list[str]:
        """Every token as spelled in tokenizer.json, in the order of the ids."""
        return list(self._pieces)

    @property
    def prepends_space(self) -> bool:
        """Whether a text is encoded as if a space preceded it."""
        return tokenizer_json.prepends_space(self._content)

    @property
    def splits_at_spaces(self) -> bool:
        """Whether white space only separates words, and decoding puts a space between words."""
        return tokenizer_json.splits_at_spaces(self._content)

    def clean(self, text: str) -> str:
        """`text` after normalisation, as it is split into tokens."""
        normalizer = self._normalizer
        cleaned: str = text if normalizer is None else normalizer.normalize_str(text)
        return cleaned

    def encode(self, text: str) -> list[int]:
        """The ids of `text`, without bos and eos.

        Raises:
            DataError: `text` has a lone surrogate, which is not a character.
        """
        check_characters(text)
        ids: list[int] = self._backend.encode(text, add_special_tokens=False).ids
        return ids

    def encode_spans(self, text: str) -> tuple[list[int], list[tuple[int, int]]]:
        """The ids of `text`, and start and end of each in it, in characters.

        The spans are in order. White space before a word may belong to its first token or to none.
        A character that normalisation removes, such as an accent, belongs to the token before it.
        Tokens that are bytes of the same character all have its span.
        """
        check_characters(text)
        encoding = self._backend.encode(text, add_special_tokens=False)
        spans: list[tuple[int, int]] = encoding.offsets
        for i, (start, end) in enumerate(spans):
            following = spans[i + 1][0] if i + 1 < len(spans) else len(text)
            while end < following and not text[end].isspace():
                end += 1
            spans[i] = (start, end)
        return encoding.ids, spans

    def encode_words(self, words: Sequence[str]) -> tuple[list[int], list[int]]:
        """The ids of `words` joined by spaces, and the index of the word of each id.

        A space belongs to the word after it. A word that normalisation leaves empty has no id.
        """
        starts, end = [], 0
        for word in words:
            starts.append(max(0, end - 1))
            end += len(word) + 1
        ids, spans = self.encode_spans(" ".join(words))
        return ids, [bisect_right(starts, end - 1) - 1 for _, end in spans]

    def encode_batch(self, texts: Iterable[str]) -> list[list[int]]:
        """The ids of each text; uses all cores."""
        texts = list(texts)
        ids: list[list[int]] = []
        for start in range(0, len(texts), _CHUNK):  # the library's results are large
            chunk = texts[start : start + _CHUNK]
            try:
                encodings = self._backend.encode_batch_fast(chunk, add_special_tokens=False)
            except TypeError:
                for text in chunk:
                    check_characters(text)
                raise
            ids.extend(encoding.ids for encoding in encodings)
        return ids

    def encode_running(self, pieces: Iterable[str]) -> Iterator[list[int]]:
        """Yields the ids of a text that comes in pieces, piece by piece.

        If pieces end before white space, the joined ids equal `encode` of the whole text.
        """
        at_start = True
        for piece in pieces:
            check_characters(piece)
            backend = self._backend if at_start else self._continuation_backend
            yield backend.encode(piece, add_special_tokens=False).ids
            at_start = False

    def encode_random(self, text: str, *key: int) -> list[int]:
        """The ids of `text` with BPE dropout, as a function of `key`.

        The key is what the draw should depend on, as in `encode_random(text, seed, epoch, i)`.
        Without dropout in the settings, the result equals `encode`.
        """
        if not self._settings.dropout:
            return self.encode(text)
        check_characters(text)
        # A string seed is hashed, so that similar keys give unrelated draws.
        rng = random.Random(" ".join(str(int(part)) for part in key))
        words = self._split_words(text)
        return [index for word in words for index in self._dropout.cut(word, rng)]

    def decode(self, ids: Iterable[int], unknown: str = UNKNOWN) -> str:
        """The text of `ids`, without special tokens; `unknown` replaces each unknown token."""
        pieces = []
        for index in ids:
            if index not in self._silent:
                pieces.append(self._pieces[index])
            elif index == self._specials["unk"] and self.spelling != "bytes":
                pieces.append(unknown)
        if self._decoder is None:  # in the library, None joins pieces with a space
            return " ".join(pieces)
        text: str = self._decoder.decode(pieces)
        return text

    def tokens(self, ids: Iterable[int]) -> list[str]:
        """The readable form of each id: ▁ is a space, <0xE5> a byte that is part of a character."""
        return [self._readable[index] for index in ids]

    def spellings(self) -> list[bytes]:
        """The bytes that each id adds to a text; see `text/detokenize.py`."""
        return self._spellings

    def to_json(self) -> str:
        """The text of tokenizer.json."""
        own: dict[str, Any] = {"format": 1, "settings": asdict(self._settings)}
        names = {name: self._pieces[index] for name, index in self._specials.items()}
        if self._frame == SpecialTokenTemplate() and names == {
            name: vocabulary_name(name) for name in names
        }:
            own["specials"] = list(names)
        else:
            own |= {"format": 2, "specials": names, "frame": asdict(self._frame), "size": self.size}
        content = {**self._content, "model": {**self._content["model"], _KEY: own}}
        return json.dumps(content, ensure_ascii=False, indent=1)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes tokenizer.json atomically; the `tokenizers` library can read it too."""
        path = Path(path)
        partial = path.with_name(path.name + ".partial")
        try:
            partial.write_text(self.to_json(), encoding="utf-8")
            partial.replace(path)
        except OSError as error:
            partial.unlink(missing_ok=True)
            raise RunError(
                f"cannot write {path}: {error.strerror}; is there room and access?"
            ) from error

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "Tokenizer":
        """The tokenizer of a file that `save` wrote.

        Raises:
            RunError: the file is missing, damaged or was not written by headway.
        """
        return cls.from_json(_read(path), str(path))

    @classmethod
    def from_json(cls, text: str, name: str = "tokenizer.json") -> "Tokenizer":
        """The tokenizer of the text of `to_json`; `name` is its name in messages."""
        content, own = _split_content(text, name)
        try:
            settings = TokenizerConfig(**own["settings"])
            if own["format"] == 1:
                specials, frame, size = (
                    all_specials(own["specials"][len(SPECIALS) :]),
                    SpecialTokenTemplate(),
                    0,
                )
                names = {special: vocabulary_name(special) for special in specials}
            else:
                names, frame, size = (
                    own["specials"],
                    SpecialTokenTemplate(**own["frame"]),
                    own["size"],
                )
            return cls(content, settings, _numbered(content, names), frame, size)
        except Exception as error:  # the library raises plain Exception for any malformed part
            reason = " ".join(str(error).split())
            raise RunError(
                f"the tokenizer {name} is damaged ({reason}); restore it or train again"
            ) from error

    @classmethod
    def from_hugging_face(
        cls,
        path: str | os.PathLike[str],
        roles: Mapping[str, str | int],
        frame: SpecialTokenTemplate,
        size: int = 0,
    ) -> "Tokenizer":
        """An imported tokenizer, from its tokenizer.json, which is not changed.

        Args:
            roles: its tokens for pad, bos, eos, unk and others (mask, sentinel_0, ...), by spelling
                or by id; a token may have several roles.
            frame: the special tokens around texts for an encoder.
            size: number of ids of its model, if it has more than the file.

        Raises:
            RunError: the file cannot be read, lacks a token, or has an unsupported spelling.
        """
        content = read_content(path)
        if missing := [special for special in SPECIALS if special not in roles]:
            raise RunError(
                f"no token of {path} has the role {', '.join(missing)}; name a token for each of "
                f"{', '.join(SPECIALS)}"
            )
        try:
            specials = _numbered(content, roles)
            kind = tokenizer_json.KINDS[content["model"]["type"]]
            return cls(content, TokenizerConfig(kind=kind), specials, frame, size)
        except ValueError as error:
            raise RunError(f"{path}: {error}") from None
        except RunError:
            raise
        except Exception as error:  # a merge of a piece that is a special token here
            reason = " ".join(str(error).split())
            raise RunError(f"{path}: {reason}; give the tokenizer as it was saved") from None

    @cached_property
    def _continuation_backend(self) -> tokenizers.Tokenizer:
        """The library's tokenizer for the continuation of a text: it prepends no space."""
        copy = tokenizer_json.working_copy(self._content, self._special_pieces)
        return _backend(tokenizer_json.without_space(copy))

    @cached_property
    def _normalizer(self) -> tokenizers.normalizers.Normalizer | None:
        """The normalizer, which prepends no space."""
        empty = {"added_tokens": [], "model": {"type": "WordLevel", "vocab": {}, "unk_token": ""}}
        return _backend(tokenizer_json.without_space(self._content) | empty).normalizer

    @cached_property
    def _split_words(self) -> Callable[[str], list[str]]:
        return build_cutter(self._backend.normalizer, self._backend.pre_tokenizer)

    @cached_property
    def _dropout(self) -> BpeDropout:
        model = self._content["model"]
        merges = [(left, right) for left, right in model["merges"]]
        return BpeDropout(model["vocab"], merges, self._settings.dropout)

    @cached_property
    def _spellings(self) -> list[bytes]:
        unknown = None if self.spelling == "bytes" else self._specials["unk"]
        return spell(self._pieces, self.spelling, self._silent, unknown)

    @cached_property
    def _readable(self) -> list[str]:
        ours = {vocabulary_name(name): display_name(name) for name in self._specials}
        return [
            ours.get(piece) or (piece if index in self._silent else readable(piece, self.spelling))
            for index, piece in enumerate(self._pieces)
        ]


def read_content(path: str | os.PathLike[str]) -> Content:
    """A tokenizer.json of any origin, as the library writes it.

    Raises:
        RunError: the file cannot be read or is no tokenizer.
    """
    text = _read(path)
    try:
        tokenizer_json.check_ids(parse_json(text))
        content: Content = json.loads(tokenizers.Tokenizer.from_str(text).to_str())
    except Exception as error:  # the library raises plain Exception for any malformed part
        reason = " ".join(str(error).split())
        raise RunError(
            f"{path} is not a tokenizer ({reason}); expected a tokenizer.json of the library "
            "tokenizers"
        ) from error
    return content


def check_characters(text: str) -> None:
    """Refuses a str with a lone surrogate: half of a character, which UTF-8 cannot encode."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise DataError(
            f"text has a lone surrogate (U+{ord(text[error.start]):04X}) at character "
            f"{error.start + 1}, which is not a character; read the text as UTF-8 or remove it"
        ) from error


def _backend(content: Content) -> tokenizers.Tokenizer:
    backend = tokenizers.Tokenizer.from_str(json.dumps(content))
    # headway adds special tokens by id; text that spells one is text.
    backend.encode_special_tokens = True
    return backend


def _numbered(content: Content, names: Mapping[str, str | int]) -> dict[str, int]:
    """The ids of special tokens that are named by spelling or by id.

    Raises:
        ValueError: there is no such token.
    """
    pieces = tokenizer_json.numbered_pieces(content)
    ids = {piece: index for index, piece in pieces.items()}
    for special, token in names.items():
        if token not in ids and token not in pieces:
            raise ValueError(f"there is no token {token!r} for the role {special}")
    return {
        special: token if isinstance(token, int) else ids[token] for special, token in names.items()
    }


def _read(path: str | os.PathLike[str]) -> str:
    try:
        return read_bounded(Path(path), JSON_BYTES, RunError, "restore it or train again").decode()
    except OSError as error:
        raise RunError(
            f"cannot read the tokenizer {path}: {error.strerror}; restore it or train again"
        ) from error
    except UnicodeDecodeError as error:
        raise RunError(
            f"{path} is not a tokenizer file: it is not UTF-8 text; "
            "give the tokenizer.json of a headway run"
        ) from error


def _split_content(text: str, name: str) -> tuple[Content, dict[str, Any]]:
    """The library's part of tokenizer.json, and headway's."""
    try:
        content = parse_json(text)
    except ValueError as error:
        raise RunError(
            f"the tokenizer {name} is damaged ({error}); restore it or train again"
        ) from error
    model = content.get("model") if isinstance(content, dict) else None
    own = model.pop(_KEY, None) if isinstance(model, dict) else None
    if not isinstance(own, dict):
        raise RunError(
            f"the tokenizer {name} was not written by headway: it has no model.{_KEY}; "
            "give the tokenizer.json of a headway run"
        )
    if own.get("format") not in _FORMATS:
        raise RunError(
            f"the tokenizer {name} has format {own.get('format')!r} and this headway reads "
            f"formats {' and '.join(map(str, _FORMATS))}; use the headway that wrote it"
        )
    return content, own

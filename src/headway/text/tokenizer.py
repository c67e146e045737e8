"""A trained tokenizer: text to ids, ids to text, ids to what a person can read, one file.

The work is done by the `tokenizers` library and the file is its tokenizer.json; headway's part
rides inside the file, in a place the library passes over. Learning one is in `learn.py`, what there
is to know of a file from elsewhere in `layout.py`.
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
    shown_name,
    vocabulary_name,
)
from .tokenizer_json import Content

_KEY = "headway"  # inside "model", where the library skips keys it does not know
# 1: learned, its control tokens in order, no begin mark. 2: control tokens by name, and the frame.
_FORMATS = (1, 2)
_CHUNK = 4096


class Tokenizer:
    """Made by `train_tokenizer`, `Tokenizer.load` or `Tokenizer.from_hugging_face`.

    Args:
        content: the library's tokenizer.json.
        specials: the ids of the control tokens by name. In what headway learns 0 to 3 are pad, bos,
            eos and unk; extra ones follow, then the learned pieces.
        frame: the marks around texts that are only read.
        size: number of ids, where there are more than pieces.
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
        self._pieces = [pieces.get(i, vocabulary_name(f"unused {i}")) for i in ids]
        named = {self._pieces[i] for i in specials.values()}
        self._controls = tokenizer_json.control_pieces(content) | named
        written = pieces.keys() - {i for i, piece in pieces.items() if piece in self._controls}
        self._silent = frozenset(ids) - written
        self._backend = _backend(tokenizer_json.working_copy(content, self._controls))
        self._decoder = self._backend.decoder

    @property
    def size(self) -> int:
        """Number of ids."""
        return len(self._pieces)

    @property
    def settings(self) -> TokenizerConfig:
        """The settings it was trained with; of one from elsewhere the kind alone."""
        return self._settings

    @property
    def specials(self) -> dict[str, int]:
        """The ids of the control tokens by name: pad, bos, eos, unk and the extra ones."""
        return dict(self._specials)

    @property
    def frame(self) -> SpecialTokenTemplate:
        """The marks around texts that are only read."""
        return self._frame

    @property
    def pieces(self) -> list[str]:
        """Every token as tokenizer.json spells it, in the order of the ids."""
        return list(self._pieces)

    @property
    def puts_space(self) -> bool:
        """Whether a text is read as if one space stood before it."""
        return tokenizer_json.puts_space(self._content)

    @property
    def parts_words(self) -> bool:
        """Whether white space only parts words, and every word is written with one space."""
        return tokenizer_json.splits_at_spaces(self._content)

    def clean(self, text: str) -> str:
        """`text` normalised and in the case of the settings: what is cut into tokens."""
        normalizer = self._normalizer
        cleaned: str = text if normalizer is None else normalizer.normalize_str(text)
        return cleaned

    def encode(self, text: str) -> list[int]:
        """The ids of `text`, without bos and eos.

        Raises:
            DataError: `text` holds a lone surrogate, which is not a character.
        """
        check_characters(text)
        ids: list[int] = self._backend.encode(text, add_special_tokens=False).ids
        return ids

    def encode_spans(self, text: str) -> tuple[list[int], list[tuple[int, int]]]:
        """The ids of `text` and where in it each of them stands: start and end, in characters.

        The spans are in order. White space before a word may belong to its first token or to none;
        what normalising takes away, as an accent, belongs to the token before it. The tokens of one
        character, spelled in bytes, all stand where it does.
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
        """The ids of the text of `words`, a space between them, and the word that each id is of.

        A space goes with the word after it. A word in which nothing is left to write has no id.
        """
        starts, end = [], 0
        for word in words:
            starts.append(max(0, end - 1))
            end += len(word) + 1
        ids, spans = self.encode_spans(" ".join(words))
        return ids, [bisect_right(starts, end - 1) - 1 for _, end in spans]

    def encode_batch(self, texts: Iterable[str]) -> list[list[int]]:
        """`encode` for many texts at once, on all cores."""
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
        """The ids of one text that comes in pieces, piece by piece.

        Where pieces end before white space they are together `encode` of the whole text.
        """
        begins = True
        for piece in pieces:
            check_characters(piece)
            backend = self._backend if begins else self._continuing
            yield backend.encode(piece, add_special_tokens=False).ids
            begins = False

    def encode_random(self, text: str, *key: int) -> list[int]:
        """The ids of `text` under BPE dropout: always the same for the same `key`.

        The key is whatever the draw should depend on, as in `encode_random(text, seed, epoch, i)`.
        Without dropout in the settings this is `encode`.
        """
        if not self._settings.dropout:
            return self.encode(text)
        check_characters(text)
        # A string seed is hashed, so that near keys give unrelated draws.
        rng = random.Random(" ".join(str(int(part)) for part in key))
        words = self._cut(text)
        return [index for word in words for index in self._dropout.cut(word, rng)]

    def decode(self, ids: Iterable[int], unknown: str = UNKNOWN) -> str:
        """The text of `ids`. Control tokens are left out; `unknown` stands for each unknown."""
        pieces = []
        for index in ids:
            if index not in self._silent:
                pieces.append(self._pieces[index])
            elif index == self._specials["unk"] and self.spelling != "bytes":
                pieces.append(unknown)
        if self._decoder is None:  # the library's way to say "join with one space"
            return " ".join(pieces)
        text: str = self._decoder.decode(pieces)
        return text

    def tokens(self, ids: Iterable[int]) -> list[str]:
        """Each id as a person reads it: ▁ is a space, <0xE5> a byte that is part of a character."""
        return [self._shown[index] for index in ids]

    def spellings(self) -> list[bytes]:
        """The bytes that each id adds to a text, as `text/detokenize.py` explains."""
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
        """Writes tokenizer.json, which the `tokenizers` library reads too; all of it or nothing."""
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
        """Reads what `save` wrote.

        Raises:
            RunError: the file is missing, damaged or was not written by headway.
        """
        return cls.from_json(_read(path), str(path))

    @classmethod
    def from_json(cls, text: str, name: str = "tokenizer.json") -> "Tokenizer":
        """The tokenizer that `to_json` described; `name` is what an error calls it."""
        content, own = _parted(text, name)
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
        """A tokenizer from elsewhere, by its tokenizer.json, which is kept as it is.

        Args:
            roles: which of its tokens are pad, bos, eos, unk and what else there may be (mask,
                sentinel_0, ...), by spelling or by id; a token may have several roles.
            frame: the marks around texts that are only read.
            size: number of ids of its model, where that has more than the file.

        Raises:
            RunError: the file cannot be read, lacks a token, or spells text in an unknown way.
        """
        text = _read(path)
        try:
            content = json.loads(tokenizers.Tokenizer.from_str(text).to_str())
        except Exception as error:  # the library raises plain Exception for any malformed part
            reason = " ".join(str(error).split())
            raise RunError(
                f"{path} is no tokenizer ({reason}); expected a tokenizer.json of the library "
                "tokenizers"
            ) from error
        if missing := [special for special in SPECIALS if special not in roles]:
            raise RunError(
                f"no token of {path} is said to be {', '.join(missing)}; name one for each of "
                f"{', '.join(SPECIALS)}"
            )
        try:
            specials = _numbered(content, roles)
            kind = tokenizer_json.KINDS[content["model"]["type"]]
            return cls(content, TokenizerConfig(kind=kind), specials, frame, size)
        except ValueError as error:
            raise RunError(f"{path}: {error}") from None

    @cached_property
    def _continuing(self) -> tokenizers.Tokenizer:
        """The library's tokenizer for what goes on with a text: no space is put before it."""
        return _backend(
            tokenizer_json.continuing(tokenizer_json.working_copy(self._content, self._controls))
        )

    @cached_property
    def _normalizer(self) -> tokenizers.normalizers.Normalizer | None:
        """What is done to a text before it is cut, nothing put before it."""
        nothing = {"added_tokens": [], "model": {"type": "WordLevel", "vocab": {}, "unk_token": ""}}
        return _backend(tokenizer_json.continuing(self._content) | nothing).normalizer

    @cached_property
    def _cut(self) -> Callable[[str], list[str]]:
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
    def _shown(self) -> list[str]:
        ours = {vocabulary_name(name): shown_name(name) for name in self._specials}
        return [
            ours.get(piece) or (piece if index in self._silent else readable(piece, self.spelling))
            for index, piece in enumerate(self._pieces)
        ]


def check_characters(text: str) -> None:
    """Refuses a str with a lone surrogate: half of a character, which no UTF-8 file can hold."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise DataError(
            f"text has a lone surrogate (U+{ord(text[error.start]):04X}) at character "
            f"{error.start + 1}, which is not a character; read the text as UTF-8 or remove it"
        ) from error


def _backend(content: Content) -> tokenizers.Tokenizer:
    backend = tokenizers.Tokenizer.from_str(json.dumps(content))
    # Control tokens are put in by headway, by id; text that spells one is text.
    backend.encode_special_tokens = True
    return backend


def _numbered(content: Content, names: Mapping[str, str | int]) -> dict[str, int]:
    """The ids of control tokens, given by spelling or by id.

    Raises:
        ValueError: there is no such token.
    """
    pieces = tokenizer_json.numbered_pieces(content)
    ids = {piece: index for index, piece in pieces.items()}
    for special, token in names.items():
        if token not in ids and token not in pieces:
            raise ValueError(f"there is no token {token!r}, which is said to be {special}")
    return {
        special: token if isinstance(token, int) else ids[token] for special, token in names.items()
    }


def _read(path: str | os.PathLike[str]) -> str:
    try:
        return Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise RunError(
            f"cannot read the tokenizer {path}: {error.strerror}; restore it or train again"
        ) from error
    except UnicodeDecodeError as error:
        raise RunError(
            f"{path} is not a tokenizer file: it is not UTF-8 text; "
            "give the tokenizer.json of a headway run"
        ) from error


def _parted(text: str, name: str) -> tuple[Content, dict[str, Any]]:
    """The library's part of tokenizer.json, and headway's."""
    try:
        content = json.loads(text)
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

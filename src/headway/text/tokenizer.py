"""A trained tokenizer: text to ids, ids to text, ids to what a person can read, one file.

The work is done by the `tokenizers` library and the file is its tokenizer.json; headway's settings
ride inside the file, in a place the library passes over. Learning one is in `learn.py`.
"""

import json
import os
import random
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from functools import cached_property
from pathlib import Path
from typing import Any

import tokenizers

from headway.errors import DataError, RunError
from headway.text.config import LOSSLESS, TokenizerConfig
from headway.text.dropout import BpeDropout
from headway.text.normalise import build_cleaner, build_normalizer
from headway.text.specials import (
    SPECIALS,
    UNKNOWN,
    all_specials,
    shown_name,
    vocabulary_name,
)
from headway.text.spelling import spell
from headway.text.split import build_cutter, byte_values

SPACE = "▁"  # shown for a space, which is where most words start
_KEY = "headway"  # inside "model", where the library skips keys it does not know
_FORMAT = 1
_CHUNK = 4096


class Tokenizer:
    """Made by `train_tokenizer` or `Tokenizer.load`.

    Args:
        specials: the ids of the control tokens by name. In what headway learns 0 to 3 are pad, bos,
            eos and unk; extra ones follow, then the learned pieces.
    """

    def __init__(
        self,
        backend: tokenizers.Tokenizer,
        settings: TokenizerConfig,
        specials: Mapping[str, int],
    ) -> None:
        self._backend = backend
        self._settings = settings
        self._specials = dict(specials)
        self._controls = frozenset(specials.values())
        # Control tokens are put in by headway, by id; text that spells one is text.
        backend.encode_special_tokens = True
        vocabulary = backend.get_vocab()
        self._pieces = sorted(vocabulary, key=vocabulary.__getitem__)
        self._decoder = backend.decoder
        self._clean = build_cleaner(settings)
        self._cut = build_cutter(backend.normalizer, backend.pre_tokenizer)

    @property
    def size(self) -> int:
        """Number of ids."""
        return len(self._pieces)

    @property
    def settings(self) -> TokenizerConfig:
        """The settings it was trained with."""
        return self._settings

    @property
    def specials(self) -> dict[str, int]:
        """The ids of the control tokens by name: pad, bos, eos, unk and the extra ones."""
        return dict(self._specials)

    @property
    def pieces(self) -> list[str]:
        """Every token as tokenizer.json spells it, in the order of the ids."""
        return list(self._pieces)

    def clean(self, text: str) -> str:
        """`text` normalised and in the case of the settings: what is cut into tokens."""
        return self._clean(text)

    def encode(self, text: str) -> list[int]:
        """The ids of `text`, without bos and eos.

        Raises:
            DataError: `text` holds a lone surrogate, which is not a character.
        """
        check_characters(text)
        ids: list[int] = self._backend.encode(text, add_special_tokens=False).ids
        return ids

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
            if index not in self._controls:
                pieces.append(self._pieces[index])
            elif index == self._specials["unk"] and self._settings.kind not in LOSSLESS:
                pieces.append(unknown)
        if self._decoder is None:  # the library's way to say "join with one space"
            return " ".join(pieces)
        text: str = self._decoder.decode(pieces)
        return text

    def tokens(self, ids: Iterable[int]) -> list[str]:
        """Each id as a person reads it: ▁ is a space, <0xE5> a byte that is part of a character."""
        return [self._shown[index] for index in ids]

    def spellings(self) -> list[bytes]:
        """The bytes that each id adds to a text, as `text/spelling.py` explains."""
        return self._spellings

    def to_json(self) -> str:
        """The text of tokenizer.json."""
        content = json.loads(self._backend.to_str())
        content["model"][_KEY] = {
            "format": _FORMAT,
            "settings": asdict(self._settings),
            "specials": list(self._specials),
        }
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
        try:
            text = Path(path).read_text(encoding="utf-8")
        except OSError as error:
            raise RunError(
                f"cannot read the tokenizer {path}: {error.strerror}; restore it or train again"
            ) from error
        except UnicodeDecodeError as error:
            raise RunError(
                f"{path} is not a tokenizer file: it is not UTF-8 text; "
                "give the tokenizer.json of a headway run"
            ) from error
        return cls.from_json(text, str(path))

    @classmethod
    def from_json(cls, text: str, name: str = "tokenizer.json") -> "Tokenizer":
        """The tokenizer that `to_json` described; `name` is what an error calls it."""
        own = _own_part(text, name)
        try:
            settings = TokenizerConfig(**own["settings"])
            specials = all_specials(own["specials"][len(SPECIALS) :])
            backend = tokenizers.Tokenizer.from_str(text)
        except Exception as error:  # the library raises plain Exception for any malformed part
            reason = " ".join(str(error).split())
            raise RunError(
                f"the tokenizer {name} is damaged ({reason}); restore it or train again"
            ) from error
        expected = [vocabulary_name(special) for special in specials]
        if [backend.id_to_token(index) for index in range(len(expected))] != expected:
            raise RunError(
                f"the tokenizer {name} is damaged (its first tokens are not "
                f"{', '.join(expected)}); restore it or train again"
            )
        return cls(backend, settings, specials)

    @cached_property
    def _continuing(self) -> tokenizers.Tokenizer:
        """The library's tokenizer for what goes on with a text: no space is put before it."""
        backend = tokenizers.Tokenizer.from_str(self._backend.to_str())
        backend.encode_special_tokens = True
        # The library has no way to take a normalizer off again.
        normalizer = build_normalizer(self._settings, begins=False)
        backend.normalizer = normalizer or tokenizers.normalizers.Sequence([])
        return backend

    @cached_property
    def _dropout(self) -> BpeDropout:
        model = json.loads(self._backend.to_str())["model"]
        merges = [(left, right) for left, right in model["merges"]]
        return BpeDropout(model["vocab"], merges, self._settings.dropout)

    @cached_property
    def _spellings(self) -> list[bytes]:
        return spell(self._pieces, self._specials, self._settings.kind)

    @cached_property
    def _shown(self) -> list[str]:
        show = _show_bytes if self._settings.kind in LOSSLESS else _show_characters
        names = {index: shown_name(name) for name, index in self._specials.items()}
        return [names.get(index) or show(piece) for index, piece in enumerate(self._pieces)]


def check_characters(text: str) -> None:
    """Refuses a str with a lone surrogate: half of a character, which no UTF-8 file can hold."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise DataError(
            f"text has a lone surrogate (U+{ord(text[error.start]):04X}) at character "
            f"{error.start + 1}, which is not a character; read the text as UTF-8 or remove it"
        ) from error


def _own_part(text: str, name: str) -> dict[str, Any]:
    """Headway's part of tokenizer.json."""
    try:
        content = json.loads(text)
    except ValueError as error:
        raise RunError(
            f"the tokenizer {name} is damaged ({error}); restore it or train again"
        ) from error
    model = content.get("model") if isinstance(content, dict) else None
    own = model.get(_KEY) if isinstance(model, dict) else None
    if not isinstance(own, dict):
        raise RunError(
            f"the tokenizer {name} was not written by headway: it has no model.{_KEY}; "
            "give the tokenizer.json of a headway run"
        )
    if own.get("format") != _FORMAT:
        raise RunError(
            f"the tokenizer {name} has format {own.get('format')!r} and this headway reads "
            f"format {_FORMAT}; use the headway that wrote it"
        )
    return own


def _show_bytes(piece: str) -> str:
    """A byte-level piece in real characters; bytes that are not whole characters as <0xE5>."""
    values = byte_values()
    whole = bytes(values[symbol] for symbol in piece).decode("utf-8", errors="surrogateescape")
    return _show_characters(whole)


def _show_characters(piece: str) -> str:
    return "".join(_show_character(character) for character in piece)


def _show_character(character: str) -> str:
    if character == " ":
        return SPACE
    if "\udc80" <= character <= "\udcff":  # a byte that `surrogateescape` could not decode
        return f"<0x{ord(character) - 0xDC00:02X}>"
    if unicodedata.category(character) == "Cc":
        return "".join(f"<0x{byte:02X}>" for byte in character.encode("utf-8"))
    return character

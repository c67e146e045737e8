"""A random number for each value, by which rows are divided: equal values are never separated."""

import hashlib
import unicodedata

from .series import Series

BITS = 53  # of a float


def number_of_value(value: str | Series, seed: int) -> float:
    """A number from 0 to 1, drawn from a text, or from the values of a series, and the seed."""
    return number_of_text(value if isinstance(value, str) else value.digest(), seed)


def number_of_text(text: str, seed: int) -> float:
    """A number from 0 to 1, drawn from the text and the seed alone.

    Case, accents, compatibility forms and white space do not matter, so that texts which some
    codec makes equal have equal numbers.
    """
    digest = hashlib.blake2b(_plain(text).encode(), digest_size=8, salt=seed.to_bytes(16))
    return (int.from_bytes(digest.digest()) >> (64 - BITS)) / (1 << BITS)


def _plain(text: str) -> str:
    if not text.isascii():
        letters = unicodedata.normalize("NFKD", text)
        text = "".join(letter for letter in letters if not unicodedata.combining(letter))
    return " ".join(text.casefold().split())

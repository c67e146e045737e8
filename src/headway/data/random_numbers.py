"""A random number for each text, by which rows are divided: equal texts are never separated."""

import hashlib
import unicodedata

BITS = 53  # of a float


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

"""A task where only the far past matters: values under keys, filler, then one of the keys.

`b3 f0 a7 x u z f` asks for the value under f, which is 0. Every word is drawn from a seed; how
far away the answer stands is asked for. What is learned from the examples is left to the studies.
"""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, product
from pathlib import Path
from random import Random

from ..runs.atomic import make_directory, write_bytes

KEYS = tuple("abcdef")
VALUES = tuple("01234567")
FILLER = tuple("uvwxyz")
PAIRS = 3  # each of a key and a value, and one word, so that nothing but distance is hard


@dataclass(frozen=True)
class LookUp:
    """One example.

    Attributes:
        words: filler if a length was asked for, pairs, filler, the key that asks.
        answer: the value of that key.
        distance: from the pair that holds the answer to the last word; 1 is its neighbour.
    """

    words: tuple[str, ...]
    answer: str
    distance: int

    @property
    def source(self) -> str:
        return " ".join(self.words)

    @property
    def line(self) -> str:
        """Question and answer as one text."""
        return f"{self.source} {self.answer}"

    @property
    def pairs(self) -> frozenset[str]:
        """In whatever order."""
        return frozenset(word for word in self.words if len(word) == 2)


def make_lookup(random: Random, distance: int, length: int | None = None) -> LookUp:
    """An example with its answer at a distance.

    From a distance of `PAIRS` on each pair is asked for as often; nearer only the last ones can be.

    Args:
        length: number of words, reached by filler before the pairs; else the pairs come first.

    Raises:
        ValueError: the distance is below 1, or the length has no room for it.
    """
    if distance < 1 or (length is not None and length < distance + PAIRS):
        raise ValueError(f"no look-up over {distance} words has a length of {length} words")
    keys = random.sample(KEYS, PAIRS)
    values = random.choices(VALUES, k=PAIRS)
    behind = random.randrange(min(PAIRS, distance))  # pairs after the one asked for
    asked = PAIRS - 1 - behind
    pairs = [key + value for key, value in zip(keys, values, strict=True)]
    filler = random.choices(FILLER, k=distance - 1 - behind)
    before = 0 if length is None else length - len(pairs) - len(filler) - 1
    words = (*random.choices(FILLER, k=before), *pairs, *filler, keys[asked])
    return LookUp(words, values[asked], distance)


def keyless_share() -> float:
    """How often the value that comes most often is right, whatever the key."""
    drawn = list(product(VALUES, repeat=PAIRS))
    return sum(max(Counter(values).values()) for values in drawn) / PAIRS / len(drawn)


def lookups(
    random: Random, nearest: int, farthest: int, before: int | None = None
) -> Iterator[LookUp]:
    """Examples without end; the logarithms of their distances are spread evenly.

    Each power of two has the same share, so that near ones, which are learned first, are not rare.

    Args:
        before: up to about so many words of filler come before the pairs; left out, none.
    """
    low, high = math.log(nearest), math.log(farthest + 1)
    while True:
        distance = int(math.exp(random.uniform(low, high)))
        distance = min(max(distance, nearest), farthest)
        length = None if before is None else distance + PAIRS + random.randint(0, before)
        yield make_lookup(random, distance, length)


@dataclass(frozen=True)
class LookUps:
    """The sets, those to test with by distance. No held-out choice of pairs is in training."""

    train: list[LookUp]
    valid: list[LookUp]
    test: dict[int, list[LookUp]]


def make_lookups(
    seed: int,
    n_train: int,
    n_valid: int,
    n_test: int,
    trained: tuple[int, int],
    tested: Sequence[int],
    length: int | None = None,
    before: int | None = None,
) -> LookUps:
    """Examples from a seed.

    Args:
        n_test: of each distance.
        trained: nearest and farthest distance to learn and to validate with.
        tested: the distances to test.
        length: of those to test, in words; left out, as long as their distance needs.
        before: about the most filler before the pairs of all others.
    """
    random = Random(seed)
    test = {d: [make_lookup(random, d, length) for _ in range(n_test)] for d in tested}
    endless = lookups(random, *trained, before)
    valid = list(islice(endless, n_valid))
    held_out = {example.pairs for some in (valid, *test.values()) for example in some}
    fresh = (example for example in endless if example.pairs not in held_out)
    return LookUps(list(islice(fresh, n_train)), valid, test)


def write_lookups(data: LookUps, folder: Path) -> None:
    """Each set as questions with answers (.tsv) and as texts (.txt), all tests in one file."""
    make_directory(folder)
    test = [example for some in data.test.values() for example in some]
    for name, examples in (("train", data.train), ("valid", data.valid), ("test", test)):
        tables = "".join(f"{example.source}\t{example.answer}\n" for example in examples)
        write_bytes(folder / f"{name}.tsv", tables.encode())
        write_bytes(folder / f"{name}.txt", "".join(f"{e.line}\n" for e in examples).encode())

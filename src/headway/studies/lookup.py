"""A task that depends on the distant past only: pairs of key and value, filler, then a key.

The answer to `b3 f0 a7 x u z f` is 0, the value of f. All words are drawn with a seed; the distance
of the answer is a parameter. The studies train on these examples.
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
PAIRS = 3  # key and value are one word, so that only the distance is hard


@dataclass(frozen=True)
class LookUp:
    """One example.

    Attributes:
        words: filler if the length is fixed, pairs, filler, and the queried key.
        answer: the value of that key.
        distance: number of words from the pair of this key to the last word; 1 if adjacent.
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
        """The pairs, without their order."""
        return frozenset(word for word in self.words if len(word) == 2)


def make_lookup(random: Random, distance: int, length: int | None = None) -> LookUp:
    """An example with its answer at a distance.

    From a distance of `PAIRS` on, every pair is queried equally often; below, only the last ones.

    Args:
        length: number of words, reached by filler before the pairs. Default: the pairs come first.

    Raises:
        ValueError: the distance is below 1, or the length has no room for it.
    """
    if distance < 1 or (length is not None and length < distance + PAIRS):
        raise ValueError(f"no look-up over {distance} words has a length of {length} words")
    keys = random.sample(KEYS, PAIRS)
    values = random.choices(VALUES, k=PAIRS)
    n_after = random.randrange(min(PAIRS, distance))  # pairs after the queried pair
    queried = PAIRS - 1 - n_after
    pairs = [key + value for key, value in zip(keys, values, strict=True)]
    filler = random.choices(FILLER, k=distance - 1 - n_after)
    before = 0 if length is None else length - len(pairs) - len(filler) - 1
    words = (*random.choices(FILLER, k=before), *pairs, *filler, keys[queried])
    return LookUp(words, values[queried], distance)


def keyless_share() -> float:
    """The accuracy of always predicting the most frequent value, whatever the key."""
    drawn = list(product(VALUES, repeat=PAIRS))
    return sum(max(Counter(values).values()) for values in drawn) / PAIRS / len(drawn)


def lookups(
    random: Random, nearest: int, farthest: int, before: int | None = None
) -> Iterator[LookUp]:
    """An endless stream of examples; the logarithms of their distances are spread evenly.

    Each power of two has the same share, so that short distances, learned first, are not rare.

    Args:
        before: about the most words of filler before the pairs. Default: none.
    """
    low, high = math.log(nearest), math.log(farthest + 1)
    while True:
        distance = int(math.exp(random.uniform(low, high)))
        distance = min(max(distance, nearest), farthest)
        length = None if before is None else distance + PAIRS + random.randint(0, before)
        yield make_lookup(random, distance, length)


@dataclass(frozen=True)
class LookUps:
    """The sets; the test sets are by distance. No held-out set of pairs occurs in training."""

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
        n_test: number of examples at each distance.
        trained: shortest and longest distance in training and validation.
        tested: the distances of the tests.
        length: length of test examples in words. Default: as long as their distance needs.
        before: about the most filler before the pairs of all other examples.
    """
    random = Random(seed)
    test = {d: [make_lookup(random, d, length) for _ in range(n_test)] for d in tested}
    endless = lookups(random, *trained, before)
    valid = list(islice(endless, n_valid))
    held_out = {example.pairs for examples in (valid, *test.values()) for example in examples}
    fresh = (example for example in endless if example.pairs not in held_out)
    return LookUps(list(islice(fresh, n_train)), valid, test)


def write_lookups(data: LookUps, folder: Path) -> None:
    """Writes each set as questions with answers (.tsv) and as texts (.txt), all tests in one."""
    make_directory(folder)
    test = [example for examples in data.test.values() for example in examples]
    for name, examples in (("train", data.train), ("valid", data.valid), ("test", test)):
        tables = "".join(f"{example.source}\t{example.answer}\n" for example in examples)
        write_bytes(folder / f"{name}.tsv", tables.encode())
        write_bytes(folder / f"{name}.txt", "".join(f"{e.line}\n" for e in examples).encode())

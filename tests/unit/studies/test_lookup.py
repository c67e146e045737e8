"""Look-ups: the answer is determined, distances are right, nothing of the tests is in training."""

import math
from collections import Counter
from itertools import islice
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.studies.lookup import (
    FILLER,
    KEYS,
    PAIRS,
    VALUES,
    keyless_share,
    lookups,
    make_lookup,
    make_lookups,
    write_lookups,
)


@given(seed=st.integers(0, 10_000), distance=st.integers(1, 60), room=st.integers(0, 9))
def test_the_answer_is_at_its_distance(seed, distance, room):
    for length in (None, PAIRS + distance + room):
        example = make_lookup(Random(seed), distance, length)
        *before, key = example.words
        assert example.words[-1 - distance] == key + example.answer
        assert sum(word[0] == key for word in before) == 1  # so that the answer is determined
        assert key + example.answer in example.pairs
        assert len(example.pairs) == PAIRS
        assert example.pairs <= {key + value for key in KEYS for value in VALUES}
        assert {*before} - example.pairs <= {*FILLER}
        assert example.line == f"{example.source} {example.answer}"
        if length is not None:
            assert len(example.words) == length


def test_letters_of_keys_values_and_filler_are_different():
    assert len({*KEYS, *VALUES, *FILLER}) == len(KEYS) + len(VALUES) + len(FILLER)


def test_all_pairs_are_queried_equally_often_from_a_distance_on():
    def queried(distance):
        """How often each pair is queried."""
        random = Random(1)
        examples = (make_lookup(random, distance) for _ in range(2000))
        return Counter(e.words.index(e.words[-1] + e.answer) for e in examples)

    assert set(queried(1)) == {PAIRS - 1}  # nothing else is so near
    assert set(queried(2)) == {PAIRS - 2, PAIRS - 1}
    counts = queried(PAIRS)
    assert set(counts) == set(range(PAIRS))
    assert max(counts.values()) < 1.3 * min(counts.values())


def test_distances_are_spread_evenly_in_their_logarithms():
    distances = [e.distance for e in islice(lookups(Random(1), 8, 63), 6000)]
    assert (min(distances), max(distances)) == (8, 63)
    shares = Counter(int(math.log2(distance)) for distance in distances)
    assert [round(shares[power] / 6000, 1) for power in (3, 4, 5)] == [0.3, 0.3, 0.3]


def test_filler_in_front_is_drawn_too():
    def in_front(before):
        examples = islice(lookups(Random(1), 8, 9, before), 300)
        return {next(i for i, word in enumerate(e.words) if word in e.pairs) for e in examples}

    assert in_front(None) == {0}
    assert in_front(4) == set(range(4 + PAIRS))  # and what keeps the distance


@pytest.mark.parametrize(("distance", "length"), [(0, None), (5, 4 + PAIRS), (100, 50)])
def test_a_distance_that_has_no_room(distance, length):
    with pytest.raises(ValueError, match=f"no look-up over {distance} words has a length of"):
        make_lookup(Random(1), distance, length)


def test_nothing_that_is_held_out_is_in_training():
    data = make_lookups(3, 3000, 100, 50, (8, 20), (8, 20, 40))
    assert len(data.train) == 3000
    assert {d: len(some) for d, some in data.test.items()} == {8: 50, 20: 50, 40: 50}
    assert all(e.distance == d for d, some in data.test.items() for e in some)
    held_out = {e.pairs for some in (data.valid, *data.test.values()) for e in some}
    assert not held_out & {e.pairs for e in data.train}
    assert {e.distance for e in data.train} == set(range(8, 21))


def test_what_values_without_keys_are_worth():
    """Of three values all differ in 8 * 7 * 6 of 512 cases, and are the same in 8."""
    assert keyless_share() == pytest.approx((336 / 3 + 168 * 2 / 3 + 8) / 512)


def test_a_seed_decides_everything():
    first, same, other = (make_lookups(seed, 20, 5, 5, (8, 20), (8,)) for seed in (1, 1, 2))
    assert first == same
    assert first != other


def test_files(tmp_path: Path):
    data = make_lookups(1, 4, 2, 1, (8, 9), (8, 12), length=30)
    write_lookups(data, tmp_path / "data")
    rows = [line.split("\t") for line in (tmp_path / "data/test.tsv").read_text().splitlines()]
    assert rows == [[e.source, e.answer] for some in data.test.values() for e in some]
    texts = (tmp_path / "data/train.txt").read_text().splitlines()
    assert texts == [example.line for example in data.train]
    assert all(len(text.split()) <= 9 + PAIRS + 1 for text in texts)
    assert {len(source.split()) for source, _ in rows} == {30}  # only tests are made longer

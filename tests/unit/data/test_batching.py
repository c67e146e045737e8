from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headway.data.batching import Batches

COLUMNS = ("target", "source")


class Lengths:
    """A store of which only the lengths are known."""

    def __init__(self, target, source=None):
        source = target if source is None else source
        self._lengths = {"target": np.array(target), "source": np.array(source)}

    def __len__(self):
        return len(self._lengths["target"])

    def lengths(self, column, start=0, stop=None):
        return self._lengths[column][start:stop]


def listed(batches):
    return [batch.tolist() for batch in batches]


PAIRS = st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), min_size=1, max_size=200)
BATCHING = st.fixed_dictionaries(
    {
        "budget": st.integers(1, 100),
        "seed": st.integers(0, 2**32),
        "pool": st.integers(1, 80),
        "block": st.integers(1, 20),
    }
)


@given(pairs=PAIRS, how=BATCHING, epoch=st.integers(0, 50))
def test_every_example_once_and_within_the_budget(pairs, how, epoch):
    lengths = Lengths(*zip(*pairs, strict=True))
    batches = list(Batches(lengths, COLUMNS, **how).epoch(epoch))
    assert sorted(np.concatenate(batches).tolist()) == list(range(len(pairs)))
    for batch in batches:
        longest = max(max(pairs[i]) for i in batch)
        assert len(batch) == 1 or len(batch) * longest <= how["budget"]


@given(pairs=PAIRS, how=BATCHING, epoch=st.integers(0, 50), data=st.data())
def test_order_is_a_function_of_seed_and_epoch(pairs, how, epoch, data):
    lengths = Lengths(*zip(*pairs, strict=True))
    whole = listed(Batches(lengths, COLUMNS, **how).epoch(epoch))
    again = Batches(lengths, COLUMNS, **how)
    list(again.epoch(epoch + 1))  # what was drawn before has no bearing
    assert listed(again.epoch(epoch)) == whole
    cursor = data.draw(st.integers(0, len(whole) + 1))
    assert listed(again.from_cursor(epoch, cursor)) == whole[cursor:]


def test_epochs_and_seeds_differ():
    lengths = Lengths(np.arange(500) % 20 + 1)
    orders = {
        str(listed(Batches(lengths, COLUMNS, 64, seed, pool=100, block=10).epoch(epoch)))
        for seed in range(3)
        for epoch in range(3)
    }
    assert len(orders) == 9


def test_members_of_a_batch_differ_between_epochs_when_lengths_are_tied():
    batches = Batches(Lengths([5] * 64), COLUMNS, 40, seed=1)
    first, second = ({frozenset(batch) for batch in listed(batches.epoch(e))} for e in (0, 1))
    assert len(first) == len(second) == 8
    assert not first & second


def test_pools_mix_blocks_from_everywhere():
    batches = Batches(Lengths([1] * 10_000), COLUMNS, 100, seed=1, pool=1000, block=10)
    pool = np.concatenate(list(batches.epoch(0))[:10])
    assert pool.min() < 2000
    assert pool.max() > 8000


def test_batches_do_not_come_in_order_of_length():
    lengths = np.repeat(np.arange(1, 41), 50)
    batches = Batches(Lengths(lengths), COLUMNS, 200, seed=1)
    longest = [lengths[batch].max() for batch in batches.epoch(0)]
    steps = np.sign(np.diff(longest))
    assert 0.25 < (steps < 0).mean() < 0.75


def test_the_budget_counts_padding_in_every_column():
    batches = Batches(Lengths([2, 2, 2, 2], [1, 1, 1, 8]), COLUMNS, 8, seed=1)
    sets = sorted(sorted(batch) for batch in listed(batches.epoch(0)))
    assert sets == [[0, 1, 2], [3]]


def test_an_example_over_the_budget_stands_alone():
    batches = Batches(Lengths([3, 100, 3]), COLUMNS, 10, seed=1)
    sets = sorted(sorted(batch) for batch in listed(batches.epoch(0)))
    assert sets == [[0, 2], [1]]


def test_little_padding_on_sentence_like_lengths():
    rng = np.random.default_rng(0)
    source = 3 + rng.poisson(11, 30_000)
    target = np.maximum(source + np.rint(rng.normal(0, 2.5, 30_000)).astype(int), 2)
    lengths = Lengths(target, source)
    batches = list(Batches(lengths, COLUMNS, 4096, seed=1).epoch(0))
    for column in (source, target):
        padded = sum(len(batch) * column[batch].max() for batch in batches)
        assert 1 - column.sum() / padded < 0.08


class TestWeights:
    def seen(self, epoch, sizes, weights, **how):
        lengths = Lengths([1] * sum(sizes))
        batches = Batches(lengths, COLUMNS, 16, seed=3, sizes=sizes, weights=weights, **how)
        return Counter(np.concatenate(list(batches.epoch(epoch))).tolist())

    def test_twice_and_once(self):
        seen = self.seen(0, (3, 4), (2.0, 1.0))
        assert seen == {0: 2, 1: 2, 2: 2, 3: 1, 4: 1, 5: 1, 6: 1}

    def test_another_half_each_epoch(self):
        halves = [self.seen(e, (1000,), (0.5,), block=30, pool=100) for e in (0, 1)]
        for half in halves:
            assert set(half.values()) == {1}
            assert abs(len(half) - 500) <= 1
        common = len(halves[0].keys() & halves[1].keys())
        assert 150 < common < 350

    def test_once_and_a_half(self):
        seen = self.seen(5, (100, 10), (1.5, 1.0))
        counts = Counter(seen[i] for i in range(100))
        assert counts[1] + counts[2] == 100
        assert abs(counts[2] - 50) <= 1
        assert all(seen[i] == 1 for i in range(100, 110))

    @settings(max_examples=50)
    @given(
        sizes=st.lists(st.integers(0, 40), min_size=1, max_size=3),
        weights=st.lists(st.floats(0.01, 3), min_size=3, max_size=3),
        block=st.integers(1, 50),
    )
    def test_each_corpus_has_its_share(self, sizes, weights, block):
        weights = weights[: len(sizes)]
        batches = Batches(
            Lengths([1] * sum(sizes)),
            COLUMNS,
            16,
            seed=3,
            sizes=sizes,
            weights=weights,
            block=block,
            pool=60,
        )
        drawn = [i for batch in batches.epoch(0) for i in batch.tolist()]
        edges = np.cumsum([0, *sizes])
        for start, stop, weight in zip(edges[:-1], edges[1:], weights, strict=True):
            share = sum(start <= i < stop for i in drawn)
            assert abs(share - weight * (stop - start)) <= 1

    def test_a_share_too_small_for_each_epoch_comes_in_some(self):
        batches = Batches(Lengths([1]), COLUMNS, 16, seed=3, sizes=(1,), weights=(0.25,))
        counts = [sum(len(batch) for batch in batches.epoch(e)) for e in range(200)]
        assert set(counts) == {0, 1}
        assert 25 < sum(counts) < 75

    def test_sizes_that_do_not_fit(self):
        with pytest.raises(ValueError, match="do not fit 3 examples"):
            Batches(Lengths([1, 1, 1]), COLUMNS, 16, seed=3, sizes=(1, 1))

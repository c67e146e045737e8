"""Blocks of running text that begin elsewhere in every epoch."""

from itertools import chain

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.data.blocks import shift_blocks
from headway.data.codecs.text import in_blocks
from headway.data.store import Column, Store, StoreWriter


def stored(path, corpora):
    """Corpora as lists of examples, and how many each has."""
    with StoreWriter(path, [Column("text", "uint16")]) as writer:
        for examples in corpora:
            writer.append({"text": examples})
    return Store(path), [len(examples) for examples in corpora]


def rows(store):
    return [store["text"][i].tolist() for i in range(len(store))]


def joined(lists):
    return list(chain.from_iterable(lists))


def test_all_cuts_of_one_text(tmp_path):
    store, sizes = stored(tmp_path / "store", [list(in_blocks([np.arange(10)], 4))])
    found = {}
    for epoch in range(50):
        cut, counts = shift_blocks(store, sizes, [True], 1, epoch)
        found[len(cut["text"][0])] = [len(row) for row in rows(cut)]
        assert counts == (len(cut),)
        assert joined(rows(cut)) == list(range(10))
    assert found == {1: [1, 4, 4, 1], 2: [2, 4, 4], 3: [3, 4, 3], 4: [4, 4, 2]}
    assert rows(store) == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]  # as it was


def test_a_text_of_one_block_stays_whole(tmp_path):
    store, sizes = stored(tmp_path / "store", [[np.arange(4)], [np.arange(3)]])
    for epoch in range(20):
        cut, counts = shift_blocks(store, sizes, [True, True], 1, epoch)
        assert (rows(cut), counts) == (rows(store), (1, 1))


def test_without_running_text_nothing_is_made(tmp_path):
    store, sizes = stored(tmp_path / "store", [[np.arange(4), np.arange(3)]])
    assert shift_blocks(store, sizes, [False], 1, 0) == (store, (2,))


CORPORA = st.lists(
    st.tuples(st.integers(0, 40), st.integers(2, 9), st.booleans()), min_size=1, max_size=4
).filter(lambda corpora: any(length for length, _, _ in corpora))


@given(corpora=CORPORA, seed=st.integers(0, 99), epoch=st.integers(0, 99))
def test_lines_stay_and_texts_are_whole_in_blocks(tmp_path_factory, corpora, seed, epoch):
    examples, start = [], 0
    for length, block, _ in corpora:
        examples.append(list(in_blocks([np.arange(start, start + length)], block)))
        start += length
    is_running = [running for _, _, running in corpora]
    store, sizes = stored(tmp_path_factory.mktemp("recut") / "store", examples)
    cut, counts = shift_blocks(store, sizes, is_running, seed, epoch)
    again, _ = shift_blocks(store, sizes, is_running, seed, epoch)
    assert rows(again) == rows(cut)
    first = 0
    for (_, block, running), before, count in zip(corpora, examples, counts, strict=True):
        after = rows(cut)[first : first + count]
        assert joined(after) == joined(example.tolist() for example in before)
        if not running:
            assert after == [example.tolist() for example in before]
        assert all(len(row) == block for row in after[1:-1])
        assert all(1 <= len(row) <= block for row in after)
        first += count
    assert first == len(cut)
    # The other ways to ask for the same examples.
    order = np.arange(len(cut))[::-1]
    flat, lengths = cut["text"].take(order)
    assert flat.tolist() == joined(rows(cut)[i] for i in order)
    assert lengths.tolist() == [len(rows(cut)[i]) for i in order]
    half = len(cut) // 2
    assert cut.lengths("text", half).tolist() == [len(row) for row in rows(cut)[half:]]
    assert cut["text"].joined(0, half).tolist() == joined(rows(cut)[:half])


@pytest.mark.parametrize("other", [(2, 0), (1, 1)])
def test_seed_and_epoch_decide(tmp_path, other):
    store, sizes = stored(tmp_path / "store", [list(in_blocks([np.arange(5000)], 1000))])
    cuts = [shift_blocks(store, sizes, [True], *draw)[0] for draw in ((1, 0), other)]
    assert len(cuts[0]["text"][0]) != len(cuts[1]["text"][0])

"""Batches of a search: like lengths, within the budget, side by side, answers in order."""

import threading

import pytest
import torch

from headway.tasks.decoding import DECODE_TOKENS, decode_batches, side_by_side


def test_batches_hold_like_lengths_within_the_budget():
    lengths = [5, 900, 7, 0, 2 * DECODE_TOKENS, 6]
    batches = list(decode_batches(lengths, beam=2))
    assert sorted(i for rows in batches for i in rows) == list(range(6))
    assert batches[0] == [4]  # longer than the budget with its beam: alone
    for rows in batches:
        assert len(rows) == 1 or max(lengths[i] for i in rows) * 2 * len(rows) <= DECODE_TOKENS
    flat = [lengths[i] for rows in batches for i in rows]
    assert flat == sorted(lengths, reverse=True)
    assert list(decode_batches([], beam=5)) == []


def test_every_worker_has_a_batch():
    assert [len(rows) for rows in decode_batches([3] * 10, beam=1, parts=4)] == [3, 3, 3, 1]
    assert [len(rows) for rows in decode_batches([3], beam=1, parts=4)] == [1]


@pytest.fixture
def two_threads():
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


def test_answers_come_in_order_from_one_thread_workers(two_threads):
    seen = set()

    def work(rows):
        seen.add(threading.get_ident())
        assert torch.get_num_threads() == 1
        return [row * 10 for row in rows]

    assert side_by_side(work, [[3, 1], [0], [4, 2]]) == [0, 10, 20, 30, 40]
    assert threading.get_ident() not in seen
    assert torch.get_num_threads() == 2


def test_one_batch_has_all_threads(two_threads):
    assert side_by_side(lambda rows: [torch.get_num_threads() for _ in rows], [[0, 1]]) == [2, 2]


def test_nothing_to_do(two_threads):
    assert side_by_side(lambda rows: rows, []) == []


def test_a_failure_is_passed_on_and_threads_are_given_back(two_threads):
    def work(rows):
        raise ValueError(f"batch {rows}")

    with pytest.raises(ValueError, match=r"batch \[0\]"):
        side_by_side(work, [[0], [1]])
    assert torch.get_num_threads() == 2

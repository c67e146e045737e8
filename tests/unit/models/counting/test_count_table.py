"""Shares and what is passed on, by hand, and tables that take the shapes of what is loaded."""

import numpy as np
import pytest
import torch

from headway.models.counting.count_table import CountTable
from headway.models.counting.ngrams import Counts

V = 5
# After context 0 (word 2) came 3 once and 4 three times; after context 1 (word 3) came 2 twice.
COUNTS = Counts(
    contexts=np.array([2, 3]), entries=np.array([3, 4, V + 2]), counts=np.array([1, 3, 2])
)


def make(**settings):
    table = CountTable(V)
    table.fill(COUNTS, **settings)
    return table


def shares(table, contexts, targets=None, rows=None, n_rows=None):
    context = torch.tensor(contexts, dtype=torch.long)
    row = torch.arange(len(contexts)) if rows is None else torch.tensor(rows, dtype=torch.long)
    targets = None if targets is None else torch.tensor(targets)
    return table.shares(context, row, n_rows or len(contexts), targets).tolist()


def test_proportions():
    table = make()
    assert shares(table, [0, 1]) == [[0, 0, 0, 0.25, 0.75], [0, 0, 1, 0, 0]]
    assert table.backoff.tolist() == [0, 0]


def test_discounts_are_taken_by_count_and_passed_on():
    """`(1 - 0.5) / 4`, `(3 - 1) / 4`; the 1.5 that were taken are passed on."""
    table = make(discounts=(0.5, 0.75, 1.0))
    assert shares(table, [0])[0][3:] == pytest.approx([0.125, 0.5])
    assert table.backoff.tolist() == pytest.approx([1.5 / 4, 0.75 / 2])


def test_what_is_added_is_passed_on():
    table = make(added=4.0)
    assert shares(table, [0])[0][3:] == pytest.approx([1 / 8, 3 / 8])
    assert table.backoff.tolist() == pytest.approx([4 / 8, 4 / 6])


def test_single_targets_are_those_of_all_words():
    table = make(discounts=(0.5, 0.75, 1.0))
    every = shares(table, [0, 1, 0])
    assert shares(table, [0, 1, 0], targets=[4, 2, 2]) == [
        [every[0][4]],
        [every[1][2]],
        [0.0],
    ]


def test_contexts_of_one_row_are_summed():
    assert shares(make(), [0, 1], rows=[1, 1], n_rows=3) == [
        [0] * V,
        [0, 0, 1, 0.25, 0.75],
        [0] * V,
    ]
    assert shares(make(), [], rows=[], n_rows=1) == [[0] * V]


def test_contexts_are_found_or_minus_one():
    table = make()
    shorter, word = torch.tensor([0, 0, 0, -1]), torch.tensor([2, 3, 4, 2])
    assert table.find(shorter, word).tolist() == [0, 1, -1, -1]
    assert CountTable(V).find(shorter, word).tolist() == [-1] * 4


def test_an_empty_table_takes_the_shapes_that_are_loaded():
    filled, empty = make(added=1.0), CountTable(V)
    empty.load_state_dict(filled.state_dict())
    assert shares(empty, [0, 1]) == shares(filled, [0, 1])
    assert empty.counts.dtype == torch.int32

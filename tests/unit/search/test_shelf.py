"""Shelves keep the best few per sentence; history reads the tokens back."""

import pytest
import torch

from headway.search.history import History, read_hypotheses
from headway.search.shelf import Shelf, finished_ends, unfinished_ends

INF = torch.inf
CPU = torch.device("cpu")


def offer(shelf, rows, log_prob, n_tokens=1):
    log_prob = torch.tensor(log_prob)
    place = torch.arange(log_prob.size(1)).expand(log_prob.shape)
    ends = finished_ends(log_prob, torch.zeros_like(log_prob), place, n_tokens, alpha=1.0)
    shelf.add(torch.tensor(rows), ends)


def test_the_best_stay_and_all_are_counted():
    shelf = Shelf(3, 2, CPU)
    offer(shelf, [0, 2], [[-4.0, -INF], [-6.0, -2.0]])
    offer(shelf, [2], [[-4.0, -9.0]], n_tokens=3)  # -1.0 and -2.25 for four tokens
    assert shelf.ends.score.tolist() == [[-2.0, -INF], [-INF, -INF], [-1.0, -1.0]]
    assert shelf.count.tolist() == [1, 0, 4]
    assert sorted(shelf.ends.n_tokens[2].tolist()) == [1, 3]
    assert shelf.worst(torch.tensor([2, 0])).tolist() == [-1.0, -INF]


def test_empty_offers_change_nothing():
    shelf = Shelf(1, 1, CPU)
    offer(shelf, [0], [[-INF]])
    shelf.add(torch.tensor([], dtype=torch.long), unfinished_ends(torch.zeros(0, 2), 1, 1.0))
    assert shelf.count.tolist() == [0]


def test_backtracking_after_a_sentence_has_left():
    history = History()
    both, second = torch.tensor([0, 1]), torch.tensor([1])
    tokens = torch.tensor([[10, 11], [20, 21]])
    history.append(both, torch.zeros_like(tokens), tokens, -tokens / 10)
    history.append(second, torch.tensor([[1, 1]]), torch.tensor([[22, 23]]), -torch.ones(1, 2))
    history.append(second, torch.tensor([[1, 0]]), torch.tensor([[24, 25]]), -torch.ones(1, 2))
    found, log_probs = history.backtrack(
        sentence=torch.tensor([0, 1, 1, 0]),
        place=torch.tensor([1, 0, 1, 0]),
        n_tokens=torch.tensor([1, 3, 2, 0]),
    )
    assert found == [[11], [21, 23, 24], [21, 23], []]
    assert log_probs[1] == pytest.approx([-2.1, -1.0, -1.0])


def test_unfinished_ones_fill_up_after_the_finished():
    history = History()
    rows = torch.tensor([0])
    history.append(rows, torch.tensor([[0, 0]]), torch.tensor([[5, 6]]), torch.tensor([[-1.0, -2]]))
    finished, unfinished = Shelf(1, 2, CPU), Shelf(1, 2, CPU)
    finished.add(
        rows, finished_ends(torch.tensor([[-8.0]]), torch.tensor([[-7.0]]), rows[None], 1, 1.0)
    )
    unfinished.add(rows, unfinished_ends(torch.tensor([[-1.0, -2.0]]), 1, 1.0))
    first, second = read_hypotheses(history, finished, unfinished, n_best=2)[0]
    assert (first.tokens, first.finished, first.token_log_probs) == ([5], True, [-1.0, -7.0])
    assert (second.tokens, second.finished, second.token_log_probs) == ([5], False, [-1.0])

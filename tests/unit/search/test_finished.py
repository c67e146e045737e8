"""The best few finished hypotheses of each sentence are kept, and all are counted."""

import torch

from headway.search.finished import FinishedHypotheses, finished_ends, unfinished_ends

INF = torch.inf
CPU = torch.device("cpu")


def offer(shelf, rows, log_prob, n_tokens=1):
    log_prob = torch.tensor(log_prob)
    place = torch.arange(log_prob.size(1)).expand(log_prob.shape)
    ends = finished_ends(log_prob, torch.zeros_like(log_prob), place, n_tokens, alpha=1.0)
    shelf.add(torch.tensor(rows), ends)


def test_the_best_stay_and_all_are_counted():
    shelf = FinishedHypotheses(3, 2, CPU)
    offer(shelf, [0, 2], [[-4.0, -INF], [-6.0, -2.0]])
    offer(shelf, [2], [[-4.0, -9.0]], n_tokens=3)  # -1.0 and -2.25 for four tokens
    assert shelf.ends.score.tolist() == [[-2.0, -INF], [-INF, -INF], [-1.0, -1.0]]
    assert shelf.count.tolist() == [1, 0, 4]
    assert sorted(shelf.ends.n_tokens[2].tolist()) == [1, 3]
    assert shelf.worst(torch.tensor([2, 0])).tolist() == [-1.0, -INF]


def test_empty_offers_change_nothing():
    shelf = FinishedHypotheses(1, 1, CPU)
    offer(shelf, [0], [[-INF]])
    shelf.add(torch.tensor([], dtype=torch.long), unfinished_ends(torch.zeros(0, 2), 1, 1.0))
    assert shelf.count.tolist() == [0]

"""The best few finished hypotheses of each sentence are kept, and all are counted."""

import torch

from headway.search.finished import FinishedHypotheses, finished_ends, unfinished_ends

INF = torch.inf
CPU = torch.device("cpu")


def add(finished, rows, log_prob, n_tokens=1):
    log_prob = torch.tensor(log_prob)
    slot = torch.arange(log_prob.size(1)).expand(log_prob.shape)
    ends = finished_ends(log_prob, torch.zeros_like(log_prob), slot, n_tokens, alpha=1.0)
    finished.add(torch.tensor(rows), ends)


def test_the_best_stay_and_all_are_counted():
    finished = FinishedHypotheses(3, 2, CPU)
    add(finished, [0, 2], [[-4.0, -INF], [-6.0, -2.0]])
    add(finished, [2], [[-4.0, -9.0]], n_tokens=3)  # -1.0 and -2.25 for four tokens
    assert finished.ends.score.tolist() == [[-2.0, -INF], [-INF, -INF], [-1.0, -1.0]]
    assert finished.count.tolist() == [1, 0, 4]
    assert sorted(finished.ends.n_tokens[2].tolist()) == [1, 3]
    assert finished.worst(torch.tensor([2, 0])).tolist() == [-1.0, -INF]


def test_empty_entries_change_nothing():
    finished = FinishedHypotheses(1, 1, CPU)
    add(finished, [0], [[-INF]])
    finished.add(torch.tensor([], dtype=torch.long), unfinished_ends(torch.zeros(0, 2), 1, 1.0))
    assert finished.count.tolist() == [0]

"""Hypotheses are read back along the back-pointers."""

import pytest
import torch

from headway.search.backtrace import Backtrace, read_hypotheses
from headway.search.finished import FinishedHypotheses, finished_ends, unfinished_ends

CPU = torch.device("cpu")


def test_backtracking_after_a_sentence_has_left():
    history = Backtrace()
    both, second = torch.tensor([0, 1]), torch.tensor([1])
    tokens = torch.tensor([[10, 11], [20, 21]])
    history.append(both, torch.zeros_like(tokens), tokens, -tokens / 10)
    history.append(second, torch.tensor([[1, 1]]), torch.tensor([[22, 23]]), -torch.ones(1, 2))
    history.append(second, torch.tensor([[1, 0]]), torch.tensor([[24, 25]]), -torch.ones(1, 2))
    tokens_read, log_probs = history.backtrack(
        sentence=torch.tensor([0, 1, 1, 0]),
        slot=torch.tensor([1, 0, 1, 0]),
        n_tokens=torch.tensor([1, 3, 2, 0]),
    )
    assert tokens_read == [[11], [21, 23, 24], [21, 23], []]
    assert log_probs[1] == pytest.approx([-2.1, -1.0, -1.0])


def test_unfinished_ones_fill_up_after_the_finished():
    history = Backtrace()
    rows = torch.tensor([0])
    history.append(rows, torch.tensor([[0, 0]]), torch.tensor([[5, 6]]), torch.tensor([[-1.0, -2]]))
    finished, unfinished = FinishedHypotheses(1, 2, CPU), FinishedHypotheses(1, 2, CPU)
    finished.add(
        rows, finished_ends(torch.tensor([[-8.0]]), torch.tensor([[-7.0]]), rows[None], 1, 1.0)
    )
    unfinished.add(rows, unfinished_ends(torch.tensor([[-1.0, -2.0]]), 1, 1.0))
    first, second = read_hypotheses(history, finished, unfinished, n_best=2)[0]
    assert (first.tokens, first.finished, first.token_log_probs) == ([5], True, [-1.0, -7.0])
    assert (second.tokens, second.finished, second.token_log_probs) == ([5], False, [-1.0])


def test_no_steps_and_no_hypotheses():
    nothing = torch.zeros(0, dtype=torch.long)
    assert Backtrace().backtrack(nothing, nothing, nothing) == ([], [])
    empty = FinishedHypotheses(2, 1, CPU)
    assert read_hypotheses(Backtrace(), empty, FinishedHypotheses(2, 1, CPU), 1) == [[], []]

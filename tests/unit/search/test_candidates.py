"""Choosing continuations: normalisation, top 2k, those that end, and impossible ones."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from headway.errors import RunError
from headway.search.candidates import best_candidates, log_normaliser, split_ended

INF = torch.inf


def test_log_normaliser_is_log_sum_exp():
    logits = torch.tensor([[1000.0, 1001.0, -INF], [-1000.0, -1000.0, -1000.0]])
    largest = logits.amax(dim=1, keepdim=True)
    expected = torch.logsumexp(logits, dim=1, keepdim=True)
    torch.testing.assert_close(log_normaliser(logits, largest), expected)


def test_log_normaliser_of_an_impossible_row_is_zero():
    logits = torch.full((1, 3), -INF)
    assert log_normaliser(logits, logits[:, :1]).tolist() == [[0.0]]


def test_the_best_of_two_hypotheses():
    log_probs = torch.tensor([[[0.5, 0.3, 0.2], [0.9, 0.06, 0.04]]]).log()
    live = torch.tensor([[0.4, 0.6]]).log()
    best = best_candidates(log_probs, live, k=2)
    assert best.parent.tolist() == [[1, 0, 0, 0]]
    assert best.token.tolist() == [[0, 0, 1, 2]]
    assert best.log_prob.exp()[0].tolist() == pytest.approx([0.54, 0.2, 0.12, 0.08])
    assert best.token_log_prob.exp()[0].tolist() == pytest.approx([0.9, 0.5, 0.3, 0.2])


def test_logits_are_normalised_by_default():
    logits = torch.tensor([[[1.0, 1.0]]])
    live = torch.zeros(1, 1)
    assert best_candidates(logits, live, k=1).log_prob.exp()[0].tolist() == pytest.approx([0.5] * 2)
    assert best_candidates(-logits, live, k=1, normalise=False).log_prob.tolist() == [[-1.0, -1.0]]


def test_fewer_candidates_than_requested():
    best = best_candidates(torch.zeros(1, 1, 3), torch.zeros(1, 1), k=5)
    assert sorted(best.token[0].tolist()) == [0, 1, 2]


def test_impossible_rows_give_no_nan():
    logits = torch.tensor([[[-INF, -INF], [0.0, -INF]]])
    best = best_candidates(logits, torch.tensor([[-1.0, -2.0]]), k=2)
    assert best.log_prob.tolist() == [[-2.0, -INF, -INF, -INF]]
    dead = best_candidates(logits, torch.full((1, 2), -INF), k=2)
    assert (dead.log_prob == -INF).all()


def test_nan_is_refused():
    logits = torch.tensor([[[0.0, torch.nan, 1.0]]])
    with pytest.raises(RunError, match=r"the model's output is not a number .* earlier checkpoint"):
        best_candidates(logits, torch.zeros(1, 1), k=1)


def test_ends_count_among_the_k_best_only():
    eos = 0
    logits = torch.tensor([[[3.0, 4.0, 2.0, 1.0]]])  # END is second best
    best_of_one = best_candidates(logits, torch.zeros(1, 1), k=1)
    ended, kept = split_ended(best_of_one, eos, k=1)
    assert ended.log_prob.tolist() == [[-INF]]
    assert kept.token.tolist() == [[1]]

    ended, kept = split_ended(best_candidates(logits, torch.zeros(1, 1), k=2), eos, k=2)
    assert (ended.log_prob > -INF).tolist() == [[False, True]]
    assert ended.token[0, 1] == eos
    assert kept.token.tolist() == [[1, 2]]  # the beam is refilled to two


@given(st.integers(0, 10_000), st.integers(1, 4), st.integers(0, 3), st.integers(2, 7))
def test_kept_and_ended_are_those_of_a_full_sort(seed, k, empty, n_vocab):
    n_live = max(1, k - empty)
    draw = torch.Generator().manual_seed(seed)
    logits = torch.randn(2, n_live, n_vocab, generator=draw)
    live = torch.randn(2, n_live, generator=draw)
    ended, kept = split_ended(best_candidates(logits, live, k), eos=0, k=k)
    for row in range(2):
        totals = (live[row][:, None] + logits[row].log_softmax(dim=-1)).flatten().tolist()
        order = sorted(range(len(totals)), key=lambda i: -totals[i])
        expected_going = [divmod(i, n_vocab) for i in order if i % n_vocab != 0][:k]
        expected_ended = [i // n_vocab for i in order[:k] if i % n_vocab == 0]
        alive = kept.log_prob[row] > -INF
        got = zip(kept.parent[row][alive].tolist(), kept.token[row][alive].tolist(), strict=True)
        assert list(got) == expected_going
        assert ended.parent[row][ended.log_prob[row] > -INF].tolist() == expected_ended

"""Hypotheses: END is counted but is no token, finished ones come first, totals are sums."""

import pytest
import torch

from headway.search import Hypothesis, SearchConfig, beam, greedy
from headway.teaching.table_model import TableModel

BOS, EOS = 0, 1

SOURCES = [[2, 5, 3], [3], [1, 2, 4, 3, 5], [0, 1], [2, 2, 2, 2], [3, 4], [1, 1, 1]]


def test_length_limit_one():
    """One step: END is a finished empty output, any other token is cut off."""
    model = TableModel({"": {"a": -0.5, "END": -1.0}, "a": {"END": 0.0}})
    batch, limits = {"rows": torch.zeros(1)}, torch.tensor([1])
    config = SearchConfig(beam=2, n_best=2)
    [hyps] = beam(model, batch, bos=0, eos=1, config=config, limits=limits, normalise=False)
    assert hyps == [
        Hypothesis([], -1.0, -1.0, [-1.0], True),
        Hypothesis(model.encode("a"), -0.5, -0.5, [-0.5], False),
    ]
    [best] = greedy(model, batch, bos=0, eos=1, limits=limits, normalise=False)
    assert best == hyps[1]


def test_hypotheses_are_distinct_and_in_order(markov, make_batch):
    config = SearchConfig(beam=6, n_best=6, max_length=7)
    for seed in range(20):
        for hyps in beam(markov(seed), make_batch(SOURCES), bos=BOS, eos=EOS, config=config):
            finished = [hyp for hyp in hyps if hyp.finished]
            assert hyps[: len(finished)] == finished
            assert len({(*hyp.tokens, hyp.finished) for hyp in hyps}) == len(hyps)
            for group in (finished, hyps[len(finished) :]):
                scores = [hyp.score for hyp in group]
                assert scores == sorted(scores, reverse=True)
            for hyp in hyps:
                assert EOS not in hyp.tokens
                assert hyp.log_prob == pytest.approx(sum(hyp.token_log_probs), abs=1e-4)


def test_nothing_is_unmet_or_proven_unless_a_search_says_so():
    plain = Hypothesis([4], -2.0, -1.0, [-1.5, -0.5], True)
    assert (plain.unmet, plain.proven) == ((), None)
    assert plain != Hypothesis([4], -2.0, -1.0, [-1.5, -0.5], True, unmet=("a | b",))

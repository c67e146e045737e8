"""What must come out the same: beam 1 and greedy, wide beam and enumeration, batch and singles,
cached and recomputed, searched and forced; and the edges of length."""

import itertools

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headway.search import Hypothesis, SearchConfig, beam, greedy, score_targets
from headway.teaching.table_model import TableModel

BOS, EOS = 0, 1
SOURCES = [[2, 5, 3], [3], [1, 2, 4, 3, 5], [0, 1], [2, 2, 2, 2], [3, 4], [1, 1, 1]]
seeds = given(st.integers(0, 10_000))
few = settings(
    max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def score_by_hand(log_probs, alpha):
    return sum(log_probs) / max(len(log_probs), 1) ** alpha


@few
@seeds
def test_beam_one_is_greedy(markov, make_batch, same, seed):
    batch = make_batch(SOURCES)
    model = markov(seed)
    config = SearchConfig(beam=1, alpha=0.7, max_length=9)
    greedily = greedy(model, batch, bos=BOS, eos=EOS, config=config)
    for hyps, best in zip(
        beam(model, batch, bos=BOS, eos=EOS, config=config), greedily, strict=True
    ):
        same(hyps, [best])


def test_beam_one_is_greedy_on_a_recurrent_model(recurrent, make_batch, same):
    batch = make_batch(SOURCES)
    config = SearchConfig(beam=1, max_length=12)
    for seed in range(8):
        model = recurrent(seed)
        greedily = greedy(model, batch, bos=BOS, eos=EOS, config=config)
        for hyps, best in zip(
            beam(model, batch, bos=BOS, eos=EOS, config=config), greedily, strict=True
        ):
            same(hyps, [best])


def enumerate_finished(model, source, limit, alpha):
    """Every finished output of a Markov model within the limit, best first."""
    table = model.logits[source].log_softmax(dim=-1).tolist()
    n_vocab = len(table)
    hyps = []
    for n in range(limit):
        for tokens in itertools.product([v for v in range(n_vocab) if v != EOS], repeat=n):
            path = [BOS, *tokens, EOS]
            steps = [table[a][b] for a, b in itertools.pairwise(path)]
            if all(step > -float("inf") for step in steps):
                score = score_by_hand(steps, alpha)
                hyps.append(Hypothesis(list(tokens), sum(steps), score, steps, True))
    return sorted(hyps, key=lambda hyp: -hyp.score)


@pytest.mark.parametrize("alpha", [0.0, 0.6, 1.0, -0.5])
@pytest.mark.parametrize("stop", ["finished", "safe"])
def test_a_beam_as_wide_as_the_space_enumerates(markov, make_batch, same, alpha, stop):
    for seed in range(4):
        model = markov(seed, n_vocab=4, impossible=0.0)
        n_best = 5
        config = SearchConfig(beam=3**4, alpha=alpha, n_best=n_best, max_length=4, stop=stop)
        batch = make_batch([[0], [1], [2]])
        results = beam(model, batch, bos=BOS, eos=EOS, config=config)
        for source, hyps in enumerate(results):
            same(hyps, enumerate_finished(model, source, 4, alpha)[:n_best])


@few
@seeds
def test_the_safe_stop_changes_no_answer(markov, make_batch, same, seed):
    """Stopping safely gives what a search that never stops early gives."""
    model = markov(seed)
    batch = make_batch(SOURCES)
    for alpha in (0.0, 1.0):
        plain = SearchConfig(beam=3, alpha=alpha, n_best=2, max_length=8, stop="safe")
        ended = never_stopping(model, batch, plain)
        for hyps, other in zip(
            beam(model, batch, bos=BOS, eos=EOS, config=plain), ended, strict=True
        ):
            same(hyps, other)


def never_stopping(model, batch, config):
    """The same search with a stop rule that is never met."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            "headway.search.beam_search._Beam._can_stop",
            lambda search, kept: torch.zeros(len(search.rows), dtype=torch.bool),
        )
        return beam(model, batch, bos=BOS, eos=EOS, config=config)


@pytest.mark.parametrize("stop", ["finished", "safe"])
def test_batch_equals_singles(recurrent, make_batch, same, stop):
    for seed in range(3):
        model = recurrent(seed)
        config = SearchConfig(beam=4, n_best=3, stop=stop, max_length=15)
        together = beam(model, make_batch(SOURCES), bos=BOS, eos=EOS, config=config)
        greedily = greedy(model, make_batch(SOURCES), bos=BOS, eos=EOS, config=config)
        for source, hyps, best in zip(SOURCES, together, greedily, strict=True):
            alone = make_batch([source])
            same(hyps, beam(model, alone, bos=BOS, eos=EOS, config=config)[0])
            same([best], greedy(model, alone, bos=BOS, eos=EOS, config=config))


def test_sentences_leave_when_they_are_done(recurrent, make_batch):
    model = recurrent(3)
    sizes = []
    step = model.step
    model.step = lambda tokens, state: sizes.append(tokens.shape[:2]) or step(tokens, state)
    config = SearchConfig(beam=3, max_length=40, max_ratio=3.0, max_extra=1)
    hyps = beam(model, make_batch(SOURCES), bos=BOS, eos=EOS, config=config)
    rows = [size[0] for size in sizes]
    assert rows == sorted(rows, reverse=True)
    assert rows[0] == len(SOURCES)
    assert len(set(rows)) > 2
    assert [size[1] for size in sizes[:3]] == [1, 3, 3]  # expanded after the first step
    assert len({len(hyp.token_log_probs) for [hyp] in hyps}) > 2


def test_cached_beam_equals_recomputing_from_scratch(recurrent, scratch, make_batch, same):
    config = SearchConfig(beam=4, n_best=4, max_length=15)
    batch = make_batch(SOURCES)
    for seed in range(8):
        cached = beam(recurrent(seed), batch, bos=BOS, eos=EOS, config=config)
        anew = beam(scratch(seed), batch, bos=BOS, eos=EOS, config=config)
        for hyp, other in zip(cached, anew, strict=True):
            same(hyp, other)


def pad(rows):
    width = max(map(len, rows))
    targets = torch.tensor([row + [-100] * (width - len(row)) for row in rows])
    return targets, targets != -100


def test_search_scores_are_forced_scores(recurrent, make_batch):
    batch = make_batch(SOURCES)
    for seed in range(8):
        model = recurrent(seed)
        config = SearchConfig(beam=3, n_best=3, alpha=0.8, max_length=15)
        results = beam(model, batch, bos=BOS, eos=EOS, config=config)
        for rank in range(3):
            chosen = [hyps[rank] for hyps in results]
            targets, valid = pad([hyp.tokens + [EOS] * hyp.finished for hyp in chosen])
            scores = score_targets(model, batch, targets, valid, bos=BOS)
            assert (scores[~valid] == 0).all()
            for hyp, row, is_valid in zip(chosen, scores, valid, strict=True):
                steps = row[is_valid].tolist()
                assert hyp.token_log_probs == pytest.approx(steps, abs=1e-5)
                assert hyp.log_prob == pytest.approx(sum(steps), abs=1e-4)
                assert hyp.score == pytest.approx(score_by_hand(steps, 0.8), abs=1e-4)


def test_unfinished_ones_are_left_out_when_enough_finished():
    model = TableModel({"": {"a": -0.5, "END": -1.0}, "a": {"a": -0.1, "END": -0.2}})
    config = SearchConfig(beam=2, n_best=2)
    [hyps] = beam(
        model,
        {"rows": torch.zeros(1)},
        bos=0,
        eos=1,
        config=config,
        limits=torch.tensor([2]),
        normalise=False,
    )
    assert [(model.decode(hyp.tokens), hyp.finished) for hyp in hyps] == [("a", True), ("", True)]


def test_limits_differ_within_a_batch():
    model = TableModel({("a",) * n: {"a": -0.5} for n in range(6)})
    batch, limits = {"rows": torch.zeros(3)}, torch.tensor([4, 1, 2])
    for hyps in (
        greedy(model, batch, bos=0, eos=1, limits=limits),
        [best for [best] in beam(model, batch, bos=0, eos=1, limits=limits)],
    ):
        assert [len(hyp.tokens) for hyp in hyps] == [4, 1, 2]
        assert not any(hyp.finished for hyp in hyps)
    assert limits.tolist() == [4, 1, 2]


def test_dead_ends_are_returned_only_when_nothing_finished():
    """After "b" nothing can follow."""
    batch, limits = {"rows": torch.zeros(1)}, torch.tensor([5])
    config = SearchConfig(beam=3, n_best=3)
    lost = TableModel({"": {"a": -1.0}, "a": {"b": -1.0}})
    [hyps] = beam(lost, batch, bos=0, eos=1, config=config, limits=limits, normalise=False)
    assert hyps == [Hypothesis(lost.encode("a b"), -2.0, -1.0, [-1.0, -1.0], False)]
    [best] = greedy(lost, batch, bos=0, eos=1, limits=limits, normalise=False)
    assert best == hyps[0]

    mixed = TableModel({"": {"a": -1.0, "b": -0.5}, "a": {"END": -1.0}})
    [hyps] = beam(mixed, batch, bos=0, eos=1, config=config, limits=limits, normalise=False)
    assert hyps == [Hypothesis(mixed.encode("a"), -2.0, -1.0, [-1.0, -1.0], True)]


def test_a_model_that_allows_nothing():
    model = TableModel({"a": {"END": 0.0}})
    batch, limits = {"rows": torch.zeros(2)}, torch.tensor([5, 5])
    empty = Hypothesis([], 0.0, 0.0, [], False)
    assert beam(model, batch, bos=0, eos=1, limits=limits) == [[empty], [empty]]
    assert greedy(model, batch, bos=0, eos=1, limits=limits) == [empty, empty]


def test_no_sentences(recurrent):
    batch = {"src": torch.zeros(0, 3, dtype=torch.long), "src_valid": torch.ones(0, 3).bool()}
    assert beam(recurrent(0), batch, bos=BOS, eos=EOS) == []
    assert greedy(recurrent(0), batch, bos=BOS, eos=EOS) == []


def test_results_carry_no_gradient_and_leave_the_mode_alone(recurrent, make_batch):
    assert torch.is_grad_enabled()
    batch = make_batch([[1, 2]])
    assert not score_targets(
        recurrent(0), batch, torch.tensor([[2]]), torch.tensor([[True]]), bos=BOS
    ).requires_grad
    beam(recurrent(0), batch, bos=BOS, eos=EOS)
    assert torch.is_grad_enabled()
    assert not torch.is_inference_mode_enabled()


class OneUse:
    """Records every state, so that a test can check that a search uses each only once."""

    def __init__(self, inner):
        self.inner = inner
        self.states = []

    def start(self, batch, prefix=None):
        state = self.inner.start(batch, prefix)
        self.states.append(state)
        return state

    def step(self, tokens, state):
        logits, after = self.inner.step(tokens, state)
        with pytest.raises(RuntimeError, match="consumed"):
            state.cache  # noqa: B018
        self.states.append(after)
        return logits, after


def test_each_state_is_used_once(recurrent, make_batch):
    for search in (beam, greedy):
        model = OneUse(recurrent(1))
        search(model, make_batch(SOURCES), bos=BOS, eos=EOS, config=SearchConfig(max_length=6))
        assert len({id(state) for state in model.states}) == len(model.states) > 3
        for state in model.states[:-1]:
            with pytest.raises(RuntimeError, match="consumed"):
                state.memory  # noqa: B018

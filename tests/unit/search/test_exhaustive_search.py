"""The true argmax: worked by hand, against enumeration and wide beams, and when the budget ends."""

import itertools
import math

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from worked_table import PIE

from headway.models import FAMILIES, VocabularySizes
from headway.search import Hypothesis, SearchConfig, beam, exhaustive_search
from headway.search.exhaustive_search import ExhaustiveResult, exhaustive
from headway.teaching.table_model import TableModel

BOS, EOS = 0, 1
MARKS = {"bos": BOS, "eos": EOS}
ALPHAS = [0.0, 0.6, 1.0, -0.5]


def searching(max_nodes=100_000, alpha=1.0, **lengths):
    return SearchConfig(method="exhaustive", alpha=alpha, max_nodes=max_nodes, **lengths)


def search_table(table, alpha=0.0, limit=10, max_nodes=100_000):
    model = TableModel(table)
    [result] = exhaustive(
        model,
        {"rows": torch.zeros(1)},
        **MARKS,
        config=searching(max_nodes, alpha),
        limits=torch.tensor([limit]),
        normalise=False,
    )
    return model.decode(result.best.tokens), result


@pytest.fixture
def narrow(monkeypatch):
    """Begins from a beam of one, so that the search itself has to find the argmax."""
    monkeypatch.setattr(exhaustive_search, "FIRST_BEAM", 1)


@pytest.mark.usefixtures("narrow")
def test_the_argmax_that_a_beam_of_two_prunes():
    text, result = search_table(PIE, alpha=0.0)
    assert text == "i was hit"
    assert result.proven
    assert result.best.finished
    assert result.best.log_prob == result.best.score == result.bound == pytest.approx(-3.0)
    assert result.best.token_log_probs == pytest.approx([-0.9, -0.7, -1.3, -0.1])


@pytest.mark.usefixtures("narrow")
def test_normalised_by_length_the_long_sentence_is_the_argmax():
    text, result = search_table(PIE, alpha=1.0)
    assert text == "he hit me with a pie"
    assert result.proven
    assert result.best.log_prob == pytest.approx(-4.3)
    assert result.best.score == result.bound == pytest.approx(-4.3 / 7)


def test_only_nodes_that_can_win_are_expanded():
    """Without normalisation a node has to lie above -3.0, the score of "i was hit"."""
    _, result = search_table(PIE, alpha=0.0)
    above = ["", "he", "i", "he hit", "i was", "i got", "he hit me", "he hit a", "i was hit"]
    assert result.n_nodes == len([*above, "he struck"])
    _, normalised = search_table(PIE, alpha=1.0)
    assert normalised.n_nodes > result.n_nodes  # a bound over ten tokens says less


@pytest.mark.parametrize(
    ("limit", "text"), [(5, "he hit a pie"), (6, "he hit a pie"), (7, "he hit me with a pie")]
)
def test_the_argmax_within_the_limit(limit, text):
    """END counted, "he hit me with a pie" has seven tokens."""
    best, result = search_table(PIE, alpha=1.0, limit=limit)
    assert (best, result.proven) == (text, True)


@pytest.mark.usefixtures("narrow")
def test_with_a_negative_alpha_the_bound_is_that_of_the_next_step():
    """Over the hundred tokens allowed "b" would come to -6 and be dropped, with the argmax."""
    table = {"": {"a": -0.5, "b": -0.6}, "a": {"END": -2.0}, "b": {"END": -0.3}}
    text, result = search_table(table, alpha=-0.5, limit=100)
    assert (text, result.proven) == ("b", True)
    assert result.best.score == pytest.approx(-0.9 * 2**0.5)


def enumerate_markov(model, source, limit, alpha):
    """The best finished output of a Markov model within the limit, if there is any."""
    table = model.logits[source].log_softmax(dim=-1).tolist()
    others = [v for v in range(len(table)) if v != EOS]
    outputs = []
    for n in range(limit):
        for tokens in itertools.product(others, repeat=n):
            steps = [table[a][b] for a, b in itertools.pairwise([BOS, *tokens, EOS])]
            if all(step > -math.inf for step in steps):
                outputs.append((sum(steps) / (n + 1) ** alpha, list(tokens), steps))
    return max(outputs, default=None)


@pytest.mark.usefixtures("narrow")
@pytest.mark.parametrize("alpha", ALPHAS)
@given(st.integers(0, 10_000))
@settings(max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_it_is_the_best_of_all_outputs(markov, make_batch, alpha, seed):
    model, limit = markov(seed, n_vocab=5, impossible=0.3), 5
    sources = [[0], [1], [2]]
    config = searching(alpha=alpha, max_length=limit)
    results = exhaustive(model, make_batch(sources), **MARKS, config=config)
    for [source], result in zip(sources, results, strict=True):
        best = enumerate_markov(model, source, limit, alpha)
        if best is None:
            assert not result.proven
            assert not result.best.finished
            assert result.bound == -math.inf
            continue
        score, tokens, steps = best
        assert result.proven
        assert result.best.score == result.bound == pytest.approx(score, abs=1e-5)
        if result.best.tokens != tokens:  # a tie
            continue
        assert result.best.token_log_probs == pytest.approx(steps, abs=1e-5)
        assert result.best.log_prob == pytest.approx(sum(steps), abs=1e-5)


class Odd:
    """A model that ends only after 3 and 5, or nothing but the empty output would win."""

    def __init__(self, model):
        self.model, self.start = model, model.start

    def step(self, tokens, state):
        logits, state = self.model.step(tokens, state)
        logits = 3 * logits
        may_end = torch.isin(tokens[..., -1], torch.tensor([3, 5]))
        logits[..., EOS].masked_fill_(~may_end, -torch.inf)
        return logits, state


def family_model(family, vocabulary, seed):
    made, sizes = FAMILIES[family], VocabularySizes(vocabulary, vocabulary, shared=True)
    small = {"d_model": 16, "dropout": 0.0}
    if family == "transformer":
        small |= {"d_ff": 24, "n_heads": 2, "encoder_layers": 1, "decoder_layers": 2}
    torch.manual_seed(seed)
    model = made.build(made.config(**small).resolve(100, sizes), sizes).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.2 * torch.randn_like(parameter))
    return Odd(model.requires_grad_(False))


SOURCES = [[2, 5, 3], [3], [4, 2, 4, 3, 5], [5, 4], [2, 2, 2, 2]]


@pytest.mark.parametrize("family", ["transformer", "recurrent"])
@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.usefixtures("narrow")
def test_a_beam_as_wide_as_the_space_is_exhaustive(make_batch, family, alpha):
    limit, outputs = 4, set()
    for seed in range(2):
        model, batch = family_model(family, 6, seed), make_batch(SOURCES)
        wide = SearchConfig(beam=6**3, alpha=alpha, max_length=limit, stop="safe")
        beams = beam(model, batch, **MARKS, config=wide)
        config = searching(alpha=alpha, max_length=limit)
        for [widest], result in zip(
            beams, exhaustive(model, batch, **MARKS, config=config), strict=True
        ):
            assert result.proven
            assert result.best.score == pytest.approx(widest.score, abs=1e-5)
            if result.best.tokens == widest.tokens:
                expected = pytest.approx(widest.token_log_probs, abs=1e-5)
                assert result.best.token_log_probs == expected
            outputs.add(tuple(result.best.tokens))
    assert alpha <= 0 or len(outputs) > 2  # short ones win below


@pytest.mark.parametrize("family", ["transformer", "recurrent"])
@pytest.mark.parametrize("max_nodes", [3, 50, 100_000])
def test_a_batch_is_searched_as_its_sentences_are(make_batch, family, max_nodes):
    model, config = family_model(family, 8, 5), searching(max_nodes, alpha=0.5, max_length=5)
    together = exhaustive(model, make_batch(SOURCES), **MARKS, config=config)
    for source, result in zip(SOURCES, together, strict=True):
        [alone] = exhaustive(model, make_batch([source]), **MARKS, config=config)
        assert result.proven == alone.proven
        assert abs(result.n_nodes - alone.n_nodes) <= result.n_nodes // 50  # rounding turns ties
        assert result.bound == pytest.approx(alone.bound, abs=1e-5)
        assert result.best.score == pytest.approx(alone.best.score, abs=1e-5)


@pytest.mark.parametrize(
    ("taken", "row", "stepped", "limit"), [(1, 1, 1, 1), (3, 2, 2, 10), (8, 8, 64, 1 << 20)]
)
def test_how_nodes_are_put_together_changes_nothing(
    monkeypatch, make_batch, taken, row, stepped, limit
):
    model, batch = family_model("recurrent", 6, 1), make_batch(SOURCES[:3])
    config = searching(alpha=1.0, max_length=4)
    usual = exhaustive(model, batch, **MARKS, config=config)
    sizes = {"TAKEN": taken, "ROW": row, "STEPPED": stepped, "MAX_WAITING": limit}
    for name, value in sizes.items():
        monkeypatch.setattr(exhaustive_search, name, value)
    for result, other in zip(exhaustive(model, batch, **MARKS, config=config), usual, strict=True):
        assert result.proven
        assert other.proven
        assert result.best.score == pytest.approx(other.best.score, abs=1e-5)


class TestBudget:
    """What is returned when the nodes are used up."""

    def test_one_node_returns_the_result_of_the_beam(self):
        text, result = search_table(PIE, alpha=0.0, max_nodes=1)
        assert text == "i was hit"  # a beam of eight finds it, and cannot prove it
        assert not result.proven
        assert result.n_nodes == 1
        assert result.bound == pytest.approx(-0.7)  # of "he", which was not expanded

    @pytest.mark.usefixtures("narrow")
    def test_the_bound_closes_in(self):
        results = [search_table(PIE, alpha=0.0, max_nodes=n)[1] for n in range(1, 12)]
        bounds = [result.bound for result in results]
        assert bounds == sorted(bounds, reverse=True)
        assert [result.n_nodes for result in results[:-2]] == list(range(1, 10))
        for result in results:
            assert result.bound >= -3.0 - 1e-6
            assert result.proven == (result.bound <= result.best.score + 1e-6)
        assert not results[0].proven
        assert results[-1].proven

    @given(seed=st.integers(0, 10_000), max_nodes=st.integers(1, 30))
    @settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
    def test_the_argmax_is_between_best_and_bound(self, markov, make_batch, seed, max_nodes):
        model, limit = markov(seed, n_vocab=5, impossible=0.1), 5
        for alpha in ALPHAS:
            config = searching(max_nodes, alpha=alpha, max_length=limit)
            [result] = exhaustive(model, make_batch([[1]]), **MARKS, config=config)
            assert result.n_nodes <= max_nodes
            best = enumerate_markov(model, 1, limit, alpha)
            if best is None:
                continue
            assert best[0] <= result.bound + 1e-5
            if result.best.finished:
                assert result.best.score <= best[0] + 1e-5
            if result.proven:
                assert result.best.score == pytest.approx(best[0], abs=1e-5)


class TestEdges:
    def test_no_sentences(self, markov):
        batch = {"src": torch.zeros(0, 3, dtype=torch.long), "src_valid": torch.ones(0, 3).bool()}
        assert exhaustive(markov(0), batch, **MARKS) == []

    def test_a_limit_of_one_leaves_the_empty_output(self):
        table = {"": {"a": -0.5, "END": -1.0}, "a": {"END": 0.0}}
        assert search_table(table, limit=1)[1] == ExhaustiveResult(
            Hypothesis([], -1.0, -1.0, [-1.0], True), True, 1, -1.0
        )
        text, result = search_table(table, limit=2)
        assert (text, result.proven) == ("a", True)

    def test_nothing_ends(self):
        _, result = search_table({"": {"a": -1.0}, "a": {"b": -1.0}})
        assert not result.best.finished
        assert not result.proven
        assert result.bound == -math.inf

    def test_a_certain_output_is_proven_at_once(self):
        _, result = search_table({"": {"a": 0.0}, "a": {"END": 0.0}})
        assert result == ExhaustiveResult(
            Hypothesis([2], 0.0, 0.0, [0.0, 0.0], True), True, n_nodes=0, bound=0.0
        )

    def test_limits_differ_within_a_batch(self):
        """Only at four tokens the good ending is in reach."""
        model = TableModel(
            {
                "": {"a": -0.1, "END": -2.0},
                "a": {"a": -0.1},
                "a a": {"a": -0.1},
                "a a a": {"END": 0.0},
            }
        )
        limits = torch.tensor([4, 1, 3])
        results = exhaustive(
            model,
            {"rows": torch.zeros(3)},
            **MARKS,
            config=searching(alpha=0.0),
            limits=limits,
            normalise=False,
        )
        assert [len(result.best.tokens) for result in results] == [3, 0, 0]
        assert all(result.proven for result in results)
        assert limits.tolist() == [4, 1, 3]

"""Greedy search and sampling: what is drawn, how often, what is reported, and the edges."""

import math
from collections import Counter

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from headway.errors import RunError
from headway.search import (
    Hypothesis,
    SearchConfig,
    beam,
    greedy,
    make_logits_rules,
    sample,
    score_targets,
    stream,
)
from headway.search.greedy_search import _draw, _truncate, _uniforms
from headway.teaching.table_model import TableModel

BOS, EOS = 0, 1
SOURCES = [[2, 5, 3], [3], [1, 2, 4, 3, 5], [0, 1], [2, 2, 2, 2], [3, 4], [1, 1, 1]]
ONE = {"rows": torch.zeros(1)}

# "" 0.2, "a" 0.3, "a b" 0.2, "b" 0.3
CHANCES = {
    "": {"a": math.log(0.5), "b": math.log(0.3), "END": math.log(0.2)},
    "a": {"b": math.log(0.4), "END": math.log(0.6)},
    "b": {"END": 0.0},
    "a b": {"END": 0.0},
}


def settings(**changes):
    return SearchConfig(method="sample", **changes)


@pytest.mark.parametrize("change", [{"temperature": 1e-5}, {"top_k": 1}, {"top_p": 1e-9}])
def test_a_sample_of_the_likeliest_tokens_is_greedy(recurrent, markov, make_batch, same, change):
    batch = make_batch(SOURCES)
    config = settings(n_best=3, max_length=12, **change)
    for model in [*map(recurrent, range(4)), *map(markov, range(4))]:
        drawn = sample(model, batch, bos=BOS, eos=EOS, config=config)
        likeliest = greedy(model, batch, bos=BOS, eos=EOS, config=config)
        for hyps, best in zip(drawn, likeliest, strict=True):
            same(hyps, [best] * 3)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({}, {"": 0.2, "a": 0.3, "a b": 0.2, "b": 0.3}),
        # Squares: 25, 9 and 4 of 38; then 36 and 16 of 52.
        (
            {"temperature": 0.5},
            {"": 4 / 38, "a": 25 / 38 * 36 / 52, "a b": 25 / 38 * 16 / 52, "b": 9 / 38},
        ),
        ({"top_k": 2}, {"a": 0.5 / 0.8 * 0.6, "a b": 0.5 / 0.8 * 0.4, "b": 0.3 / 0.8}),
        # 0.5 does not reach 0.55, with 0.3 it does; after "a" 0.6 is enough.
        ({"top_p": 0.55}, {"a": 0.5 / 0.8, "b": 0.3 / 0.8}),
        # Of "a" and "b", which top_k leaves, "a" has 0.625.
        ({"top_k": 2, "top_p": 0.6}, {"a": 1.0}),
    ],
)
def test_outputs_are_drawn_as_often_as_they_are_likely(change, expected):
    n = 4000
    model = TableModel(CHANCES)
    config = settings(n_best=n, seed=3, **change)
    [hyps] = sample(model, ONE, bos=0, eos=1, config=config, limits=torch.tensor([4]))
    counts = Counter(model.decode(hyp.tokens) for hyp in hyps)
    assert set(counts) == set(expected)
    chi_square = sum((counts[text] - n * p) ** 2 / (n * p) for text, p in expected.items())
    assert chi_square < 16.27  # 1 in 1,000 with three degrees of freedom, less with fewer


def test_reported_probabilities_are_the_models_own(recurrent, make_batch):
    batch = make_batch(SOURCES)
    config = settings(n_best=3, alpha=0.8, max_length=12, temperature=2.5, top_k=7, top_p=0.9)
    for seed in range(4):
        model = recurrent(seed)
        results = sample(model, batch, bos=BOS, eos=EOS, config=config)
        for rank in range(3):
            chosen = [hyps[rank] for hyps in results]
            rows = [hyp.tokens + [EOS] * hyp.finished for hyp in chosen]
            width = max(map(len, rows))
            targets = torch.tensor([row + [-1] * (width - len(row)) for row in rows])
            scores = score_targets(model, batch, targets, targets >= 0, bos=BOS)
            for hyp, row, steps in zip(chosen, rows, scores.tolist(), strict=True):
                assert hyp.token_log_probs == pytest.approx(steps[: len(row)], abs=1e-5)
                assert hyp.log_prob == pytest.approx(sum(steps), abs=1e-4)
                assert hyp.score == pytest.approx(sum(steps) / len(row) ** 0.8, abs=1e-4)


def test_samples_come_in_order_of_score(recurrent, make_batch):
    config = settings(n_best=8, max_length=12, temperature=2.0)
    for hyps in sample(recurrent(2), make_batch(SOURCES), bos=BOS, eos=EOS, config=config):
        scores = [hyp.score for hyp in hyps]
        assert len(scores) == 8
        assert scores == sorted(scores, reverse=True)
        assert len(set(scores)) > 1


def draw_all(model, make_batch, config, ids):
    batch = make_batch([SOURCES[i] for i in ids])
    return sample(model, batch, bos=BOS, eos=EOS, config=config, ids=ids)


def test_a_batch_draws_what_singles_draw(recurrent, make_batch, same):
    model, config = recurrent(5), settings(n_best=4, max_length=15)
    together = draw_all(model, make_batch, config, range(len(SOURCES)))
    backwards = draw_all(model, make_batch, config, range(len(SOURCES) - 1, -1, -1))
    for i, hyps in enumerate(together):
        [alone] = draw_all(model, make_batch, config, [i])
        same(hyps, alone)
        same(hyps, backwards[-1 - i])


def test_draws_depend_on_the_seed_and_on_the_sentence(recurrent, make_batch):
    model = recurrent(5)
    batch = make_batch([[2, 3], [2, 3]])

    def texts(ids=None, **change):
        config = settings(n_best=4, max_length=15, **change)
        hyps = sample(model, batch, bos=BOS, eos=EOS, config=config, ids=ids)
        return [[hyp.tokens for hyp in sentence] for sentence in hyps]

    assert texts(seed=7) == texts(seed=7)
    assert texts(seed=7) != texts(seed=8)
    first, second = texts()
    assert first != second
    assert texts(ids=[1, 0]) == [second, first]
    assert texts(ids=[0, 1]) == [first, second]


def test_a_number_depends_on_seed_sentence_sample_and_step_alone():
    many = _uniforms(4, [9, 2**40], 3, torch.tensor([6, 2]))
    assert many.shape == (2, 3, 6)
    assert torch.equal(_uniforms(4, [2**40], 2, torch.tensor([3])), many[1:, :2, :3])
    assert len(set(many.flatten().tolist())) == many.numel()
    assert not set(_uniforms(5, [9], 3, torch.tensor([6])).flatten().tolist()) & set(
        many.flatten().tolist()
    )
    # Large seeds with small sentence ids differ from small seeds with other ids.
    assert not torch.equal(
        _uniforms(2**32, [0], 1, torch.tensor([1])), _uniforms(0, [1], 1, torch.tensor([1]))
    )


def test_truncating_by_hand():
    weights = torch.tensor([0.1, 0.4, 0.2, 0.3], dtype=torch.float64)

    def left(top_k, top_p):
        return _truncate(weights, top_k, top_p).nonzero().squeeze(1).tolist()

    assert left(0, 1.0) == left(4, 1.0) == left(99, 1.0) == [0, 1, 2, 3]
    assert left(2, 1.0) == [1, 3]
    assert left(0, 0.01) == left(0, 0.39) == [1]
    assert left(0, 0.41) == left(0, 0.69) == [1, 3]
    assert left(0, 0.71) == [1, 2, 3]
    assert left(0, 0.95) == [0, 1, 2, 3]
    assert left(2, 0.55) == [1]  # 0.4 of 0.7
    assert left(3, 0.8) == [1, 2, 3]  # 0.7 of 0.9 does not reach 0.8
    kept = _truncate(torch.ones(1, 2, 5), 2, 1.0)
    assert kept.sum(dim=2).tolist() == [[2.0, 2.0]]  # also among equals


@given(
    st.lists(st.integers(0, 50), min_size=1, max_size=9).filter(any),
    st.integers(0, 10),
    st.floats(0.01, 1.0),
)
def test_the_nucleus_is_the_smallest_set_that_reaches_its_share(counts, top_k, top_p):
    weights = torch.tensor(counts, dtype=torch.float64)
    kept = _truncate(weights, top_k, top_p)
    inside = [count for count, weight in zip(counts, kept.tolist(), strict=True) if weight]
    best = sorted(counts, reverse=True)[: top_k or None]
    assert sorted(inside, reverse=True) == best[: len(inside)]
    assert sum(inside) >= top_p * sum(best) - 1e-9
    assert sum(inside) - min(inside) < top_p * sum(best) + 1e-9


def test_a_draw_passes_the_uniform_number():
    logits = torch.tensor([[[-torch.inf, 0.5, -torch.inf, 0.25, 0.25, -torch.inf]]])
    logits[logits > 0] = logits[logits > 0].log()
    for uniform, token in [(0.0, 1), (0.4999, 1), (0.5001, 3), (0.7501, 4), (1.0, 4)]:
        uniforms = torch.tensor([[uniform]], dtype=torch.float64)
        assert _draw(logits, uniforms, settings()).tolist() == [[token]]


def test_an_extreme_temperature_gives_no_nan():
    logits = torch.tensor([[[3.0, -torch.inf, 2.0, 1.0]]])
    uniforms = torch.tensor([[0.999]], dtype=torch.float64)
    assert _draw(logits, uniforms, settings(temperature=1e-300)).tolist() == [[0]]
    assert _draw(logits, uniforms, settings(temperature=1e300)).tolist() == [[3]]


def test_a_length_limit_of_one():
    model = TableModel(CHANCES)
    config = settings(n_best=20)
    [hyps] = sample(model, ONE, bos=0, eos=1, config=config, limits=torch.tensor([1]))
    a, b = model.encode("a b")
    expected = {0.5: ([a], False), 0.3: ([b], False), 0.2: ([], True)}
    for hyp in hyps:
        p = round(math.exp(hyp.log_prob), 5)
        assert (hyp.tokens, hyp.finished) == expected[p]
        assert hyp.score == hyp.log_prob == hyp.token_log_probs[0]
    assert {tuple(hyp.tokens) for hyp in hyps} == {(a,), (b,), ()}


def test_limits_differ_within_a_batch():
    model = TableModel({("a",) * n: {"a": -0.5} for n in range(6)})
    limits = torch.tensor([4, 1, 2])
    config = settings(n_best=2)
    hyps = sample(model, {"rows": torch.zeros(3)}, bos=0, eos=1, config=config, limits=limits)
    assert [[len(hyp.tokens) for hyp in two] for two in hyps] == [[4, 4], [1, 1], [2, 2]]
    assert not any(hyp.finished for two in hyps for hyp in two)
    assert limits.tolist() == [4, 1, 2]


def test_one_sample_ends_and_another_continues():
    """After "b" nothing can follow, after "a" one word and END."""
    table = {"": {"a": -0.7, "b": -0.7}, "a": {"c": -1.0}, "a c": {"END": -1.0}}
    model, config = TableModel(table), settings(n_best=12)
    [hyps] = sample(
        model, ONE, bos=0, eos=1, config=config, limits=torch.tensor([9]), normalise=False
    )
    for hyp in hyps:
        words, steps = ("a c", [-0.7, -1.0, -1.0]) if hyp.finished else ("b", [-0.7])
        assert model.decode(hyp.tokens) == words
        assert hyp.token_log_probs == pytest.approx(steps)
        assert hyp.score == pytest.approx(sum(steps) / len(steps))
    assert {hyp.finished for hyp in hyps} == {True, False}


def test_a_model_that_allows_nothing():
    model = TableModel({"a": {"END": 0.0}})
    limits, config = torch.tensor([5, 5]), settings(n_best=2, top_p=0.5)
    batch = {"rows": torch.zeros(2)}
    empty = Hypothesis([], 0.0, 0.0, [], False)
    hyps = sample(model, batch, bos=0, eos=1, config=config, limits=limits)
    assert hyps == [[empty, empty], [empty, empty]]


def test_no_sentences(recurrent):
    batch = {"src": torch.zeros(0, 3, dtype=torch.long), "src_valid": torch.ones(0, 3).bool()}
    assert sample(recurrent(0), batch, bos=BOS, eos=EOS) == []


def test_sentences_leave_when_all_their_samples_are_done(recurrent, make_batch):
    model = recurrent(3)
    sizes = []
    step = model.step
    model.step = lambda tokens, state: sizes.append(tuple(tokens.shape)) or step(tokens, state)
    config = settings(n_best=2, max_length=40, max_ratio=3.0, max_extra=1)
    hyps = sample(model, make_batch(SOURCES), bos=BOS, eos=EOS, config=config)
    longest = [max(len(hyp.token_log_probs) for hyp in two) for two in hyps]
    assert len(set(longest)) > 2
    # With seven sentences each is more than the share from which on sentences leave.
    expected = [(sum(n > t for n in longest), 2, 1) for t in range(max(longest))]
    assert sizes == [(len(SOURCES), 1, 1), *expected[1:]]  # the first step is one for both


def test_nan_is_refused(markov, make_batch):
    model = markov(0)
    model.logits[:] = torch.nan
    for search in (greedy, sample):
        with pytest.raises(RunError, match=r"the model's output is not a number"):
            search(model, make_batch([[1]]), bos=BOS, eos=EOS)


# Prefixes, and streaming


@pytest.mark.parametrize("search", [greedy, sample, beam])
def test_a_prefix_is_continued_and_omitted(search):
    """After "a" follow "b" with 0.4 and END with 0.6; outputs omit "a" itself."""
    drawn = settings(n_best=4000, seed=2, alpha=0.0)
    config = drawn if search is sample else SearchConfig(alpha=0.0)
    common = {"bos": 0, "eos": 1, "config": config, "limits": torch.tensor([4])}
    model = TableModel(CHANCES)
    [hyps] = search(model, ONE, **common, prefix=torch.tensor([[model.encode("a")[0]]]))
    best = hyps[0] if isinstance(hyps, list) else hyps
    assert (best.tokens, best.finished) == ([], True)
    assert best.log_prob == best.score == pytest.approx(math.log(0.6))
    assert best.token_log_probs == pytest.approx([math.log(0.6)])
    if search is sample:
        share = sum(hyp.tokens == model.encode("b") for hyp in hyps) / 4000
        assert share == pytest.approx(0.4, abs=0.03)


@pytest.mark.parametrize("method", ["sample", "beam"])
def test_a_stream_yields_the_tokens_of_a_search(recurrent, make_batch, method):
    config = SearchConfig(method=method, beam=1, max_length=15)
    for seed in range(6):
        model, batch = recurrent(seed), make_batch([SOURCES[2]])
        common = {"bos": BOS, "eos": EOS, "config": config, "limits": torch.tensor([15])}
        if method == "sample":
            [[expected]] = sample(model, batch, **common, ids=[7])
        else:
            [expected] = greedy(model, batch, **common)
        growing = stream(model, batch, **common, ids=[7])
        tokens = [next(growing) for _ in expected.tokens]
        assert tokens == expected.tokens
        with pytest.raises(StopIteration) as end:
            next(growing)
        assert end.value.value == expected


def test_a_stream_that_is_stuck_ends():
    model = TableModel({"": {"a": 0.0}})
    growing = stream(model, ONE, bos=0, eos=1, limits=torch.tensor([5]))
    assert list(growing) == model.encode("a")


def test_n_grams_of_the_prefix_are_not_repeated():
    """Of "a b a" the next is "b" again, unless no two tokens may repeat: then the end."""
    again = {"b": math.log(0.9), "END": math.log(0.1)}
    model = TableModel({"": {"a": 0.0}, "a": {"b": 0.0}, "a b": {"a": 0.0}, "a b a": again})
    prefix, limits = torch.tensor([model.encode("a b a")]), torch.tensor([1])
    outputs = []
    for no_repeat in (0, 2):
        config = SearchConfig(beam=1, no_repeat=no_repeat)
        rules = make_logits_rules(ONE, config, eos=1, limits=limits, before=prefix)
        common = {"bos": 0, "eos": 1, "config": config, "limits": limits, "rules": rules}
        [best] = greedy(model, ONE, **common, prefix=prefix)
        outputs.append((model.decode(best.tokens), best.log_prob))
    assert outputs == [
        ("b", pytest.approx(math.log(0.9))),
        ("", pytest.approx(math.log(0.1))),
    ]

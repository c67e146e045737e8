"""Forbidden tokens: minimum length, repeated n-grams, required prefixes."""

import itertools

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headway.search import (
    LogitsRules,
    Prefix,
    SearchConfig,
    TokenBytes,
    beam,
    greedy,
    make_logits_rules,
    sample,
    score_targets,
)
from headway.search.logits_rules import MinimumLengthRule, NoRepeatRule, PrefixRule
from headway.teaching.table_model import TableModel

BOS, EOS = 0, 1
INF = torch.inf
SOURCES = [[2, 5, 3], [3], [1, 2, 4, 3, 5], [0, 1]]
few = settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
seeds = st.integers(0, 10_000)


def banned(rules, past, rows, n_vocab=8):
    """The tokens forbidden to each hypothesis (B, N) -> lists."""
    past = torch.tensor(past)
    logits = torch.randn(*past.shape[:2], n_vocab)
    before = logits.clone()
    rules.apply(logits, past, torch.tensor(rows))
    is_banned = logits == -INF
    assert torch.equal(logits[~is_banned], before[~is_banned])
    return [[row.nonzero().squeeze(1).tolist() for row in rows] for rows in is_banned]


def check_forced(model, batch, hyps):
    """Scores are the model's own, whatever was forbidden."""
    rows = [hyp.tokens + [EOS] * hyp.finished for hyp in hyps]
    width = max(map(len, rows))
    targets = torch.tensor([row + [-1] * (width - len(row)) for row in rows])
    scores = score_targets(model, batch, targets, targets >= 0, bos=BOS).tolist()
    for hyp, row, steps in zip(hyps, rows, scores, strict=True):
        assert hyp.token_log_probs == pytest.approx(steps[: len(row)], abs=1e-4)


# Minimum length


def test_no_end_before_the_minimum():
    rules = LogitsRules([MinimumLengthRule(torch.tensor([0, 1, 2, 3]), EOS)])
    first = [[[]], [[]], [[EOS]], [[EOS]]]  # END now would make |y| = 1
    assert banned(rules, [[[]], [[]], [[]], [[]]], [0, 1, 2, 3]) == first
    assert banned(rules, [[[5]], [[5]]], [2, 3]) == [[[]], [[EOS]]]
    assert banned(rules, [[[5, 5], [6, 6]]], [3]) == [[[], []]]


def test_the_likeliest_output_that_is_long_enough():
    table = {
        "": {"END": -0.1, "a": -2.0},
        "a": {"END": -0.1, "b": -4.0, "a": -3.0},
        "a a": {"END": -0.5, "a": -1.0},
    }
    model = TableModel(table)
    config = SearchConfig(min_length=3)
    [hyp] = greedy(
        model,
        {"rows": torch.zeros(1)},
        bos=0,
        eos=1,
        config=config,
        limits=torch.tensor([9]),
        normalise=False,
    )
    assert model.decode(hyp.tokens) == "a a"
    assert hyp.token_log_probs == pytest.approx([-2.0, -3.0, -0.5])
    assert hyp.finished


@few
@given(seeds, st.integers(0, 6), st.sampled_from([0.0, 0.5, 1.3]))
def test_outputs_have_the_minimum_length(markov, make_batch, seed, min_length, min_ratio):
    model, batch = markov(seed), make_batch(SOURCES)
    config = SearchConfig(
        method="sample", n_best=5, min_length=min_length, min_ratio=min_ratio, max_length=5
    )
    drawn = sample(model, batch, bos=BOS, eos=EOS, config=config)
    for source, hyps in zip(SOURCES, drawn, strict=True):
        shortest = min(max(min_length, min_ratio * len(source)), 5)
        assert all(len(hyp.token_log_probs) >= shortest for hyp in hyps if hyp.finished)
    check_forced(model, batch, [hyps[0] for hyps in drawn])


# No n-gram twice


@pytest.mark.parametrize(
    ("n", "past", "expected"),
    [
        (1, [], []),
        (1, [5, 2, 5], [2, 5]),
        (2, [5], []),
        (2, [5, 5], [5]),
        (2, [5, 2, 5], [2]),
        (2, [5, 2, 5, 3, 5], [2, 3]),
        (2, [5, 3, 2, 3, 5], [3]),  # 3 ends another n-gram too, before and after
        (2, [2, 3, 5, 3, 2, 3, 2], [3]),
        (3, [5, 2, 3, 5, 2], [3]),
        (3, [5, 2, 3, 2, 5, 2], [3]),
        (3, [5, 2, 3, 4, 2], []),
        (4, [5, 2, 3], []),
    ],
)
def test_repeats_by_hand(n, past, expected):
    assert banned(LogitsRules([NoRepeatRule(n)]), [[past]], [0]) == [[expected]]


@given(
    st.integers(1, 4),
    st.integers(0, 9).flatmap(
        lambda n: st.lists(
            st.lists(st.integers(0, 3), min_size=n, max_size=n), min_size=6, max_size=6
        )
    ),
)
def test_repeats_equal_a_check_of_each_token(n, pasts):
    expected = []
    for past in pasts:
        grams = {tuple(past[i : i + n]) for i in range(len(past) - n + 1)}
        tail = past[len(past) - n + 1 :] if n > 1 else []
        is_long = len(past) >= n
        expected.append([v for v in range(4) if is_long and (*tail, v) in grams])
    rules = LogitsRules([NoRepeatRule(n)])
    forbidden = banned(rules, [pasts[:3], pasts[3:]], [0, 1], n_vocab=4)
    assert forbidden == [expected[:3], expected[3:]]


@few
@given(seeds, st.integers(1, 3))
def test_no_output_repeats_itself(markov, make_batch, seed, n):
    model, batch = markov(seed, n_vocab=5, impossible=0.0), make_batch(SOURCES)
    model.logits[..., EOS] -= 3.0  # long enough to come round again
    lengths = {"max_length": 12, "max_extra": 12}
    config = SearchConfig(method="sample", n_best=4, no_repeat=n, **lengths)
    drawn = sample(model, batch, bos=BOS, eos=EOS, config=config)
    likeliest = greedy(model, batch, bos=BOS, eos=EOS, config=config)
    for hyp in [*itertools.chain(*drawn), *likeliest]:
        grams = [tuple(hyp.tokens[i : i + n]) for i in range(len(hyp.tokens) - n + 1)]
        assert len(set(grams)) == len(grams)
    check_forced(model, batch, likeliest)
    check_forced(model, batch, [hyps[-1] for hyps in drawn])


def test_nothing_left_to_say():
    """Two words that may come once each, and no END: the hypothesis stops unfinished."""
    words = ("a", "b")
    table = {
        prefix: {"a": -0.5, "b": -1.0}
        for n in range(5)
        for prefix in itertools.product(words, repeat=n)
    }
    model = TableModel(table)
    config, limits = SearchConfig(no_repeat=1), torch.tensor([5])
    [hyp] = greedy(
        model, {"rows": torch.zeros(1)}, bos=0, eos=1, config=config, limits=limits, normalise=False
    )
    assert model.decode(hyp.tokens) == "a b"
    assert not hyp.finished
    assert hyp.log_prob == pytest.approx(-1.5)


# Beginnings


def test_forced_tokens_then_anything():
    rules = LogitsRules([PrefixRule([Prefix([4, 5]), Prefix(), Prefix([6])])])

    def left(past, rows):
        return [
            [sorted(set(range(8)) - set(tokens)) for tokens in row]
            for row in banned(rules, past, rows)
        ]

    everything = list(range(8))
    assert left([[[]], [[]], [[]]], [0, 1, 2]) == [[[4]], [everything], [[6]]]
    assert left([[[4], [4]], [[6], [6]]], [0, 2]) == [[[5], [5]], [everything, everything]]
    assert left([[[4, 5]]], [0]) == [[everything]]


SPELLED = [b"", b"", b"ab", b"a", b"b", b"abc", b"c", b"ba", b"ab"]


def test_tokens_that_continue_a_text():
    spellings = TokenBytes(SPELLED)
    assert sorted(spellings.continuing(b"ab")) == [2, 3, 5, 8]
    assert sorted(spellings.continuing(b"a")) == [2, 3, 5, 8]
    assert sorted(spellings.continuing(b"abcabcabc")) == [2, 3, 5, 8]
    assert sorted(spellings.continuing(b"b")) == [4, 7]
    assert spellings.continuing(b"x") == []
    assert spellings.write([3, 0, 5]) == b"aabc"


@given(
    st.lists(st.binary(max_size=3).map(lambda b: bytes(x % 3 for x in b)), max_size=30),
    st.binary(min_size=1, max_size=6).map(lambda b: bytes(x % 3 for x in b)),
)
def test_continuing_equals_a_check_of_each_token(spelled, rest):
    def can_write(text):
        return any(fits(spelling, text) for spelling in spelled)

    def fits(spelling, text):
        if not spelling:
            return False
        is_part = len(spelling) < len(text) and text.startswith(spelling)
        return spelling.startswith(text) or (is_part and can_write(text[len(spelling) :]))

    expected = [token for token, spelling in enumerate(spelled) if fits(spelling, rest)]
    assert sorted(TokenBytes(spelled).continuing(rest)) == expected


def test_a_token_that_leads_to_a_dead_end_is_excluded():
    """After " Ein" no token could add the required e."""
    spellings = TokenBytes([b"", b" Ein", b" Eine", b" Einer"])
    assert spellings.continuing(b" Eine") == [2, 3]
    assert spellings.continuing(b" Einem") == []


def test_a_long_text_without_spaces():
    assert TokenBytes([b"ab", b"abab"]).continuing(b"ab" * 2000) == [0, 1]


def test_an_opening_has_any_tokenization():
    rules = LogitsRules([PrefixRule([Prefix([6], b"abc")], TokenBytes(SPELLED))])
    past = [[[6, 3], [6, 2], [6, 5], [6, 4], [6, 0]]]
    forbidden = banned(rules, past, [0], n_vocab=9)[0]
    left = [sorted(set(range(9)) - set(tokens)) for tokens in forbidden]
    # After a: b. After ab: c. After abc: anything. After b: nothing. After a control token: as
    # before it.
    assert left == [[4], [6], list(range(9)), [], [2, 3, 5, 8]]


@few
@given(seeds, st.text("abc", min_size=1, max_size=6), st.integers(0, 2))
def test_outputs_start_with_the_prefix(markov, make_batch, seed, opening, n_forced):
    model, batch = markov(seed, n_vocab=9, impossible=0.1), make_batch(SOURCES)
    config = SearchConfig(method="sample", n_best=5, max_length=12)
    spellings = TokenBytes(SPELLED)
    forced_tokens = [7, 7][:n_forced]
    prefixes = [Prefix(forced_tokens, opening.encode()), Prefix(), Prefix(forced_tokens), Prefix()]
    rules = make_logits_rules(
        batch, config, eos=EOS, prefixes=prefixes, spellings=lambda: spellings
    )
    drawn = sample(model, batch, bos=BOS, eos=EOS, config=config, rules=rules)
    likeliest = greedy(model, batch, bos=BOS, eos=EOS, config=config, rules=rules)
    plain = greedy(model, batch, bos=BOS, eos=EOS, config=config)
    assert [likeliest[1].tokens, likeliest[3].tokens] == [plain[1].tokens, plain[3].tokens]
    for hyp in [*drawn[0], likeliest[0]]:
        assert hyp.tokens[:n_forced] == forced_tokens[: len(hyp.tokens)]
        text = spellings.write(hyp.tokens[n_forced:])
        whole = opening.encode()
        assert text.startswith(whole) or (not hyp.finished and whole.startswith(text))
    for hyp in [*drawn[2], likeliest[2]]:
        assert hyp.tokens[:n_forced] == forced_tokens[: len(hyp.tokens)]
    check_forced(model, batch, likeliest)


def test_a_prefix_may_repeat_itself_and_counts_as_past():
    spellings = TokenBytes(SPELLED)
    beginnings = PrefixRule([Prefix([6, 6], b"aa"), Prefix()], spellings)
    rules = LogitsRules([beginnings, NoRepeatRule(1)])
    assert 6 not in banned(rules, [[[6]]], [0])[0][0]
    assert 3 not in banned(rules, [[[6, 6, 3]]], [0], n_vocab=9)[0][0]
    after, other = banned(rules, [[[6, 6, 3, 3]], [[2, 2, 2, 2]]], [0, 1], n_vocab=9)
    assert after == [[3, 6]]
    assert other == [[2]]
    assert banned(rules, [[[6, 3]]], [1], n_vocab=9) == [[[3, 6]]]


def test_a_vocabulary_without_a_continuation():
    """The opening wants "ax", no token writes x: nothing can follow, not even the a."""
    table = {"": {"a": -0.5, "END": -0.1}, "a": {"a": -0.5, "END": -0.1}}
    model = TableModel(table)
    rules = LogitsRules([PrefixRule([Prefix([], b"ax")], TokenBytes([b"", b"", b"a"]))])
    limits = torch.tensor([5])
    [hyp] = greedy(
        model, {"rows": torch.zeros(1)}, bos=0, eos=1, limits=limits, normalise=False, rules=rules
    )
    assert (model.decode(hyp.tokens), hyp.finished, hyp.log_prob) == ("", False, 0.0)


def test_an_opening_needs_spellings():
    with pytest.raises(ValueError, match=r"^a prefix has an opening, which needs the bytes of"):
        make_logits_rules({}, SearchConfig(), eos=EOS, prefixes=[Prefix([2], b"a")])


# All together


def test_no_rules_are_none():
    batch = {"src_valid": torch.ones(2, 3, dtype=torch.bool)}
    assert make_logits_rules(batch, SearchConfig(), eos=EOS) is None
    assert (
        make_logits_rules(batch, SearchConfig(min_length=1), eos=EOS, prefixes=[Prefix()] * 2)
        is None
    )
    for change in ({"min_length": 2}, {"min_ratio": 0.1}, {"no_repeat": 3}):
        assert make_logits_rules(batch, SearchConfig(**change), eos=EOS) is not None
    assert (
        make_logits_rules(batch, SearchConfig(), eos=EOS, prefixes=[Prefix(), Prefix([2])])
        is not None
    )


def test_the_minimum_of_rules_keeps_to_the_limits():
    batch = {"src_valid": torch.ones(2, 3, dtype=torch.bool)}
    rules = make_logits_rules(
        batch, SearchConfig(min_length=4), eos=EOS, limits=torch.tensor([2, 9])
    )
    assert banned(rules, [[[5]], [[5]]], [0, 1]) == [[[]], [[EOS]]]


@few
@given(seeds)
def test_a_beam_of_one_is_greedy_under_rules(recurrent, make_batch, same, seed):
    model, batch = recurrent(seed), make_batch(SOURCES)
    config = SearchConfig(beam=1, min_ratio=1.0, min_length=4, no_repeat=2, max_length=12)
    prefixes = [Prefix([4, 4]), Prefix(), Prefix([3], b"ab"), Prefix()]
    spellings = TokenBytes([*SPELLED, b"bb", b"bc", b"d"])
    rules = make_logits_rules(
        batch, config, eos=EOS, prefixes=prefixes, spellings=lambda: spellings
    )
    likeliest = greedy(model, batch, bos=BOS, eos=EOS, config=config, rules=rules)
    kept = beam(model, batch, bos=BOS, eos=EOS, config=config, rules=rules)
    for hyps, best in zip(kept, likeliest, strict=True):
        same(hyps, [best])

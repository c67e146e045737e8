"""Search with terms: no terms change nothing, required ones appear, forbidden ones never do."""

import itertools
import math
import re
from functools import partial

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headway.search import (
    Constraints,
    LogitsRules,
    SearchConfig,
    Term,
    beam,
    constrained,
    score_targets,
)
from headway.search.constrained_search import count_slots, share_evenly
from headway.search.logits_rules import MinimumLengthRule, NoRepeatRule
from headway.teaching.table_model import TableModel
from headway.text.word_matching import contains

BOS, EOS = 0, 1
SOURCES = [[2, 5, 3], [3], [1, 2, 4, 3, 5], [0, 1], [2, 2, 2, 2]]
# The text of each token of the toy models: some start a word, others continue one.
PIECES = ["", "", " a", " b", "b", "c", " ab", " c", ".", " d", "d", " e"]
NONE = Constraints()
few = settings(
    max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def write(tokens):
    return "".join(PIECES[token] for token in tokens).removeprefix(" ")


def token_sequences(text):
    """Every token sequence that writes " text"."""

    def ways(rest):
        if not rest:
            return [()]
        starts = [token for token, piece in enumerate(PIECES) if piece and rest.startswith(piece)]
        return [(token, *way) for token in starts for way in ways(rest[len(PIECES[token]) :])]

    return tuple(ways(f" {text}"))


def term(text, *ways):
    return Term(text, ways or token_sequences(text), partial(contains, term=text))


def has_word(text, word):
    return re.search(rf"(?<!\w){re.escape(word)}(?!\w)", text) is not None


def search(model, batch, constraints, **settings):
    rules, limits = settings.pop("rules", None), settings.pop("limits", None)
    config = SearchConfig(**settings)
    return constrained(
        model,
        batch,
        constraints,
        bos=BOS,
        eos=EOS,
        config=config,
        text=write,
        rules=rules,
        limits=limits,
    )


A, AB, ABC, D = term("a"), term("ab"), term("abc"), term("d")
PHRASE = term("ab d c")


def test_terms_have_several_token_sequences():
    assert token_sequences("ab") == ((2, 4), (6,))
    assert write([6, 5, 8]) == "abc."


@pytest.mark.parametrize("stop", ["finished", "safe"])
@pytest.mark.parametrize("k", [1, 3])
def test_without_terms_it_is_beam_search(markov, recurrent, make_batch, same, k, stop):
    batch = make_batch(SOURCES)
    none = [NONE] * len(SOURCES)
    for seed, alpha in itertools.product(range(4), (0.0, 1.0)):
        options = {"beam": k, "n_best": k, "alpha": alpha, "max_length": 9, "stop": stop}
        for model in (markov(seed), recurrent(seed)):
            plain = beam(model, batch, bos=BOS, eos=EOS, config=SearchConfig(**options))
            hyps = search(model, batch, none, **options)
            if isinstance(model, recurrent):
                for ours, theirs in zip(hyps, plain, strict=True):
                    same(ours, theirs)
            # Paths of a Markov chain that take the same edges in another order tie.
            for ours, theirs in zip(hyps, plain, strict=True):
                assert [hyp.score for hyp in ours] == pytest.approx([hyp.score for hyp in theirs])
                assert [hyp.finished for hyp in ours] == [hyp.finished for hyp in theirs]


def test_a_sentence_without_terms_is_independent_of_its_neighbours(recurrent, make_batch, same):
    batch = make_batch(SOURCES)
    terms = [Constraints((), (A,)), NONE, Constraints(((ABC,), (D,))), NONE, Constraints(((A,),))]
    for seed in range(4):
        model = recurrent(seed)
        options = {"beam": 3, "n_best": 2, "max_length": 15}
        plain = beam(model, batch, bos=BOS, eos=EOS, config=SearchConfig(**options))
        hyps = search(model, batch, terms, **options)
        same(hyps[1], plain[1])
        same(hyps[3], plain[3])


def test_batch_equals_singles(recurrent, make_batch, same):
    terms = [Constraints(((ABC,),)), NONE, Constraints(((A,), (D,)), (AB,)), NONE]
    terms.append(Constraints(((AB, D),)))
    for seed in range(3):
        model = recurrent(seed)
        options = {"beam": 3, "n_best": 3, "max_length": 15}
        together = search(model, make_batch(SOURCES), terms, **options)
        for source, own, hyps in zip(SOURCES, terms, together, strict=True):
            same(hyps, search(model, make_batch([source]), [own], **options)[0])


required = st.lists(
    st.lists(st.sampled_from(["a", "b", "ab", "abc", "c", "d", "e", "ab d", "b."]), min_size=1),
    min_size=1,
    max_size=3,
)


@few
@given(st.integers(0, 10_000), required, st.sampled_from([1, 2, 5]))
def test_required_terms_appear_as_whole_words(recurrent, make_batch, seed, groups, k):
    terms = Constraints(tuple(tuple(map(term, group)) for group in groups))
    batch = make_batch(SOURCES[:2])
    for hyps in search(recurrent(seed), batch, [terms] * 2, beam=k, n_best=k, max_extra=25):
        text = write(hyps[0].tokens)
        assert hyps[0].unmet == ()
        for group in groups:
            assert any(has_word(text, word) or (word == "b." and word in text) for word in group)


@few
@given(st.integers(0, 10_000), st.sets(st.sampled_from(["a", "b", "ab", "d", "c"]), min_size=1))
def test_forbidden_terms_never_appear(markov, recurrent, make_batch, seed, words):
    terms = Constraints((), tuple(map(term, words)))
    batch = make_batch(SOURCES)
    for model in (markov(seed, n_vocab=len(PIECES)), recurrent(seed)):
        for hyps in search(model, batch, [terms] * len(SOURCES), beam=3, n_best=3, max_length=7):
            assert hyps
            for hyp in hyps:
                assert not any(has_word(write(hyp.tokens), word) for word in words)


@pytest.mark.parametrize("seed", range(3))
def test_scores_are_the_model_s_own(recurrent, make_batch, seed):
    terms = [Constraints(((ABC,), (D, A)), (term("c"),))] * len(SOURCES)
    model, batch = recurrent(seed), make_batch(SOURCES)
    results = search(model, batch, terms, beam=4, n_best=1, alpha=0.7, max_extra=10)
    paths = [hyp.tokens + [EOS] * hyp.finished for (hyp,) in results]
    width = max(map(len, paths))
    targets = torch.tensor([path + [0] * (width - len(path)) for path in paths])
    valid = torch.tensor([[True] * len(path) + [False] * (width - len(path)) for path in paths])
    scores = score_targets(model, batch, targets, valid, bos=BOS)
    for (hyp,), path, steps in zip(results, paths, scores.tolist(), strict=True):
        assert hyp.token_log_probs == pytest.approx(steps[: len(path)], abs=1e-4)
        assert hyp.log_prob == pytest.approx(sum(hyp.token_log_probs), abs=1e-3)
        assert hyp.score == pytest.approx(hyp.log_prob / len(path) ** 0.7, abs=1e-4)


def table(rows):
    """A table model and its decoder; a word such as "+e" continues the word before it."""
    model = TableModel(rows)
    text = lambda tokens: model.decode(tokens).replace(" +", "")  # noqa: E731
    return model, text


def find(rows, required=(), forbidden=(), limit=8, **settings):
    """The texts of all hypotheses, and the best hypothesis; terms are encoded word by word."""
    model, text = table(rows)

    def make(word):
        ways = (tuple(model.encode(word)),) if set(word.split()) <= set(model.words) else ()
        return Term(word, ways, partial(contains, term=word.replace(" +", "")))

    groups = tuple(tuple(map(make, group)) for group in required)
    (hyps,) = constrained(
        model,
        {"rows": torch.zeros(1)},
        [Constraints(groups, tuple(map(make, forbidden)))],
        bos=0,
        eos=1,
        config=SearchConfig(**settings),
        text=text,
        limits=torch.tensor([limit]),
        normalise=False,
    )
    return [text(hyp.tokens) for hyp in hyps], hyps[0]


DOGS = {
    "": {"ein": -0.1, "zwei": -2.0},
    "ein": {"Hund": -0.2, "Tier": -3.0},
    "ein Hund": {"+e": -4.0, "rennt": -0.3},
    "ein Tier": {"rennt": -0.5},
    "zwei": {"Hund": -0.1, "Tier": -5.0},
    "zwei Hund": {"+e": -0.1, "rennt": -3.0},
    "ein Hund rennt": {"END": -0.1},
    "ein Hund +e": {"rennt": -0.1},
    "ein Hund +e rennt": {"END": -0.1},
    "ein Tier rennt": {"END": -0.1},
    "zwei Hund +e": {"rennt": -0.1},
    "zwei Hund +e rennt": {"END": -0.1},
    "zwei Hund rennt": {"END": -0.1},
    "zwei Tier": {"END": -0.1},
}


def test_a_longer_word_does_not_meet_a_term():
    assert find(DOGS)[0] == ["ein Hund rennt"]
    texts, best = find(DOGS, required=[["Hund +e"]], alpha=0.0)
    assert texts == ["zwei Hunde rennt"]
    assert best.log_prob == pytest.approx(-2.4)
    # "zwei Hunde rennt" holds the token Hund and costs -2.4; as a whole word it costs -5.2.
    assert find(DOGS, required=[["zwei"], ["Hund"]])[0] == ["zwei Hund rennt"]


def test_forbidding_a_word_leaves_the_longer_one():
    assert find(DOGS, forbidden=["Hund"], alpha=0.0)[0] == ["zwei Hunde rennt"]
    assert find(DOGS, forbidden=["Hund +e"])[0] == ["ein Hund rennt"]
    assert find(DOGS, forbidden=["Hund", "Hund +e"])[0] == ["ein Tier rennt"]


def test_a_narrow_beam_avoids_forbidden_words():
    words = [["Hund"], ["Hund", "Tier", "Katze"], ["Hund", "Tier", "Katze", "Maus"]]
    nexts = {"Hund": -0.1, "Tier": -3.0, "Katze": -4.0, "Maus": -5.0, "Fuchs": -6.0}
    rows = {"": nexts} | {word: {"END": -0.1} for word in nexts}
    for forbidden, left in zip(words, ["Tier", "Maus", "Fuchs"], strict=True):
        texts, best = find(rows, forbidden=forbidden, beam=1)
        assert (texts, best.finished) == ([left], True)


# One term rules out four tokens here: after each of them the text contains it as a whole word.
HOUNDS = {"Hund.": -0.1, "Hund,": -0.2, "Hund!": -0.3, "Hund?": -0.4}


@pytest.mark.parametrize("k", [1, 2])
def test_a_term_may_rule_out_more_tokens_than_a_beam_needs(k):
    rows = {"": {**HOUNDS, "Fuchs": -1.0}, "Fuchs": {"END": -0.1}}
    texts, best = find(rows, forbidden=["Hund"], beam=k)
    assert (texts, best.finished) == (["Fuchs"], True)
    assert best.log_prob == pytest.approx(-1.1)


@pytest.mark.parametrize("k", [1, 2])
def test_a_hypothesis_does_not_end_for_want_of_tokens(k):
    """Also where others of the beam have plenty."""
    rows = {
        "": {"ein": -0.1, "zwei": -3.0},
        "ein": {**HOUNDS, "Fuchs": -1.0, "END": -9.0},
        "zwei": {"Katzen": -0.1, "Tiere": -0.2},
        **{text: {"END": -0.1} for text in ("ein Fuchs", "zwei Katzen", "zwei Tiere")},
    }
    texts, best = find(rows, forbidden=["Hund"], beam=k)
    assert texts == ["ein Fuchs"]
    assert best.log_prob == pytest.approx(-1.2)


def test_more_tokens_for_one_sentence_do_not_disturb_its_neighbours():
    """Which have other numbers of hypotheses alive."""
    nexts = {word: {"END": -0.5, "und": -1.0} for word in (*HOUNDS, "Fuchs", "Katze")}
    again = {f"{word} und": {**HOUNDS, "Fuchs": -1.0, "Katze": -2.0} for word in nexts}
    ends = {f"{text} {word}": {"END": -0.1} for text in again for word in nexts}
    model, text = table({"": {**HOUNDS, "Fuchs": -1.0, "Katze": -2.0}, **nexts, **again, **ends})
    hound, cat = (Term(w, (), partial(contains, term=w)) for w in ("Hund", "Katze"))
    written = Term("Katze", (tuple(model.encode("Katze")),), cat.is_in)
    groups = [NONE, Constraints((), (hound,)), Constraints(((written,),)), Constraints((), (cat,))]

    def run(*terms):
        batch, limits = {"rows": torch.zeros(len(terms))}, torch.full((len(terms),), 6)
        config = SearchConfig(beam=2, n_best=2, alpha=0.0)
        options = {"bos": 0, "eos": 1, "text": text, "config": config, "limits": limits}
        return constrained(model, batch, terms, normalise=False, **options)

    together = run(*groups)
    assert together == [run(terms)[0] for terms in groups]
    assert [text(hyp.tokens) for hyp in together[1]] == ["Fuchs", "Fuchs und Fuchs"]


def test_a_forbidden_word_that_had_to_be_written_becomes_a_longer_one():
    """Every token but one would leave it as it is; before it nothing else was possible."""
    likely = dict.fromkeys(("rennt", "bellt", "beisst", "jagt", "schläft"), -0.1)
    rows = {
        "": {"ein": -0.1},
        "ein": {"Hund": -0.1},
        "ein Hund": {**likely, "END": -0.1, "+ekuchen": -4.0},
        "ein Hund +ekuchen": {"END": -0.1},
    }
    texts, best = find(rows, forbidden=["Hund"], beam=1)
    assert (texts, best.finished) == (["ein Hundekuchen"], True)


def test_nothing_is_left_if_everything_is_forbidden():
    texts, best = find({"": {**HOUNDS}}, forbidden=["Hund"], beam=1)
    assert (texts, best.finished) == ([""], False)


def test_one_of_the_alternatives_is_enough():
    assert find(DOGS, required=[["Tier", "zwei"]], alpha=0.0)[0] == ["zwei Hunde rennt"]
    assert find(DOGS, required=[["Tier", "Katze"]], alpha=0.0)[0] == ["ein Tier rennt"]
    assert find(DOGS, required=[["zwei"], ["Tier"]])[0] == ["zwei Tier"]


def test_phrases():
    assert find(DOGS, required=[["zwei Hund +e"]])[0] == ["zwei Hunde rennt"]
    assert find(DOGS, required=[["Tier rennt"]])[0] == ["ein Tier rennt"]
    assert find(DOGS, forbidden=["ein Hund"], alpha=0.0)[0] == ["zwei Hunde rennt"]


def test_n_best_with_the_term_come_first():
    texts, best = find(DOGS, required=[["zwei"]], n_best=5, alpha=0.0)
    assert texts[:3] == ["zwei Hunde rennt", "zwei Hund rennt", "zwei Tier"]
    assert not any("zwei" in text for text in texts[3:])
    assert best.unmet == ()


def test_a_term_outside_the_vocabulary_is_reported_as_unmet():
    texts, best = find(DOGS, required=[["Katze", "Kater"], ["Tier"]])
    assert texts == ["ein Tier rennt"]
    assert best.unmet == ("Katze | Kater",)
    assert best.finished


def test_a_term_with_probability_zero_is_reported_as_unmet():
    texts, best = find(DOGS, required=[["rennt zwei"]])
    assert texts == ["ein Hund rennt"]
    assert best.unmet == ("rennt zwei",)
    texts, best = find(DOGS, required=[["rennt zwei"], ["Tier"]])
    assert texts == ["ein Tier rennt"]
    assert best.unmet == ("rennt zwei",)


def test_a_limit_that_leaves_no_room():
    texts, best = find(DOGS, required=[["zwei"], ["Tier"]], limit=1)
    assert texts == ["zwei"]
    assert (best.unmet, best.finished) == (("Tier",), False)


def test_contradictory_demands_end():
    texts, best = find(DOGS, required=[["Hund"]], forbidden=["Hund"])
    assert best.unmet == ("Hund",)
    assert not has_word(texts[0], "Hund")
    only = {"": {"ein": -0.1}, "ein": {"END": -0.1}}
    texts, best = find(only, required=[["ein"]], forbidden=["ein"])
    assert (texts, best.unmet, best.finished, best.log_prob) == ([""], ("ein",), False, 0.0)


def test_a_text_that_is_cut_off_does_not_end_with_a_forbidden_term():
    texts, best = find(DOGS, forbidden=["Hund"], limit=2, n_best=5)
    assert texts[0] == "ein Tier" or not best.finished
    assert not any(has_word(text, "Hund") for text in texts)
    assert len(set(texts)) == len(texts)


def test_rules_hold_as_well(recurrent, make_batch):
    minimums = torch.full((len(SOURCES),), 6)
    rules = LogitsRules([MinimumLengthRule(minimums, EOS), NoRepeatRule(2)])
    terms = [Constraints(((AB,), (D,)), (A,))] * len(SOURCES)
    hyps = search(recurrent(2), make_batch(SOURCES), terms, max_length=20, rules=rules)
    for (hyp,) in hyps:
        assert hyp.unmet == ()
        assert len(hyp.tokens) + 1 >= 6
        pairs = list(itertools.pairwise(hyp.tokens))
        assert len(set(pairs)) == len(pairs)


def test_the_settings_make_the_rules(recurrent, make_batch):
    terms = [Constraints(((AB,),))] * len(SOURCES)
    hyps = search(recurrent(2), make_batch(SOURCES), terms, max_length=20, min_length=9)
    assert all(len(hyp.tokens) + 1 >= 9 for (hyp,) in hyps)


def test_the_safe_stop_gives_no_worse_answer(recurrent, make_batch):
    terms = [Constraints(((AB,),))] * len(SOURCES)
    batch = make_batch(SOURCES)
    for seed in range(5):
        model = recurrent(seed)
        early = search(model, batch, terms, beam=3, max_length=12)
        late = search(model, batch, terms, beam=3, max_length=12, stop="safe")
        for (hyp,), (other,) in zip(early, late, strict=True):
            assert other.score >= hyp.score - 1e-5 or not hyp.finished


def test_no_sentences():
    assert (
        constrained(
            None, {}, [], bos=BOS, eos=EOS, text=write, limits=torch.zeros(0, dtype=torch.long)
        )
        == []
    )


def test_slots_are_shared_in_turn():
    assert share_evenly(5, [9, 9]) == [3, 2]
    assert share_evenly(5, [1, 9, 1]) == [1, 3, 1]
    assert share_evenly(5, [1, 1]) == [1, 1]
    assert share_evenly(2, [3, 3, 3]) == [1, 1, 0]
    assert share_evenly(0, [3]) == [0]
    assert share_evenly(4, []) == []


def test_required_terms_widen_the_beam():
    assert count_slots(NONE, 5) == count_slots(Constraints((), (A, D)), 5) == 5
    assert count_slots(Constraints(((A,), (ABC, D))), 5) == 15
    assert count_slots(Constraints(((Term("x", (), math.isnan),),)), 5) == 5

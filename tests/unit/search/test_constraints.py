"""Terms of a sentence: what is met, what is broken, and the progress of a match."""

from functools import partial

import pytest

from headway.search.constraints import INITIAL, Constraints, PartialMatch, Term, TextSoFar, Tracker
from headway.text.word_matching import contains

PIECES = [" a", "b", " c", "."]  # "ab" is token 0 and then token 1


def write(tokens):
    return "".join(PIECES[token] for token in tokens).removeprefix(" ")


def term(text, *sequences):
    return Term(text, sequences, partial(contains, term=text))


A, AB, C = term("a", (0,)), term("ab", (0, 1)), term("c", (2,))
UNWRITABLE = term("x")


def follow(tracker, tokens, with_new=True):
    """The state after all tokens, taken one by one."""
    state, before = INITIAL, ()
    for token in tokens:
        matches = [*state.matches, *(tracker.new_matches(before, state) if with_new else ())]
        before = (*before, token)
        state = tracker.follow(state.text, before, matches)
        if state is None:
            return None
    return state


def test_no_terms_are_false():
    assert not Constraints()
    assert Constraints(((A,),))
    assert Constraints((), (A,))


def test_a_term_outside_the_vocabulary_is_not_possible_but_unmet():
    constraints = Constraints(((UNWRITABLE,), (UNWRITABLE, C)))
    assert constraints.possible == ((C,),)
    assert constraints.unmet("a c") == ("x",)
    assert constraints.unmet("a") == ("x", "x | c")
    assert constraints.unmet("x") == ()


@pytest.mark.parametrize(
    ("text", "ended", "broken"), [("a", True, True), ("a", False, False), ("ab", True, False)]
)
def test_a_word_that_may_still_grow_breaks_nothing(text, ended, broken):
    assert Constraints((), (A,)).is_broken(text, ended) is broken


def test_a_match_is_partial_until_it_is_done():
    tracker = Tracker(Constraints(((AB,),)), TextSoFar(write))
    [match] = tracker.new_matches((), INITIAL)
    assert match == PartialMatch(0, (0, 1), 0)
    half = tracker.follow("", (0,), [match])
    assert (half.text, half.met, half.n_left) == ("a", frozenset(), 1)
    assert half.matches == (PartialMatch(0, (0, 1), 1),)
    whole = tracker.follow("a", (0, 1), half.matches)
    assert (whole.text, whole.met, whole.matches) == ("ab", {0}, ())
    assert not tracker.is_complete(half)
    assert tracker.is_complete(whole)
    assert INITIAL.level < half.level < whole.level
    assert list(tracker.new_matches((0, 1), whole)) == []


def test_another_token_ends_a_match():
    tracker = Tracker(Constraints(((AB,),)), TextSoFar(write))
    state = follow(tracker, (0, 2))
    assert (state.text, state.matches, state.met) == ("a c", (), frozenset())


def test_a_longer_word_undoes_a_match():
    tracker = Tracker(Constraints(((A,),)), TextSoFar(write))
    assert follow(tracker, (0,)).met == {0}
    assert follow(tracker, (0, 1)).met == frozenset()


def test_a_forbidden_term_may_not_end_a_text_or_be_followed_by_a_word():
    tracker = Tracker(Constraints((), (A,)), TextSoFar(write))
    assert not follow(tracker, (0,)).may_end
    assert follow(tracker, (0, 1)).may_end
    assert follow(tracker, (0, 2)) is None
    assert tracker.n_allowed((2, 0)) == 1
    assert tracker.n_allowed((2, 0, 1)) == 3
    assert tracker.n_allowed((0,)) == 0


def test_without_terms_nothing_is_tracked():
    tracker = Tracker(Constraints(), TextSoFar(write))
    assert tracker.follow("", (0,), []) is INITIAL
    assert tracker.unmet((0,)) == ()
    assert Tracker(Constraints(((A,),)), TextSoFar(write)).unmet((2,)) == ("a",)


def test_texts_grow_without_decoding_known_tokens():
    seen = []

    def decode(tokens):
        seen.append(tuple(tokens))
        return write(tokens)

    texts = TextSoFar(decode)
    assert texts.grow("", (0,)) == "a"  # at the start a token loses its space: nothing is kept
    assert texts.grow("a", (0, 2)) == "a c"
    assert texts.grow("ab", (0, 1, 2)) == "ab c"
    assert seen == [(0,), (0, 2)]


def test_inside_a_character_everything_is_decoded():
    bytes_of = [b"\xc3", b"\xa4", b"x"]

    def decode(tokens):
        return b"".join(bytes_of[token] for token in tokens).decode("utf-8", errors="replace")

    texts = TextSoFar(decode)
    assert texts.grow("x", (2, 0)) == "x\ufffd"
    assert texts.grow("x\ufffd", (2, 0, 1)) == "xä"
    tracker = Tracker(Constraints(((term("x", (2,)),),)), texts)
    assert list(tracker.new_matches((0,), INITIAL._replace(text="\ufffd"))) == []

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.errors import DataError
from headway.metrics.output_checks import flags


def test_repetition_of_words_and_characters():
    outputs = [
        "a b a b a b a b end",  # four times two words
        "so so so bad",  # three times only
        "T T T T",  # four phonemes
        "哈哈哈哈哈哈哈哈哈哈哈哈",  # twelve times one character
        "aaaabaaaabaaaabaaaab",  # four times five characters
        "it costs 10000",  # four zeros are a number
    ]
    flagged = flags(["some source text"] * 6, outputs)
    assert flagged.repetition == (1, 3, 4, 5)


def test_repetition_that_was_there_before_is_no_fault():
    assert flags(["no no no no"], ["nein nein nein nein"]).repetition == ()
    assert flags(["fourfold no"], ["nein nein nein nein"], ["nein nein nein nein"]).repetition == ()
    assert flags(["fourfold no"], ["nein nein nein nein"], ["nein"]).repetition == (1,)


def test_empty_only_for_a_source_that_had_something():
    flagged = flags(["a", "", "b"], ["  ", "", "x"])
    assert flagged.empty == (1,)
    assert flagged.length == ()


def test_copied_unless_the_reference_is_the_same():
    sources = ["A man walks.", "Berlin", ""]
    outputs = ["a man walks. ", "Berlin", ""]
    assert flags(sources, outputs).copied == (1, 2)
    assert flags(sources, outputs, ["Ein Mann geht.", "Berlin", ""]).copied == (1,)


def test_length_against_references():
    reference = "x" * 40
    outputs = ["y" * 19, "y" * 20, "y" * 80, "y" * 81]
    sources = ["s"] * 4
    assert flags(sources, outputs, [reference] * 4).length == (1, 4)
    assert flags(sources[:1], outputs[:1], [[reference, "x" * 19]]).length == ()


def test_short_texts_have_slack():
    assert flags(["s"], ["12345678901"], ["1"]).length == ()
    assert flags(["s"], ["123456789012"], ["1"]).length == (1,)


def test_length_against_the_source_allows_for_the_usual_ratio():
    sources = ["s" * 20] * 5
    outputs = ["ab" * 40] * 4 + ["ab" * 10]  # usually four times as long
    assert flags(sources, outputs).length == (5,)


def test_counts_and_dict():
    flagged = flags(["a b c", "d"], ["", "e"])
    assert flagged.n == 2
    assert flagged.counts == {"repetition": 0, "empty": 1, "copied": 0, "length": 0}
    assert flagged.to_dict()["empty"] == {"count": 1, "lines": [1]}


def test_nothing_at_all():
    assert sum(flags([], []).counts.values()) == 0


def test_errors_in_words():
    with pytest.raises(DataError, match=r"^2 outputs but 1 sources; expected as many of each"):
        flags(["a"], ["a", "b"])
    with pytest.raises(DataError, match=r"^1 outputs but 2 references"):
        flags(["a"], ["a"], ["b", "c"])


@given(st.lists(st.tuples(st.text(max_size=30), st.text(max_size=30)), max_size=8))
def test_line_numbers_are_valid_for_any_text(pairs):
    flagged = flags([s for s, _ in pairs], [o for _, o in pairs])
    lines = flagged.repetition + flagged.empty + flagged.copied + flagged.length
    assert all(1 <= line <= len(pairs) for line in lines)

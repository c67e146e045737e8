import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.errors import DataError
from headway.metrics.error_rate import (
    character_error_rate,
    edit_distance,
    phoneme_error_rate,
    sequence_error_rate,
    word_error_rate,
)


def table_distance(first, second):
    row = list(range(len(second) + 1))
    for i, x in enumerate(first, start=1):
        diagonal, row[0] = row[0], i
        for j, y in enumerate(second, start=1):
            diagonal, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, diagonal + (x != y))
    return row[-1]


@pytest.mark.parametrize(
    ("first", "second", "distance"),
    [
        ("", "", 0),
        ("", "abc", 3),
        ("abc", "", 3),
        ("kitten", "sitting", 3),
        ("a", "b", 1),
        ("ab", "ba", 2),
        (["K", "AE1", "T"], ["K", "AE1", "T", "S"], 1),
        ("x" * 300, "y" * 200, 300),
    ],
)
def test_distances_by_hand(first, second, distance):
    assert edit_distance(first, second) == distance


@given(st.text("abc", max_size=90), st.text("abc", max_size=90))
def test_distance_equals_the_textbook_table(first, second):
    assert edit_distance(first, second) == table_distance(first, second)


def test_a_sequence_is_right_if_any_reference_matches():
    score = sequence_error_rate(
        ["T AH0", "K AE1 T", "X", " D  AO1 G "],
        [["T UW1", "T AH0"], ["K AE1 T"], ["Y", "Z"], ["D AO1 G"]],
    )
    assert score.value == 25
    assert score.low < 25 < score.high
    assert score.name == "SER"
    assert score.signature == "ser|any-of-references|n:4|nrefs:var|interval:wilson95"


def test_word_error_rate_counts_edits_of_words_as_for_speech():
    # one word substituted and one inserted of four, and one deleted of two: 3/6
    outputs = ["the cat sit there down", "hello"]
    score = word_error_rate(outputs, ["the cat sat down", "hello world"], resamples=50)
    assert score.name == "WER"
    assert score.value == pytest.approx(50.0)
    assert (score.low, score.high) == (50.0, 50.0)
    assert score.signature == (
        "wer|edits-of-words|nearest-reference|n:2|nrefs:1|interval:bootstrap95|bs:50|seed:12345"
    )


def test_word_error_rate_takes_the_nearest_of_several_references():
    references = [["a b c d", "a b x"], ["e f"]]
    assert word_error_rate(["a b c", "e f"], references, resamples=0).value == pytest.approx(
        100 / (4 + 2)  # one edit to either; the first of equals counts, of four words
    )
    assert word_error_rate(["a b x", "e f"], references, resamples=0).value == 0.0


@given(st.lists(st.text("ab ", max_size=12), min_size=1, max_size=4))
def test_words_are_the_symbols_of_the_phoneme_error_rate(outputs):
    references = ["a b ab"] * len(outputs)
    words, symbols = (
        rate(outputs, references, resamples=0) for rate in (word_error_rate, phoneme_error_rate)
    )
    assert words.value == symbols.value


def test_phoneme_error_rate_takes_the_nearest_alternative_and_its_length():
    # word 1: one edit to "A B C" (3); word 2: none to "D E F G" (4) -> 1/7
    score = phoneme_error_rate(
        ["A B", "D E F G"], [["X Y Z Q Q", "A B C"], ["D E F G"]], resamples=50
    )
    assert score.value == pytest.approx(100 / 7)
    assert score.low == 0
    assert score.high == pytest.approx(100 / 3)
    assert score.signature == (
        "per|nearest-reference|n:2|nrefs:var|interval:bootstrap95|bs:50|seed:12345"
    )


def test_character_error_rate_counts_unicode_characters():
    score = character_error_rate(["März"], ["Marz"], resamples=0)
    assert score.value == 25
    assert (score.low, score.high) == (None, None)
    assert score.signature == "cer|nearest-reference|n:1|nrefs:1|interval:none"


def test_rates_may_pass_one_hundred():
    assert phoneme_error_rate(["A B C"], ["X"], resamples=0).value == 300


def test_empty_references():
    assert character_error_rate([""], [""], resamples=0).value == 0
    assert character_error_rate(["ab"], [""], resamples=0).value == 100


def test_errors_in_words():
    with pytest.raises(DataError, match=r"^no outputs to score"):
        word_error_rate([], [])
    with pytest.raises(DataError, match=r"^no outputs to score"):
        sequence_error_rate([], [])
    with pytest.raises(DataError, match=r"^1 outputs but 2 references"):
        phoneme_error_rate(["A"], ["A", "B"])

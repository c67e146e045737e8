"""Buckets of inputs by length: by hand, and what holds for any lengths."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.compare.by_length import ABOUT, ByLength, buckets, equal_edges, measure_lengths
from headway.errors import ConfigError


def test_lengths_are_words_or_characters_where_words_are_few() -> None:
    assert measure_lengths(["a b c d", "a  b", "a b c d e f"]) == ([4, 2, 6], "words")
    assert measure_lengths(["3. März 2021", "x", ""]) == ([12, 1, 0], "characters")
    assert measure_lengths([]) == ([], "words")


def test_edges_of_equal_counts_by_hand() -> None:
    assert equal_edges(range(1, 13)) == [2, 4, 6, 8, 10]
    assert equal_edges(range(1, 13), about=3) == [4, 8]
    assert equal_edges([7, 7, 7]) == []  # ties cannot be taken apart
    assert equal_edges([1, 1, 1, 1, 1, 9], about=2) == [1]
    assert equal_edges([1, 9, 9, 9, 9, 9], about=2) == []
    assert equal_edges([]) == []


def test_given_edges_are_the_largest_lengths() -> None:
    parts = buckets([3, 5, 6, 30, 10, 12], ByLength((5, 10, 20)))
    assert [(b.label, b.rows) for b in parts] == [
        ("3–5", [0, 1]),
        ("6–10", [2, 4]),
        ("11–20", [5]),
        ("21–30", [3]),
    ]


def test_empty_buckets_are_left_out_and_lone_lengths_stand_alone() -> None:
    assert [b.label for b in buckets([4, 4, 50], ByLength((2, 10, 20)))] == ["3–10", "21–50"]
    assert [b.label for b in buckets([1, 2, 2], ByLength((1,)))] == ["1", "2"]
    assert buckets([], ByLength()) == []
    assert [(b.label, b.rows) for b in buckets([8], ByLength())] == [("8", [0])]


@given(st.lists(st.integers(0, 40), min_size=1))
def test_every_input_is_in_the_one_bucket_of_its_length(lengths: list[int]) -> None:
    parts = buckets(lengths, ByLength())
    assert sorted(row for b in parts for row in b.rows) == list(range(len(lengths)))
    for b in parts:
        assert all(b.low <= lengths[row] <= b.high for row in b.rows)
    assert len(parts) <= ABOUT
    most_alike = max(map(lengths.count, lengths))
    for b in parts:
        assert len(b.rows) <= -(-len(lengths) // ABOUT) + most_alike - 1


@pytest.mark.parametrize("edges", [(), (0, 5), (5, 5), (10, 5)])
def test_edges_that_do_not_rise(edges: tuple[int, ...]) -> None:
    with pytest.raises(ConfigError, match="expected rising whole numbers of at least 1, such as"):
        ByLength(edges)

"""Pronunciation lists: words and their symbols."""

from format_rows import message_of, values

from headway.data.formats import Row
from headway.errors import DataError


def test_two_spaces_or_a_tab(rows):
    found = rows("p.dict", ";;; note\nABLE  EY B AH L\nACE\tEY  S\n")
    assert found == [
        Row(("ABLE", "EY B AH L"), "p.dict:2"),
        Row(("ACE", "EY S"), "p.dict:3"),
    ]


def test_two_separators_of_ones_own(rows):
    found = rows("p.dict.gz", "ice cream;AY-S-K\n", separator=";", inner="-")
    assert values(found) == [("ice cream", "AY S K")]


def test_the_other_way_round(rows):
    assert values(rows("p.dict", "ACE  EY S\n", source=2, target=1)) == [("EY S", "ACE")]


def test_a_word_without_symbols_is_an_empty_value(rows):
    assert values(rows("p.dict", "ACE\t\n\n")) == [("ACE", ""), ("", "")]


def test_faults(rows):
    text = message_of(DataError, rows, "p.dict", "ACE  EY S\nABLE EY B\n")
    assert text.startswith("p.dict:2: expected a tab or two spaces between word and symbols")
    text = message_of(DataError, rows, "p.dict", "ACE  EY S\n", separator="|")
    assert text.startswith("p.dict:1: expected '|' between")

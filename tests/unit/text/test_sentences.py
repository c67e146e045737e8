"""Sentences: where they end, and that nothing of a text is lost between them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.text.sentences import sentences


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("one", ["one"]),
        ("One. Two! Three? Four", ["One.", " Two!", " Three?", " Four"]),
        ("It ends here. \n", ["It ends here. \n"]),
        ("no capital. no sentence", ["no capital. no sentence"]),
        ("Version 2.0 of it. 3 more.", ["Version 2.0 of it.", " 3 more."]),
        ('He said "No." Then he left.', ['He said "No."', " Then he left."]),
        ("(It rained.) It stopped.", ["(It rained.)", " It stopped."]),
        ("J. R. R. Tolkien of the U.S. Army. He", ["J. R. R. Tolkien of the U.S. Army.", " He"]),
        ("Was it I. He knew", ["Was it I. He knew"]),  # what the rule costs
        ("H. gammarus , a lobster . It is", ["H. gammarus , a lobster .", " It is"]),
        ("a heading\n\nand text", ["a heading", "\n\nand text"]),
        ('one" \n two."\nthree', ['one"', ' \n two."', "\nthree"]),
        ("猫坐。他走！「好。」她说", ["猫坐。", "他走！", "「好。」", "她说"]),
        ("Wait... What?! Yes", ["Wait...", " What?!", " Yes"]),
        ("Нет. Да.", ["Нет.", " Да."]),
    ],
)
def test_where_sentences_end(text, expected):
    assert list(sentences(text)) == expected


@given(st.text(st.sampled_from("aB1 .!?…。\n\t\"')"), max_size=80))
def test_sentences_together_are_the_text(text):
    parts = list(sentences(text))
    assert "".join(parts) == text
    assert all(parts)
    assert len(parts) == 1 or all(sentence.strip() for sentence in parts)

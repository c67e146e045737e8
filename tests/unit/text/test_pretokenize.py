"""Where a text is cut, by hand, how pieces are joined again, and the characters of bytes."""

import pytest

from headway.text import TokenizerConfig
from headway.text.normalize import build_normalizer
from headway.text.pretokenize import (
    build_cutter,
    build_decoder,
    build_pre_tokenizer,
    byte_alphabet,
    byte_values,
)


def cut(text, kind="bpe"):
    config = TokenizerConfig(kind=kind, normalise="none")
    return build_cutter(build_normalizer(config), build_pre_tokenizer(config))(text)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a man's hat", ["Ġa", "Ġman's", "Ġhat"]),
        ("in 2021!", ["Ġin", "Ġ2", "0", "2", "1", "!"]),
        ("a  b", ["Ġa", "Ġ", "Ġb"]),
        ("a\n", ["Ġa", "Ċ"]),
        ("--- x", ["Ġ---", "Ġx"]),
        ("", []),
    ],
)
def test_sub_words_are_cut_at_words_digits_and_signs(text, words):
    assert cut(text) == words
    assert cut(text, "unigram") == words


def test_no_word_is_longer_than_32():
    assert [len(word) for word in cut("a" * 70)] == [33, 32, 6]  # the first with its space
    assert [len(word) for word in cut("-" * 40)] == [33, 8]


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("bytes", ["aĠÃ¤.Ġ"]),
        ("characters", ["a", " ", "ä", ".", " "]),
        ("words", ["a", "ä."]),
        ("wordpiece", ["a", "ä."]),
    ],
)
def test_other_kinds(kind, words):
    assert cut("a ä. ", kind) == words


@pytest.mark.parametrize(
    ("kind", "pieces", "text"),
    [
        ("bpe", ["Ġa", "ĠÃ", "¤"], "a ä"),
        ("unigram", ["ĠĠa"], " a"),
        ("bytes", ["Ġ", "a"], " a"),
        ("characters", [" ", "a"], " a"),
        ("wordpiece", ["un", "##able", "."], "unable ."),
    ],
)
def test_pieces_are_joined(kind, pieces, text):
    assert build_decoder(TokenizerConfig(kind=kind)).decode(pieces) == text


def test_words_are_joined_by_the_library():
    assert build_decoder(TokenizerConfig(kind="words")) is None


def test_every_byte_has_a_character():
    values = byte_values()
    assert sorted(values) == byte_alphabet()
    assert sorted(values.values()) == list(range(256))
    assert (values["A"], values["Ġ"], values["Ċ"], values["ä"]) == (0x41, 0x20, 0x0A, 0xE4)

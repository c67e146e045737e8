"""Text as it grows: whole characters only, and in the end what decoding gives."""

import random

import pytest

from headway.text import TokenizerConfig, train_tokenizer
from headway.text.detokenize import take_up
from headway.text.streaming import StreamingDetokenizer

LINES = [
    "the lower café",
    "lowest 日本語 text",
    "a new, newer\ttext 🎉",
    "the cat sat on the mat",
] * 3
KINDS = ("bpe", "unigram", "wordpiece", "words", "characters", "bytes")


def tokenizer_of(kind):
    size = {"bpe": 290, "unigram": 290, "wordpiece": 60}.get(kind)
    return train_tokenizer(LINES, TokenizerConfig(kind=kind, size=size))


@pytest.fixture(scope="module", params=KINDS)
def tokenizer(request):
    return tokenizer_of(request.param)


def grown(tokenizer, tokens, begins=True, opening=b""):
    growing = StreamingDetokenizer(tokenizer, begins, opening)
    return [growing.add(token) for token in tokens] + [growing.end()]


def test_whatever_is_written_is_what_decoding_gives(tokenizer):
    draw = random.Random(1)
    special = set(tokenizer.specials.values()) - {tokenizer.specials["unk"]}
    ids = [index for index in range(tokenizer.size) if index not in special]
    for length in range(1, 30):
        tokens = [*tokenizer.encode("the"), *draw.choices(ids, k=length)]
        assert "".join(grown(tokenizer, tokens)) == tokenizer.decode(tokens)


def test_what_follows_a_prompt_is_what_decoding_adds_to_it(tokenizer):
    for line in LINES[:4]:
        tokens = tokenizer.encode(line)
        for cut in range(1, len(tokens)):
            begun = tokenizer.decode(tokens[:cut])
            if "�" in begun:
                continue  # a prompt is made of characters
            added = "".join(grown(tokenizer, tokens[cut:], begins=False))
            assert begun + added == tokenizer.decode(tokens)


def test_a_character_is_told_when_it_is_complete():
    bytes_of = tokenizer_of("bytes")
    tokens = bytes_of.encode("aé日")
    assert grown(bytes_of, tokens) == ["a", "", "é", "", "", "日", ""]


def test_one_that_stays_incomplete_is_told_in_the_end():
    bytes_of = tokenizer_of("bytes")
    [a, first, *_] = bytes_of.encode("a日")
    assert grown(bytes_of, [a, first]) == ["a", "", "�"]
    assert grown(bytes_of, [first, a]) == ["", "�a", ""]


def test_a_space_at_the_end_is_left_to_the_word_that_follows(tokenizer):
    tokens, opening = take_up(tokenizer, "the ")
    whole = tokenizer.settings.kind in ("characters", "bytes")
    assert opening == (b"" if whole else b" ")
    assert tokenizer.decode(tokens) == ("the " if whole else "the")
    following = tokenizer.encode("the cat")[len(tokens) :]
    assert "the " + "".join(grown(tokenizer, following, False, opening)) == "the cat"


@pytest.mark.parametrize("text", ["", " ", "the", "the  ", "the\n", "the \n"])
def test_other_ends_are_as_they_are(tokenizer, text):
    assert take_up(tokenizer, text) == (tokenizer.encode(text), b"")

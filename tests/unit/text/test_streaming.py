"""Streamed text: whole characters only, and in total the decoded text."""

import random

import pytest

from headway.text import TokenizerConfig, train_tokenizer
from headway.text.detokenize import split_prompt
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


def stream(tokenizer, tokens, at_start=True, opening=b""):
    detokenizer = StreamingDetokenizer(tokenizer, at_start, opening)
    return [detokenizer.add(token) for token in tokens] + [detokenizer.end()]


def test_joined_text_is_the_decoded_text(tokenizer):
    draw = random.Random(1)
    special = set(tokenizer.specials.values()) - {tokenizer.specials["unk"]}
    ids = [index for index in range(tokenizer.size) if index not in special]
    for length in range(1, 30):
        tokens = [*tokenizer.encode("the"), *draw.choices(ids, k=length)]
        assert "".join(stream(tokenizer, tokens)) == tokenizer.decode(tokens)


def test_text_after_a_prompt_is_the_text_that_decoding_adds(tokenizer):
    for line in LINES[:4]:
        tokens = tokenizer.encode(line)
        for cut in range(1, len(tokens)):
            begun = tokenizer.decode(tokens[:cut])
            if "�" in begun:
                continue  # a prompt is made of characters
            added = "".join(stream(tokenizer, tokens[cut:], at_start=False))
            assert begun + added == tokenizer.decode(tokens)


def test_a_character_appears_when_it_is_complete():
    bytes_of = tokenizer_of("bytes")
    tokens = bytes_of.encode("aé日")
    assert stream(bytes_of, tokens) == ["a", "", "é", "", "", "日", ""]


def test_an_incomplete_character_appears_at_the_end():
    bytes_of = tokenizer_of("bytes")
    [a, first, *_] = bytes_of.encode("a日")
    assert stream(bytes_of, [a, first]) == ["a", "", "�"]
    assert stream(bytes_of, [first, a]) == ["", "�a", ""]


def test_a_space_at_the_end_belongs_to_the_next_word(tokenizer):
    tokens, opening = split_prompt(tokenizer, "the ")
    whole = tokenizer.settings.kind in ("characters", "bytes")
    assert opening == (b"" if whole else b" ")
    assert tokenizer.decode(tokens) == ("the " if whole else "the")
    following = tokenizer.encode("the cat")[len(tokens) :]
    assert "the " + "".join(stream(tokenizer, following, False, opening)) == "the cat"


@pytest.mark.parametrize("text", ["", " ", "the", "the  ", "the\n", "the \n"])
def test_other_ends_are_unchanged(tokenizer, text):
    assert split_prompt(tokenizer, text) == (tokenizer.encode(text), b"")

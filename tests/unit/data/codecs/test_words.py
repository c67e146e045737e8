"""Sentences that are words already: tokens with their words, marks, words that get no token."""

import numpy as np
import pytest

from headway.data.codecs.text import TextCodec, TextConfig, fit_codec
from headway.data.codecs.words import MARK, WordsCodec, first_tokens, n_words, pieces_of

SENTENCES = ["the cat sat on the mat .", "U.S. cats don't sit , they lie", "Кот сел на коврик"]


def made(kind, **settings):
    return WordsCodec(fit_codec(SENTENCES, TextConfig(kind=kind, **settings), reads=True))


@pytest.mark.parametrize("kind", ["bpe", "unigram", "wordpiece", "words", "characters", "bytes"])
@pytest.mark.parametrize("begin", [False, True])
def test_every_word_has_its_tokens_in_order(kind, begin):
    codec = made(kind, begin=begin)
    for sentence, values in zip(SENTENCES, codec.encode_batch(SENTENCES), strict=True):
        words = sentence.split()
        assert n_words(values) == len(words)
        assert np.all(np.diff(values[values[:, 1] != MARK, 1]) >= 0)
        assert len(first_tokens(values)) == len(words)
        assert (values[0, 0] == codec.codec.bos) == begin
        assert values[-1].tolist() == [codec.codec.eos, MARK]
        assert np.sum(values[:, 1] == MARK) == codec.marks == 1 + begin
        tokenizer = codec.codec.tokenizer
        found = [tokenizer.decode(pieces.tolist()).strip() for pieces in pieces_of(values)]
        assert found == words
        assert codec.decode(values) == sentence


def test_tokens_are_those_of_the_text():
    codec = made("bpe")
    [values], [ids] = codec.encode_batch(SENTENCES[:1]), codec.codec.encode_batch(SENTENCES[:1])
    assert values[:, 0].tolist() == ids.tolist()


def test_white_space_between_words_does_not_matter():
    codec = made("bpe")
    one, other = codec.encode_batch(["the  cat\tsat ", "the cat sat"])
    assert one.tolist() == other.tolist()
    assert codec.clean("the  cat ") == "the cat"


class Forgetful:
    """A tokenizer that leaves nothing of some words."""

    def __init__(self, tokenizer):
        self.specials, self.frame, self.size = tokenizer.specials, tokenizer.frame, 100

    def encode_words(self, words):
        kept = [i for i, word in enumerate(words) if word != "x"]
        return [10 + i for i in kept], kept


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("a b", [(10, 0), (11, 1)]),
        ("x b", [(3, 0), (11, 1)]),
        ("a x", [(10, 0), (3, 1)]),
        ("a x x b", [(10, 0), (3, 1), (3, 2), (13, 3)]),
        ("x", [(3, 0)]),
    ],
)
def test_a_word_of_which_nothing_is_left_is_unknown(words, expected):
    codec = WordsCodec(TextCodec(Forgetful(made("words").codec.tokenizer), reads=True))
    found = codec.encode(words.split())
    assert found.tolist() == [*map(list, expected), [codec.codec.eos, MARK]]


def test_another_segmentation_has_the_same_words():
    codec = made("bpe", dropout=0.5)
    [values] = codec.encode_batch(SENTENCES[1:2])
    drawn = [codec.redraw(values, (1, epoch)) for epoch in range(4)]
    assert codec.redraw(values, (1, 0)).tolist() == drawn[0].tolist()
    assert len({tuple(one[:, 0]) for one in drawn}) > 1
    for one in drawn:
        assert codec.decode(one) == SENTENCES[1]
        assert len(first_tokens(one)) == n_words(one) == n_words(values)


def test_nothing_is_nothing():
    codec = made("bpe")
    [values] = codec.encode_batch([" "])
    assert len(values) == codec.marks
    assert (n_words(values), pieces_of(values), first_tokens(values).tolist()) == (0, [], [])


def test_fingerprints():
    assert made("bpe").fingerprint() == made("bpe").fingerprint() != made("words").fingerprint()
    assert made("bpe").fingerprint() != made("bpe").codec.fingerprint()
    assert made("bpe").column("words").shape == (2,)

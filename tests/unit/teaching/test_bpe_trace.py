"""The worked example of byte-pair encoding: low 5, lower 2, newest 6, widest 3."""

import json

import pytest
from tokenizers import Tokenizer, models, pre_tokenizers, trainers

from headway.teaching.bpe_trace import TIE_RULE, bpe_merges, count_pairs, merge_pair

COUNTS = {"low": 5, "lower": 2, "newest": 6, "widest": 3}


def test_first_es_then_t_joins():
    first, second, third = bpe_merges(COUNTS, 3)
    assert (first.pair, first.count) == (("e", "s"), 9)
    assert first.ties == (("s", "t"), ("t", "</w>"))
    assert (second.pair, second.count) == (("es", "t"), 9)
    assert second.ties == (("t", "</w>"),)
    assert (third.pair, third.count, third.ties) == (("est", "</w>"), 9, ())
    assert third.words == {
        ("l", "o", "w", "</w>"): 5,
        ("l", "o", "w", "e", "r", "</w>"): 2,
        ("n", "e", "w", "est</w>"): 6,
        ("w", "i", "d", "est</w>"): 3,
    }


def test_a_step_says_how_the_tie_was_broken():
    first, _, third = bpe_merges(COUNTS, 3)
    assert str(first) == f"e + s -> es (9 times); tied with s + t, t + </w>: {TIE_RULE}"
    assert str(third) == "est + </w> -> est</w> (9 times)"


def test_order_of_the_words_does_not_matter():
    backwards = dict(reversed(COUNTS.items()))
    pairs = [merge.pair for merge in bpe_merges(COUNTS, 20)]
    assert [merge.pair for merge in bpe_merges(backwards, 20)] == pairs


def test_it_ends_when_every_word_is_one_symbol():
    merges = bpe_merges({"ab": 1}, 10)
    assert [merge.pair for merge in merges] == [("a", "b"), ("ab", "</w>")]
    assert bpe_merges({}, 5) == []
    assert bpe_merges(COUNTS, 0) == []


def test_repeated_letters_merge_from_the_left():
    assert bpe_merges({"aaa": 1}, 1)[0].words == {("aa", "a", "</w>"): 1}


@pytest.mark.parametrize(
    "counts", [COUNTS, {"hug": 10, "pug": 5, "pun": 12, "bun": 4, "hugs": 5, "aaaa": 3}]
)
def test_the_library_merges_the_same_up_to_ties(counts):
    library = Tokenizer(models.BPE())
    library.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    # The library would attach its end symbol to the last letter; here it is one more letter.
    words = [word + "_" for word, count in counts.items() for _ in range(count)]
    library.train_from_iterator(words, trainers.BpeTrainer(vocab_size=1000, show_progress=False))
    merges = [tuple(pair) for pair in json.loads(library.to_str())["model"]["merges"]]

    state = {(*word, "_"): count for word, count in counts.items()}
    for merge in merges:
        pairs = count_pairs(state)
        assert pairs[merge] == max(pairs.values())
        state = merge_pair(state, merge)
    assert not count_pairs(state)
    # Ties change the path, not where it leads: as many steps, every word one symbol.
    assert len(merges) == len(bpe_merges(counts, 1000))
    assert merges[0] == bpe_merges(counts, 1)[0].pair

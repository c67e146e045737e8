"""Positions of tokens: the word and the span of each id, in any script."""

import pytest
from foreign_layouts import LAYOUTS
from hypothesis import given, settings
from hypothesis import strategies as st
from varied_lines import varied_lines

from headway.errors import DataError
from headway.text import Tokenizer, TokenizerConfig, train_tokenizer

TEXTS = [
    "the cat sat on the mat",
    "Кот сел на коврик",
    "猫坐在垫子上。",
    "مرحبا بالعالم",
    "🙂 ok",
] * 5
LEARNED = {
    "bpe": TokenizerConfig("bpe"),
    "bpe-nfkc": TokenizerConfig("bpe", normalise="nfkc", lowercase=True),
    "unigram-nfc": TokenizerConfig("unigram", normalise="nfc"),
    "wordpiece": TokenizerConfig("wordpiece"),
    "words": TokenizerConfig("words"),
    "characters": TokenizerConfig("characters"),
    "bytes": TokenizerConfig("bytes"),
}
FOREIGN = ("bert", "roberta", "gpt2", "t5", "t5-split")
NAMES = (*LEARNED, *FOREIGN)
WORD = st.text(
    st.one_of(
        st.sampled_from("abcthesatпеКрт猫坐垫。あ한مرحباكَِ🙂👩‍👧é\u0301İﬁ２.,'-#▁Ġ<>[]"),
        st.characters(exclude_categories=["Cs", "Cc", "Cn", "Co", "Z"]),
    ),
    min_size=1,
    max_size=8,
).filter(lambda word: not any(character.isspace() for character in word))


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    tokenizers = {name: train_tokenizer(TEXTS, config) for name, config in LEARNED.items()}
    for name in FOREIGN:
        file = tmp_path_factory.mktemp(name) / "tokenizer.json"
        layout = LAYOUTS[name]
        layout.make().save(str(file))
        tokenizers[name] = Tokenizer.from_hugging_face(file, layout.roles, layout.frame)
    return tokenizers


# Spans


def check_spans(tokenizer, text):
    """In order, inside the text, and between them nothing that would be written."""
    ids, spans = tokenizer.encode_spans(text)
    assert ids == tokenizer.encode(text)
    assert len(spans) == len(ids)
    starts, ends = [start for start, _ in spans], [end for _, end in spans]
    assert all(start < end for start, end in spans)
    assert starts == sorted(starts)
    assert ends == sorted(ends)
    for gap_start, gap_end in zip([0, *ends], [*starts, len(text)], strict=True):
        assert not tokenizer.clean(text[gap_start:gap_end]).strip(), (text, gap_start, gap_end)


@pytest.mark.parametrize("name", NAMES)
def test_spans_cover_varied_lines(made, name):
    for line in varied_lines(500, lookalikes=True):
        check_spans(made[name], line)


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=60, deadline=None)
@given(text=st.text(st.characters(exclude_categories=["Cs"])))
def test_spans_cover_any_text(made, name, text):
    check_spans(made[name], text)


@pytest.mark.parametrize("name", ["bpe", "bytes", "characters", "roberta", "gpt2"])
def test_unchanged_text_is_covered_without_gaps(made, name):
    for line in varied_lines(300, lookalikes=True):
        _, spans = made[name].encode_spans(line)
        assert {i for start, end in spans for i in range(start, end)} == set(range(len(line)))


def test_spans_by_hand(made):
    def spans(name, text):
        ids, spans = made[name].encode_spans(text)
        pairs = zip(made[name].tokens(ids), spans, strict=True)
        return [(token, text[start:end]) for token, (start, end) in pairs]

    assert spans("bpe", "the cat") == [("▁the", "the"), ("▁cat", " cat")]
    assert spans("words", "the  cat") == [("the", "the"), ("cat", "cat")]
    assert spans("characters", "a t") == [("a", "a"), ("▁", " "), ("t", "t")]
    assert spans("bytes", "猫") == [("<0xE7>", "猫"), ("<0x8C>", "猫"), ("<0xAB>", "猫")]
    # An accent of its own character goes with its letter, also where it is stripped.
    # The library's trainer breaks ties at random: the last piece of a word may be longer.
    (piece, part), last = spans("bert", "cafe\u0301 the")[-2:]
    assert piece.endswith("e")
    assert part == piece.removeprefix("##") + "\u0301"
    assert last == ("the", "the")
    assert spans("bpe-nfkc", "THE ﬁ")[0] == ("▁the", "THE")


# Words


def check_words(tokenizer, words):
    ids, positions = tokenizer.encode_words(words)
    assert ids == tokenizer.encode(" ".join(words))
    assert len(positions) == len(ids)
    assert positions == sorted(positions)
    assert all(0 <= position < len(words) for position in positions)
    written = set(positions)
    for position, word in enumerate(words):
        if tokenizer.clean(word).strip():
            assert position in written, (position, words)


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=80, deadline=None)
@given(words=st.lists(WORD, max_size=6))
def test_every_word_has_its_ids_in_order(made, name, words):
    check_words(made[name], words)


@pytest.mark.parametrize("name", NAMES)
def test_ids_of_a_word_are_those_it_has_alone_in_the_text(made, name):
    tokenizer = made[name]
    for line in varied_lines(200, lookalikes=False):
        words = [word for word in line.split(" ") if word.strip() == word and word]
        check_words(tokenizer, words)
        ids, positions = tokenizer.encode_words(words)
        if tokenizer.splits_at_spaces:  # each as if it were alone
            for position, word in enumerate(words):
                mine = [index for index, at in zip(ids, positions, strict=True) if at == position]
                assert mine == tokenizer.encode(word)


def test_words_by_hand(made):
    def words(name, *given_words):
        ids, positions = made[name].encode_words(given_words)
        return list(zip(made[name].tokens(ids), positions, strict=True))

    assert words("bpe", "the", "cat") == [("▁the", 0), ("▁cat", 1)]
    assert words("gpt2", "the", "cat") == [("the", 0), ("▁cat", 1)]
    assert words("characters", "a", "t") == [("a", 0), ("▁", 1), ("t", 1)]
    assert words("words", "the", "xyz", "cat") == [("the", 0), ("⟨unk⟩", 1), ("cat", 2)]
    assert words("bert", "the", "\u200b", "cat") == [("the", 0), ("cat", 2)]
    assert words("bert", "cat's") == [("cat", 0), ("'", 0), ("s", 0)]
    for name in NAMES:
        assert made[name].encode_words([]) == ([], [])


def test_half_a_character_is_refused(made):
    with pytest.raises(DataError, match=r"lone surrogate \(U\+D800\) at character 3"):
        made["bpe"].encode_spans("ab\ud800")

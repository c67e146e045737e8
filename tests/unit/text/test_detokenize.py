"""Joined spellings are the decoded text; a prefix is split before its last, open word."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.errors import DataError
from headway.text import BOS, EOS, PAD, UNK, TokenizerConfig, train_tokenizer
from headway.text.detokenize import can_spell, split_prefix

KINDS = ("bpe", "unigram", "wordpiece", "words", "characters", "bytes")
SPACED = ("bpe", "unigram", "wordpiece", "words")  # a space precedes every word
SIZES = {"bpe": 290, "unigram": 290}
TEXTS = ["ein Mann geht", "ein Hund läuft über die Straße", "der Mann sieht die Hunde", "geh"] * 6


def learn(kind, **settings):
    return train_tokenizer(TEXTS, TokenizerConfig(kind, SIZES.get(kind), **settings))


@pytest.fixture(scope="module")
def trained():
    return {kind: learn(kind) for kind in KINDS}


def written(tokenizer, ids):
    """The text of the joined spellings."""
    joined = b"".join(tokenizer.spellings()[i] for i in ids)
    if tokenizer.settings.kind in SPACED:
        joined = joined.removeprefix(b" ")
    return joined.decode(errors="replace")


@pytest.mark.parametrize("kind", KINDS)
def test_every_id_has_its_bytes(trained, kind):
    spellings = trained[kind].spellings()
    assert len(spellings) == trained[kind].size
    assert spellings[PAD] == spellings[BOS] == spellings[EOS] == b""
    shows_unknown = kind in ("wordpiece", "words", "characters")
    assert spellings[UNK].strip() == ("⟨unk⟩".encode() if shows_unknown else b"")
    assert all(spellings[4:])


@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
def test_joined_spellings_are_the_decoded_text(trained, kind, data):
    tokenizer = trained[kind]
    ids = data.draw(st.lists(st.integers(0, tokenizer.size - 1), max_size=12))
    if kind == "wordpiece":  # a text does not begin inside a word
        ids = tokenizer.encode("Mann") + ids
    assert written(tokenizer, ids) == tokenizer.decode(ids)


@pytest.mark.parametrize("kind", SPACED)
@pytest.mark.parametrize(
    ("text", "closed", "opening"),
    [
        ("ein Mann geh", "ein Mann", " geh"),
        ("ein Mann ", "ein Mann", " "),
        ("ei", "", " ei"),
    ],
)
def test_complete_words_are_tokens_and_the_last_is_open(trained, kind, text, closed, opening):
    tokens, rest = split_prefix(trained[kind], text)
    assert trained[kind].decode(tokens) == closed
    assert tokens == trained[kind].encode(closed)
    assert rest == opening.encode()


@pytest.mark.parametrize("kind", ["characters", "bytes"])
def test_text_with_a_single_tokenization_becomes_tokens(trained, kind):
    for text in ("ein Mann geh", "ein ", "e"):
        assert split_prefix(trained[kind], text) == (trained[kind].encode(text), b"")


@given(text=st.text(max_size=20).filter(lambda text: text.strip()))
def test_lossless_tokenizers_split_any_prefix(trained, text):
    for kind in ("bpe", "unigram", "bytes"):
        tokens, opening = split_prefix(trained[kind], text)
        joined = b"".join(trained[kind].spellings()[i] for i in tokens) + opening
        assert joined.decode() == (" " if kind in SPACED else "") + text
        assert can_spell(opening, trained[kind].spellings())


def test_white_space_is_kept_if_the_tokenizer_keeps_it(trained):
    assert split_prefix(trained["bpe"], "a  b")[1] == b" b"
    assert trained["bpe"].decode(split_prefix(trained["bpe"], "a  b")[0]) == "a "
    assert split_prefix(trained["bpe"], "a\nb") == (trained["bpe"].encode("a"), b"\nb")
    words = trained["words"]
    assert split_prefix(words, " ein \t Mann  ") == (words.encode("ein Mann"), b" ")


def test_a_prefix_is_normalised_like_any_text():
    tokenizer = learn("bpe", lowercase=True, normalise="nfc")
    tokens, opening = split_prefix(tokenizer, "Ein HUND la\u0308")
    assert tokenizer.decode(tokens) == "ein hund"
    assert opening == " lä".encode()


def test_a_prefix_outside_the_vocabulary_is_refused(trained):
    with pytest.raises(DataError) as error:
        split_prefix(trained["words"], "ein Xaver geh")
    assert str(error.value) == (
        "the prefix 'ein Xaver geh' cannot be encoded: its tokens decode to 'ein ⟨unk⟩'; "
        "use words of the training data"
    )
    with pytest.raises(DataError, match="no word of the vocabulary starts with 'Xa'; use words"):
        split_prefix(trained["words"], "ein Xa")
    with pytest.raises(DataError, match="decode to 'ein ⟨unk⟩'"):
        split_prefix(trained["characters"], "ein X")


def test_openings_that_can_be_spelled():
    spellings = [b"", b" a", b"b", b"cd"]
    assert can_spell(b"", spellings)
    assert can_spell(b" abc", spellings)  # the last piece may add more bytes
    assert not can_spell(b" ac ", spellings)
    assert not can_spell(b"x", spellings)

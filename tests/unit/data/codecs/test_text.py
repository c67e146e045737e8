import numpy as np
import pytest

from headway.data.codecs.text import TextCodec, TextConfig, fit_codec
from headway.errors import ConfigError
from headway.text import SpecialTokenTemplate, TokenizerConfig, train_tokenizer


def test_the_end_mark_is_stored_and_the_begin_mark_is_not(word_tokenizer):
    codec = TextCodec(word_tokenizer("a b"))
    assert [array.tolist() for array in codec.encode_batch(["a b a", "", "x"])] == [
        [4, 5, 4, 2],
        [2],
        [3, 2],
    ]
    assert codec.marks == 1


def test_without_an_end_mark(word_tokenizer):
    codec = TextCodec(word_tokenizer("a b"), ends=False)
    assert [array.tolist() for array in codec.encode_batch(["a b"])] == [[4, 5]]
    assert codec.marks == 0


@pytest.fixture
def framed():
    """Ids: a is 4, b is 5."""

    def make(frame, ends=True, reads=True):
        tokenizer = train_tokenizer(["a b", "a"], TokenizerConfig(kind="words"), frame=frame)
        return TextCodec(tokenizer, ends, reads)

    return make


def test_what_is_only_read_has_the_frame_of_the_tokenizer(framed):
    codec = framed(SpecialTokenTemplate(begin=True))
    assert [array.tolist() for array in codec.encode_batch(["a b", ""])] == [[1, 4, 5, 2], [1, 2]]
    assert codec.single([5]).tolist() == [1, 5, 2]
    assert codec.marks == 2
    assert codec.decode([1, 4, 5, 2]) == "a b"
    assert framed(SpecialTokenTemplate(begin=True), reads=False).encode_batch(["a"])[
        0
    ].tolist() == [4, 2]
    assert framed(SpecialTokenTemplate(), reads=True).encode_batch(["a"])[0].tolist() == [4, 2]


@pytest.mark.parametrize(
    ("frame", "ids", "segments"),
    [
        (SpecialTokenTemplate(), [4, 5, 2, 5, 2], [0, 0, 0, 1, 1]),
        (SpecialTokenTemplate(True), [1, 4, 5, 2, 5, 2], [0, 0, 0, 0, 1, 1]),
        (SpecialTokenTemplate(True, 2), [1, 4, 5, 2, 2, 5, 2], [0, 0, 0, 0, 0, 1, 1]),
    ],
)
def test_a_pair_is_one_text_in_two_segments(framed, frame, ids, segments):
    found = framed(frame).pair([4, 5], np.array([5]))
    assert [array.tolist() for array in found] == [ids, segments]
    assert found[0].dtype == "uint16"


@pytest.mark.parametrize(
    ("lengths", "max_length", "kept"),
    [
        ((3, 2), 8, (3, 2)),
        ((3, 2), 7, (2, 2)),  # the longer one
        ((2, 3), 7, (2, 2)),
        ((9, 1), 7, (3, 1)),
        ((1, 9), 7, (1, 3)),
        ((9, 9), 8, (3, 2)),  # of equals the second
        ((9, 9), 4, (1, 0)),
        ((9, 9), 2, (0, 0)),  # less than the marks themselves
        ((0, 9), 7, (0, 4)),
    ],
)
def test_the_longer_one_of_a_pair_is_cut_first(framed, lengths, max_length, kept):
    first, second = ([4] * lengths[0], [5] * lengths[1])
    ids, segments = framed(SpecialTokenTemplate(True)).pair(first, second, max_length)
    assert ids.tolist() == [1, *[4] * kept[0], 2, *[5] * kept[1], 2]
    assert segments.tolist() == [0] * (kept[0] + 2) + [1] * (kept[1] + 1)


def test_random_segmentations_keep_the_frame():
    config = TokenizerConfig(kind="bpe", dropout=0.5)
    tokenizer = train_tokenizer(["the cat sat"] * 5, config, frame=SpecialTokenTemplate(True))
    codec = TextCodec(tokenizer, reads=True)
    (ids,) = codec.encode_batch(["the cat"])
    drawn = codec.redraw(ids, (1, 2))
    assert drawn.dtype == ids.dtype
    assert [drawn[0], drawn[-1]] == [codec.bos, codec.eos]
    assert len(drawn) > len(ids)
    assert codec.decode(drawn) == "the cat"


def test_a_begin_mark_that_is_the_end_mark_too_ends_nothing(word_tokenizer):
    tokenizer = word_tokenizer("a b")
    tokenizer.specials = dict.fromkeys(("pad", "bos", "eos", "unk"), 2)
    tokenizer.frame = SpecialTokenTemplate(begin=True)
    codec = TextCodec(tokenizer, reads=True)
    (ids,) = codec.encode_batch(["a b"])
    assert ids.tolist() == [2, 4, 5, 2]
    assert codec.decode(ids) == "a b"


def test_columns_with_and_without_a_begin_mark_are_told_apart(framed):
    prints = {
        framed(SpecialTokenTemplate(True), reads=reads).fingerprint() for reads in (True, False)
    }
    assert len(prints) == 2
    assert (
        framed(SpecialTokenTemplate(), reads=True).fingerprint()
        == framed(SpecialTokenTemplate(), reads=False).fingerprint()
    )


def test_a_begin_mark_is_for_what_is_only_read():
    text = TextConfig(kind="words", begin=True)
    codec = fit_codec(["a b"], text, reads=True, extra_specials=("mask", "sentinel_0"))
    assert codec.encode_batch(["a"])[0].tolist() == [1, 6, 2]
    assert codec.tokenizer.specials["sentinel_0"] == 5
    with pytest.raises(ConfigError) as error:
        fit_codec(["a b"], text)
    assert str(error.value) == (
        "text.begin is for texts that are only read, and this task predicts its text, which always "
        "begins with the mark; leave it out"
    )


def test_decoding_stops_at_the_end_mark(word_tokenizer):
    codec = TextCodec(word_tokenizer("a b"))
    assert codec.decode(np.array([4, 5, 2, 4, 0])) == "a b"
    assert codec.decode([5]) == "b"
    assert codec.decode([2]) == ""


@pytest.mark.parametrize(("size", "dtype"), [(65_536, "uint16"), (65_537, "int32")])
def test_as_narrow_as_the_vocabulary_allows(word_tokenizer, size, dtype):
    codec = TextCodec(word_tokenizer("a", size))
    assert codec.column("source").dtype == dtype
    assert codec.encode_batch(["a"])[0].dtype == dtype


def test_fingerprints_tell_codecs_apart(word_tokenizer):
    prints = {
        TextCodec(word_tokenizer(words), ends).fingerprint()
        for words in ("a b", "b a")
        for ends in (True, False)
    }
    assert len(prints) == 4
    same = (TextCodec(word_tokenizer("a b")).fingerprint() for _ in range(2))
    assert len(set(same)) == 1


def test_a_real_tokenizer_comes_back_from_its_file(tmp_path):
    tokenizer = train_tokenizer(["low lower newest widest"] * 3, TokenizerConfig(kind="bytes"))
    codec = TextCodec(tokenizer)
    codec.save(tmp_path / "tokenizer.json")
    again = TextCodec.load(tmp_path / "tokenizer.json")
    assert again.fingerprint() == codec.fingerprint()
    text = "Кот сел </s>"
    (ids,) = again.encode_batch([text])
    assert ids[-1] == 2
    assert again.decode(ids) == text

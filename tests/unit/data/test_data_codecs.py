import numpy as np
import pytest

from headway.data.codecs import TextCodec
from headway.text import TokenizerConfig, train_tokenizer


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

"""Running text: pieces, parts, blocks, and what a single column may be read from."""

import gzip
import io
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.data.codecs.text import TextConfig, fit_codec, in_blocks
from headway.data.config import Corpus, as_corpora, format_of
from headway.data.formats import lines
from headway.data.formats.lines import pieces_of, read_pieces
from headway.data.formats.read import read
from headway.data.leakage import LeakCheck
from headway.data.prepare import prepare
from headway.errors import ConfigError, DataError
from headway.text import EOS


@pytest.fixture
def small_pieces(monkeypatch):
    monkeypatch.setattr(lines, "PIECE_BYTES", 8)


def written(tmp_path, content: bytes, name="a.txt"):
    (tmp_path / name).write_bytes(content)
    return tmp_path / name


def test_pieces_end_before_white_space_and_know_their_line(tmp_path, small_pieces):
    path = written(tmp_path, b"one two\nthree\n\nfour five")
    assert list(read_pieces(path)) == [
        ("one two", 1),
        ("\nthree", 1),
        ("\n\nfour", 2),
        (" five", 4),
    ]


def test_without_white_space_a_piece_ends_anywhere(tmp_path, small_pieces):
    assert list(read_pieces(written(tmp_path, b"abcdefghijk"))) == [("abcdefgh", 1), ("ijk", 1)]


@pytest.mark.parametrize("content", [b"", b"\xef\xbb\xbf"])
def test_an_empty_text_has_no_pieces(tmp_path, content):
    assert list(read_pieces(written(tmp_path, content))) == []


def test_line_ends_byte_order_mark_and_gzip(tmp_path, small_pieces):
    text = b"\xef\xbb\xbfaaaaa\r\nbb\r\n\r\ncc\rd"
    for path in (written(tmp_path, text), written(tmp_path, gzip.compress(text), "b.gz")):
        assert "".join(piece for piece, _ in read_pieces(path)) == "aaaaa\nbb\n\ncc\rd"


@given(st.text(st.sampled_from("ab \n\t\rÄ漢"), max_size=60))
def test_pieces_together_are_the_text(text):
    stream = io.TextIOWrapper(io.BytesIO(text.encode()))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lines, "PIECE_BYTES", 7)
        patch.setattr(sys, "stdin", stream)
        pieces = [piece for piece, _ in read_pieces("-")]
    assert "".join(pieces) == text.replace("\r\n", "\n")
    assert "".join(pieces_of(text, 7)) == text
    assert all(pieces)


def test_bad_bytes_are_placed(tmp_path, small_pieces):
    path = written(tmp_path, b"good\nmore good\nol\xe9\n")
    with pytest.raises(DataError, match=r"a\.txt:3: not UTF-8: byte 0xe9; convert the file"):
        list(read_pieces(path))
    with pytest.raises(DataError, match=r"b\.txt:1: not UTF-8"):
        list(read_pieces(written(tmp_path, b"cut off \xe6\xbc", "b.txt")))
    packed = gzip.compress(b"many words\n" * 10_000)
    with pytest.raises(DataError, match="the gzip data end too early"):
        list(read_pieces(written(tmp_path, packed[:-20], "c.gz")))


@pytest.mark.parametrize("kind", ["bpe", "unigram", "bytes", "characters", "words", "wordpiece"])
def test_pieces_are_encoded_as_the_whole_text_is(kind):
    text = "It's 12 o'clock -- the  cat\n\n\tsat.\nIt sat on\n the mat, "
    codec = fit_codec([text], TextConfig(kind=kind))
    whole = codec.encode_batch([text])[0].tolist()
    for size in (3, 7, 20):
        ids = np.concatenate(list(codec.encode_running(pieces_of(text, size)))).tolist()
        if all(" " in text[i : i + size] or "\n" in text[i : i + size] for i in range(len(text))):
            assert ids == whole
        assert ids[-1] == EOS
    if kind not in ("words", "wordpiece"):
        assert codec.decode(whole) == text


def test_nothing_to_encode_has_no_end_either():
    codec = fit_codec(["a b"], TextConfig(kind="words"))
    assert [ids.tolist() for ids in codec.encode_running([" \n"])] == [[]]


def test_one_text_has_no_two_sides():
    for given_for in ({"shared": True}, {"source": TextConfig()}):
        with pytest.raises(ConfigError, match=r"is for tasks with a source and a target"):
            fit_codec(["a"], TextConfig(**given_for))


def test_blocks():
    arrays = [np.arange(3), np.arange(3, 4), np.empty(0, int), np.arange(4, 11)]
    assert [block.tolist() for block in in_blocks(arrays, 4)] == [
        [0, 1, 2, 3],
        [4, 5, 6, 7],
        [8, 9, 10],
    ]
    assert list(in_blocks([], 4)) == []
    assert [block.tolist() for block in in_blocks([np.arange(4)], 2)] == [[0, 1], [2, 3]]


# Reading and preparing


def texts(corpus, root):
    return [row.values[0] for row in read(corpus, ("text",), root)]


def test_a_plain_file_is_lines_to_a_task_with_one_column(tmp_path):
    written(tmp_path, b"one\n\ntwo\n")
    written(tmp_path, gzip.compress(b"one\ntwo\n"), "a.en.gz")
    assert texts(Corpus(file="a.txt"), tmp_path) == ["one", "", "two"]
    assert texts(Corpus(file="a.txt", format="lines"), tmp_path) == ["one", "", "two"]
    assert texts(Corpus(text="a.txt"), tmp_path) == ["one", "", "two"]
    assert texts(Corpus(file="a.en.gz"), tmp_path) == ["one", "two"]
    assert texts(Corpus(file="a.txt", format="text"), tmp_path) == ["one\n\ntwo", "\n"]


def test_a_column_of_a_table(tmp_path):
    written(tmp_path, b"one\tx\ntwo\ty\n", "a.tsv")
    assert texts(Corpus(file="a.tsv", text=2), tmp_path) == ["x", "y"]
    written(tmp_path, b'{"text": "one"}\n', "a.jsonl")
    assert texts(Corpus(file="a.jsonl"), tmp_path) == ["one"]


def test_two_columns_do_not_come_from_plain_files():
    with pytest.raises(ConfigError, match="'text' has texts alone, and the task has several"):
        format_of(Corpus(file="a.txt", format="text"))
    with pytest.raises(ConfigError, match="format 'lines' is for one file per column"):
        format_of(Corpus(file="a.txt", format="lines"))


def test_parts_of_a_file(tmp_path):
    written(tmp_path, b"1\n2\n3\n4\n5\n")
    first, last = (Corpus(file="a.txt", part=part) for part in ((0.0, 0.7), (0.7, 1.0)))
    assert texts(first, tmp_path) == ["1", "2", "3"]
    assert texts(last, tmp_path) == ["4", "5"]


@given(st.text(st.sampled_from("ab \n"), max_size=40), st.floats(0, 1))
def test_two_parts_of_a_running_text_are_the_whole(tmp_path_factory, text, cut):
    folder = tmp_path_factory.mktemp("parts")
    written(folder, text.encode())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lines, "PIECE_BYTES", 7)
        one, other = (
            "".join(texts(Corpus(file="a.txt", format="text", part=part), folder))
            for part in ((0.0, cut), (cut, 1.0))
        )
    assert one + other == text
    assert len(one) == int(len(text) * cut)


def test_a_part_that_is_none():
    with pytest.raises(ConfigError, match=r"data\.train\.part is \[0\.9, 0\.9\], which is no part"):
        as_corpora(Corpus(file="a.txt", part=(0.9, 0.9)), "data.train")


@pytest.fixture
def codecs():
    return {"text": fit_codec(["ab \n"], TextConfig(kind="characters"))}


def prepared(corpora, codecs, root, **settings):
    return prepare(corpora, codecs, root / "stores", root=root, **settings)


def test_running_text_becomes_blocks_and_ends_once(tmp_path, codecs):
    written(tmp_path, b"ab\n   \nab")
    corpus = Corpus(file="a.txt", format="text")
    found = prepared([corpus, corpus], codecs, tmp_path, block=4, max_length=2)
    rows = [found.store["text"][i] for i in range(len(found.store))]
    assert [codecs["text"].decode(row.tolist()) for row in rows] == ["ab\n ", "  \na", "b"] * 2
    assert [EOS in row for row in rows] == [False, False, True] * 2
    assert found.sizes == (3, 3)
    assert found.dropped == ()
    other = prepared([corpus], codecs, tmp_path, block=5)
    assert len(other.store) == 2
    assert other.key != found.key


def test_an_empty_running_text_is_refused(tmp_path, codecs):
    written(tmp_path, b"")
    with pytest.raises(DataError, match=r"nothing to use in .*a\.txt: the files are empty"):
        prepared([Corpus(file="a.txt", format="text")], codecs, tmp_path, block=4)


def test_leaks_are_of_lines(tmp_path, codecs):
    written(tmp_path, b"ab\nba\n")
    written(tmp_path, b"ba\n", "held.txt")
    check = LeakCheck({"valid": [Corpus(file="held.txt")]}, codecs, tmp_path)
    found = prepared([Corpus(file="a.txt")], codecs, tmp_path, leak_check=check)
    assert found.report() == [
        "2 examples prepared",
        "leak check: of 2 training examples 1 also occur in the valid data; the first at a.txt:2",
    ]
    running = Corpus(file="held.txt", format="text")
    for held_out in ([running], [Corpus(file="held.txt")]):
        check = LeakCheck({"valid": held_out}, codecs, tmp_path)
        for _ in range(2):  # prepared, then found
            corpus = Corpus(file="a.txt", format="text")
            found = prepared([corpus], codecs, tmp_path, block=2, leak_check=check)
            assert len(found.report()) == 1


def test_descriptions_that_came_later_change_no_key(tmp_path, codecs):
    """A run that was begun before them finds its data as they were."""
    written(tmp_path, b"ab\n")
    usual = prepared([Corpus(file="a.txt")], codecs, tmp_path)
    assert usual.key != prepared([Corpus(file="a.txt", part=(0.0, 1.0))], codecs, tmp_path).key
    assert usual.key == prepared([Corpus(file="a.txt")], codecs, tmp_path, block=9).key

"""Documents: where they begin, and that blocks keep them and their sentences apart."""

import gzip
from itertools import chain, pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.data.blocks import SENTENCE
from headway.data.codecs.text import TextCodec, TextConfig, fit_codec
from headway.data.config import Corpus, format_of
from headway.data.formats.documents import is_title, read_documents
from headway.data.formats.read import read, read_whole
from headway.data.leakage import LeakCheck
from headway.data.prepare import prepare
from headway.data.store import DOCUMENT
from headway.errors import ConfigError

WIKI = [
    *(" ", " = Lobster = ", " ", " It is blue . It is big . ", " It has claws . ", " "),
    *(" = = Life = = ", " ", " It lives . ", " "),
    *(" It has two : A ", " = 1 and C = ", " 2 , as it happens . ", " "),
    *(" = Trout = ", " ", " A fish . "),
]
ALL = (Corpus(file="a.txt", format="documents"),)


def documents(tmp_path, content, name="a.txt"):
    data = content if isinstance(content, bytes) else content.encode()
    (tmp_path / name).write_bytes(data)
    return list(read_documents(tmp_path / name))


def test_blank_lines_set_documents_apart(tmp_path):
    content = "\n one. Two.\nthree\n\n \t\n four \n\nfive"
    expected = [("one. Two.\nthree", 2), ("four", 6), ("five", 8)]
    assert documents(tmp_path, content) == expected
    assert documents(tmp_path, gzip.compress(content.encode()), "a.gz") == expected


@pytest.mark.parametrize("content", ["", "\n", " \n\n\t\n"])
def test_nothing_holds_no_document(tmp_path, content):
    assert documents(tmp_path, content) == []


def test_titles_begin_documents_where_the_first_line_is_one(tmp_path):
    first = (
        "= Lobster =\nIt is blue . It is big .\nIt has claws .\n= = Life = =\nIt lives .\n"
        "It has two : A\n= 1 and C =\n2 , as it happens ."
    )
    assert documents(tmp_path, "\n".join(WIKI)) == [(first, 2), ("= Trout =\nA fish .", 15)]


def test_titles_are_text_where_the_first_line_is_none(tmp_path):
    found = documents(tmp_path, "Words.\n\n = Title = \n\nMore.")
    assert [text for text, _ in found] == ["Words.", "= Title =", "More."]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("= Lobster =", True),
        ("= A = B =", True),
        ("= = Life = =", False),
        ("= = = Deeper = = =", False),
        ("= =", False),
        ("=Lobster=", False),
        ("Lobster", False),
        ("= Lobster", False),
    ],
)
def test_what_a_title_is(line, expected):
    assert is_title([line]) is expected
    assert not is_title([line, line])


def test_documents_are_rows_with_their_places_and_parts(tmp_path):
    (tmp_path / "a.txt").write_text("one\ntwo\n\nthree\n\nfour\n\nfive\n")
    corpus = Corpus(file="a.txt", format="documents")
    rows = list(read(corpus, ("text",), tmp_path))
    assert [(*row.values, row.where) for row in rows] == [
        ("one\ntwo", "a.txt:1"),
        ("three", "a.txt:4"),
        ("four", "a.txt:6"),
        ("five", "a.txt:8"),
    ]
    assert list(read_whole(corpus, ("text",), tmp_path)) == rows
    half = Corpus(file="a.txt", format="documents", part=(0.5, 1.0))
    assert list(read(half, ("text",), tmp_path)) == rows[2:]


def test_documents_have_one_column():
    with pytest.raises(ConfigError, match="'documents' has texts alone, and the task has several"):
        format_of(Corpus(file="a.txt", format="documents"))


# Stores


@pytest.fixture
def root(tmp_path):
    (tmp_path / "a.txt").write_text("a b. A c!\nd e f g\n\nb\n\nc c c c c c\n")
    return tmp_path


def characters(ends: bool = True) -> TextCodec:
    codec = fit_codec(["abcdefgA. !\n"], TextConfig(kind="characters"))
    return TextCodec(codec.tokenizer, ends)


def prepared(root, corpora=ALL, ends=True, **settings):
    codecs = {"text": characters(ends)}
    return prepare(corpora, codecs, root / "stores", root=root, block=5, **settings)


def shown(codec, store):
    return [codec.decode(store["text"][i].tolist()) for i in range(len(store))]


def test_blocks_never_cross_documents(root):
    found = prepared(root)
    assert shown(characters(), found.store) == [
        *("a b. ", "A c!\n", "d e f", " g"),
        "b",
        *("c c c", " c c ", "c"),
    ]
    numbers = [found.store[DOCUMENT][i].tolist() for i in range(len(found.store))]
    assert list(chain(*numbers)) == [0, 0, 0, 0, 1, 2, 2, 2]
    assert found.store.documents.tolist() == [0, 4, 5, 8]
    ends = [i for i in range(8) if found.store["text"][i][-1] == characters().eos]
    assert ends == [3, 4, 7]


def test_every_document_is_cut_elsewhere_in_every_epoch(root):
    found = prepared(root)
    firsts = set()
    for epoch in range(40):
        store, sizes = found.at(1, epoch)
        assert sizes == (len(store),)
        edges = store.documents.tolist()
        assert edges[-1] == len(store)
        assert edges[2] - edges[1] == 1  # a document of one block stays whole
        blocks = [store["text"][i].tolist() for i in range(len(store))]
        whole = [list(chain(*blocks[a:b])) for a, b in pairwise(edges)]
        texts = [characters().decode(ids) for ids in whole]
        assert texts == ["a b. A c!\nd e f g", "b", "c c c c c c"]
        assert all(len(block) == 5 for a, b in pairwise(edges) for block in blocks[a + 1 : b - 1])
        firsts.add((len(blocks[0]), len(blocks[edges[2]])))
    assert len(firsts) > 12  # the two of them move apart from each other


def test_lines_beside_documents_are_documents_of_their_own(root):
    (root / "b.txt").write_text("a\n\nb c\n")
    corpora = (
        Corpus(file="b.txt"),
        Corpus(file="a.txt", format="documents"),
        Corpus(file="b.txt", format="text"),
    )
    found = prepared(root, corpora)
    assert found.store.documents.tolist() == [0, 1, 2, 6, 7, 10, 12]
    assert found.sizes == (2, 8, 2)
    for epoch in range(10):
        store, sizes = found.at(3, epoch)
        edges = np.cumsum((0, *sizes))
        assert shown(characters(), store)[:2] == ["a", "b c"]
        assert set(edges) <= set(store.documents.tolist())
        assert "".join(shown(characters(), store)[edges[2] :]) == "a\n\nb c\n"


def test_sentences_are_marked_in_rows_of_any_format(root):
    found = prepared(root, ends=False, sentences=True)
    begins = ["".join(str(flag) for flag in found.store[SENTENCE][i]) for i in range(8)]
    assert shown(characters(), found.store)[:4] == ["a b. ", "A c!\n", "d e f", " g"]
    assert begins[:4] == ["10001", "00001", "00000", "00"]
    assert begins[4:] == ["1", "10000", "00000", "0"]
    (root / "b.txt").write_text("a b\n\n \nA. A b. B\n")
    lines = prepared(root, (Corpus(file="b.txt"),), ends=False, sentences=True)
    assert shown(characters(), lines.store) == ["a b", "A. A ", "b. ⟨unk⟩"]
    assert lines.store.documents.tolist() == [0, 1, 3]
    assert str(lines.dropped[0]) == "dropped 2: empty text (b.txt:2, b.txt:3)"
    running = Corpus(file="b.txt", format="text")
    assert prepared(root, (running,), ends=False, sentences=True).store.documents.tolist() == [0, 4]


def test_marks_of_sentences_move_with_the_blocks(root):
    found = prepared(root, ends=False, sentences=True)
    flat = np.concatenate([found.store[SENTENCE][i] for i in range(len(found.store))])
    for epoch in range(10):
        store, _ = found.at(1, epoch)
        rows = [(store["text"][i], store[SENTENCE][i]) for i in range(len(store))]
        assert all(len(tokens) == len(flags) for tokens, flags in rows)
        assert np.concatenate([flags for _, flags in rows]).tolist() == flat.tolist()
        assert all(store[SENTENCE][int(i)][0] == 1 for i in store.documents[:-1])


def test_sentences_and_blocks_are_stores_of_their_own(root):
    keys = {prepared(root, ends=ends, sentences=s).key for ends in (0, 1) for s in (False, True)}
    assert len(keys) == 4


@pytest.mark.parametrize("kind", ["bpe", "unigram", "bytes", "characters", "words", "wordpiece"])
def test_sentences_are_encoded_as_the_document_is(root, kind):
    text = "It's 12 o'clock. The cat\nsat; it sat! And then...  it left"
    (root / "t.txt").write_text(text)
    codecs = {"text": TextCodec(fit_codec([text], TextConfig(kind=kind)).tokenizer, ends=False)}
    corpora = (Corpus(file="t.txt", format="documents"),)
    found = prepare(corpora, codecs, root / "stores", root=root, block=1000, sentences=True).store
    assert found["text"][0].tolist() == codecs["text"].encode_batch([text])[0].tolist()
    assert found[SENTENCE][0].sum() == 4


def test_documents_that_leak_are_counted(root):
    (root / "b.txt").write_text("x y\n\nb\n\nc c c c c c\n")
    codecs = {"text": characters()}
    held_out = [Corpus(file="b.txt", format="documents")]
    check = LeakCheck({"valid": held_out}, codecs, root)
    found = prepared(root, leak_check=check)
    assert found.leaks is not None
    assert (found.leaks.rows, found.leaks.pairs, found.leaks.first) == (3, {"valid": 2}, "a.txt:4")


@given(st.lists(st.text(st.sampled_from("ab.\n "), max_size=12), max_size=5))
def test_documents_come_back_as_they_were_written(tmp_path_factory, texts):
    clean = [[line.strip() for line in text.split("\n") if line.strip()] for text in texts]
    whole = ["\n".join(lines) for lines in clean if lines]
    path = tmp_path_factory.mktemp("documents") / "a.txt"
    path.write_text("\n\n".join(whole))
    assert [text for text, _ in read_documents(path)] == whole

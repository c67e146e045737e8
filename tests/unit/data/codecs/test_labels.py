"""Labels as numbers: their order, files, and what is said of labels that are wrong."""

import numpy as np
import pytest

from headway.data.codecs.labels import LabelCodec
from headway.data.codecs.text import TextConfig, fit_codec
from headway.data.config import Corpus
from headway.data.prepare import prepare
from headway.errors import DataError, RunError
from headway.text import EOS


@pytest.fixture
def codec():
    return LabelCodec.fit([" good", "bad", "good ", "so-so", ""])


def test_labels_are_in_the_order_of_their_names(codec):
    assert codec.labels == ("bad", "good", "so-so")
    assert [array.tolist() for array in codec.encode_batch(["so-so", " bad "])] == [[2], [0]]
    assert codec.decode(np.array([1])) == "good"
    assert codec.clean(" bad ") == "bad"
    assert len(codec) == 3


def test_what_is_saved_is_loaded(codec, tmp_path):
    codec.save(tmp_path / "labels.json")
    loaded = LabelCodec.load(tmp_path / "labels.json")
    assert loaded.labels == codec.labels
    assert loaded.fingerprint() == codec.fingerprint()
    assert LabelCodec(["bad", "good"]).fingerprint() != codec.fingerprint()


@pytest.mark.parametrize("content", ["[1, 2]", '{"a": 1}', "[", '["a", '])
def test_a_damaged_file_is_an_error(content, tmp_path):
    (tmp_path / "labels.json").write_text(content, "utf-8")
    with pytest.raises(RunError, match=r"labels\.json .*restore it from a copy"):
        LabelCodec.load(tmp_path / "labels.json")


def test_a_single_label_is_an_error():
    with pytest.raises(DataError) as error:
        LabelCodec.fit(["good", " good", ""])
    assert str(error.value) == (
        "all training examples have the label 'good', and there is nothing to tell apart; give "
        "examples of at least two labels"
    )


def test_labels_that_are_texts_are_an_error():
    with pytest.raises(DataError, match=r"more than 65536 different labels.*another column"):
        LabelCodec.fit(map(str, range(70_000)))


def test_complaints(codec):
    assert codec.complaint("good") is None
    assert codec.complaint(" ") == "the label is empty; give one, or leave the line out"
    assert codec.complaint("goood") == (
        "the training data have no label 'goood'; did you mean 'good'?"
    )
    assert codec.complaint("x") == (
        "the training data have no label 'x'; expected one of bad, good, so-so"
    )


def test_labels_that_differ_only_in_case_or_white_space_are_suspicious():
    codec = LabelCodec(["Account", "So  so", "account", "other", "so so", "soso"])
    assert codec.suspicions(np.array([1, 5, 212, 40, 30, 2])) == [
        "label 'So  so' (5 examples) differs from 'so so' (30) only in case and white space",
        "label 'soso' (2 examples) differs from 'so so' (30) only in white space",
        "label 'Account' (1 example) differs from 'account' (212) only in case",
    ]
    letters = LabelCodec.fit("abcdefghijklABCDEFGHIJKL")
    lines = letters.suspicions(np.full(24, 9))
    assert (len(lines), lines[-1]) == (11, "2 more labels differ only so")


def test_labels_of_one_example_each_are_suspicious():
    codec = LabelCodec.fit(["a", "A", "b", "c"])  # c only in the validation data
    line = "3 labels for 3 examples: is another column the label?"
    assert codec.suspicions(np.array([1, 1, 1, 0])) == [line]
    assert LabelCodec(["a", "b", "c"]).suspicions(np.array([1, 1, 2])) == []
    codec = LabelCodec(["a", "b", "c", "d"])
    line = "4 labels for 5 examples: is another column the label?"
    assert codec.suspicions(np.array([1, 2, 1, 1])) == [line]


def prepared(text, codec, folder):
    (folder / "a.tsv").write_text(text, "utf-8")
    codecs = {"text": fit_codec(["a b"], TextConfig(kind="words")), "label": codec}
    return prepare([Corpus(file="a.tsv")], codecs, folder / "stores", root=folder)


def test_labels_are_prepared_beside_texts(codec, tmp_path):
    found = prepared("text\tlabel\na b\tgood\n\n \tbad\nb\tbad\n", codec, tmp_path)
    assert found.store["label"].take(np.arange(2))[0].tolist() == [1, 0]
    assert found.store["text"][1].tolist()[-1] == EOS
    assert [str(one) for one in found.dropped] == ["dropped 2: empty text (a.tsv:3, a.tsv:4)"]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("b\t", "a.tsv:2: the label is empty; give one, or leave the line out"),
        ("b\tbaad", "a.tsv:2: the training data have no label 'baad'; did you mean 'bad'?"),
    ],
)
def test_a_wrong_label_is_an_error_with_its_place(line, message, codec, tmp_path):
    with pytest.raises(DataError) as error:
        prepared(f"a\tgood\n{line}\n", codec, tmp_path)
    assert str(error.value) == message

"""Rules about several columns of a row: what does not fit, what is too long, what is derived."""

import pytest

from headway.data.codecs.spans import DocumentCodec
from headway.data.codecs.text import TextConfig, fit_codec
from headway.data.config import Corpus
from headway.data.prepare import prepare
from headway.data.row_rules import IndependentColumns
from headway.errors import DataError

TEXT = "a b c\tx y z\na b\tx y\n\n"


class Together(IndependentColumns):
    """As many words on both sides, of which the sum counts; the second is also kept as bytes."""

    derived = {"bytes": ("target", DocumentCodec())}  # noqa: RUF012

    def complaint(self, values):
        n, m = (len(value.split()) for value in values)
        return None if n == m else f"{n} words and {m} words"

    def sizes(self, lengths):
        return {"both together": lengths["source"] + lengths["target"]}


@pytest.fixture
def made(tmp_path):
    codec = fit_codec(["a b c x y z"], TextConfig(kind="words"))

    def run(text, **settings):
        (tmp_path / "a.tsv").write_text(text, "utf-8")
        codecs = {"source": codec, "target": codec}
        return prepare(
            [Corpus(file="a.tsv")], codecs, tmp_path / "stores", root=tmp_path, **settings
        )

    return run


def test_derived_columns_are_kept_beside_the_others(made):
    store = made(TEXT, rules=Together()).store
    assert store.columns == ("source", "target", "bytes")
    assert [DocumentCodec().decode(store["bytes"][i]) for i in range(2)] == ["x y z", "x y"]
    again = made(TEXT, rules=Together())
    assert again.reused
    assert not made(TEXT).reused  # without the rules it is another store


def test_sizes_of_columns_together(made):
    found = made(TEXT, rules=Together(), max_length=7)
    assert [str(dropped) for dropped in found.dropped] == [
        "dropped 1: both together longer than max_length = 7 (a.tsv:1)",
        "dropped 1: empty source (a.tsv:3)",
    ]
    assert len(found.store) == len(found.store["bytes"]) == 1
    assert len(made(TEXT, max_length=7).store) == 2  # each for itself


def test_columns_that_do_not_fit_each_other(made):
    with pytest.raises(DataError, match=r"^a\.tsv:2: 2 words and 1 words$"):
        made("a\tx\na b\tx\n", rules=Together())
    with pytest.raises(DataError, match=r"^a\.tsv:1: 0 words and 1 words$"):
        made("\tx\n", rules=Together())

import pytest

from headway.data.codecs.text import TextCodec
from headway.data.config import Corpus
from headway.data.formats.read import read
from headway.data.leakage import LeakCheck
from headway.text import TokenizerConfig, train_tokenizer


def codec(**settings):
    return TextCodec(train_tokenizer([], TokenizerConfig(kind="bytes", **settings)))


@pytest.fixture
def found(tmp_path):
    def run(train, source=None, target=None, **held_out):
        for name, text in {"train": train, **held_out}.items():
            (tmp_path / f"{name}.tsv").write_text(text)
        sets = {name: [Corpus(file=f"{name}.tsv")] for name in held_out}
        codecs = {"source": source or codec(), "target": target or codec()}
        check = LeakCheck(sets, codecs, tmp_path)
        check.see(read(Corpus(file="train.tsv"), tuple(codecs), tmp_path))
        return check.result()

    return run


def test_pairs_and_sources(found):
    train = "a\tx\n b \tx \na\ty\nc\tz\na\tx\n"
    result = found(train, valid="a\tx\n", test="b\tx\nc\tq\na\tq\n")
    assert result.rows == 5
    assert result.pairs == {"valid": 2, "test": 1}
    assert result.sources == {"valid": 3, "test": 5}
    assert result.first == "train.tsv:1"
    assert str(result) == (
        "leak check: of 5 training examples 2 also occur in the valid data (3 by their source "
        "alone), 1 also occur in the test data (5 by their source alone); the first at train.tsv:1"
    )


def test_none(found):
    result = found("a\tx\n", test="A\tx\n")
    assert str(result) == (
        "leak check: of 1 training examples 0 also occur in the test data (0 by their source alone)"
    )


def test_blank_lines_are_no_leak(found):
    result = found("a\tx\n\n", test="b\ty\n\n")
    assert result.pairs == {"test": 0}
    assert result.sources == {"test": 0}


def test_one_source_with_several_targets(found):
    assert found("a\tx\na\ty\na\tz\n", test="a\tx\na\ty\n").pairs == {"test": 2}


def test_texts_are_the_same_when_the_model_sees_the_same(found):
    train, test = "Ein ﬁlm\tA Film\n", "ein film\ta film\n"
    lower, joined = codec(lowercase=True), codec(lowercase=True, normalise="nfkc")
    assert found(train, test=test).sources == {"test": 0}
    assert found(train, source=lower, target=lower, test=test).sources == {"test": 0}
    halfway = found(train, source=joined, test=test)
    assert (halfway.sources, halfway.pairs) == ({"test": 1}, {"test": 0})
    whole = found(train, source=joined, target=lower, test=test)
    assert (whole.sources, whole.pairs) == ({"test": 1}, {"test": 1})

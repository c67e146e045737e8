"""Validation data from the training data: how much, which rows, and nothing on both sides."""

from dataclasses import replace

import pytest

from headway.data import held_out
from headway.data.codecs.labels import LabelCodec
from headway.data.config import Corpus, DataConfig, RowSplit, as_corpora, learned_from
from headway.data.formats.read import read
from headway.data.held_out import CHARACTERS, ROWS, hold_out
from headway.data.leakage import LeakCheck
from headway.errors import ConfigError

PAIR = ("text", "label")


@pytest.fixture
def divide(tmp_path):
    """Divides the rows of files; returns the line and the values on both sides."""

    def call(train, columns=PAIR, by=None, seed=1):
        data = DataConfig(train=train)
        result = hold_out(data, columns, by, tmp_path, seed)
        sides = []
        for corpora in (learned_from(result.data), as_corpora(result.data.valid, "data.valid")):
            rows = (read(corpus, columns, tmp_path) for corpus in corpora)
            sides.append([row.values for corpus_rows in rows for row in corpus_rows])
        return result, *sides

    return call


def table(path, rows):
    path.write_text("".join("\t".join(row) + "\n" for row in rows), encoding="utf-8")


@pytest.mark.parametrize(
    ("amount", "total", "held"),
    [
        (ROWS, 99, 0),
        (ROWS, 100, 20),
        (ROWS, 400, 50),
        (ROWS, 8240, 412),
        (ROWS, 10_000_000, 2000),
        (CHARACTERS, 19_999, 0),
        (CHARACTERS, 20_000, 4000),
        (CHARACTERS, 1_000_000, 50_000),
        (CHARACTERS, 10**9, 1_000_000),
    ],
)
def test_the_amount(amount, total, held):
    assert amount.of(total) == held


def test_rows_are_divided_and_reported(divide, tmp_path):
    rows = [(f"text {i}", f"label {i % 3}") for i in range(1000)]
    table(tmp_path / "a.tsv", rows)
    result, train, valid = divide("a.tsv")
    assert result.line == "no data.valid: 50 of 1,000 examples are held out for validation (seed 1)"
    assert (len(train), len(valid)) == (950, 50)
    assert sorted(train + valid) == sorted(rows)
    _, _, other = divide("a.tsv", seed=2)
    assert set(valid) != set(other)


def test_it_is_random_where_the_rows_are(divide, tmp_path):
    table(tmp_path / "a.tsv", [(f"text {i}", "x") for i in range(1000)])
    _, _, valid = divide("a.tsv")
    places = [int(text.split()[1]) for text, _ in valid]
    assert min(places) < 200
    assert max(places) > 800


def test_equal_texts_stay_together_also_across_corpora(divide, tmp_path):
    texts = [f"TEXT {i}" for i in range(300)]
    table(tmp_path / "a.tsv", [(text, "x") for text in texts])
    table(tmp_path / "b.tsv", [(f" {text.lower()}  ", "y") for text in texts])
    result, train, valid = divide(["a.tsv", Corpus(file="b.tsv", weight=2.0)])
    sides = [{" ".join(text.lower().split()) for text, _ in side} for side in (train, valid)]
    assert sides[0] | sides[1] == {text.lower() for text in texts}
    assert not sides[0] & sides[1]
    assert [corpus.weight for corpus in result.data.train] == [1.0, 2.0]
    assert [corpus.weight for corpus in result.data.valid] == [1.0, 1.0]


def test_the_leak_check_finds_nothing(divide, tmp_path):
    table(tmp_path / "a.tsv", [(f"text {i % 400}", f"label {i % 2}") for i in range(1000)])
    result, _, _ = divide("a.tsv")
    codecs = {name: LabelCodec(()) for name in PAIR}
    check = LeakCheck({"valid": result.data.valid}, codecs, tmp_path)
    for corpus in result.data.train:
        check.see(read(corpus, PAIR, tmp_path))
    assert (check.result().pairs, check.result().sources) == ({"valid": 0}, {"valid": 0})


def test_rows_can_be_divided_by_another_column(divide, tmp_path):
    rows = [(f"question {i}", f"context {i // 5}") for i in range(1000)]
    table(tmp_path / "a.tsv", rows)
    result, train, valid = divide("a.tsv", by="label")
    assert not {context for _, context in train} & {context for _, context in valid}
    assert result.data.valid[0].split.by == "label"


def test_blank_rows_do_not_count(divide, tmp_path):
    table(tmp_path / "a.tsv", [(f"text {i}" if i % 2 else "", "x") for i in range(1000)])
    result, _, _ = divide("a.tsv")
    assert "50 of 500 examples" in result.line


def test_too_few_rows_are_trained_on_without_validation(divide, tmp_path):
    table(tmp_path / "a.tsv", [(f"text {i}", "x") for i in range(99)])
    result, train, valid = divide("a.tsv")
    assert (len(train), valid, result.data.valid) == (99, [], [])
    assert result.line == (
        "warning: no data.valid, and 99 examples are too few, or too alike, to hold out a part of "
        "them: nothing is validated, and the last weights are kept"
    )


def test_texts_that_are_too_alike_are_not_held_out(divide, tmp_path):
    table(tmp_path / "a.tsv", [(f"text {i % 2}", str(i)) for i in range(1000)])
    result, train, valid = divide("a.tsv")
    assert result.line.startswith("warning: ")
    assert (len(train), valid) == (1000, [])


def test_a_text_of_many_rows_is_left_to_training(divide, tmp_path):
    """Whatever its number is, at most a fifth of the rows is held out."""
    table(tmp_path / "a.tsv", [("yes", "x")] * 700 + [(f"text {i}", "x") for i in range(300)])
    for seed in range(30):
        _, train, valid = divide("a.tsv", seed=seed)
        assert len(valid) <= 200
        assert not set(train) & set(valid)


def test_memory_is_bounded_and_the_result_the_same(divide, tmp_path, monkeypatch):
    table(tmp_path / "a.tsv", [(f"text {i % 900}", "x") for i in range(1000)])
    expected = divide("a.tsv")
    monkeypatch.setattr(held_out, "CANDIDATES", 1)
    monkeypatch.setattr(held_out, "ROWS", replace(ROWS, most=50))
    assert divide("a.tsv") == expected


def test_the_end_of_a_running_text(divide, tmp_path):
    text = "".join(f"word{i} " for i in range(10_000))
    (tmp_path / "a.txt").write_text(text, encoding="utf-8")
    corpus = Corpus(file="a.txt", format="text")
    result, train, valid = divide(corpus, ("text",))
    both = ["".join(values[0] for values in side) for side in (train, valid)]
    assert both[0] + both[1] == text
    assert len(both[1]) == pytest.approx(10_000, abs=2)
    assert "characters are held out" in result.line
    _, train, valid = divide(replace(corpus, part=(0.5, 1.0)), ("text",))
    both = ["".join(values[0] for values in side) for side in (train, valid)]
    assert both[0] + both[1] == text[len(text) // 2 :]


def test_documents_are_held_out_as_a_whole(divide, tmp_path):
    documents = [f"document {i}\n" + f"line of {i}\n" * (20 + i) for i in range(100)]
    (tmp_path / "a.txt").write_text("\n".join(documents), encoding="utf-8")
    _, train, valid = divide(Corpus(file="a.txt", format="documents"), ("text",))
    assert len(train) + len(valid) == 100
    n_held = sum(len(values[0]) for values in valid)
    assert 9_000 < n_held < 20_000


def test_named_or_refused_validation_data_stay(tmp_path):
    for data in (
        DataConfig(train="a.tsv", valid="b.tsv"),
        DataConfig(train="a.tsv", valid=[]),
        DataConfig(train=[]),
    ):
        assert hold_out(data, PAIR, None, tmp_path, 1) is None


def test_a_split_needs_its_other_side(tmp_path):
    data = DataConfig(train=Corpus(file="a.tsv", split=RowSplit(above=0.1)))
    with pytest.raises(ConfigError, match=r"^data\.train has a split, and data\.valid is missing;"):
        hold_out(data, PAIR, None, tmp_path, 1)

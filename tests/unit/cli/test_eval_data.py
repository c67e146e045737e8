"""Test data of commands: those of the run, or of the options."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from headway.cli.eval_data import corpus_of, evaluation_corpora, read_test_rows
from headway.data.config import Corpus, DataConfig
from headway.errors import ConfigError

PAIR, TEXT = ("source", "target"), ("text",)
LABELS, ANSWERS = ("text", "label"), ("question", "context", "answers")


def trained(columns=PAIR, as_trained=False, **data):
    """The part of a trained model that these functions use."""
    config = DataConfig(**{"train": "train.tsv", **data})
    return SimpleNamespace(
        task=SimpleNamespace(columns=columns),
        config=SimpleNamespace(data=config),
        run=SimpleNamespace(path=Path("runs/mine")),
        columns_as_trained=as_trained,
    )


def test_without_options_it_is_the_test_set_of_the_run():
    model = trained(test=["a.tsv", Corpus(source="b.src", target="b.tgt")], root="/data")
    corpora, root = evaluation_corpora(model, None, None, None, None)
    assert corpora == (Corpus(file="a.tsv"), Corpus(source="b.src", target="b.tgt"))
    assert root == Path("/data")


def test_else_it_is_the_validation_set_with_a_warning(capsys):
    corpora, _ = evaluation_corpora(trained(valid="b.tsv"), None, None, None, None)
    assert corpora == (Corpus(file="b.tsv"),)
    assert capsys.readouterr().err == (
        "headway: warning: no data.test: these are the validation data, which chose the weights; "
        "give --source and --target, or --data\n"
    )


@pytest.mark.parametrize(
    ("columns", "remedy"), [(PAIR, "--source and --target, or --data"), (TEXT, "--data FILE")]
)
def test_a_run_without_a_test_set(columns, remedy):
    with pytest.raises(ConfigError) as caught:
        evaluation_corpora(trained(columns), None, None, None, None)
    assert str(caught.value) == f"the run file of runs/mine names no data.test; give {remedy}"


def test_options_name_files_from_the_current_folder():
    corpora, root = evaluation_corpora(trained(root="/data"), "a", "b", None, None)
    assert corpora == (Corpus(source="a", target="b"),)
    assert root == Path()


def test_columns_of_a_file_are_names_or_numbers():
    corpus = corpus_of(trained(), "1", "-1", "pairs.tsv", None)
    assert corpus == Corpus(file="pairs.tsv", source=1, target=-1)
    corpus = corpus_of(trained(LABELS), "review", None, "table", "csv")
    assert corpus == Corpus(file="table", text="review", format="csv")


@pytest.mark.parametrize(
    ("columns", "options", "message"),
    [
        (PAIR, ("a", None, None, None), "--target is missing: give --source and --target together"),
        (PAIR, (None, "b", None, None), "--source is missing: give --source and --target together"),
        (PAIR, ("a", "b", None, "tsv"), "--format needs --data; --source and --target are"),
        (PAIR, (None, None, "a", "tvs"), "--format tvs: expected one of auto, lines"),
        (TEXT, (None, None, "a", "tvs"), "--format tvs: expected one of auto, lines"),
        (PAIR, (None, None, "a", "tssv"), 'did you mean "tsv"?'),
        (ANSWERS, ("a", None, "b", None), "--source and --target are for tasks with two columns, "),
    ],
)
def test_options_that_do_not_fit(columns, options, message):
    with pytest.raises(ConfigError) as caught:
        evaluation_corpora(trained(columns), *options)
    assert message in str(caught.value)


def test_columns_are_those_of_the_training_data_where_the_format_is_the_same():
    learned = Corpus(file="train.csv", text="review", label="stars")
    model = trained(LABELS, as_trained=True, train=learned)
    for file, form in (("test.csv", "auto"), ("unnamed", "csv")):
        expected = Corpus(file=file, text="review", label="stars", format=form)
        assert corpus_of(model, None, None, file, None) == expected
    assert corpus_of(model, None, None, "test.tsv", None) == Corpus(file="test.tsv")
    by_option = corpus_of(model, "1", "2", "test.csv", None)
    assert (by_option.text, by_option.label) == (1, 2)


def test_a_text_without_extension_is_read_like_the_training_data():
    running = trained(TEXT, train=Corpus(file="book.txt", format="text"))
    [corpus], _ = evaluation_corpora(running, None, None, "unnamed", None)
    assert corpus == Corpus(file="unnamed", format="text")
    lines = trained(TEXT, train=Corpus(file="lines", format="lines"))
    [corpus], _ = evaluation_corpora(lines, None, None, "unnamed", None)
    assert corpus == Corpus(file="unnamed", format="lines")


def test_rows_carry_file_and_line(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("a").write_text("one\ntwo\n")
    Path("b").write_text("eins\nzwei\n")
    rows = list(read_test_rows(trained(), "a", "b", None, None))
    assert [row.values for row in rows] == [("one", "eins"), ("two", "zwei")]
    assert [row.where for row in rows] == ["a:1", "a:2"]

"""`headway predict`: inputs, chunk sizes and output."""

import io
import json
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from headway.cli import main
from headway.data.config import Corpus, DataConfig


class Lengths:
    """A predictor of the length of its inputs, which records the calls."""

    columns_as_trained = False

    def __init__(self, *inputs):
        self.inputs, self.calls = inputs, []
        self.task = SimpleNamespace(codecs={}, columns=(*inputs, "value"))
        self.config = SimpleNamespace(data=DataConfig(train="train.tsv"))

    def input(self, values):
        return "+".join(values)

    def is_blank(self, values):
        return not any(map(str.strip, values))

    def plain_input(self, values):
        return dict(zip(self.inputs, values, strict=True))

    def predict(self, inputs, places, too_long, on_error):
        self.calls.append((inputs, too_long, places))
        return [len(text) for text in inputs]

    def format_prediction(self, prediction):
        return f"{prediction} characters"

    def to_dict(self, prediction):
        return {"length": prediction}


@pytest.fixture
def use(monkeypatch, tmp_path):
    """Makes a predictor the run of the command line."""
    monkeypatch.chdir(tmp_path)

    def install(predictor):
        monkeypatch.setattr("headway.inference.load.load_for", lambda *_, **__: predictor)
        return predictor

    return install


def test_one_line_for_each_line_of_all_files(use, capsys):
    predictor = use(Lengths("text"))
    Path("a").write_text("one\n\n")
    Path("b").write_text("three\t!")
    assert main(["predict", "run", "a", "b"]) == 0
    assert capsys.readouterr().out == "3 characters\n\n7 characters\n"  # a blank line stays blank
    assert predictor.calls == [
        (["one"], "refuse", ["a:1"]),
        (["three\t!"], "refuse", ["b:1"]),
    ]


def test_json_has_the_inputs_too(use, capsys):
    predictor = use(Lengths("text", "text2"))
    Path("pairs").write_text("é\tb\n")
    assert main(["predict", "run", "pairs", "--json", "--cut"]) == 0
    stdout = capsys.readouterr().out
    assert json.loads(stdout) == {"text": "é", "text2": "b", "length": 3}
    assert "é" in stdout
    assert predictor.calls[0][1] == "cut"


@pytest.mark.parametrize(("line", "number"), [("a", "1 field"), ("a\tb\tc", "3 fields")])
def test_lines_with_another_number_of_fields(use, capsys, line, number):
    use(Lengths("text", "text2"))
    Path("pairs").write_text(f"a\tb\n{line}\n")
    assert main(["predict", "run", "pairs"]) == 1
    assert capsys.readouterr().err == (
        f"headway: error: pairs:2: {number} where text and text2 were expected, with a tab between "
        "them; or read the file as a table with --format; --on-error keep leaves such lines out\n"
    )


def test_long_files_are_read_in_chunks_and_typed_lines_at_once(use, capsys, monkeypatch):
    predictor = use(Lengths("text"))
    monkeypatch.setattr("headway.cli.input_lines.CHUNK_LINES", 2)
    Path("a").write_text("1\n2\n3\n")
    assert main(["predict", "run", "a"]) == 0
    assert [places for *_, places in predictor.calls] == [["a:1", "a:2"], ["a:3"]]
    predictor.calls.clear()
    terminal = io.TextIOWrapper(io.BytesIO(b"1\n2\n"))
    monkeypatch.setattr(terminal, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(sys, "stdin", terminal)
    assert main(["predict", "run"]) == 0
    assert [places for *_, places in predictor.calls] == [
        ["standard input:1"],
        ["standard input:2"],
    ]


def test_a_table_is_read_by_its_columns_and_keeps_its_blank_rows(use, capsys):
    predictor = use(Lengths("text"))
    Path("table").write_text("value,text\n1,one\n2,\n3,three\n")
    assert main(["predict", "run", "table", "--format", "csv"]) == 0
    assert capsys.readouterr().out == "3 characters\n\n5 characters\n"
    assert predictor.calls[0][0] == ["one", "three"]
    assert predictor.calls[0][2] == ["table:2", "table:4"]
    assert main(["predict", "run", "table", "--format", "csv", "--json"]) == 0
    assert json.loads(capsys.readouterr().out.splitlines()[1]) == {"text": ""}


@pytest.mark.parametrize(
    ("file", "content"),
    [
        ("a.csv", "value,text\n1,one\n3,three\n"),
        ("a.tsv", "value\ttext\n1\tone\n3\tthree\n"),
        ("a.TAB", "one\t1\nthree\t3\n"),  # no header: the columns of the task
        ("a.tsv", "\none\nthree\n"),  # the inputs alone
        ("a.tsv", "text\none\nthree\n"),
        ("a.jsonl", '{"text": "one"}\n{"text": "three", "value": 2}\n'),
        ("a.conll", "one A\n\nthree B\n"),
    ],
)
def test_the_extension_determines_the_format(use, capsys, file, content):
    predictor = use(Lengths("text"))
    Path(file).write_text(content)
    assert main(["predict", "run", file]) == 0
    assert predictor.calls[0][0] == ["one", "three"]


def test_a_format_of_lines_overrules_the_extension(use, capsys):
    predictor = use(Lengths("text"))
    Path("a.csv").write_text("one, two\n")
    assert main(["predict", "run", "a.csv", "--format", "lines"]) == 0
    assert predictor.calls[0][0] == ["one, two"]


def test_pairs_need_no_header(use, capsys):
    predictor = use(Lengths("text", "text2"))
    Path("a.tsv").write_text("a\tb\n")
    Path("b.tsv").write_text("c\td\t2\n")
    assert main(["predict", "run", "a.tsv", "b.tsv"]) == 0
    assert [inputs for inputs, *_ in predictor.calls] == [["a+b"], ["c+d"]]


def test_lines_may_have_names_of_columns_elsewhere(use, capsys):
    """A run that names its columns still reads a file with the inputs alone."""
    predictor = use(Lengths("text"))
    predictor.columns_as_trained = True
    corpus = Corpus(file="train.tsv", text="review", label="stars")
    predictor.config = SimpleNamespace(data=DataConfig(train=corpus))
    Path("a.tsv").write_text("one\n")
    Path("b.tsv").write_text("stars\treview\n5\tthree\n")
    assert main(["predict", "run", "a.tsv", "b.tsv"]) == 0
    assert [inputs for inputs, *_ in predictor.calls] == [["one"], ["three"]]


def test_a_table_is_no_standard_input(use, capsys, monkeypatch):
    use(Lengths("text"))
    monkeypatch.setattr(sys, "stdin", None)  # is not read
    assert main(["predict", "run", "--format", "tsv"]) == 2
    assert capsys.readouterr().err == (
        "headway: error: --format tsv needs a file; standard input is read as lines\n"
    )


def test_a_blank_line_has_its_columns_alone_in_json(use, capsys):
    use(Lengths("text", "text2"))
    Path("a").write_text("a\tb\n \t\n")
    assert main(["predict", "run", "a", "--json"]) == 0
    records = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert records == [{"text": "a", "text2": "b", "length": 3}, {"text": " ", "text2": ""}]

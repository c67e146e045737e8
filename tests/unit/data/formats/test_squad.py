"""SQuAD's JSON as rows: order, parts by article, what is wrong with a file."""

import gzip
import json

import pytest

from headway.data.config import Corpus
from headway.data.formats.read import Row, has_column, read
from headway.errors import ConfigError, DataError

COLUMNS = ("question", "context", "answers")


def article(name, *questions):
    qas = [
        {
            "question": f"{name} {n}?",
            "id": f"{name}{n}",
            "answers": [{"text": name, "answer_start": 3}],
            "is_impossible": n == 2,
        }
        for n in questions
    ]
    return {"title": name, "paragraphs": [{"context": f"It {name}", "qas": qas}]}


@pytest.fixture
def squad(tmp_path):
    """Writes a file and reads it as a corpus."""

    def run(content, columns=COLUMNS, name="a.json", **settings):
        text = content if isinstance(content, str) else json.dumps(content)
        packed = gzip.compress(text.encode()) if name.endswith("gz") else text.encode()
        (tmp_path / name).write_bytes(packed)
        return list(read(Corpus(file=name, format="squad", **settings), columns, tmp_path))

    return run


def data(*articles):
    return {"version": "v2.0", "data": list(articles)}


def test_questions_with_texts_and_answers(squad):
    rows = squad(data(article("a", 1, 2), article("b", 1)), name="a.json.gz")
    found = '[{"text": "a", "answer_start": 3}]'
    assert rows[0] == Row(("a 1?", "It a", found), "a.json.gz:a1")
    assert rows[1].values == ("a 2?", "It a", "[]")  # impossible, whatever stands there
    assert [row.where for row in rows] == ["a.json.gz:a1", "a.json.gz:a2", "a.json.gz:b1"]


def test_only_what_is_asked_for(squad):
    entry = article("a", 1)
    del entry["paragraphs"][0]["qas"][0]["answers"]
    assert squad(data(entry), ("context", "question"))[0].values == ("It a", "a 1?")


def test_parts_are_whole_articles(squad):
    articles = data(article("a", 1, 2, 3, 4, 5), article("b", 1), article("c", 1), article("d", 1))
    first = squad(articles, part=(0.0, 0.75))
    last = squad(articles, part=(0.75, 1.0))
    assert [row.values[1] for row in first] == ["It a"] * 5 + ["It b", "It c"]
    assert [row.values[1] for row in last] == ["It d"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"data":\n[}', r"^a\.json:2: not valid JSON: .* at position 2 of the line; expected SQ"),
        ("[]", r"^a\.json has no list 'data'; expected SQuAD's layout"),
        ('{"data": [{"title": "x"}]}', r"^a\.json: article 1 has no list 'paragraphs'"),
        ('{"data": [{"paragraphs": [{"qas": []}]}]}', r"article 1 has no text 'context'"),
        (
            '{"data": [{"paragraphs": [{"context": "x", "qas": [{"question": 3}]}]}]}',
            r"article 1 has no text 'question'",
        ),
        (
            '{"data": [{"paragraphs": [{"context": "\\ud83d", "qas": []}]}]}',
            r"^a\.json: article 1: a context holds half a character",
        ),
        ("[" * 100_000, r"^a\.json: not valid JSON: nested more than 64 deep"),
    ],
)
def test_files_of_another_layout(content, message, squad):
    with pytest.raises(DataError, match=message):
        squad(content)


def test_columns_it_has_not(squad):
    with pytest.raises(ConfigError, match=r"format 'squad' has no label; it is for task = \"ans"):
        squad(data(article("a", 1)), ("question", "label"))
    with pytest.raises(
        ConfigError, match=r"context is given, but format 'squad' has a fixed field"
    ):
        squad(data(article("a", 1)), context="text")


def test_answers_in_a_file_of_objects(tmp_path):
    answers = [{"text": "b", "answer_start": 2}]
    line = {"question": "q", "context": "a b", "answers": answers}
    (tmp_path / "a.jsonl").write_text(json.dumps(line) + "\n", "utf-8")
    [row] = read(Corpus(file="a.jsonl"), COLUMNS, tmp_path)
    assert json.loads(row.values[2]) == answers
    (tmp_path / "b.jsonl").write_text('{"question": ["q"], "context": "", "answers": []}\n')
    with pytest.raises(DataError, match=r"^b\.jsonl:1: column 'question' holds a list"):
        list(read(Corpus(file="b.jsonl"), COLUMNS, tmp_path))


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("a.tsv", "text\ttext2\tlabel\na\tb\tc\n", True),
        ("a.tsv", "\ntext\tlabel\na\tb\n", False),
        ("a.csv", 'label,"text2"\n', True),
        ("a.csv", "", False),
        ("a.jsonl", '\n{"text": "a", "text2": "b"}\n', True),
        ("a.jsonl", '{"text": "a"}\n', False),
        ("a.jsonl", "{", False),
        ("a.conll", "text2 a\n", False),
    ],
)
def test_columns_that_may_be_there(name, content, expected, tmp_path):
    (tmp_path / name).write_text(content, "utf-8")
    assert has_column(Corpus(file=name), "text2", tmp_path) is expected


def test_columns_that_are_said_are_there(tmp_path):
    assert has_column(Corpus(file="a.tsv", text2=3), "text2", tmp_path)
    assert has_column(Corpus(text="a", text2="b"), "text2", tmp_path)
    assert not has_column(Corpus(text="a", label="b"), "text2", tmp_path)

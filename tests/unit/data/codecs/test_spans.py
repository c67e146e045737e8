"""Answers as places in documents: how they are written, what is said of those that are wrong."""

import json

import numpy as np
import pytest

from headway.data.codecs.spans import DocumentCodec, Span, SpanCodec, answers_of, misplaced
from headway.errors import RunError

TEXT = '[{"text": "Paris", "answer_start": 3}, {"text": "in Paris", "answer_start": 0}]'


def test_answers_are_starts_and_ends():
    codec = SpanCodec(may_lack=True)
    found = codec.encode_batch([TEXT, "[]", "Paris"])
    assert [spans.tolist() for spans in found] == [[[3, 8], [0, 8]], [[-1, -1]], []]
    assert [spans.shape[1] for spans in found] == [2, 2, 2]
    assert codec.column("answers").shape == (2,)
    assert codec.decode(found[0]) == "[[3, 8], [0, 8]]"
    assert codec.decode(found[1]) == "[]"


def test_both_ways_to_write_them():
    lists = '{"text": ["Paris", "in Paris"], "answer_start": [3, 0]}'
    assert answers_of(lists) == answers_of(TEXT) == [Span(3, "Paris"), Span(0, "in Paris")]
    assert answers_of('{"text": [], "answer_start": []}') == answers_of("[]") == []
    codec = SpanCodec(may_lack=False)
    assert codec.clean(lists) == codec.clean(TEXT)
    assert codec.clean(" x ") == "x"


@pytest.mark.parametrize(
    "text",
    [
        "Paris",
        "3",
        "[3]",
        '[{"text": "a"}]',
        '[{"text": "", "answer_start": 0}]',
        '[{"text": "a", "answer_start": true}]',
        '[{"text": "a", "answer_start": "0"}]',
        '{"text": ["a"], "answer_start": []}',
        "[" * 100_000,
        '[{"text": "a", "answer_start": 2147483647}]',
        '[{"text": "a", "answer_start": %s}]' % ("9" * 5000),
    ],
)
def test_what_is_no_list_of_answers(text):
    codec = SpanCodec(may_lack=False)
    assert answers_of(text) is None
    assert "are no answers; expected JSON such as [{" in codec.complaint(text)
    assert codec.complaint(TEXT) is None


def test_empty_answers_are_not_none():
    expected = "the answers are empty; expected JSON such as "
    assert SpanCodec(may_lack=True).complaint(" ").startswith(expected)


def test_whether_answers_may_lack_is_learned(tmp_path):
    assert SpanCodec.fit([TEXT, "[]"]).may_lack
    codec = SpanCodec.fit([TEXT, "broken"])
    assert not codec.may_lack
    codec.save(tmp_path / "answers.json")
    assert not SpanCodec.load(tmp_path / "answers.json").may_lack
    (tmp_path / "answers.json").write_text("[]", "utf-8")
    with pytest.raises(RunError, match=r"answers\.json cannot be read"):
        SpanCodec.load(tmp_path / "answers.json")


def test_answers_must_stand_where_they_say():
    document = "in Paris"
    assert misplaced(document, [Span(3, "Paris"), Span(0, "in")]) is None
    assert misplaced(document, []) is None
    assert misplaced(document, [Span(4, "Paris")]) == (
        "the answer 'Paris' at characters 4 to 9 is outside its document, which has 8; count "
        "answer_start in characters from 0"
    )
    assert "at characters -1 to 4 is outside" in misplaced(document, [Span(-1, "Paris")])
    assert misplaced(document, [Span(0, "in"), Span(2, "Paris")]) == (
        "the answer 'Paris' is not at character 2 of its document, where ' Pari' is; count "
        "answer_start in characters from 0"
    )


def test_documents_come_back_whole():
    codec = DocumentCodec()
    texts = ["Кот сел", "", "naïve 🙂"]
    assert [codec.decode(values) for values in codec.encode_batch(texts)] == texts
    assert codec.encode_batch(["ab"])[0].dtype == np.uint8
    assert json.dumps(codec.clean(" a ")) == '" a "'

"""Requests from JSON: what is taken, and what is refused in which words."""

import json

import pytest

from headway import TranslationRequest
from headway.errors import DataError
from headway.inference.requests import parse_request


def test_all_that_can_be_asked():
    entry = {
        "source": "a dog",
        "require": ["Hund", ["Tier", "Vieh"]],
        "forbid": ["Katze"],
        "prefix": "Ein ",
    }
    expected = TranslationRequest("a dog", ("Hund", ("Tier", "Vieh")), ("Katze",), "Ein ")
    assert parse_request(json.dumps(entry), "r.jsonl:1") == expected


def test_only_a_source_is_needed():
    assert parse_request('{"source": ""}', "x") == TranslationRequest("")
    assert parse_request(" ", "x") == TranslationRequest("")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            '{"source": "a", "requires": []}',
            "unknown key 'requires'; expected source, require, forbid, prefix",
        ),
        ('{"require": []}', "no key 'source'; the object has require"),
        ("{}", "no key 'source'; the object has nothing"),
        ('"a dog"', """expected an object such as {"source": "..."}, got '"a dog"'"""),
        ('{"source": 3}', "'source' is 3; expected a text"),
        ('{"source": "a", "prefix": null}', "'prefix' is null; expected a text"),
        (
            '{"source": "a", "require": "Hünd"}',
            "'require' holds \"Hünd\"; expected a list of texts, or of lists of alternative texts",
        ),
        (
            '{"source": "a", "require": [["Hund", 3]]}',
            "'require' holds [\"Hund\", 3]; expected a list of texts, or of lists of alternative "
            "texts",
        ),
        (
            '{"source": "a", "forbid": [["b"]]}',
            "'forbid' holds [[\"b\"]]; expected a list of texts",
        ),
        (
            r'{"source": "a \ud800 b"}',
            r"\ud800 is half of a character; write both halves, or the character itself",
        ),
        (
            r'{"source": "a", "require": [3, "\udc01"]}',
            r"\udc01 is half of a character; write both halves, or the character itself",
        ),
        (
            '{"source": "a", "forbid": %s}' % ("7" * 5000),
            "a number of hundreds of digits; expected texts",
        ),
    ],
)
def test_what_is_refused(line, message):
    with pytest.raises(DataError) as error:
        parse_request(line, "r.jsonl:7")
    assert str(error.value) == f"r.jsonl:7: {message}"


def test_both_halves_of_a_character_are_one():
    assert parse_request(r'{"source": "\ud83d\udc15"}', "x") == TranslationRequest("🐕")


def test_what_is_no_json_is_refused():
    with pytest.raises(
        DataError, match=r"^r:2: not valid JSON \(.+\); expected one object per line$"
    ):
        parse_request('{"source": ', "r:2")


def test_a_text_in_place_of_a_list_is_refused_in_python():
    with pytest.raises(
        TypeError, match=r"^TranslationRequest: require is 'Hund' .*; write \['Hund'\]$"
    ):
        TranslationRequest("a dog", require="Hund")
    with pytest.raises(TypeError, match=r"forbid is 'Hund' .*; expected a list of texts"):
        TranslationRequest("a dog", forbid="Hund")


def test_what_is_blank():
    assert TranslationRequest(" \t").is_blank
    assert TranslationRequest("", forbid=["x"], prefix=" ").is_blank
    assert not TranslationRequest("", prefix="Ein").is_blank
    assert not TranslationRequest("", require=["Hund"]).is_blank

"""Error responses to malformed and invalid bodies: one shape, one sentence."""

import json

import pytest
from serve_helpers import COMPUTE_PATHS, error


def test_a_body_that_is_missing(client):
    message = "the body is missing; send a JSON object with Content-Type: application/json"
    assert error(client.post("/translate"), 422, "invalid")["message"] == message


@pytest.mark.parametrize(
    ("header", "got"),
    [
        (None, "missing"),
        ("application/x-www-form-urlencoded", "'application/x-www-form-urlencoded'"),
        ("text/plain; charset=utf-8", "'text/plain; charset=utf-8'"),
        ("a" * 5000, repr("a" * 40)),
    ],
)
def test_a_body_that_is_not_declared_as_json(client, header, got):
    headers = {} if header is None else {"content-type": header}
    response = client.post("/translate", content=b'{"texts": ["a"]}', headers=headers)
    message = error(response, 415, "wrong_type")["message"]
    remedy = "send JSON with -H 'content-type: application/json'"
    assert message == f"the Content-Type is {got}; {remedy}"
    response = client.post("/forecast", content=b"date,load\n", headers=headers)
    message = error(response, 415, "wrong_type")["message"]
    assert message.endswith(f"{remedy}, or a CSV file with -H 'content-type: text/csv'")


@pytest.mark.parametrize(
    ("body", "got"),
    [(["a"], "an array"), ("a", "a string"), (None, "null"), (5, "a number"), (True, "true or")],
)
def test_a_body_that_is_no_object(client, body, got):
    headers = {"content-type": "application/json"}
    response = client.post("/translate", content=json.dumps(body), headers=headers)
    found = error(response, 422, "invalid")
    assert found["message"].startswith(f"the body is {got}")
    assert found["message"].endswith("; send a JSON object")


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        (b"", 422, "invalid"),
        (b"{", 400, "malformed"),
        (b"nonsense", 400, "malformed"),
        (b'{"texts": ["\xff\xfe"]}', 400, "malformed"),
        (b"\xff\xfe{}", 400, "malformed"),
        (b"[" * 100_000, 400, "malformed"),
        (b'{"texts": ' + b"[" * 5000 + b"]" * 5000 + b"}", None, None),
        (b'{"texts": ["a"], "beam": ' + b"9" * 5000 + b"}", 400, "malformed"),
        (b'{"texts": ["a"], "beam": 99999999999999999999999}', 422, "invalid"),
        (b'{"texts": ["a"], "alpha": NaN}', 422, "invalid"),
        (b'{"texts": ["a"], "alpha": Infinity}', 422, "invalid"),
        (b'{"texts": ["a"], "alpha": 1e400}', 422, "invalid"),
        (b'{"texts": ["a"], "beam": "5"}', 422, "invalid"),
        (b'{"texts": ["a"], "beam": true}', 422, "invalid"),
        (b'{"texts": ["a"], "beam": 0}', 422, "invalid"),
        (b'{"texts": ["\\ud800"]}', 422, "invalid"),
        (b'{"texts": ["a"], "\\ud800": 1}', 422, "invalid"),
        (b'{"texts": []}', 422, "invalid"),
        (b'{"texts": null}', 422, "invalid"),
        (b'{"texts": "a"}', 422, "invalid"),
        (b'{"texts": ["a", 5]}', 422, "invalid"),
        (b"[]", 422, "invalid"),
        (b"null", 422, "invalid"),
        (b'"text"', 422, "invalid"),
        (b"{}", 422, "invalid"),
    ],
)
def test_bad_bodies(client, body, status, code):
    for path in COMPUTE_PATHS:
        response = client.post(path, content=body, headers={"content-type": "application/json"})
        assert 400 <= response.status_code < 500, path
        if path == "/translate" and status is not None:
            error(response, status, code)


@pytest.mark.parametrize(
    ("body", "message", "field"),
    [
        ({}, "texts is missing", "texts"),
        ({"texts": ["a"], "bean": 3}, "bean is not a known field; leave it out", "bean"),
        ({"texts": [{"source": "a", "x": 1}]}, "texts[0].x is not a known field", "texts[0].x"),
        ({"texts": [{"prefix": "a"}]}, "texts[0].source is missing", "texts[0].source"),
        ({"texts": ["a", 5]}, "texts[1] is wrong: input should be a valid string", "texts[1]"),
        ({"texts": ["a"], "beam": 0}, "beam is wrong: input should be greater than", "beam"),
        ({"texts": ["a"], "attention": "some"}, "attention is wrong", "attention"),
        ({"texts": ["a"], "model": "other"}, "no such model is served; expected one of", "model"),
        ({"texts": ["a"]}, "several models are served; name one of 'mine'", "model"),
    ],
)
def test_mistakes_are_told_in_a_sentence(client, body, message, field):
    found = error(client.post("/translate", json=body), 422, "invalid")
    assert found["message"].startswith(message)
    assert found["field"] == field


@pytest.mark.parametrize(
    ("body", "message", "field"),
    [
        ({}, "text is missing", "text"),
        ({"text": 5}, "text is wrong: input should be a valid string", "text"),
        ({"text": "a", "texts": ["a"]}, "texts is not a known field; leave it out", "texts"),
        ({"text": "a", "output": -1}, "output is wrong: input should be greater", "output"),
        ({"text": "a", "output": "1"}, "output is wrong: input should be a valid int", "output"),
        (
            {"text": "a", "require": "b"},
            "require is wrong: input should be a valid list",
            "require",
        ),
        (
            {"text": "a", "require": [1]},
            "require[0] is a number; expected a string or a list",
            "require[0]",
        ),
        ({"text": " "}, "the text is blank, and there is nothing to look at", "text"),
        ({"text": "a", "beam": 99}, "beam is 99 and may be at most 6 here", "beam"),
        ({"text": "a", "model": "<b>"}, "no such model is served; expected one of", "model"),
    ],
)
def test_mistakes_about_looking_are_told_in_a_sentence(client, body, message, field):
    found = error(client.post("/inspect", json={"model": "mine", **body}), 422, "invalid")
    assert found["message"].startswith(message)
    assert found["field"] == field

"""The application as a client sees it: answers, streams, the page, the OpenAPI description."""

import html
import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from serve_helpers import COMPUTE_PATHS, Echo, error, events, translate
from served_runs import INPUTS, LIMITS, WORDS
from starlette.testclient import TestClient

from headway import api
from headway.errors import DataError
from headway.serve import schema
from headway.serve.app import make_app
from headway.serve.workers import WorkerError

# Answers


def test_texts_are_translated(client, trained):
    response = translate(client, *WORDS[:3], "", n_best=2)
    assert response.status_code == 200
    found = response.json()
    assert (found["model"], found["engine"]) == ("mine", "headway")
    for result, right in zip(
        found["results"], trained["mine"].translate([*WORDS[:3], ""], n_best=2), strict=True
    ):
        assert result["source"] == right.source
        assert [one["text"] for one in result["outputs"]] == [one.text for one in right.outputs]


def test_scores_and_labels(client, trained):
    pair = {"source": "abc", "target": "cba"}
    response = client.post("/score", json={"model": "mine", "pairs": [pair]})
    [right] = trained["mine"].score(["abc"], ["cba"])
    assert response.json()["results"][0]["log_prob"] == pytest.approx(right.log_prob)
    response = client.post("/score", json={"model": "lines", "texts": ["abc"]})
    assert len(response.json()["results"][0]["tokens"]) == 4
    response = client.post("/predict", json={"model": "labels", "texts": ["abc", "abab"]})
    assert [one["label"] for one in response.json()["results"]] == [
        one.label for one in trained["labels"].predict(["abc", "abab"])
    ]


@pytest.mark.parametrize("name", INPUTS)
def test_what_is_told_of_texts(client, trained, name):
    response = client.post("/predict", json={"model": name, "texts": INPUTS[name]})
    found = response.json()
    schema.predictions().model_validate(found)
    given = [one if isinstance(one, str) else tuple(one.values()) for one in INPUTS[name]]
    right = [trained[name].to_dict(one) for one in trained[name].predict(given)]
    assert found == {"model": name, "results": json.loads(json.dumps(right))}


def test_what_follows_prompts(client, trained):
    body = {"model": "lines", "prompts": ["ab", ""], "n_best": 2, "max_length": 5, "seed": 4}
    found = client.post("/generate", json=body).json()
    schema.Generations.model_validate(found)
    right = trained["lines"].generate(["ab", ""], n_best=2, max_length=5, seed=4)
    for result, one in zip(found["results"], right, strict=True):
        assert [output["text"] for output in result["outputs"]] == [o.text for o in one.outputs]
    refused = client.post("/generate", json={**body, "temperature": 0})
    assert error(refused, 422, "invalid")["field"] == "temperature"


def test_gaps_and_vectors(client, trained):
    body = {"model": "hidden", "texts": ["the [MASK] sees"], "top": 3}
    found = client.post("/fill", json=body).json()
    schema.Fillings.model_validate(found)
    expected = trained["hidden"].fill("the [MASK] sees", 3).gaps[0]
    assert [one["text"] for one in found["results"][0]["gaps"][0]] == [f.text for f in expected]
    assert error(client.post("/fill", json={**body, "top": 101}), 422, "invalid")["field"] == "top"
    body = {"model": "hidden", "texts": ["the cat", "it"], "normalise": True}
    found = client.post("/embed", json=body).json()
    schema.Embeddings.model_validate(found)
    for one in found["results"]:
        assert sum(value**2 for value in one["vector"]) == pytest.approx(1, abs=1e-5)


def test_one_model_need_not_be_named(make):
    with TestClient(make(only=["mine"])[0]) as client:
        assert client.post("/translate", json={"texts": ["abc"]}).json()["model"] == "mine"


def test_a_stream_tells_each_text_as_it_finishes(client, trained):
    body = {"texts": [*WORDS[:5], ""], "model": "mine"}
    response = client.post("/translate/stream", json=body)
    assert response.headers["content-type"].startswith("text/event-stream")
    *results, (kind, done) = events(response.text)
    assert (kind, done) == ("done", {"model": "mine", "engine": "headway", "texts": 6, "failed": 0})
    assert {kind for kind, _ in results} == {"result"}
    by_number = {data["number"]: data["result"]["outputs"][0]["text"] for _, data in results}
    right = [one.text for one in trained["mine"].translate(body["texts"])]
    assert [by_number[number] for number in range(6)] == right


def test_a_stream_tells_what_went_wrong_with_one_text(make):
    async def work(key, items):
        if any(item.request.source == "bca" for item in items):
            raise WorkerError("on purpose")
        return [b"{}" for _ in items]

    with TestClient(make(work=work)[0]) as client:
        body = {"texts": ["abc", "bca", "cab"], "model": "mine"}
        found = events(client.post("/translate/stream", json=body).text)
        assert sorted((kind, data.get("number")) for kind, data in found[:-1]) == [
            ("error", 1),
            ("result", 0),
            ("result", 2),
        ]
        [problem] = [data["error"] for kind, data in found if kind == "error"]
        assert problem["code"] == "failed"
        assert found[-1][1]["failed"] == 1
        assert error(client.post("/translate", json=body), 503, "failed")["field"] is None


def test_what_is_refused_is_refused_before_a_stream_begins(client):
    response = client.post(
        "/translate/stream", json={"texts": ["abc"], "beam": 99, "model": "mine"}
    )
    assert error(response, 422, "invalid")["field"] == "beam"


# About the server


def test_models_and_limits(client):
    found = client.get("/models").json()
    assert [model["name"] for model in found["models"]][:3] == ["mine", "labels", "lines"]
    for model in found["models"]:
        schema.ModelInfo.model_validate(model)
    assert found["limits"]["beam"] == LIMITS.beam


def test_health_tells_when_the_server_is_about_to_stop(make):
    app, service = make()
    with TestClient(app) as client:
        assert client.get("/health").json() == {"status": "ready"}
        service.batcher.drain()
        response = client.get("/health")
        assert (response.status_code, response.json()) == (503, {"status": "draining"})
        error(translate(client, "abc"), 503, "draining")


def test_the_page_may_ask_this_server_and_nobody_else(client):
    response = client.get("/")
    assert response.headers["content-type"] == "text/html; charset=utf-8"
    assert 'id="live"' in response.text
    [inside] = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', response.text)
    policy = response.headers["content-security-policy"]
    assert policy == f"{html.unescape(inside)}; frame-ancestors 'none'"
    assert "default-src 'none'; script-src 'sha256-" in policy
    assert "connect-src 'self'" in policy
    for name in ("mine", "labels", "lines"):  # it holds nothing of the runs
        assert name not in re.sub("(?s)<style>.*?</style>|<script.*?</script>", "", response.text)


# Looking


def inspect(client, text="abca", **fields):
    return client.post("/inspect", json={"model": "mine", "text": text, **fields})


def test_a_text_is_looked_at(client, trained):
    response = inspect(client, beam=2, output=1, require=["bb"])
    assert response.status_code == 200
    found = response.json()
    wanted = api.TranslationRequest("abca", ["bb"])
    right = trained["mine"].inspect(wanted, beam=2, outputs=[1]).to_dict()
    assert found["outputs"] == json.loads(json.dumps(right["outputs"]))
    assert found["trace"] == right["trace"]
    assert (found["run"]["name"], found["training"]) == ("mine", None)
    schema.InspectionResponse.model_validate(found)


@pytest.mark.parametrize("name", ["lines", "hidden", *INPUTS])
def test_what_is_looked_at_has_one_shape(client, trained, name):
    text = INPUTS.get(name, ["abca"])[0]
    response = client.post("/inspect", json={"model": name, "text": text})
    assert response.json()["kind"] == trained[name].config.task
    schema.InspectionResponse.model_validate(response.json())


def test_what_only_the_search_can_tell_is_told_with_its_field(make):
    async def work(key, items):
        raise DataError("output is 1, and the search found 1, counted from 0")

    with TestClient(make(work=work)[0]) as client:
        found = error(inspect(client, output=1), 422, "invalid")
    assert (found["message"].startswith("output is 1"), found["field"]) == (True, "text")


@pytest.mark.parametrize("text", ["<script>alert(1)</script>", '"><img src=x>', "\u2028</script>"])
def test_markup_in_texts_comes_back_as_json_and_nothing_else(client, text):
    for path in ("/translate", "/predict"):
        response = client.post(path, json={"texts": [text], "model": text})
        assert response.headers["content-type"] == "application/json"
        assert "<" not in response.json()["error"]["message"]
    short = text[:15]
    response = translate(client, short)
    assert response.json()["results"][0]["source"] == short


def test_the_description_names_every_path_and_loads_nothing(client):
    found = client.get("/openapi.json").json()
    assert set(found["paths"]) == {
        *COMPUTE_PATHS,
        *("/models", "/training", "/health", "/metrics"),
    }
    for name, component in found["components"]["schemas"].items():
        assert component["description"], name
        assert "Attributes:" not in component["description"]
    for path in ("/docs", "/redoc"):
        error(client.get(path), 404, "not_found")


def test_pages_from_elsewhere_may_ask_only_if_told(make):
    origin = "https://example.org"
    asked = {"origin": origin, "access-control-request-method": "POST"}
    with TestClient(make()[0]) as client:
        response = client.options("/translate", headers=asked)
        assert "access-control-allow-origin" not in response.headers
        response = client.get("/models", headers={"origin": origin})
        assert "access-control-allow-origin" not in response.headers
    with TestClient(make(origins=[origin])[0]) as client:
        response = client.options("/translate", headers=asked)
        assert response.status_code == 200
        assert response.headers["access-control-allow-origin"] == origin
        assert "POST" in response.headers["access-control-allow-methods"]
        other = client.get("/models", headers={"origin": "https://example.com"})
        assert "access-control-allow-origin" not in other.headers


def test_pages_from_elsewhere_may_ask_with_a_token_and_read_refusals(make):
    origin = "https://example.org"
    with TestClient(make(token="secret", origins=[origin])[0]) as client:
        asked = {
            "origin": origin,
            "access-control-request-method": "POST",
            "access-control-request-headers": "authorization, content-type",
        }
        response = client.options("/translate", headers=asked)  # browsers send no token with it
        assert response.status_code == 200
        assert "authorization" in response.headers["access-control-allow-headers"]
        refused = client.post("/translate", json={}, headers={"origin": origin})
        error(refused, 401, "unauthorized")
        assert refused.headers["access-control-allow-origin"] == origin
        headers = {"origin": origin, "authorization": "Bearer secret"}
        wrong = client.post("/translate", json={}, headers=headers)
        error(wrong, 422, "invalid")
        assert wrong.headers["access-control-allow-origin"] == origin


def test_a_form_of_another_page_is_no_request(client):
    """What a browser sends without asking first is not read as JSON."""
    body = json.dumps({"texts": ["abc"], "model": "mine"})
    response = client.post("/translate", content=body, headers={"content-type": "text/plain"})
    error(response, 415, "wrong_type")


@pytest.mark.parametrize("text", ["\0", "a\0b", "\u202e", "\ufeff", "e\u0301" * 5, "\r\n", "\x7f"])
def test_strange_characters_get_an_answer(client, text):
    assert translate(client, text).json()["results"][0]["source"] == text


def test_wrong_paths_and_methods(client):
    assert "/translate" in error(client.get("/nowhere"), 404, "not_found")["message"]
    response = client.get("/translate")
    assert error(response, 405, "wrong_method")["message"] == "GET is not allowed here"
    assert response.headers["allow"] == "POST"
    error(client.post("/translate/", json={}), 404, "not_found")


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.text(max_size=6) | st.sampled_from(["source", "require", "forbid"]), inner
        )
    ),
    max_leaves=6,
)
FIELDS = ["texts", "model", "beam", "alpha", "n_best", "max_length", "glossary", "pairs", "trace"]
FIELDS += ["text", "require", "forbid", "prefix", "output", "prompts", "temperature", "top_k"]
FIELDS += ["top", "pooling", "normalise", "text2", "question", "context"]


@pytest.fixture(scope="module")
def echo(validators):
    """Asks an application that does everything but compute."""
    with TestClient(make_app(validators, Echo(), LIMITS)[0]) as client:
        yield client


@given(data=st.data())
def test_any_json_gets_an_answer_that_is_documented(data, echo):
    """Fields of the schema with values of any kind."""
    fields = st.fixed_dictionaries({}, optional=dict.fromkeys(FIELDS, VALUES))
    body = data.draw(fields | VALUES)
    if isinstance(body, dict) and data.draw(st.booleans()):
        body |= {"model": "mine", "texts": ["abc", {"source": data.draw(st.text(max_size=20))}]}
    path = data.draw(st.sampled_from(COMPUTE_PATHS))
    if isinstance(body, dict) and path == "/inspect" and data.draw(st.booleans()):
        body.pop("texts", None)
        body |= {"model": "mine", "text": data.draw(st.text(max_size=20))}
    content = json.dumps(body).encode()
    response = echo.post(path, content=content, headers={"content-type": "application/json"})
    assert response.status_code in (200, 400, 422), response.text
    if response.status_code != 200:
        assert list(response.json()) == ["error"]


@given(content=st.binary(max_size=60))
def test_any_bytes_get_an_answer(content, echo):
    headers = {"content-type": "application/json"}
    assert echo.post("/translate", content=content, headers=headers).status_code in (400, 422)

"""The application as a client sees it: answers, errors of one shape, limits, streams, figures."""

import asyncio
import html
import json
import re
import shutil

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st
from served_runs import INPUTS, LIMITS, WORDS
from starlette.testclient import TestClient

from headway import api
from headway.api.config import stored_config
from headway.errors import DataError
from headway.runs import RunDir
from headway.serve import schema
from headway.serve.desk import Desk
from headway.serve.http import make_app
from headway.serve.limits import Limits
from headway.serve.pool import Failed
from headway.serve.watch import Watch

TOKEN = "open sesame"
PATHS = ["/translate", "/translate/stream", "/score", "/predict"]
PATHS += ["/generate", "/fill", "/embed", "/inspect"]


def error(response, status, code):
    """The error of a response, whose shape and status are checked."""
    assert response.status_code == status, response.text
    assert list(response.json()) == ["error"]
    found = response.json()["error"]
    assert list(found) == ["code", "message", "field"]
    assert found["code"] == code
    assert "\n" not in found["message"]
    assert response.headers["content-type"] == "application/json"
    assert ("retry-after" in response.headers) == (status in (429, 503))
    return found


def translate(client, *texts, **options):
    return client.post("/translate", json={"texts": list(texts), "model": "mine", **options})


async def posts(app, bodies, path="/translate"):
    """Answers to requests that are made at the same time."""
    transport = httpx2.ASGITransport(app)
    async with httpx2.AsyncClient(transport=transport, base_url="http://here") as client:
        asked = [client.post(path, json=body, timeout=300) for body in bodies]
        return await asyncio.gather(*asked)


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
    schema.Predictions.model_validate(found)
    given = [one if isinstance(one, str) else tuple(one.values()) for one in INPUTS[name]]
    right = [trained[name].record(one) for one in trained[name].predict(given)]
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


def test_many_clients_get_their_own_answers_from_shared_batches(make, trained):
    app, service = make(Limits(queue=500))
    batches = []
    work = service.batcher._work

    async def watched(ask, items):
        batches.append(len(items))
        return await work(ask, items)

    service.batcher._work = watched
    words = [WORDS[n % len(WORDS)][: 1 + n % 4] for n in range(60)]
    bodies = [
        {"texts": [word] * (1 + n % 2), "model": "mine", "beam": 2 + n % 2}
        for n, word in enumerate(words)
    ]
    right = {
        (word, beam): trained["mine"].translate([word], beam=beam)[0].text
        for word in set(words)
        for beam in (2, 3)
    }
    for body, response in zip(bodies, asyncio.run(posts(app, bodies)), strict=True):
        found = [(one["source"], one["outputs"][0]["text"]) for one in response.json()["results"]]
        expected = [(text, right[text, body["beam"]]) for text in body["texts"]]
        assert found == expected
    assert max(batches) > 8
    assert sum(batches) == 90


def events(text):
    """Kinds and contents of server-sent events."""
    found = []
    for block in text.removesuffix("\n\n").split("\n\n"):
        kind, data = block.split("\n")
        found.append((kind.removeprefix("event: "), json.loads(data.removeprefix("data: "))))
    return found


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
    async def work(ask, items):
        if any(item.request.source == "bca" for item in items):
            raise Failed("on purpose")
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


def test_figures_for_prometheus(client):
    translate(client, "abc")
    translate(client, "abc", beam=99)
    client.get("/nothing/here")
    text = client.get("/metrics").text
    assert 'headway_requests_total{path="/translate",status="200"} 1.0' in text
    assert 'headway_requests_total{path="/translate",status="422"} 1.0' in text
    assert 'headway_requests_total{path="other",status="404"} 1.0' in text
    assert "headway_batch_texts_count 1.0" in text
    assert "headway_waiting_texts 0.0" in text


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
    wanted = api.Request("abca", ["bb"])
    right = trained["mine"].inspect(wanted, beam=2, outputs=[1]).to_dict()
    assert found["outputs"] == json.loads(json.dumps(right["outputs"]))
    assert found["trace"] == right["trace"]
    assert (found["run"]["name"], found["training"]) == ("mine", None)
    schema.Inspection.model_validate(found)


@pytest.mark.parametrize("name", ["lines", "hidden", *INPUTS])
def test_what_is_looked_at_has_one_shape(client, trained, name):
    text = INPUTS.get(name, ["abca"])[0]
    response = client.post("/inspect", json={"model": name, "text": text})
    assert response.json()["kind"] == trained[name].config.task
    schema.Inspection.model_validate(response.json())


@pytest.mark.parametrize(
    ("body", "message", "field"),
    [
        ({}, "text is missing", "text"),
        ({"text": 5}, "text is wrong: input should be a valid string", "text"),
        ({"text": "a", "texts": ["a"]}, "texts is no field there; leave it out", "texts"),
        ({"text": "a", "output": -1}, "output is wrong: input should be greater", "output"),
        ({"text": "a", "output": "1"}, "output is wrong: input should be a valid int", "output"),
        (
            {"text": "a", "require": "b"},
            "require is wrong: input should be a valid list",
            "require",
        ),
        ({"text": "a", "require": [1]}, "require[0] is wrong", "require[0]"),
        ({"text": " "}, "the text is blank, and there is nothing to look at", "text"),
        ({"text": "a", "beam": 99}, "beam is 99 and may be at most 6 here", "beam"),
        ({"text": "a", "model": "<b>"}, "no such model is served; there is", "model"),
    ],
)
def test_mistakes_about_looking_are_told_in_a_sentence(client, body, message, field):
    found = error(client.post("/inspect", json={"model": "mine", **body}), 422, "invalid")
    assert found["message"].startswith(message)
    assert found["field"] == field


def test_what_only_the_search_can_tell_is_told_with_its_field(make):
    async def work(ask, items):
        raise DataError("output is 1, and the search found 1, counted from 0")

    with TestClient(make(work=work)[0]) as client:
        found = error(inspect(client, output=1), 422, "invalid")
    assert (found["message"].startswith("output is 1"), found["field"]) == (True, "text")


def test_the_log_is_read_anew_each_time(runs, tmp_path):
    shutil.copytree(runs / "mine", tmp_path / "mine")
    log = tmp_path / "mine" / "log.jsonl"
    desk = Desk("mine", api.load(tmp_path / "mine"), LIMITS)
    with TestClient(make_app({"mine": desk}, Echo(), LIMITS)[0]) as client:
        found = client.get("/training?model=mine").json()
        assert found["model"] == "mine"
        assert found["rows"][-1]["step"] == 80
        assert client.get("/training").json() == found  # there is only one
        with log.open("a") as file:
            file.write('{"step": 90, "loss": NaN, "note": "x"}\n{"step": 91, "lo')
        after = client.get("/training").json()["rows"]
        assert after == [*found["rows"], {"step": 90, "loss": None}]
        log.unlink()
        assert client.get("/training").json()["rows"] == []


def test_a_damaged_log_is_no_mistake_of_the_client(runs, tmp_path, capfd):
    shutil.copytree(runs / "mine", tmp_path / "mine")
    (tmp_path / "mine" / "log.jsonl").write_text("[]\n")
    desk = Desk("mine", api.load(tmp_path / "mine"), LIMITS)
    with TestClient(make_app({"mine": desk}, Echo(), LIMITS)[0]) as client:
        assert str(tmp_path) not in error(client.get("/training"), 503, "failed")["message"]
    assert "log.jsonl:1 is not a JSON object" in capfd.readouterr().err


@pytest.mark.parametrize("query", ["?model=other", "?model=%00", "?model=%ff", "?model=", ""])
def test_training_of_a_model_that_is_not_served(client, query):
    found = error(client.get(f"/training{query}"), 422, "invalid")
    assert found["field"] == "model"
    assert "'mine', 'labels', 'lines'" in found["message"]


def test_a_run_without_weights_is_watched(runs, tmp_path, desks):
    shutil.copytree(runs / "mine", tmp_path / "new")
    (tmp_path / "new" / "model.safetensors").unlink()
    run = RunDir.open(tmp_path / "new")
    both = {"new": Watch("new", run, stored_config(run)), "mine": desks["mine"]}
    app, service = make_app(both, Echo(), LIMITS)
    asyncio.run(service.warm_up())
    with TestClient(app) as client:
        model = client.get("/models").json()["models"][0]
        schema.ModelInfo.model_validate(model)
        assert (model["name"], model["verbs"], model["parameters"]) == ("new", [], None)
        rows = client.get("/training?model=new").json()["rows"]
        assert rows[-1]["step"] == max(record.get("step", 0) for record in run.log.read())
        for path, body in (("/inspect", {"text": "a"}), ("/translate", {"texts": ["a"]})):
            found = error(client.post(path, json={"model": "new", **body}), 422, "invalid")
            assert found["message"].startswith("model 'new' has no weights yet, only its training")
            assert found["field"] == "model"


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
        *PATHS,
        *("/models", "/training", "/health", "/metrics"),
    }
    for path in ("/docs", "/redoc"):
        error(client.get(path), 404, "not_found")


# Who may ask


def test_a_token_is_asked_for(make):
    with TestClient(make(token=TOKEN)[0]) as client:
        for headers in ({}, {"authorization": "Bearer no"}, {"authorization": f"Basic {TOKEN}"}):
            for path in ("/models", "/training", "/metrics", "/openapi.json", "/nowhere"):
                response = client.get(path, headers=headers)
                error(response, 401, "unauthorized")
                assert response.headers["www-authenticate"] == "Bearer"
            for path in ("/translate", "/inspect"):
                error(client.post(path, json={}, headers=headers), 401, "unauthorized")
        assert client.get("/health").status_code == 200
        page = client.get("/")
        assert page.status_code == 200
        headers = {"authorization": f"bearer {TOKEN}"}
        assert client.get("/models", headers=headers).status_code == 200
        strange = {"authorization": b"Bearer \xff\xfe"}
        error(client.get("/models", headers=strange), 401, "unauthorized")


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
        assert response.headers["access-control-allow-origin"] == origin
        other = client.get("/models", headers={"origin": "https://example.com"})
        assert "access-control-allow-origin" not in other.headers


def test_a_form_of_another_page_is_no_request(client):
    """What a browser sends without asking first is not read as JSON."""
    body = json.dumps({"texts": ["abc"], "model": "mine"})
    response = client.post("/translate", content=body, headers={"content-type": "text/plain"})
    assert response.status_code == 422


# Limits


def test_a_body_that_is_too_large(make):
    with TestClient(make(Limits(body=2000))[0]) as client:
        response = translate(client, "a" * 3000)
        assert error(response, 413, "too_large")["message"].startswith(
            "the body has more than 2000"
        )

        def chunks():
            for _ in range(50):
                yield b"[" * 100

        response = client.post(
            "/translate", content=chunks(), headers={"content-type": "application/json"}
        )
        error(response, 413, "too_large")


def test_a_body_that_does_not_come(make):
    app, _ = make(Limits(seconds=0.05))

    async def run():
        sent = []

        async def receive():
            await asyncio.sleep(10)

        async def send(message):
            sent.append(message)

        scope = {"type": "http", "method": "POST", "path": "/translate", "headers": []}
        await asyncio.wait_for(app(scope, receive, send), 5)
        assert sent[0]["status"] == 408
        assert json.loads(sent[1]["body"])["error"]["code"] == "slow_body"

    asyncio.run(run())


def test_more_than_may_wait(make):
    released = []

    async def work(ask, items):
        while not released:
            await asyncio.sleep(0.01)
        return [b"{}" for _ in items]

    async def run():
        app, service = make(Limits(texts=4, queue=4), work=work, budget=1)
        first = asyncio.create_task(posts(app, [{"texts": ["abc"] * 4, "model": "mine"}]))
        while service.batcher.n_waiting < 3:
            await asyncio.sleep(0.01)
        many = await posts(app, [{"texts": ["abc"] * 3, "model": "mine"}] * 20)
        released.append(True)
        return many, await first

    refused, [answered] = asyncio.run(run())
    for response in refused:
        error(response, 429, "busy")
        assert int(response.headers["retry-after"]) >= 1
    assert answered.status_code == 200


def test_a_request_that_takes_too_long(make):
    async def work(ask, items):
        await asyncio.Event().wait()

    with TestClient(make(Limits(seconds=0.5), work=work)[0]) as client:
        message = error(translate(client, "abc"), 503, "timeout")["message"]
        assert message.startswith("not answered within 0.5 s")
        body = {"texts": ["abc"], "model": "mine"}
        [(kind, data)] = events(client.post("/translate/stream", json=body).text)
        assert (kind, data["number"], data["error"]["code"]) == ("error", None, "timeout")


@pytest.mark.parametrize("path", ["/translate", "/translate/stream"])
def test_the_work_of_a_client_that_has_gone_is_dropped(make, path):
    begun = []

    async def run():
        has_gone = asyncio.Event()

        async def work(ask, items):
            begun.extend(items)
            await has_gone.wait()
            return [b"{}" for _ in items]

        app, service = make(work=work, budget=1)
        body = json.dumps({"texts": ["abc"] * 5, "model": "mine"}).encode()
        messages = [{"type": "http.request", "body": body}]

        async def receive():
            if messages:
                return messages.pop()
            while not service.batcher.n_running:
                await asyncio.sleep(0.001)
            return {"type": "http.disconnect"}

        async def send(message):
            pass

        scope = {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.4"},
            "method": "POST",
            "path": path,
            "query_string": b"",
            "headers": [(b"content-type", b"application/json")],
        }
        await asyncio.wait_for(app(scope, receive, send), 5)
        assert service.batcher.n_waiting == 0
        has_gone.set()
        while service.batcher.n_running:
            await asyncio.sleep(0.01)

    asyncio.run(run())
    assert len(begun) == 1


# Bad input


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
    for path in PATHS:
        response = client.post(path, content=body, headers={"content-type": "application/json"})
        assert 400 <= response.status_code < 500, path
        if path == "/translate" and status is not None:
            error(response, status, code)


@pytest.mark.parametrize(
    ("body", "message", "field"),
    [
        ({}, "texts is missing", "texts"),
        ({"texts": ["a"], "bean": 3}, "bean is no field there; leave it out", "bean"),
        ({"texts": [{"source": "a", "x": 1}]}, "texts[0].x is no field there", "texts[0].x"),
        ({"texts": [{"prefix": "a"}]}, "texts[0].source is missing", "texts[0].source"),
        ({"texts": ["a", 5]}, "texts[1] is wrong: input should be a valid string", "texts[1]"),
        ({"texts": ["a"], "beam": 0}, "beam is wrong: input should be greater than", "beam"),
        ({"texts": ["a"], "attention": "some"}, "attention is wrong", "attention"),
        ({"texts": ["a"], "model": "other"}, "no such model is served; there is", "model"),
        ({"texts": ["a"]}, "several models are served; name one of 'mine'", "model"),
    ],
)
def test_mistakes_are_told_in_a_sentence(client, body, message, field):
    found = error(client.post("/translate", json=body), 422, "invalid")
    assert found["message"].startswith(message)
    assert found["field"] == field


@pytest.mark.parametrize("text", ["\0", "a\0b", "\u202e", "\ufeff", "e\u0301" * 5, "\r\n", "\x7f"])
def test_strange_characters_get_an_answer(client, text):
    assert translate(client, text).json()["results"][0]["source"] == text


def test_wrong_paths_and_methods(client):
    assert "/translate" in error(client.get("/nowhere"), 404, "not_found")["message"]
    response = client.get("/translate")
    assert error(response, 405, "wrong_method")["message"] == "not with GET"
    assert response.headers["allow"] == "POST"
    error(client.post("/translate/", json={}), 404, "not_found")


def test_what_nobody_expected_is_a_503_too(make, capfd):
    app, service = make()
    service._desk = lambda model: 1 / 0
    with TestClient(app, raise_server_exceptions=False) as client:
        error(translate(client, "abc"), 503, "failed")
    assert "ZeroDivisionError" in capfd.readouterr().err


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


class Echo:
    """Computes nothing."""

    workers = 1

    async def answer(self, ask, items):
        return [b"{}" for _ in items]


@pytest.fixture(scope="module")
def echo(desks):
    """Asks an application that does everything but compute."""
    with TestClient(make_app(desks, Echo(), LIMITS)[0]) as client:
        yield client


@given(data=st.data())
def test_any_json_gets_an_answer_that_is_documented(data, echo):
    """Fields of the schema with values of any kind."""
    fields = st.fixed_dictionaries({}, optional=dict.fromkeys(FIELDS, VALUES))
    body = data.draw(fields | VALUES)
    if isinstance(body, dict) and data.draw(st.booleans()):
        body |= {"model": "mine", "texts": ["abc", {"source": data.draw(st.text(max_size=20))}]}
    path = data.draw(st.sampled_from(PATHS))
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

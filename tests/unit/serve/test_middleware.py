"""Tokens, the size and time limits of bodies, and uncaught exceptions."""

import asyncio
import json

from serve_helpers import error, translate
from starlette.testclient import TestClient

from headway.serve.allowed_hosts import AllowedHosts
from headway.serve.limits import Limits

TOKEN = "open sesame"


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

        scope = {"type": "http", "http_version": "1.1", "method": "POST", "path": "/translate"}
        await asyncio.wait_for(app({**scope, "headers": []}, receive, send), 5)
        assert sent[0]["status"] == 408
        assert (b"connection", b"close") in sent[0]["headers"]
        assert json.loads(sent[1]["body"])["error"]["code"] == "slow_body"

    asyncio.run(run())


def test_a_client_that_waits_for_leave_does_not_get_it_for_a_large_body(make):
    app, _ = make(Limits(body=2000))
    sent = []

    async def receive():
        raise AssertionError("asking for the body grants the leave")

    async def send(message):
        sent.append(message)

    headers = [(b"content-length", b"3000"), (b"expect", b"100-continue")]
    scope = {"type": "http", "http_version": "1.1", "method": "POST", "path": "/translate"}
    asyncio.run(app({**scope, "headers": headers}, receive, send))
    assert sent[0]["status"] == 413
    assert (b"connection", b"close") in sent[0]["headers"]


def test_requests_that_a_stop_cuts_off_are_answered(make):
    app, _ = make()
    sent = []

    async def run():
        async def send(message):
            sent.append(message)

        scope = {"type": "http", "http_version": "1.1", "method": "POST", "path": "/translate"}
        task = asyncio.create_task(app({**scope, "headers": []}, asyncio.Event().wait, send))
        await asyncio.sleep(0.05)
        task.cancel()
        await task

    asyncio.run(run())
    assert json.loads(sent[1]["body"])["error"]["code"] == "draining"


def test_what_nobody_expected_is_a_503_too(make, capfd):
    app, service = make()
    service._validator = lambda model: 1 / 0
    with TestClient(app, raise_server_exceptions=False) as client:
        error(translate(client, "abc"), 503, "failed")
    assert "ZeroDivisionError" in capfd.readouterr().err


def test_another_host_is_refused_before_anything_is_read(make):
    with TestClient(make(hosts=AllowedHosts("127.0.0.1"))[0], base_url="http://evil.example") as c:
        for path in ("/", "/health", "/models", "/metrics"):
            error(c.get(path), 421, "wrong_host")
        error(translate(c, "abc"), 421, "wrong_host")
    with TestClient(make(hosts=AllowedHosts("127.0.0.1"))[0], base_url="http://localhost:8") as c:
        assert c.get("/models").status_code == 200


def test_a_body_of_two_lengths_is_refused(make):
    headers = {"content-length": "2", "transfer-encoding": "chunked"}
    with TestClient(make()[0]) as client:
        response = client.post("/translate", content=b"{}", headers=headers)
    error(response, 400, "malformed")
    assert response.headers["connection"] == "close"


def test_the_last_answers_close_their_connection(make):
    app, service = make()
    with TestClient(app) as client:
        assert "connection" not in client.get("/health").headers
        service.batcher.drain()
        assert client.get("/health").headers["connection"] == "close"
        assert error(translate(client, "abc"), 503, "draining")
        assert translate(client, "abc").headers["connection"] == "close"

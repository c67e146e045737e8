"""Requests through the queue: shared batches, time limits, clients that leave."""

import asyncio
import json

import pytest
from serve_helpers import error, events, posts, translate
from served_runs import WORDS
from starlette.testclient import TestClient

from headway.serve.limits import Limits


def test_many_clients_get_their_own_answers_from_shared_batches(make, trained):
    app, service = make(Limits(queue=500))
    batches = []
    work = service.batcher._work

    async def watched(key, items):
        batches.append(len(items))
        return await work(key, items)

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


def test_more_than_may_wait(make):
    released = []

    async def work(key, items):
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
    async def work(key, items):
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

        async def work(key, items):
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
            "http_version": "1.1",
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

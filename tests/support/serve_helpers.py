"""Requests to an application, a validator or an engine, and checks of error responses."""

import asyncio
import json

import httpx2
import pytest

from headway import api
from headway.search import SearchConfig
from headway.serve.engine import BatchKey, TranslationItem
from headway.serve.limits import InvalidRequest
from headway.serve.schema import TranslateRequest

COMPUTE_PATHS = ["/translate", "/translate/stream", "/score", "/predict"]
COMPUTE_PATHS += ["/generate", "/fill", "/embed", "/forecast", "/inspect"]
SEARCH = SearchConfig(beam=3, n_best=2, max_length=24)
KEY = BatchKey("mine", "translate", SEARCH, cells=10_000)


class Echo:
    """A worker pool that computes nothing."""

    workers = 1

    async def answer(self, key, items):
        return [b"{}" for _ in items]


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


def events(text):
    """Kinds and contents of server-sent events."""
    found = []
    for block in text.removesuffix("\n\n").split("\n\n"):
        kind, data = block.split("\n")
        found.append((kind.removeprefix("event: "), json.loads(data.removeprefix("data: "))))
    return found


def asking(**fields):
    return TranslateRequest.model_validate({"texts": ["abc"], **fields})


def refusal(call, *arguments):
    with pytest.raises(InvalidRequest) as found:
        call(*arguments)
    return str(found.value), found.value.field


def items_of(*texts):
    return [
        TranslationItem(f"texts[{i}]", api.TranslationRequest(text)) for i, text in enumerate(texts)
    ]


def answer(engine, key, items):
    return [json.loads(one) for one in engine.answer(key, items)]

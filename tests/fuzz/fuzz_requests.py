"""Damaged HTTP requests to an application in this process, with a small run of each task."""

import asyncio
import json
from pathlib import Path
from random import Random
from typing import Any

from fuzz_kinds import Files, Kind
from fuzz_mutations import TEXTS, damaged_bytes, damaged_json

from headway import api
from headway.serve.app import COMPUTE_PATHS, PATHS, make_app
from headway.serve.engine import Engine
from headway.serve.validate import RequestValidator
from headway.serve.workers import ThreadWorker

TERMS = {"require": ["cb", ["a", "ba"]], "forbid": ["b"], "prefix": "c"}
ROWS = "date,load,sun\n2024-01-01,1,2\n2024-01-02,2,\n2024-01-03,4,1e3\n"
LISTS = {
    "name": "shop",
    "times": ["2024-01-01 00:00", "2024-01-01 01:00", "2024-01-01 03:00"],
    "columns": {"load": [1.5, None, 2], "sun": [0.0, -1.0, 1e9]},
    "frequency": "h",
}
PAIR = {"question": "where ?", "context": "it sat in Rome"}
BODIES: list[tuple[str, dict[str, Any]]] = [
    ("/translate", {"model": "mine", "texts": ["abc", ""], "beam": 2, "max_length": 5}),
    ("/translate", {"model": "mine", "texts": [{"source": "abc", **TERMS}], "max_length": 8}),
    (
        "/translate",
        {
            "model": "mine",
            "texts": ["abc"],
            "glossary": [{"source": "abc", "require": ["cb"], "forbid": ["a"]}],
            "align": True,
            "trace": True,
            "attention": "all",
            "n_best": 2,
            "alpha": 0.6,
            "max_length": 6,
        },
    ),
    ("/translate/stream", {"model": "mine", "texts": ["abc", "cab"], "max_length": 4}),
    ("/score", {"model": "mine", "pairs": [{"source": "abc", "target": "cba"}]}),
    ("/score", {"model": "lines", "texts": ["abc"]}),
    ("/predict", {"model": "labels", "texts": ["abc"]}),
    ("/predict", {"model": "tags", "texts": ["Ann saw Bob"]}),
    ("/predict", {"model": "answers", "texts": [PAIR]}),
    ("/predict", {"model": "values", "texts": ["so good"]}),
    ("/predict", {"model": "pairs", "texts": [{"text": "so good", "text2": "bad"}]}),
    ("/generate", {"model": "lines", "prompts": ["ab", ""], "max_length": 4, "seed": 3}),
    ("/generate", {"model": "lines", "prompts": ["a"], "beam": 2, "n_best": 2, "max_length": 4}),
    ("/fill", {"model": "hidden", "texts": ["the [MASK] sees"], "top": 3}),
    ("/embed", {"model": "hidden", "texts": ["the cat"], "pooling": "first", "normalise": True}),
    ("/inspect", {"model": "mine", "text": "abc", **TERMS, "output": 0, "max_length": 5}),
    ("/inspect", {"model": "answers", "text": PAIR}),
    ("/inspect", {"model": "lines", "text": "ab"}),
    ("/forecast", {"model": "plain", "series": [LISTS], "horizon": 14}),
    ("/forecast", {"model": "plain", "csv": ROWS}),
    ("/inspect", {"model": "plain", "series": LISTS, "column": "sun", "at": -2}),
    ("/inspect", {"model": "plain", "csv": ROWS, "at": "2024-01-02"}),
]
LONGEST_MESSAGE = 1000


class WrongResponse(Exception):
    """A response that breaks a promise."""


class Requests(Kind):
    """Requests to every path."""

    name = "requests"

    def prepare(self, folder: Path) -> None:
        from served_runs import LIMITS, READING, make_served_runs
        from viewed_series import make_forecast_runs

        make_served_runs(folder, steps=1)
        make_forecast_runs(folder, "plain")
        names = ("mine", "labels", "lines", *READING, "plain")
        self._trained = {name: api.load(folder / name) for name in names}
        self._limits = LIMITS
        self._app: Any = None

    def start(self) -> None:
        # Threads do not survive a fork, so each process has its own application.
        engines = {name: Engine(trained) for name, trained in self._trained.items()}
        validators = {
            name: RequestValidator(name, trained, self._limits)
            for name, trained in self._trained.items()
        }
        self._app, _ = make_app(validators, ThreadWorker(engines), self._limits)
        self._loop = asyncio.new_event_loop()

    def make(self, rng: Random) -> Files:
        path, body = rng.choice(BODIES)
        others = [other for _, other in BODIES]
        if rng.random() < 0.1:
            content = damaged_bytes(rng, json.dumps(body).encode(), [])
        else:
            content = damaged_json(rng, body, others)
        request = {"method": "POST", "path": path, "query": "", "type": "application/json"}
        if rng.random() < 0.05:
            request["path"] = rng.choice((*COMPUTE_PATHS, *PATHS, "/nowhere", "//", "/models/"))
        if rng.random() < 0.05:
            request["method"] = rng.choice(("GET", "PUT", "HEAD", "OPTIONS", "DELETE"))
        if rng.random() < 0.05:
            request["type"] = rng.choice(("", "text/plain", "application/json; charset=x", "\0"))
        if rng.random() < 0.05:
            request |= {"method": "GET", "path": "/training"}
            request["query"] = "model=" + rng.choice(("mine", "%00", "%ff", "%ud800", *TEXTS))
        return {"body": content, "request": json.dumps(request).encode()}

    def read(self, files: Files, folder: Path) -> None:
        if self._app is None:
            self.start()
        request = json.loads(files["request"])
        answer = _answer(self._app, request, files["body"])
        _check(*self._loop.run_until_complete(answer))


async def _answer(app: Any, request: dict[str, str], body: bytes) -> tuple[int, str, bytes]:
    """Status, content type and body of the response of an ASGI application."""
    headers = [(b"host", b"127.0.0.1"), (b"content-type", request["type"].encode())]
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": request["method"],
        "scheme": "http",
        "path": request["path"],
        "raw_path": request["path"].encode(),
        "query_string": request["query"].encode("utf-8", "surrogatepass"),
        "headers": headers,
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 80),
    }
    sent: list[dict[str, Any]] = []
    waiting = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> dict[str, Any]:
        if waiting:
            return waiting.pop()
        await asyncio.Event().wait()  # the client stays
        raise AssertionError

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    await app(scope, receive, send)
    fields = {name.lower(): value.decode() for name, value in sent[0]["headers"]}
    content = b"".join(message.get("body", b"") for message in sent[1:])
    return sent[0]["status"], fields.get(b"content-type", ""), content


def _check(status: int, content_type: str, content: bytes) -> None:
    if content_type.startswith("text/event-stream"):
        for block in content.decode().removesuffix("\n\n").split("\n\n"):
            kind, data = block.split("\n")
            value = _strict_json(data.removeprefix("data: "))
            if kind == "event: error":
                _check_problem(422, value)
    elif status < 300:
        if content_type.startswith("application/json"):
            _strict_json(content)
    else:
        _check_problem(status, _strict_json(content) if content else None)


def _check_problem(status: int, value: Any) -> None:
    if not 400 <= status < 500:
        raise WrongResponse(f"status {status}: {str(value)[:300]}")
    if value is None:
        return
    problem = value.get("error", value)
    message = problem["message"]
    if problem["code"] == "failed" or "\n" in message or len(message) > LONGEST_MESSAGE:
        raise WrongResponse(f"{problem['code']}: {message[:300]!r} ({len(message)} characters)")


def _strict_json(text: str | bytes) -> Any:
    def refuse(name: str) -> Any:
        raise WrongResponse(f"{name} is not JSON")

    return json.loads(text, parse_constant=refuse)

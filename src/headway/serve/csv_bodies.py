"""A CSV file as the body of a forecast request: made the JSON that the path takes."""

import json
from typing import Any
from urllib.parse import parse_qsl

from .errors import ProblemError
from .middleware import App

FORECAST = "/forecast"
CSV_TYPE = "text/csv"
PARAMETERS = ("model", "horizon")
"""Fields of the request that the address may have."""


class CsvBodies:
    """Passes requests on to an application; a CSV body becomes the field `csv` of a JSON object.

    The whole body must have arrived, within its limit.
    """

    def __init__(self, app: App) -> None:
        self._app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http" or scope["path"] != FORECAST or not _is_csv(scope):
            await self._app(scope, receive, send)
            return
        message = await receive()
        content = json.dumps(_request(scope, message.get("body", b""))).encode()
        is_read = False

        async def once() -> Any:
            nonlocal is_read
            if is_read:
                return await receive()
            is_read = True
            return {"type": "http.request", "body": content, "more_body": False}

        await self._app({**scope, "headers": _headers(scope, len(content))}, once, send)


def _request(scope: Any, body: bytes) -> dict[str, Any]:
    """The JSON of a request."""
    try:
        text = body.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ProblemError("malformed", "the CSV file is not UTF-8; save it as UTF-8") from None
    if _is_json(text):
        raise ProblemError(
            "wrong_type",
            "the Content-Type is 'text/csv' and the body is JSON; send it with -H 'content-type: "
            "application/json'",
        )
    request: dict[str, Any] = {"csv": text}
    for name, value in parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True):
        if name not in PARAMETERS:
            message = f"{ascii(name)[1:-1]} is not a known parameter; expected model or horizon"
            raise ProblemError("invalid", message)
        is_number = name == "horizon" and value.isascii() and value.isdecimal() and len(value) < 10
        request[name] = int(value) if is_number else value
    return request


def _is_json(text: str) -> bool:
    """Whether a body is a JSON object, which no CSV file begins like."""
    if not text.lstrip().startswith("{"):
        return False
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _is_csv(scope: Any) -> bool:
    types = [value for name, value in scope["headers"] if name.lower() == b"content-type"]
    return len(types) == 1 and types[0].split(b";")[0].strip().lower() == CSV_TYPE.encode()


def _headers(scope: Any, length: int) -> list[tuple[bytes, bytes]]:
    """The headers of a JSON body in place of those of the CSV file."""
    replaced = (b"content-type", b"content-length", b"transfer-encoding")
    kept = [(name, value) for name, value in scope["headers"] if name.lower() not in replaced]
    length_header = (b"content-length", str(length).encode())
    return [*kept, (b"content-type", b"application/json"), length_header]

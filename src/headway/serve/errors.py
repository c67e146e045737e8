"""Errors as responses: one JSON shape, an HTTP status, one sentence.

The table `STATUS` has every code; an unexpected exception is `failed`, a 503.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import BaseModel

from ..errors import HeadwayError
from . import schema
from .batcher import Draining, QueueFull, TooSlow
from .limits import InvalidRequest
from .workers import WorkerError

STATUS = {
    "malformed": 400,
    "unauthorized": 401,
    "not_found": 404,
    "wrong_method": 405,
    "slow_body": 408,
    "too_large": 413,
    "wrong_type": 415,
    "wrong_host": 421,
    "invalid": 422,
    "busy": 429,
    "timeout": 503,
    "draining": 503,
    "failed": 503,
}
"""Status by code."""
NO_JSON = "the body is not JSON in UTF-8; send a JSON object"
KNOWN = (InvalidRequest, HeadwayError, QueueFull, TooSlow, Draining, WorkerError)
"""Exceptions that `problem_of` turns into a response of their own."""
RETRY_AFTER = 1  # seconds, where there is no better estimate
SHOWN = 40  # characters of a client's names in messages
LONGEST = 600  # characters of a message, which may quote a cell of a client's file
JSON_TYPES = {
    bool: "true or false",
    dict: "an object",
    float: "a number",
    int: "a number",
    list: "an array",
    str: "a string",
    type(None): "null",
}


class ProblemError(Exception):
    """An error response."""

    def __init__(
        self,
        code: str,
        message: str,
        field: str | None = None,
        retry_after: int | None = None,
    ) -> None:
        if len(message) > LONGEST:
            message = f"{message[: LONGEST // 2]} ... {message[-LONGEST // 2 :]}"
        super().__init__(message)
        self.code, self.message, self.field = code, message, field
        self.status = STATUS[code]
        if retry_after is None and self.status == 503:
            retry_after = RETRY_AFTER
        self.headers = {"content-type": "application/json"}
        if retry_after is not None:
            self.headers["retry-after"] = str(retry_after)
        if code == "unauthorized":
            self.headers["www-authenticate"] = "Bearer"

    @property
    def content(self) -> dict[str, str | None]:
        """The error as `schema.Problem`."""
        return {"code": self.code, "message": self.message, "field": self.field}

    @property
    def body(self) -> bytes:
        """The response body, in ASCII: quoted names may hold lone surrogates."""
        return json.dumps({"error": self.content}).encode()


def problem_of(error: BaseException, seconds: float) -> ProblemError:
    """The response to an exception.

    Args:
        seconds: the time limit of a request.
    """
    if isinstance(error, ProblemError):
        return error
    if isinstance(error, InvalidRequest):
        return ProblemError("invalid", str(error), error.field)
    if isinstance(error, HeadwayError):
        return ProblemError("invalid", str(error))
    if isinstance(error, QueueFull):
        message = f"too many texts are waiting; try again in {error.retry_after} s"
        return ProblemError("busy", message, retry_after=error.retry_after)
    if isinstance(error, TooSlow):
        message = f"not answered within {seconds:g} s; send fewer texts or try again"
        return ProblemError("timeout", message)
    if isinstance(error, Draining):
        return ProblemError("draining", "the server is shutting down and accepts no more requests")
    return ProblemError("failed", "the server failed unexpectedly; its log has the details")


def invalid(errors: Sequence[Mapping[str, Any]]) -> ProblemError:
    """The response to validation errors of pydantic: the deepest one, which is the most exact."""
    located = [(_field(error["loc"]), error) for error in errors]
    field, error = max(located, key=lambda pair: len(pair[0]))
    where = _joined(field)
    error_type = error["type"]
    if error_type == "json_invalid":
        return ProblemError("malformed", NO_JSON)
    if error_type == "extra_forbidden":
        return ProblemError("invalid", f"{where} is not a known field; leave it out", where)
    if error_type == "missing" and not field:
        message = "the body is missing; send a JSON object with Content-Type: application/json"
        return ProblemError("invalid", message)
    if not field:
        got = JSON_TYPES.get(type(error["input"]), "something else")
        return ProblemError("invalid", f"the body is {got}; send a JSON object")
    what = "is missing" if error_type == "missing" else f"is wrong: {_lowered(error['msg'])}"
    wanted = dict.fromkeys(_EXPECTED.get(e["type"], "") for path, e in located if path == field)
    if len(wanted) > 1 and all(wanted):  # of a union of types
        got = JSON_TYPES.get(type(error["input"]), "something else")
        what = f"is {got}; expected {' or '.join(wanted)}"
    return ProblemError("invalid", f"{where} {what}", where)


def wrong_type(content_type: str | None, takes_csv: bool = False) -> ProblemError:
    """The response to a body that is not declared as JSON.

    Args:
        takes_csv: whether the path takes a CSV file too.
    """
    got = f"{shown(content_type)!r}" if content_type else "missing"
    message = f"the Content-Type is {got}; send JSON with -H 'content-type: application/json'"
    if takes_csv:
        message += ", or a CSV file with -H 'content-type: text/csv'"
    return ProblemError("wrong_type", message)


def shown(name: str) -> str:
    """A name that a client sent, as it appears in messages: short and in ASCII."""
    return ascii(name[:SHOWN])[1:-1]


def _field(location: Sequence[str | int]) -> list[str | int]:
    """The path to a value, without the type names that unions add."""
    inside = location[1:] if location[:1] in (("body",), ("query",)) else location
    last = len(inside) - 1
    return [
        part
        for at, part in enumerate(inside)
        if isinstance(part, int) or part in _FIELDS or (at == last and not _is_type(part))
    ]


def _joined(field: Sequence[str | int]) -> str | None:
    text = ""
    for part in field:
        name = shown(str(part))
        text += f"[{part}]" if isinstance(part, int) else f".{name}" if text else name
    return text or None


def _lowered(text: str) -> str:
    return text[:1].lower() + text[1:]


def _is_type(name: str) -> bool:
    return name in ("str", "int", "float") or name in _MODELS or "[" in name


_EXPECTED = {
    "string_type": "a string",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "int_parsing": "a whole number",
    "float_type": "a number",
    "float_parsing": "a number",
    "list_type": "a list",
}
"""What was expected, by pydantic's type of an error."""
_MODELS: Mapping[str, type[BaseModel]] = {
    name: value
    for name, value in vars(schema).items()
    if isinstance(value, type) and issubclass(value, BaseModel)
}
_FIELDS = frozenset(field for model in _MODELS.values() for field in model.model_fields)

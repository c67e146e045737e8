"""How the server says no: one shape of JSON, a fitting status, one sentence.

The table `STATUS` is all there is: anything else that goes wrong is `failed`, said as a 503 too.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import BaseModel

from ..errors import HeadwayError
from . import schema
from .batcher import Draining, QueueFull, TooSlow
from .checks import Refusal
from .pool import Failed

STATUS = {
    "malformed": 400,
    "unauthorized": 401,
    "not_found": 404,
    "wrong_method": 405,
    "slow_body": 408,
    "too_large": 413,
    "invalid": 422,
    "busy": 429,
    "timeout": 503,
    "draining": 503,
    "failed": 503,
}
"""Status by code."""
NO_JSON = "the body is no JSON in UTF-8; expected an object"
KNOWN = (Refusal, HeadwayError, QueueFull, TooSlow, Draining, Failed)
"""What `problem_of` has words for."""
RETRY_AFTER = 1  # seconds, where nothing better is known
SHOWN = 40  # characters of a name that a client made up


class ProblemError(Exception):
    """An answer that is an error."""

    def __init__(
        self,
        code: str,
        message: str,
        field: str | None = None,
        retry_after: int | None = None,
    ) -> None:
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
        """As `schema.Problem`."""
        return {"code": self.code, "message": self.message, "field": self.field}

    @property
    def body(self) -> bytes:
        """In ASCII, because what it quotes may hold half characters."""
        return json.dumps({"error": self.content}).encode()


def problem_of(error: BaseException, seconds: float) -> ProblemError:
    """What to answer when something was raised.

    Args:
        seconds: the time limit of a request.
    """
    if isinstance(error, ProblemError):
        return error
    if isinstance(error, Refusal):
        return ProblemError("invalid", str(error), error.field)
    if isinstance(error, HeadwayError):
        return ProblemError("invalid", str(error))
    if isinstance(error, QueueFull):
        message = f"too many texts wait already; try again in {error.retry_after} s"
        return ProblemError("busy", message, retry_after=error.retry_after)
    if isinstance(error, TooSlow):
        message = f"not answered within {seconds:g} s; ask for less at a time or try again"
        return ProblemError("timeout", message)
    if isinstance(error, Draining):
        return ProblemError("draining", "the server is about to stop and takes no more requests")
    return ProblemError("failed", "something went wrong in the server; its log says what")


def invalid(errors: Sequence[Mapping[str, Any]]) -> ProblemError:
    """One sentence of what pydantic found: about the deepest place, which is the most exact."""
    found = [(_field(error["loc"]), error) for error in errors]
    field, error = max(found, key=lambda pair: len(pair[0]))
    where = _joined(field)
    kind = error["type"]
    if kind == "json_invalid":
        return ProblemError("malformed", NO_JSON)
    if kind == "extra_forbidden":
        return ProblemError("invalid", f"{where} is no field there; leave it out", where)
    if kind == "missing" and not field:
        return ProblemError("invalid", "the body is missing; expected JSON, and told to be JSON")
    what = "is missing" if kind == "missing" else f"is wrong: {_lowered(error['msg'])}"
    return ProblemError("invalid", f"{where or 'the body'} {what}", where)


def _field(location: Sequence[str | int]) -> list[str | int]:
    """The way to a value, without the names of types that a union puts in between."""
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
        shown = ascii(str(part)[:SHOWN])[1:-1]
        text += f"[{part}]" if isinstance(part, int) else f".{shown}" if text else shown
    return text or None


def _lowered(text: str) -> str:
    return text[:1].lower() + text[1:]


def _is_type(name: str) -> bool:
    return name == "str" or name in _MODELS or "[" in name


_MODELS: Mapping[str, type[BaseModel]] = {
    name: value
    for name, value in vars(schema).items()
    if isinstance(value, type) and issubclass(value, BaseModel)
}
_FIELDS = frozenset(field for model in _MODELS.values() for field in model.model_fields)

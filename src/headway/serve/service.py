"""The path of a request, without HTTP: validation, queue, answer; dropped if its client leaves."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

from ..errors import HeadwayError
from .batcher import WAIT, Batcher, JobDropped, Observe, RequestJob
from .errors import problem_of
from .limits import InvalidRequest, Limits
from .run_status import ServedRun
from .schema import (
    EmbedRequest,
    FillRequest,
    ForecastRequest,
    GenerateRequest,
    InspectRequest,
    PredictRequest,
    ScoreRequest,
    TranslateRequest,
)
from .validate import RequestValidator, ValidatedRequest
from .workers import WorkerPool

AnyRequest = (
    TranslateRequest
    | ScoreRequest
    | PredictRequest
    | GenerateRequest
    | FillRequest
    | EmbedRequest
    | ForecastRequest
    | InspectRequest
)
VALIDATE: Mapping[type[Any], Callable[[RequestValidator, Any], ValidatedRequest]] = {
    TranslateRequest: RequestValidator.translate,
    ScoreRequest: RequestValidator.score,
    PredictRequest: RequestValidator.predict,
    GenerateRequest: RequestValidator.generate,
    FillRequest: RequestValidator.fill,
    EmbedRequest: RequestValidator.embed,
    ForecastRequest: RequestValidator.forecast,
    InspectRequest: RequestValidator.inspect,
}
Receive = Callable[[], Awaitable[Any]]
"""The next message from a client, as ASGI has it."""


class Service:
    """Answers requests with the served runs.

    Args:
        runs: by the name of the model; one that is not a `RequestValidator` shows its training log
            only.
        budget: tokens times hypotheses in one batch; 1 is no batching.
    """

    def __init__(
        self,
        runs: Mapping[str, ServedRun],
        pool: WorkerPool,
        limits: Limits,
        budget: int,
        observe: Observe | None = None,
    ) -> None:
        self.runs, self.limits, self.pool = runs, limits, pool
        self.batcher = Batcher(
            pool.answer,
            workers=pool.workers,
            budget=budget,
            wait=WAIT if budget > 1 else 0.0,
            queue=limits.queue,
            observe=observe,
        )

    def models(self) -> dict[str, Any]:
        """The served models and the limits, as `schema.Models`."""
        limits = {name: getattr(self.limits, name) for name in Limits.__dataclass_fields__}
        return {"models": [run.info() for run in self.runs.values()], "limits": limits}

    async def warm_up(self) -> None:
        """Has every worker translate something with every translation model.

        This loads what is loaded on first use, such as another library with its export.

        Raises:
            HeadwayError: a run cannot be used in this way.
            WorkerError: an unexpected failure.
        """
        for run in self.runs.values():
            if isinstance(run, RequestValidator) and "translate" in run.verbs:
                valid = run.translate(TranslateRequest(texts=["a"]))
                await self.pool.answer(valid.key, valid.items)  # alone: exports are made once
                workers = range(self.pool.workers)
                await asyncio.gather(*(self.pool.answer(valid.key, valid.items) for _ in workers))

    async def submit(self, request: AnyRequest) -> tuple[ValidatedRequest, RequestJob]:
        """Validates a request and queues its texts."""
        self.batcher.check_room(1)  # before work is done for a request that will be refused
        validator = self._validator(request.model)
        # Tokenizers take milliseconds for long texts: not on the event loop.
        valid = await asyncio.to_thread(VALIDATE[type(request)], validator, request)
        job = self.batcher.submit(
            valid.key, valid.items, valid.lengths, width=valid.width, seconds=self.limits.seconds
        )
        return valid, job

    async def answer(self, request: AnyRequest, receive: Receive) -> bytes:
        """The whole answer as JSON.

        Raises:
            JobDropped: the client closed the connection.
            Exception: any that `problem_of` knows.
        """
        valid, answers = await self._answers(request, receive)
        return _head(valid) + b'"results": [' + b", ".join(answers) + b"]}"

    async def inspect(self, request: InspectRequest, receive: Receive) -> bytes:
        """The inspection of one text as JSON, without the envelope of other answers."""
        valid, [answer] = await self._answers(request, receive)
        if not valid.warnings:
            return answer
        return _warned(valid) + b", " + answer[1:]

    async def training(self, model: str | None) -> dict[str, Any]:
        """The current log of a run, as `schema.Training`."""
        run = self._run(model)
        return {"model": run.name, "rows": await asyncio.to_thread(run.training)}

    async def _answers(
        self, request: AnyRequest, receive: Receive
    ) -> tuple[ValidatedRequest, list[bytes]]:
        valid, job = await self.submit(request)
        async with _watched(job, receive):
            answers = await job.all()
        for index, answer in enumerate(answers):
            if isinstance(answer, Exception):
                raise located(answer, valid, index)
        return valid, answers

    async def events(
        self, valid: ValidatedRequest, job: RequestJob, receive: Receive
    ) -> AsyncIterator[bytes]:
        """Server-sent events: `result` for each text as it finishes, `error`, at the end `done`."""
        n_failed = 0
        try:
            async with _watched(job, receive):
                async for index, answer in job.as_they_come():
                    n_failed += isinstance(answer, Exception)
                    yield self._event(valid, index, answer)
        except JobDropped:
            return
        except Exception as error:
            yield self._event(valid, None, error)
        else:
            counts = b'"texts": %d, "failed": %d}' % (job.size, n_failed)
            yield _event("done", _head(valid) + counts)

    def _event(self, valid: ValidatedRequest, index: int | None, answer: Any) -> bytes:
        number = b'{"number": ' + json.dumps(index).encode()
        if not isinstance(answer, Exception):
            return _event("result", number + b', "result": ' + answer + b"}")
        error = answer if index is None else located(answer, valid, index)
        problem = json.dumps(problem_of(error, self.limits.seconds).content).encode()
        return _event("error", number + b', "error": ' + problem + b"}")

    def _validator(self, model: str | None) -> RequestValidator:
        run = self._run(model)
        if not isinstance(run, RequestValidator):
            raise InvalidRequest(
                f"model {run.name!r} has no weights yet, only its training log can be read; "
                "restart the server after its first validation",
                "model",
            )
        return run

    def _run(self, model: str | None) -> ServedRun:
        names = ", ".join(map(repr, self.runs))
        if model is None:
            if len(self.runs) > 1:
                raise InvalidRequest(f"several models are served; name one of {names}", "model")
            [run] = self.runs.values()
            return run
        if model not in self.runs:
            raise InvalidRequest(f"no such model is served; expected one of {names}", "model")
        return self.runs[model]


def located(error: Exception, valid: ValidatedRequest, index: int) -> Exception:
    """The error, with the field of the text if it is the client's mistake."""
    if isinstance(error, HeadwayError):
        return InvalidRequest(str(error), valid.field.format(index))
    return error


def _head(valid: ValidatedRequest) -> bytes:
    """The first fields of an answer, up to its results."""
    head: dict[str, Any] = {"model": valid.key.model}
    if valid.key.verb == "translate":
        head["engine"] = valid.key.library
    if valid.warnings:
        head["warnings"] = list(valid.warnings)
    return json.dumps(head, ensure_ascii=False).encode()[:-1] + b", "


def _warned(valid: ValidatedRequest) -> bytes:
    """The beginning of an object with the warnings of a request."""
    return json.dumps({"warnings": list(valid.warnings)}, ensure_ascii=False).encode()[:-1]


def _event(name: str, data: bytes) -> bytes:
    return b"event: " + name.encode() + b"\ndata: " + data + b"\n\n"


@asynccontextmanager
async def _watched(job: RequestJob, receive: Receive) -> AsyncIterator[None]:
    """Cancels the job as soon as its client closes the connection."""
    disconnect = asyncio.ensure_future(_disconnected(receive))
    disconnect.add_done_callback(lambda _: job.cancel())
    try:
        async with job:
            yield
    finally:
        disconnect.cancel()


async def _disconnected(receive: Receive) -> None:
    """Waits until the client has closed the connection."""
    while (await receive())["type"] != "http.disconnect":
        pass

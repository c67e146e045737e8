"""The way of a request, without HTTP: desk, queue, answer; dropped when its client has gone."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

from ..errors import HeadwayError
from .batcher import WAIT, Batcher, Dropped, Job, Observe
from .checks import Refusal
from .desk import Desk, Order
from .limits import Limits
from .pool import Place
from .problems import problem_of
from .schema import (
    EmbedRequest,
    FillRequest,
    GenerateRequest,
    InspectRequest,
    PredictRequest,
    ScoreRequest,
    TranslateRequest,
)
from .watch import Watch

Asked = (
    TranslateRequest
    | ScoreRequest
    | PredictRequest
    | GenerateRequest
    | FillRequest
    | EmbedRequest
    | InspectRequest
)
ORDERS: Mapping[type[Any], Callable[[Desk, Any], Order]] = {
    TranslateRequest: Desk.translate,
    ScoreRequest: Desk.score,
    PredictRequest: Desk.predict,
    GenerateRequest: Desk.generate,
    FillRequest: Desk.fill,
    EmbedRequest: Desk.embed,
    InspectRequest: Desk.inspect,
}
Receive = Callable[[], Awaitable[Any]]
"""The next message from a client, as ASGI has it."""


class Service:
    """Answers requests with the runs that are served.

    Args:
        desks: by the name of the model; runs that can only be watched may be among them.
        budget: tokens times hypotheses in one batch; 1 is no batching.
    """

    def __init__(
        self,
        desks: Mapping[str, Watch],
        place: Place,
        limits: Limits,
        budget: int,
        observe: Observe | None = None,
    ) -> None:
        self.desks, self.limits, self.place = desks, limits, place
        self.batcher = Batcher(
            place.answer,
            workers=place.workers,
            budget=budget,
            wait=WAIT if budget > 1 else 0.0,
            queue=limits.queue,
            observe=observe,
        )

    def models(self) -> dict[str, Any]:
        """What is served, as `schema.Models`."""
        limits = {name: getattr(self.limits, name) for name in Limits.__dataclass_fields__}
        return {"models": [desk.info() for desk in self.desks.values()], "limits": limits}

    async def warm_up(self) -> None:
        """Has every worker translate something with every run that translates.

        What is loaded late, such as another library with its export, is loaded now.

        Raises:
            HeadwayError: a run cannot be computed as it should.
            Failed: it went wrong.
        """
        for desk in self.desks.values():
            if isinstance(desk, Desk) and "translate" in desk.verbs:
                order = desk.translate(TranslateRequest(texts=["a"]))
                await self.place.answer(order.ask, order.items)  # alone: exports are made once
                others = range(self.place.workers)
                await asyncio.gather(*(self.place.answer(order.ask, order.items) for _ in others))

    async def submit(self, asked: Asked) -> tuple[Order, Job]:
        """Checks a request and lets its texts wait."""
        self.batcher.check_room(1)  # before work is done for what will be refused
        desk = self._desk(asked.model)
        # Tokenizers take milliseconds for long texts: not on the event loop.
        order = await asyncio.to_thread(ORDERS[type(asked)], desk, asked)
        job = self.batcher.submit(
            order.ask, order.items, order.lengths, width=order.width, seconds=self.limits.seconds
        )
        return order, job

    async def answer(self, asked: Asked, receive: Receive) -> bytes:
        """The whole answer as JSON.

        Raises:
            Dropped: the client has not waited.
            Exception: any that `problem_of` knows.
        """
        order, answers = await self._answers(asked, receive)
        return _head(order) + b'"results": [' + b", ".join(answers) + b"]}"

    async def inspect(self, asked: InspectRequest, receive: Receive) -> bytes:
        """The same for the one text of an inspection, which is all of its answer."""
        _, [answer] = await self._answers(asked, receive)
        return answer

    async def training(self, model: str | None) -> dict[str, Any]:
        """The log of a run as it is now, as `schema.Training`."""
        run = self._run(model)
        return {"model": run.name, "rows": await asyncio.to_thread(run.training)}

    async def _answers(self, asked: Asked, receive: Receive) -> tuple[Order, list[bytes]]:
        order, job = await self.submit(asked)
        async with _watched(job, receive):
            answers = await job.all()
        for place, answer in enumerate(answers):
            if isinstance(answer, Exception):
                raise located(answer, order, place)
        return order, answers

    async def events(self, order: Order, job: Job, receive: Receive) -> AsyncIterator[bytes]:
        """Server-sent events: `result` for each text as it finishes, `error`, at the end `done`."""
        n_failed = 0
        try:
            async with _watched(job, receive):
                async for place, answer in job.as_they_come():
                    n_failed += isinstance(answer, Exception)
                    yield self._event(order, place, answer)
        except Dropped:
            return
        except Exception as error:
            yield self._event(order, None, error)
        else:
            counts = b'"texts": %d, "failed": %d}' % (job.size, n_failed)
            yield _event("done", _head(order) + counts)

    def _event(self, order: Order, place: int | None, answer: Any) -> bytes:
        number = b'{"number": ' + json.dumps(place).encode()
        if not isinstance(answer, Exception):
            return _event("result", number + b', "result": ' + answer + b"}")
        error = answer if place is None else located(answer, order, place)
        problem = json.dumps(problem_of(error, self.limits.seconds).content).encode()
        return _event("error", number + b', "error": ' + problem + b"}")

    def _desk(self, model: str | None) -> Desk:
        run = self._run(model)
        if not isinstance(run, Desk):
            raise Refusal(
                f"model {run.name!r} has no weights yet, only its training can be watched; serve "
                "it again when it has been validated or is done",
                "model",
            )
        return run

    def _run(self, model: str | None) -> Watch:
        names = ", ".join(map(repr, self.desks))
        if model is None:
            if len(self.desks) > 1:
                raise Refusal(f"several models are served; name one of {names}", "model")
            [run] = self.desks.values()
            return run
        if model not in self.desks:
            raise Refusal(f"no such model is served; there is {names}", "model")
        return self.desks[model]


def located(error: Exception, order: Order, place: int) -> Exception:
    """The error with the text that it is about, where it is the client's."""
    if isinstance(error, HeadwayError):
        return Refusal(str(error), order.field.format(place))
    return error


def _head(order: Order) -> bytes:
    head = {"model": order.ask.model}
    if order.ask.verb == "translate":
        head["engine"] = order.ask.library
    return json.dumps(head, ensure_ascii=False).encode()[:-1] + b", "


def _event(kind: str, data: bytes) -> bytes:
    return b"event: " + kind.encode() + b"\ndata: " + data + b"\n\n"


@asynccontextmanager
async def _watched(job: Job, receive: Receive) -> AsyncIterator[None]:
    """Gives the job up as soon as its client has gone."""
    gone = asyncio.ensure_future(_until_gone(receive))
    gone.add_done_callback(lambda _: job.cancel())
    try:
        async with job:
            yield
    finally:
        gone.cancel()


async def _until_gone(receive: Receive) -> None:
    """Waits until the client has closed the connection."""
    while (await receive())["type"] != "http.disconnect":
        pass

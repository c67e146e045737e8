"""Dynamic batching: texts of concurrent requests share batches.

Everything here runs on the event loop; the work itself is an awaitable that is computed elsewhere.
The batcher knows nothing of HTTP or models: a text is a payload with a length and a key, and only
texts with equal keys may share a batch.
"""

import asyncio
from bisect import insort
from collections.abc import AsyncIterator, Awaitable, Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any

Work = Callable[[Any, list[Any]], Awaitable[Sequence[Any]]]
"""From a key and the payloads of a batch to one answer for each."""
Observe = Callable[[int, int, float], None]
"""Called with texts, tokens and seconds of each finished batch."""

BUDGET = 8192
"""Tokens times hypotheses in one batch; larger ones leave the processor's caches."""
WAIT = 0.003
"""Seconds a text waits for others, if there is other traffic."""
STRETCH = 5
"""The most times that wait while others keep arriving: clients that are answered together send
their next requests together, and half of those would make a poor batch."""
LIKE = (2.0, 16)
"""Texts are of similar length if the longer has at most this factor times the tokens of the shorter
plus this many: a short one should not wait until a long one is finished."""
LONGEST_WAIT = 60
"""The most seconds after which a refused client should try again."""


class QueueFull(Exception):
    """More texts than the queue holds.

    Attributes:
        retry_after: estimated seconds until there is room.
    """

    def __init__(self, retry_after: int) -> None:
        super().__init__(f"the queue is full; try again in {retry_after} s")
        self.retry_after = retry_after


class TooSlow(Exception):
    """The time limit of a request passed before all of it was answered."""


class JobDropped(Exception):
    """The job was cancelled while its answers were awaited."""


class Draining(Exception):
    """No more requests are accepted: the server is shutting down."""


@dataclass(order=True, slots=True)
class _Item:
    """A waiting text. A small `start` goes first; see `Batcher.submit`."""

    start: float
    number: int  # among all texts ever, so that no later field is compared
    index: int = field(compare=False)  # in its request
    key: Hashable = field(compare=False)
    payload: Any = field(compare=False)
    length: int = field(compare=False)  # at least 1
    width: int = field(compare=False)
    arrived: float = field(compare=False)
    job: "RequestJob" = field(compare=False)

    @property
    def cost(self) -> int:
        return self.length * self.width


class RequestJob:
    """The texts of one request. Use it in `async with`: leaving cancels texts that still wait.

    Args:
        size: number of texts.
        seconds: the time limit.
        drop: called when the job is over.
    """

    def __init__(self, size: int, seconds: float, drop: Callable[["RequestJob"], None]) -> None:
        self.size, self.seconds, self._drop = size, seconds, drop
        self._answers: asyncio.Queue[tuple[int, Any]] = asyncio.Queue()
        self.n_open = size
        self.is_over = False

    async def __aenter__(self) -> "RequestJob":
        return self

    async def __aexit__(self, *_: object) -> None:
        self.cancel()

    def cancel(self) -> None:
        """Gives up the answers that are still missing."""
        if not self.is_over:
            self.is_over = True
            self._answers.put_nowait((0, JobDropped()))  # wakes up whoever waits
            self._drop(self)

    def give(self, index: int, answer: Any) -> None:
        """Delivers the answer to the text at `index`."""
        if not self.is_over:
            self.n_open -= 1
            self._answers.put_nowait((index, answer))

    async def as_they_come(self) -> AsyncIterator[tuple[int, Any]]:
        """Indices and answers; the answer to a text that failed is an exception.

        Raises:
            TooSlow: no further answer arrived within the time limit.
            JobDropped: the job was cancelled.
        """
        for _ in range(self.size):
            try:
                answer = await asyncio.wait_for(self._next(), self.seconds)
            except TimeoutError:
                raise TooSlow from None
            yield answer

    async def all(self) -> list[Any]:
        """The answers in the order of the texts, exceptions among them.

        Raises:
            TooSlow: they did not all arrive within the time limit.
            JobDropped: the job was cancelled.
        """
        answers: dict[int, Any] = {}
        try:
            async with asyncio.timeout(self.seconds):
                while len(answers) < self.size:
                    index, answer = await self._next()
                    answers[index] = answer
        except TimeoutError:
            raise TooSlow from None
        return [answers[index] for index in range(self.size)]

    async def _next(self) -> tuple[int, Any]:
        index, answer = await self._answers.get()
        if isinstance(answer, JobDropped):
            raise answer
        return index, answer


class Batcher:
    """Queues texts, forms batches and hands them to workers.

    Args:
        work: computes a batch; at most `workers` of them at a time.
        budget: the largest length times width times texts of a batch.
        wait: seconds an idle worker waits for further texts after the newest one.
        queue: the most texts that may wait.

    Attributes:
        is_draining: whether requests are refused because the server is shutting down.
    """

    def __init__(
        self,
        work: Work,
        *,
        workers: int = 1,
        budget: int = BUDGET,
        wait: float = WAIT,
        queue: int = 1024,
        observe: Observe | None = None,
    ) -> None:
        self._work, self._observe = work, observe
        self._budget, self._wait, self._limit = budget, wait, queue
        self._workers = self._idle = workers
        self._waiting: dict[Hashable, list[_Item]] = {}  # each list sorted
        self._jobs: set[RequestJob] = set()
        self._running: set[asyncio.Task[None]] = set()
        self._timer: asyncio.TimerHandle | None = None
        self._clock = 0.0  # the cost each job would have received by now, if all shared evenly
        self._newest = 0.0  # arrival of the newest text
        self._n_items = 0
        self._n_last = 0  # texts of the batch that finished last
        self._rate = 0.0  # cost per second of one worker, lately
        self.is_draining = False

    @property
    def n_waiting(self) -> int:
        """Waiting texts."""
        return sum(map(len, self._waiting.values()))

    @property
    def n_running(self) -> int:
        """Batches being computed."""
        return len(self._running)

    def submit(
        self,
        key: Hashable,
        payloads: Sequence[Any],
        lengths: Sequence[int],
        *,
        width: int = 1,
        seconds: float = 30.0,
    ) -> RequestJob:
        """Queues the texts of a request.

        Requests share the workers evenly, by the cost of their texts (weighted fair queueing): a
        text's `start` is the cost its request has received before it. So a single text goes before
        the later ones of a request with hundreds, and a long text cannot starve.

        Args:
            lengths: tokens of each payload.
            width: hypotheses for each of them.

        Raises:
            QueueFull: the queue has no room for these texts.
            Draining: after `drain`.
        """
        self.check_room(len(payloads))
        job = RequestJob(len(payloads), seconds, self._forget)
        if payloads:
            self._jobs.add(job)
        start, now = self._clock, asyncio.get_running_loop().time()
        self._newest = now
        queue = self._waiting.setdefault(key, []) if payloads else []
        for index, (payload, length) in enumerate(zip(payloads, lengths, strict=True)):
            self._n_items += 1
            length = max(1, length)
            item = _Item(start, self._n_items, index, key, payload, length, width, now, job)
            insort(queue, item)
            start += item.cost
        self._turn()
        return job

    def check_room(self, number: int) -> None:
        """Raises what `submit` would raise for this many texts."""
        if self.is_draining:
            raise Draining
        if self.n_waiting + number > self._limit:
            raise QueueFull(self.retry_after())

    def retry_after(self) -> int:
        """Estimated seconds until the texts that wait now are done."""
        backlog = sum(item.cost for queue in self._waiting.values() for item in queue)
        seconds = backlog / (self._rate * self._workers) if self._rate else 1.0
        return max(1, min(LONGEST_WAIT, round(seconds)))

    def drain(self) -> None:
        """Accepts no more requests; those accepted before are answered."""
        self.is_draining = True

    def _forget(self, job: RequestJob) -> None:
        self._jobs.discard(job)
        if not job.n_open:
            return
        for key, queue in list(self._waiting.items()):
            self._keep(key, [item for item in queue if item.job is not job])

    def _keep(self, key: Hashable, queue: list[_Item]) -> None:
        if queue:
            self._waiting[key] = queue
        else:
            self._waiting.pop(key, None)

    def _turn(self) -> None:
        """Starts batches as long as a worker is idle and one is due."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        loop = asyncio.get_running_loop()
        while self._idle and self._waiting:
            batch, is_full = self._next_batch()
            # Without other traffic, waiting for company would be in vain.
            in_company = bool(self._running) or self._n_last > 1
            wait = self._wait if in_company else 0.0
            oldest = min(item.arrived for item in batch)
            due = min(self._newest + wait, oldest + STRETCH * wait)
            if not is_full and loop.time() < due:
                self._timer = loop.call_at(due, self._turn)
                return
            self._start(batch)

    def _next_batch(self) -> tuple[list[_Item], bool]:
        """The next text with others of similar length, and whether the batch is full."""
        queue = min(self._waiting.values(), key=lambda queue: queue[0])
        share = -(-self.n_waiting // self._idle)  # every idle worker should get something
        first = queue[0]
        batch, shortest, longest = [first], first.length, first.length
        times, more = LIKE
        for item in queue[1:]:
            low, high = min(shortest, item.length), max(longest, item.length)
            if high > times * low + more:
                continue
            if (len(batch) + 1) * high * first.width > self._budget:
                return batch, True
            if len(batch) == share:
                break
            batch.append(item)
            shortest, longest = low, high
        return batch, False

    def _start(self, batch: list[_Item]) -> None:
        key, chosen = batch[0].key, {item.number for item in batch}
        self._keep(key, [item for item in self._waiting[key] if item.number not in chosen])
        self._clock += sum(item.cost for item in batch) / max(1, len(self._jobs))
        self._idle -= 1
        task = asyncio.get_running_loop().create_task(self._run(key, batch))
        self._running.add(task)
        task.add_done_callback(self._finished)

    def _finished(self, task: asyncio.Task[None]) -> None:
        self._running.discard(task)
        self._idle += 1
        self._turn()

    async def _run(self, key: Hashable, batch: list[_Item]) -> None:
        loop = asyncio.get_running_loop()
        began = loop.time()
        await self._answer(key, batch)
        seconds = max(loop.time() - began, 1e-6)
        self._n_last = len(batch)
        rate = sum(item.cost for item in batch) / seconds
        self._rate = 0.8 * self._rate + 0.2 * rate if self._rate else rate
        if self._observe is not None:
            self._observe(len(batch), sum(item.length for item in batch), seconds)

    async def _answer(self, key: Hashable, batch: list[_Item]) -> None:
        """Gives every text its answer; a batch that fails is halved to find the text that fails."""
        batch = [item for item in batch if not item.job.is_over]
        if not batch:
            return
        try:
            answers = list(await self._work(key, [item.payload for item in batch]))
            if len(answers) != len(batch):
                raise RuntimeError(f"{len(answers)} answers to {len(batch)} texts")
        except Exception as error:
            if len(batch) == 1:
                self._give(batch[0], error)
                return
            half = len(batch) // 2
            await self._answer(key, batch[:half])
            await self._answer(key, batch[half:])
        else:
            for item, answer in zip(batch, answers, strict=True):
                self._give(item, answer)

    def _give(self, item: _Item, answer: Any) -> None:
        item.job.give(item.index, answer)
        if not item.job.n_open:
            self._jobs.discard(item.job)

"""Batching without HTTP and without torch: who is answered, when, together with whom.

Time is simulated: the clock stands still while something can be done and then jumps to whatever
is due next, so that no answer depends on how fast the machine is.
"""

import asyncio
import random
import selectors

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.serve.batcher import Batcher, Draining, JobDropped, QueueFull, TooSlow


class Jumping(selectors.DefaultSelector):
    """In place of waiting, the clock moves on."""

    now = 0.0

    def select(self, timeout=None):
        found = super().select(0)
        if not found:
            assert timeout is not None, "nothing is left that could happen"
            self.now += timeout
        return found


class SimulatedLoop(asyncio.SelectorEventLoop):
    def __init__(self):
        self._clock = Jumping()
        super().__init__(self._clock)

    def time(self):
        return self._clock.now


def simulate(main):
    with asyncio.Runner(loop_factory=SimulatedLoop) as runner:
        return runner.run(main)


class Recorder:
    """Work that answers with its payloads and remembers the batches.

    Args:
        seconds: of each batch.
        poison: payloads at which a batch fails.
    """

    def __init__(self, seconds=0.0, poison=()):
        self.seconds, self.poison = seconds, set(poison)
        self.batches = []
        self.n_running = self.most_running = 0
        self.gate = None

    async def __call__(self, key, payloads):
        self.batches.append((key, list(payloads)))
        self.n_running += 1
        self.most_running = max(self.most_running, self.n_running)
        try:
            if self.gate is not None:
                await self.gate.wait()
            await asyncio.sleep(self.seconds)
            if found := self.poison & set(payloads):
                raise ValueError(f"bad: {min(found)}")
            return [(key, payload) for payload in payloads]
        finally:
            self.n_running -= 1


def held(work):
    """The work waits until the gate that is given back is opened."""
    work.gate = asyncio.Event()
    return work.gate


async def answers(batcher, key, payloads, lengths=None, **options):
    lengths = [1] * len(payloads) if lengths is None else lengths
    async with batcher.submit(key, payloads, lengths, **options) as job:
        return await job.all()


def sizes(work):
    return [len(batch) for _, batch in work.batches]


# Every answer finds its request


@given(st.integers(0, 2**32 - 1))
def test_under_any_interleaving_every_request_gets_its_own_answers(seed):
    draw = random.Random(seed)
    bad = {f"{client}.{place}" for client in range(12) for place in range(4) if draw.random() < 0.1}

    async def client(batcher, number):
        key, size = draw.choice("abc"), draw.randint(0, 4)
        payloads = [f"{number}.{place}" for place in range(size)]
        lengths = [draw.choice((1, 5, 40, 300)) for _ in payloads]
        for _ in range(draw.randint(0, 3)):
            await asyncio.sleep(0)
        async with batcher.submit(key, payloads, lengths, width=draw.randint(1, 5)) as job:
            if draw.random() < 0.2:
                for _ in range(draw.randint(0, 3)):
                    await asyncio.sleep(0)
                return
            if draw.random() < 0.5:
                found = dict([pair async for pair in job.as_they_come()])
            else:
                found = dict(enumerate(await job.all()))
        for place, payload in enumerate(payloads):
            if payload in bad:
                assert str(found.pop(place)) == f"bad: {payload}"
            else:
                assert found.pop(place) == (key, payload)
        assert not found

    async def run():
        work = Recorder(poison=bad)
        batcher = Batcher(work, workers=draw.randint(1, 3), budget=draw.choice((1, 64, 512)))
        await asyncio.gather(*(client(batcher, number) for number in range(12)))
        while batcher.n_running:
            await asyncio.sleep(0.001)
        assert batcher.n_waiting == 0
        assert not batcher._jobs

    simulate(asyncio.wait_for(run(), 20))


def test_an_error_in_one_text_does_not_fail_the_others():
    async def run():
        work = Recorder(poison=[3])
        batcher = Batcher(work, wait=0)
        gate = held(work)
        jobs = [asyncio.create_task(answers(batcher, "k", [n])) for n in range(-1, 6)]
        await asyncio.sleep(0.01)
        gate.set()
        found = [one for [one] in await asyncio.gather(*jobs)]
        assert [isinstance(one, ValueError) for one in found] == [n == 3 for n in range(-1, 6)]
        assert found[5:] == [("k", 4), ("k", 5)]
        # After the first text alone, six together; then halves until it is clear which one it was.
        assert [batch for _, batch in work.batches][:3] == [[-1], [0, 1, 2, 3, 4, 5], [0, 1, 2]]

    simulate(run())


def test_too_few_answers_are_an_error():
    async def work(key, payloads):
        return []

    async def run():
        [found] = await answers(Batcher(work), "k", ["a"])
        assert str(found) == "0 answers to 1 texts"

    simulate(run())


# Batches


def test_a_single_text_does_not_wait_when_nobody_else_is_about():
    async def run():
        work = Recorder()
        batcher = Batcher(work, wait=10)
        assert await asyncio.wait_for(answers(batcher, "k", ["a"]), 5) == [("k", "a")]
        assert await asyncio.wait_for(answers(batcher, "k", ["b"]), 5) == [("k", "b")]

    simulate(run())


def test_in_company_texts_wait_for_each_other():
    async def run():
        work = Recorder(seconds=0.2)
        batcher = Batcher(work, workers=2, wait=0.05)
        first = asyncio.create_task(answers(batcher, "k", ["a"]))
        await asyncio.sleep(0.005)
        later = []
        for name in "bcd":  # one worker is idle, but another one works: company is likely
            later.append(asyncio.create_task(answers(batcher, "k", [name])))
            await asyncio.sleep(0.002)
        await asyncio.gather(first, *later)
        assert [batch for _, batch in work.batches] == [["a"], ["b", "c", "d"]]

    simulate(run())


def test_a_text_does_not_wait_for_ever_while_others_come():
    async def run():
        work = Recorder(seconds=5)
        batcher = Batcher(work, workers=2, wait=0.02)
        tasks = []
        while len(work.batches) < 2:
            tasks.append(asyncio.create_task(answers(batcher, "k", ["a"])))
            await asyncio.sleep(0.001)
        # The first goes alone; the second comes after 0.001 s and waits for five times 0.02.
        assert asyncio.get_running_loop().time() == pytest.approx(0.101, abs=0.0015)
        assert sizes(work)[1] == pytest.approx(100, abs=2)
        for task in tasks:
            task.cancel()

    simulate(run())


def test_only_equal_keys_share_a_batch():
    async def run():
        work = Recorder(seconds=0.01)
        batcher = Batcher(work)
        tasks = [asyncio.create_task(answers(batcher, n % 3, [n])) for n in range(12)]
        await asyncio.gather(*tasks)
        for key, batch in work.batches:
            assert {payload % 3 for payload in batch} == {key}
        assert max(sizes(work)) > 1

    simulate(run())


@pytest.mark.parametrize(("budget", "largest"), [(1, 1), (100, 1), (200, 2), (1000, 10)])
def test_the_budget_counts_tokens_times_width(budget, largest):
    async def run():
        work = Recorder()
        batcher = Batcher(work, budget=budget)
        await answers(batcher, "k", list(range(30)), [20] * 30, width=5)
        assert max(sizes(work)) == largest

    simulate(run())


def test_a_text_above_the_budget_goes_alone():
    async def run():
        work = Recorder()
        assert await answers(Batcher(work, budget=10), "k", ["long"], [500]) == [("k", "long")]

    simulate(run())


def test_idle_workers_share_what_waits():
    async def run():
        work = Recorder(seconds=0.01)
        batcher = Batcher(work, workers=2, wait=0)
        await answers(batcher, "k", list(range(10)))
        assert sizes(work) == [5, 5]
        assert work.most_running == 2

    simulate(run())


def test_short_texts_need_not_wait_for_long_ones():
    async def run():
        work = Recorder(seconds=0.005)
        batcher = Batcher(work, wait=0)
        gate = held(work)
        tasks = [asyncio.create_task(answers(batcher, "k", ["x"]))]
        await asyncio.sleep(0.01)
        for number in range(4):
            length = 300 if number % 2 else 5
            tasks.append(asyncio.create_task(answers(batcher, "k", [number], [length])))
            await asyncio.sleep(0)
        gate.set()
        await asyncio.gather(*tasks)
        assert [batch for _, batch in work.batches] == [["x"], [0, 2], [1, 3]]

    simulate(run())


# Fairness


def order_of(submissions, **options):
    """The order in which payloads are computed one by one, all submitted before the first ends."""

    async def run():
        work = Recorder()
        batcher = Batcher(work, budget=1, wait=0, **options)
        gate = held(work)
        tasks = []
        for key, payloads, lengths in submissions:
            tasks.append(asyncio.create_task(answers(batcher, key, payloads, lengths)))
            await asyncio.sleep(0)
        gate.set()
        await asyncio.gather(*tasks)
        return [payload for _, batch in work.batches for payload in batch]

    return simulate(run())


def test_one_text_passes_the_later_ones_of_a_large_request():
    many = [f"many{n}" for n in range(50)]
    order = order_of([("k", many, [10] * 50), ("k", ["one"], [10])])
    assert order.index("one") <= 2
    assert [name for name in order if name != "one"] == many


def test_different_settings_take_turns():
    submissions = [(key, [f"{key}{n}" for n in range(10)], [10] * 10) for key in "abc"]
    order = order_of(submissions)
    for start in range(1, 28, 3):
        assert {name[0] for name in order[start : start + 3]} == set("abc")


def test_a_long_text_is_not_passed_over_for_ever():
    """Short texts keep coming, as many as are answered; the long one has its turn all the same."""

    async def run():
        work = Recorder(seconds=0.0005)
        batcher = Batcher(work, budget=1, wait=0)
        done = asyncio.Event()

        async def short(number):
            while not done.is_set():
                await answers(batcher, number, ["short"], [5])

        clients = [asyncio.create_task(short(number)) for number in range(8)]
        await asyncio.sleep(0.01)
        before = len(work.batches)
        await asyncio.wait_for(answers(batcher, "k", ["long", "long"], [250, 250]), 10)
        done.set()
        await asyncio.gather(*clients)
        # The first goes at once; the second when the others have had as much: 250 / 5 each.
        assert len(work.batches) - before < 8 * 250 / 5 + 50

    simulate(run())


# Limits


def test_the_queue_has_an_end():
    async def run():
        work = Recorder()
        batcher = Batcher(work, queue=3, wait=0)
        gate = held(work)
        first = asyncio.create_task(answers(batcher, "k", ["a"]))  # begins at once
        await asyncio.sleep(0)
        second = asyncio.create_task(answers(batcher, "k", ["b", "c"]))
        await asyncio.sleep(0)
        assert batcher.n_waiting == 2
        with pytest.raises(QueueFull, match="try again in 1 s") as refused:
            batcher.submit("k", ["d", "e"], [1, 1])
        assert refused.value.retry_after == 1
        third = asyncio.create_task(answers(batcher, "k", ["d"]))
        await asyncio.sleep(0)
        gate.set()
        assert len(await first + await second + await third) == 4
        assert batcher.n_waiting == 0

    simulate(run())


def test_how_long_to_wait_follows_from_the_work_done_lately():
    async def run():
        work = Recorder(seconds=0.1)
        batcher = Batcher(work, budget=1, wait=0)
        await answers(batcher, "k", ["a"], [100])  # 1000 tokens a second
        await asyncio.sleep(0.01)  # the worker is idle again
        gate = held(work)
        jobs = [batcher.submit("k", [n], [5000]) for n in range(3)]
        assert batcher.retry_after() == 10  # two wait
        gate.set()
        for job in jobs:
            job.cancel()
        while batcher.n_running:
            await asyncio.sleep(0.01)

    simulate(run())


def test_a_request_that_takes_too_long_is_told_and_what_waits_of_it_is_dropped():
    async def run():
        work = Recorder()
        batcher = Batcher(work, budget=1, wait=0)
        gate = held(work)
        for kind in ("all", "as they come"):
            async with batcher.submit("k", [kind, "b"], [1, 1], seconds=0.02) as job:
                with pytest.raises(TooSlow):
                    await (job.all() if kind == "all" else anext(job.as_they_come()))
            assert batcher.n_waiting == 0
        gate.set()
        assert await answers(batcher, "k", ["next"]) == [("k", "next")]
        assert [batch for _, batch in work.batches] == [["all"], ["next"]]

    simulate(run())


def test_a_stream_may_take_longer_than_its_limit_as_long_as_answers_come():
    async def run():
        batcher = Batcher(Recorder(seconds=0.03), budget=1, wait=0)
        async with batcher.submit("k", list(range(4)), [1] * 4, seconds=0.09) as job:
            assert [place async for place, _ in job.as_they_come()] == [0, 1, 2, 3]

    simulate(run())


def test_what_a_client_that_left_had_waiting_is_never_computed():
    async def run():
        work = Recorder()
        batcher = Batcher(work, budget=1, wait=0)
        gate = held(work)
        staying = asyncio.create_task(answers(batcher, "k", ["stays"]))
        await asyncio.sleep(0)
        leaving = asyncio.create_task(answers(batcher, "k", ["leaves", "leaves too"]))
        await asyncio.sleep(0)
        leaving.cancel()
        gate.set()
        assert await staying == [("k", "stays")]
        with pytest.raises(asyncio.CancelledError):
            await leaving
        assert work.batches == [("k", ["stays"])]

    simulate(run())


def test_whoever_waits_for_a_job_that_is_given_up_is_told():
    async def run():
        work = Recorder()
        held(work)
        job = Batcher(work).submit("k", ["a"], [1])
        waiting = asyncio.create_task(job.all())
        await asyncio.sleep(0)
        job.cancel()
        with pytest.raises(JobDropped):
            await waiting

    simulate(run())


def test_no_texts_no_work():
    async def run():
        work = Recorder()
        batcher = Batcher(work)
        assert await answers(batcher, "k", []) == []
        assert not work.batches
        assert not batcher._waiting

    simulate(run())


def test_draining_refuses_what_comes_and_finishes_what_has_come():
    async def run():
        work = Recorder()
        batcher = Batcher(work, budget=1, wait=0)
        gate = held(work)
        taken = asyncio.create_task(answers(batcher, "k", ["a", "b"]))
        await asyncio.sleep(0)
        batcher.drain()
        with pytest.raises(Draining):
            batcher.submit("k", ["c"], [1])
        gate.set()
        assert await taken == [("k", "a"), ("k", "b")]

    simulate(run())


def test_finished_batches_are_told():
    async def run():
        seen = []
        batcher = Batcher(Recorder(), wait=0, observe=lambda *figures: seen.append(figures))
        await answers(batcher, "k", ["a", "b"], [3, 4])
        [(texts, tokens, seconds)] = seen
        assert (texts, tokens) == (2, 7)
        assert seconds > 0

    simulate(run())

"""Batches of similar length, forked workers, and the same results without forks."""

import multiprocessing
import os
import signal
import sys

import pytest
import torch

from headway.errors import ConfigError, DataError, HeadwayError, MissingExtra, RunError
from headway.parallel import (
    DECODE_TOKENS,
    MIN_ROWS_PER_PROCESS,
    ForkedWorker,
    WorkerKilled,
    WorkFailure,
    can_fork,
    decode_batches,
    map_batches,
    n_cores,
    n_processes,
    single_thread_if_small,
)


def test_batches_hold_like_lengths_within_the_budget():
    lengths = [5, 900, 7, 0, 2 * DECODE_TOKENS, 6]
    batches = list(decode_batches(lengths, beam=2))
    assert sorted(i for rows in batches for i in rows) == list(range(6))
    assert batches[0] == [4]  # longer than the budget with its beam: alone
    for rows in batches:
        assert len(rows) == 1 or max(lengths[i] for i in rows) * 2 * len(rows) <= DECODE_TOKENS
    flat = [lengths[i] for rows in batches for i in rows]
    assert flat == sorted(lengths, reverse=True)
    assert list(decode_batches([], beam=5)) == []


def test_every_worker_has_a_batch():
    assert [len(rows) for rows in decode_batches([3] * 10, beam=1, parts=4)] == [3, 3, 3, 1]
    assert [len(rows) for rows in decode_batches([3], beam=1, parts=4)] == [1]


@pytest.fixture
def two_threads():
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


FORK = multiprocessing.get_context("fork")


@pytest.fixture
def meet():
    """At its first batch, a process waits until the other one has a batch too."""
    both, met = FORK.Barrier(2), []

    def wait():
        if not met:
            met.append(True)
            both.wait(timeout=300)

    return wait


def test_answers_come_in_order_from_processes_with_one_thread(two_threads, meet):
    def work(rows):
        meet()
        return [(row * 10, os.getpid(), torch.get_num_threads()) for row in rows]

    results = map_batches(work, [[3, 1], [0], [4, 2]], processes=2)
    values, processes, threads = zip(*results, strict=True)
    assert values == (0, 10, 20, 30, 40)
    assert set(threads) == {1}
    assert len(set(processes)) == 2
    assert os.getpid() in processes
    assert torch.get_num_threads() == 2


def test_whoever_is_free_takes_the_next_batch(two_threads, meet):
    this, most_are_done, done = os.getpid(), FORK.Event(), []

    def work(rows):
        meet()
        done.append(rows)
        if rows == [0]:
            assert most_are_done.wait(timeout=300)
        if len(done) == 300:
            most_are_done.set()
        return [os.getpid()] * len(rows)

    results = map_batches(work, [[i] for i in range(400)], processes=2)
    slow = results[0]
    assert results.count(slow) <= 100
    assert this in results


def test_a_model_is_searched_in_a_forked_process(two_threads):
    weight = torch.randn(300, 300)
    weight @ weight  # starts the threads of this process

    def work(rows):
        return [(weight[row] @ weight).sum().item() for row in rows]

    assert map_batches(work, [[0], [1]], processes=2) == pytest.approx(work([0, 1]), rel=1e-4)


def test_one_process_has_all_threads(two_threads):
    assert map_batches(lambda rows: [torch.get_num_threads() for _ in rows], [[0, 1]]) == [2, 2]


@pytest.mark.parametrize(("n_hypotheses", "threads"), [(5, 1), (10_000, 2)])
def test_small_steps_have_one_thread(two_threads, n_hypotheses, threads):
    with single_thread_if_small(torch.nn.Linear(200, 100), n_hypotheses):
        assert torch.get_num_threads() == threads
    assert torch.get_num_threads() == 2
    with single_thread_if_small(object(), n_hypotheses):  # a table has no weights
        assert torch.get_num_threads() == 1


def test_nothing_to_do():
    assert map_batches(lambda rows: rows, []) == []


@pytest.mark.parametrize("fails_here", [True, False])
def test_a_failure_is_passed_on_and_threads_are_given_back(two_threads, meet, fails_here):
    this = os.getpid()

    def work(rows):
        meet()
        if (os.getpid() == this) is fails_here:
            raise DataError(f"batch {rows}")
        return rows

    with pytest.raises(DataError, match=r"batch \[[01]\]"):
        map_batches(work, [[0], [1]], processes=2)
    assert torch.get_num_threads() == 2


def test_a_process_that_was_killed_is_told(two_threads, meet):
    this = os.getpid()

    def work(rows):
        meet()
        if os.getpid() != this:
            os.kill(os.getpid(), signal.SIGKILL)
        return rows

    with pytest.raises(RunError, match=r"killed, .* in one process \(OMP_NUM_THREADS=1\)"):
        map_batches(work, [[0], [1]], processes=2)


class Unsendable(Exception):
    """Does not survive pickling."""

    def __init__(self, first, second):
        super().__init__(f"{first} {second}")
        self.here = lambda: None


def test_an_error_that_cannot_travel_is_told_with_its_place(two_threads, meet):
    this = os.getpid()

    def work(rows):
        meet()
        if os.getpid() != this:
            raise Unsendable("a", "b")
        return rows

    with pytest.raises(RuntimeError, match=r"Unsendable: a b") as caught:
        map_batches(work, [[0], [1]], processes=2)
    assert "in work" in caught.value.__notes__[0]


def test_a_signal_to_all_processes_is_left_to_the_first(two_threads, meet):
    """`timeout` and batch systems signal the group; a search that continues must not break."""
    noted = []
    before = signal.signal(signal.SIGTERM, lambda *_: noted.append(1))
    this = os.getpid()

    def work(rows):
        meet()
        if os.getpid() != this:
            os.kill(os.getpid(), signal.SIGTERM)
            os.kill(this, signal.SIGTERM)
        return rows

    try:
        assert map_batches(work, [[0], [1]], processes=2) == [0, 1]
    finally:
        signal.signal(signal.SIGTERM, before)
    assert noted


def in_a_daemon(queue):
    queue.put(n_processes(1000, torch.device("cpu")))


def test_a_daemonic_process_searches_alone():
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    daemon = context.Process(target=in_a_daemon, args=(queue,), daemon=True)
    daemon.start()
    assert queue.get(timeout=300) == 1
    daemon.join()


def test_processes_are_as_many_as_threads_where_it_is_worth_it(two_threads, monkeypatch):
    monkeypatch.delitem(sys.modules, "ctranslate2", raising=False)
    cpu = torch.device("cpu")
    assert n_processes(10 * MIN_ROWS_PER_PROCESS, cpu) == (
        2 if sys.platform.startswith("linux") else 1
    )
    assert n_processes(MIN_ROWS_PER_PROCESS, cpu) == 1
    assert n_processes(0, cpu) == 1
    assert n_processes(10 * MIN_ROWS_PER_PROCESS, torch.device("cuda")) == 1
    monkeypatch.setitem(sys.modules, "ctranslate2", sys)
    assert n_processes(10 * MIN_ROWS_PER_PROCESS, cpu) == 1


# Workers


@pytest.fixture
def start():
    """Starts workers, which end with the test."""
    started = []

    def worker(work, **options):
        started.append(ForkedWorker(work, **options))
        return started[-1]

    yield worker
    for worker in started:
        worker.kill()


def test_a_worker_answers_in_the_order_of_its_messages(start):
    calls = []

    def count(message):
        calls.append(message)
        return message * 2, len(calls), torch.get_num_threads()

    worker = start(count, threads=2)
    worker.send(3)
    worker.send("a")
    assert worker.receive() == (6, 1, 2)
    assert worker.receive(seconds=300) == ("aa", 2, 2)
    assert calls == []  # it has its own memory


@pytest.mark.parametrize(
    ("error", "expected", "text"),
    [
        (ConfigError("a"), ConfigError, "a"),
        (DataError("b"), DataError, "b"),
        (MissingExtra("this", "p", "e"), HeadwayError, str(MissingExtra("this", "p", "e"))),
        (ZeroDivisionError("c"), RuntimeError, "ZeroDivisionError: c"),
    ],
)
def test_failures_are_values(start, error, expected, text):
    def fail(message):
        raise error

    worker = start(fail)
    for _ in range(2):  # a failure does not end it
        worker.send(None)
        failure = worker.receive()
        assert isinstance(failure, WorkFailure)
        assert "in fail" in failure.trace
        assert (type(failure.error()), str(failure.error())) == (expected, text)


def test_a_worker_is_started_again_after_it_was_killed(start):
    def work(message):
        if message == "die":
            os.kill(os.getpid(), signal.SIGKILL)
        if message == "hang":
            signal.pause()
        return os.getpid()

    worker = start(work)
    worker.send("a")
    first = worker.receive()
    worker.send("die")
    with pytest.raises(WorkerKilled):
        worker.receive()
    worker.kill()
    worker.send("a")
    assert worker.receive() != first
    worker.send("hang")
    with pytest.raises(TimeoutError):
        worker.receive(seconds=0.1)


def test_a_message_to_a_process_that_has_gone(start):
    worker = start(lambda message: message)
    worker._process.kill()
    worker._process.join()
    with pytest.raises(WorkerKilled):
        worker.send("a")


# Without fork


@pytest.mark.parametrize("platform", ["win32", "darwin"])
def test_elsewhere_than_on_linux_nothing_is_forked(two_threads, monkeypatch, platform):
    monkeypatch.delitem(sys.modules, "ctranslate2", raising=False)
    monkeypatch.setattr(sys, "platform", platform)
    assert not can_fork()
    assert n_processes(10 * MIN_ROWS_PER_PROCESS, torch.device("cpu")) == 1


def test_a_python_without_fork(two_threads, monkeypatch):
    monkeypatch.setattr("headway.parallel.get_all_start_methods", lambda: ["spawn"])
    assert not can_fork()


def test_without_memfd_the_queue_is_a_file(two_threads, meet, monkeypatch):
    monkeypatch.delattr("os.memfd_create", raising=False)

    def work(rows):
        meet()
        return [(row, os.getpid()) for row in rows]

    rows, processes = zip(*map_batches(work, [[3, 1], [0], [4, 2]], processes=2), strict=True)
    assert rows == (0, 1, 2, 3, 4)
    assert len(set(processes)) == 2


def test_where_no_process_can_be_started_this_one_does_the_work(two_threads, monkeypatch):
    def refuse(self):
        raise BlockingIOError(11, "Resource temporarily unavailable")

    monkeypatch.setattr(ForkedWorker, "_start", refuse)
    assert map_batches(lambda rows: [row * 2 for row in rows], [[1], [0]], processes=2) == [0, 2]


def test_cores_without_affinity(monkeypatch):
    assert n_cores() >= 1
    monkeypatch.delattr("os.sched_getaffinity", raising=False)
    for counted, expected in ((3, 3), (None, 1)):
        monkeypatch.setattr("os.cpu_count", lambda counted=counted: counted)
        assert n_cores() == expected

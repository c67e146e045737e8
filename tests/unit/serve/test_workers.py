"""Worker pools: forked processes and a thread, their failures, and what they fall back to."""

import asyncio
import json
import os
import signal
import sys

import pytest
from serve_helpers import KEY, answer, items_of
from served_runs import LIMITS, WORDS
from starlette.testclient import TestClient

from headway import parallel
from headway.errors import ConfigError, DataError, HeadwayError
from headway.serve.app import make_app
from headway.serve.engine import BatchKey, Engine
from headway.serve.validate import RequestValidator
from headway.serve.workers import (
    TRIES_ALONE,
    ForkedWorkers,
    ThreadWorker,
    WorkerError,
    make_worker_pool,
)


class Fragile(Engine):
    """Dies, hangs or fails when a text says so."""

    def answer(self, key, items):
        texts = [item.request.source for item in items]
        if "die" in texts:
            os.kill(os.getpid(), signal.SIGKILL)
        if "hang" in texts:
            signal.pause()
        if "fail" in texts:
            raise ZeroDivisionError("on purpose")
        if "refuse" in texts:
            raise DataError("not this one")
        return [json.dumps(text).encode() for text in texts]


def answer_from(pool, *texts):
    return asyncio.run(pool.answer(KEY, items_of(*texts)))


@pytest.fixture
def forks(trained):
    pool = ForkedWorkers({"mine": Fragile(trained["mine"])}, workers=1, threads=1, patience=2.0)
    yield pool
    pool.close()


def test_a_fork_answers_like_the_engine(engines):
    pool = ForkedWorkers(engines, workers=2, threads=1, patience=60.0)
    try:
        found = answer_from(pool, *WORDS)
    finally:
        pool.close()
    here = engines["mine"].answer(KEY, items_of(*WORDS))
    assert [json.loads(one) for one in found] == [json.loads(one) for one in here]


def test_a_fork_can_be_asked_everything(engines, trained):
    drawn = trained["lines"].writing_config(max_length=4)
    orders = [
        (BatchKey("lines", "generate", drawn), [(0, "ab"), (1, "")]),
        (BatchKey("hidden", "fill", top=2), ["the [MASK]"]),
        (BatchKey("hidden", "embed"), ["the cat", "it"]),
        (BatchKey("tags", "predict"), ["Ann saw Bob"]),
        (BatchKey("answers", "predict"), [("where ?", "it sat in Rome")]),
    ]
    pool = ForkedWorkers(engines, workers=1, threads=1, patience=60.0)
    try:
        for key, items in orders:
            found = asyncio.run(pool.answer(key, items))
            assert len(found) == len(items)
            assert list(json.loads(found[0])) == list(answer(engines[key.model], key, items)[0])
    finally:
        pool.close()


def test_what_goes_wrong_in_a_fork_is_told(forks, capfd):
    assert answer_from(forks, "a", "b") == [b'"a"', b'"b"']
    with pytest.raises(HeadwayError, match=r"^not this one$"):
        answer_from(forks, "refuse")
    with pytest.raises(WorkerError, match="ZeroDivisionError: on purpose"):
        answer_from(forks, "fail")
    assert "Traceback" in capfd.readouterr().err
    assert answer_from(forks, "a") == [b'"a"']


@pytest.mark.parametrize(("text", "said"), [("die", "was killed"), ("hang", "did not answer for")])
def test_a_fork_that_is_lost_is_replaced(forks, text, said):
    with pytest.raises(WorkerError, match=f"a process that computed {said}"):
        answer_from(forks, text)
    assert answer_from(forks, "a") == [b'"a"']


def test_closing_ends_what_is_under_way(trained):
    pool = ForkedWorkers({"mine": Fragile(trained["mine"])}, workers=1, threads=1, patience=600.0)

    async def run():
        under_way = asyncio.create_task(pool.answer(KEY, items_of("hang")))
        await asyncio.sleep(0.5)
        pool.close()
        with pytest.raises(WorkerError, match="the server was stopped"):
            await asyncio.wait_for(under_way, 120)

    asyncio.run(run())
    assert not any(worker.is_alive for worker in pool._all)


def test_a_process_that_is_started_during_the_end_is_ended_too(forks, monkeypatch):
    [worker] = forks._all
    send = worker.send

    def send_late(batch):
        forks.close()  # kills the process, which sending starts again
        send(batch)

    monkeypatch.setattr(worker, "send", send_late)
    with pytest.raises(WorkerError, match="the server was stopped"):
        answer_from(forks, "a")
    assert not worker.is_alive


def test_one_text_survives_kills_that_it_did_not_cause(trained, tmp_path):
    class Unlucky(Engine):
        """Dies the first four times, and is killed once more while it is idle."""

        def answer(self, key, items):
            deaths = tmp_path / "deaths"
            number = len(deaths.read_text()) if deaths.exists() else 0
            if number < TRIES_ALONE - 1:
                deaths.write_text("x" * (number + 1))
                os.kill(os.getpid(), signal.SIGKILL)
            return [b"{}" for _ in items]

    pool = ForkedWorkers({"mine": Unlucky(trained["mine"])}, workers=1, threads=1, patience=60.0)
    try:
        [worker] = pool._idle
        worker._process.kill()
        worker._process.join()
        assert answer_from(pool, "a") == [b"{}"]
    finally:
        pool.close()


def test_forks_hold_nothing_that_is_open_here(trained):
    read, write = os.pipe()
    pool = ForkedWorkers({"mine": Fragile(trained["mine"])}, workers=2, threads=1, patience=5.0)
    try:
        assert answer_from(pool, "a") == [b'"a"']
        os.close(write)
        assert os.read(read, 1) == b""  # nobody else has the other end
    finally:
        os.close(read)
        pool.close()


def test_ctranslate2_answers_in_every_fork(trained, runs, monkeypatch):
    monkeypatch.setenv("HEADWAY_CACHE", str(runs / "cache"))
    validator = RequestValidator("mine", trained["mine"], LIMITS, "ctranslate2")
    pool = ForkedWorkers({"mine": Engine(trained["mine"])}, workers=2, threads=1, patience=200.0)
    try:
        app, service = make_app({"mine": validator}, pool, LIMITS)
        asyncio.run(service.warm_up())
        with TestClient(app) as client:
            found = client.post("/translate", json={"texts": WORDS[:8]}).json()
            traced = client.post("/translate", json={"texts": ["abc"], "trace": True}).json()
    finally:
        pool.close()
    assert (found["engine"], traced["engine"]) == ("ctranslate2", "headway")
    right = trained["mine"].translate(WORDS[:8])
    for one, other in zip(found["results"], right, strict=True):
        assert one["outputs"][0]["score"] == pytest.approx(other.outputs[0].score, abs=1e-3)


def test_a_run_that_cannot_be_computed_is_told_at_the_start(trained, validators):
    class Unable(Engine):
        def answer(self, key, items):
            raise ConfigError("not with this library")

    pool = ForkedWorkers({"mine": Unable(trained["mine"])}, workers=2, threads=1, patience=20.0)
    try:
        _, service = make_app({"mine": validators["mine"]}, pool, LIMITS)
        with pytest.raises(HeadwayError, match="not with this library"):
            asyncio.run(service.warm_up())
    finally:
        pool.close()


def test_a_thread_tells_the_same(trained, capfd):
    pool = ThreadWorker({"mine": Fragile(trained["mine"])})
    assert answer_from(pool, "a") == [b'"a"']
    with pytest.raises(WorkerError, match="ZeroDivisionError: on purpose"):
        answer_from(pool, "fail")
    with pytest.raises(HeadwayError, match="not this one"):
        answer_from(pool, "refuse")
    pool.close()


@pytest.mark.parametrize("platform", ["win32", "darwin"])
def test_without_fork_one_thread_answers(engines, monkeypatch, platform):
    monkeypatch.setattr(sys, "platform", platform)
    pool = make_worker_pool(engines, workers=2, threads=1, patience=60.0)
    assert isinstance(pool, ThreadWorker)
    assert pool.workers == 1
    found = answer_from(pool, *WORDS)
    pool.close()
    here = engines["mine"].answer(KEY, items_of(*WORDS))
    assert [json.loads(one) for one in found] == [json.loads(one) for one in here]


def test_where_no_process_can_be_started_one_thread_answers(trained, monkeypatch):
    started = []

    class Limited(parallel.ForkedWorker):
        def _start(self):
            if started:
                raise BlockingIOError(11, "Resource temporarily unavailable")
            started.append(self)
            super()._start()

    monkeypatch.setattr("headway.serve.workers.ForkedWorker", Limited)
    engines = {"mine": Fragile(trained["mine"])}
    pool = make_worker_pool(engines, workers=2, threads=1, patience=60.0)
    assert isinstance(pool, ThreadWorker)
    assert started[0]._process is None  # the first of two was ended again
    assert answer_from(pool, "a") == [b'"a"']
    pool.close()


def test_a_process_that_cannot_be_replaced_is_tried_again(forks, monkeypatch, capfd):
    def refuse(self):
        raise BlockingIOError(11, "Resource temporarily unavailable")

    with monkeypatch.context() as patch:
        patch.setattr(parallel.ForkedWorker, "_start", refuse)
        with pytest.raises(WorkerError, match=r"could not be started \(Resource temporarily"):
            answer_from(forks, "die")
    assert "could not be started" in capfd.readouterr().err
    assert answer_from(forks, "a") == [b'"a"']


def test_as_many_processes_as_cores_at_most_four(trained, monkeypatch):
    engines = {"mine": Fragile(trained["mine"])}
    monkeypatch.delattr("os.sched_getaffinity", raising=False)
    for n_cores, expected in ((2, 2), (64, 4), (None, 1)):
        monkeypatch.setattr("os.cpu_count", lambda n_cores=n_cores: n_cores)
        pool = make_worker_pool(engines, workers=None, threads=1, patience=60.0)
        pool.close()
        assert pool.workers == expected


def test_without_proc_forks_close_what_is_open_here(trained, monkeypatch):
    def missing(path):
        raise FileNotFoundError(2, "No such file or directory", path)

    monkeypatch.setattr("os.listdir", missing)
    test_forks_hold_nothing_that_is_open_here(trained)

"""Raw HTTP attacks on `headway serve`, with and without a token.

Each gets a JSON error or a closed connection; none crashes or blocks the server, or leaves a
traceback in its log.
"""

import json
import os
import random
import resource
import signal
import socket
import time
from pathlib import Path

import pytest
from cli_workdir import commands_in, run_file, train_runs
from raw_http import ServerProcess

RUN_FILE = run_file(
    {"train": "pairs.tsv", "max_length": 40},
    text="characters",
    train={"steps": 20, "batch_tokens": 128, "lr": 1e-2},
    search={"beam": 2, "max_length": 12},
)
WORDS = ["abc", "cab", "bca", "bac", "acb", "cba"]
BODY = b'{"texts": ["abc"]}'
TOKEN = "open sesame"
JSON = "Content-Type: application/json"
CHUNKED = "Transfer-Encoding: chunked"
CHUNKS = b"%x\r\n%s\r\n0\r\n\r\n" % (len(BODY), BODY)
TRANSLATE = "POST /translate HTTP/1.1"
HEALTH = "GET /health HTTP/1.1"


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("attacks")
    (folder / "pairs.tsv").write_text("".join(f"{w}\t{w[::-1]}\n" for w in WORDS * 3))
    with commands_in(folder):
        train_runs(mine=RUN_FILE)
    return folder / "mine"


@pytest.fixture(scope="module")
def start(run, tmp_path_factory):
    """Starts servers, which end with the tests."""
    started = []

    def made(*arguments, **more):
        errors = tmp_path_factory.mktemp("log") / "errors"
        started.append(ServerProcess(errors, run, "--workers", "1", *arguments, **more))
        return started[-1]

    yield made
    for server in started:
        server.kill()


@pytest.fixture(scope="module", params=[None, TOKEN], ids=["open", "token"])
def patient(request, start):
    """One for the attacks that leave it as it was."""
    return start("--max-seconds", "200", token=request.param)


@pytest.fixture
def server(patient):
    yield patient
    assert_well(patient)


def assert_well(server):
    """The server answers, and nothing unexpected is in its log."""
    [reply] = server.send(server.post("/translate", BODY))
    assert reply.status == 200, reply
    assert json.loads(reply.body)["results"][0]["source"] == "abc"
    assert "Traceback" not in server.said()
    assert "Exception" not in server.said()


def check(replies):
    """Every error has the one shape."""
    for reply in replies:
        if reply.status != 200:
            assert reply.headers["content-type"] == "application/json", reply
            assert list(json.loads(reply.body)["error"]) == ["code", "message", "field"]
            assert len(reply.body) < 1000
    return [reply.status for reply in replies]


def translate(server, *lines):
    return server.head(TRANSLATE, JSON, *lines)


ATTACKS = {
    # Other protocols and versions
    "HTTP/0.9": (lambda s: b"GET /health\r\n\r\n", [400]),
    "HTTP/0.9, one line": (lambda s: b"GET /\r\n", []),
    "HTTP/2 preface": (lambda s: b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0", [400]),
    "HTTP/2 as a version": (lambda s: s.head("GET /health HTTP/2.0"), [400]),
    "HTTP/9.9": (lambda s: s.head("GET /health HTTP/9.9"), [400]),
    "TLS": (lambda s: bytes.fromhex("16030100c8010000c40303") + bytes(190), [400]),
    "upgrade to a web socket": (
        lambda s: s.head(HEALTH, "Connection: Upgrade", "Upgrade: websocket"),
        [200],
    ),
    "upgrade to HTTP/2": (
        lambda s: s.head(HEALTH, "Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c"),
        [200],
    ),
    # Targets
    "absolute form": (lambda s: s.head("GET http://localhost/models HTTP/1.1"), [404]),
    "absolute form of another host": (lambda s: s.head("GET http://evil/health HTTP/1.1"), [404]),
    "CONNECT": (lambda s: s.head("CONNECT evil:443 HTTP/1.1"), [404]),
    "OPTIONS *": (lambda s: s.head("OPTIONS * HTTP/1.1"), [404]),
    "TRACE": (lambda s: s.head("TRACE / HTTP/1.1"), [405]),
    "a method of 3,000 letters": (lambda s: s.head(f"{'G' * 3000} / HTTP/1.1"), [405]),
    "a huge target": (lambda s: s.head(f"GET /{'a' * 300_000} HTTP/1.1"), [400]),
    "a long target": (lambda s: s.head(f"GET /{'a' * 5000} HTTP/1.1"), [404]),
    "a target up the tree": (lambda s: s.head("GET /../../etc/passwd HTTP/1.1"), [404]),
    "a target that hides a path": (lambda s: s.head("GET /%2fmodels HTTP/1.1"), [404]),
    "NUL in the target": (lambda s: s.head("GET /\0 HTTP/1.1"), [400]),
    "encoded NUL": (lambda s: s.head("GET /%00 HTTP/1.1"), [404]),
    "bad UTF-8 in the target": (lambda s: s.head("GET /%ff%fe HTTP/1.1"), [404]),
    "bad UTF-8 in the query": (lambda s: s.head("GET /training?model=%ff%00 HTTP/1.1"), [422]),
    "raw UTF-8 in the target": (lambda s: s.head("GET /ü HTTP/1.1"), [400]),
    "two spaces": (lambda s: s.head("GET  /health HTTP/1.1"), [400]),
    # Headers
    "no host": (lambda s: b"GET /health HTTP/1.1\r\n\r\n", [400]),
    "two hosts": (lambda s: s.head(HEALTH, "Host: evil"), [400]),
    "an empty host": (lambda s: b"GET /health HTTP/1.1\r\nHost:\r\n\r\n", [421]),
    "another host": (lambda s: b"GET /health HTTP/1.1\r\nHost: evil.example\r\n\r\n", [421]),
    "a huge header": (lambda s: s.head(HEALTH, "X: " + "a" * 300_000), [400]),
    "100,000 headers": (lambda s: s.head(HEALTH, *["X: a"] * 100_000), [400]),
    "NUL in a header": (lambda s: s.head(HEALTH, "X: a\0b"), [400]),
    "a bare CR in a header": (lambda s: s.head(HEALTH, "X: a\rb"), [400]),
    "a header without a colon": (lambda s: s.head(HEALTH, "X"), [400]),
    "a space before the colon": (lambda s: translate(s, "Content-Length : 5") + b"abcde", [400]),
    "a token that is not ASCII": (
        lambda s: b"GET /models HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer \xff\r\n\r\n",
        {None: [200], TOKEN: [401]},
    ),
    "a content type that is none": (
        lambda s: s.head(TRANSLATE, "Content-Type: ;;=\x7f", "Content-Length: 2") + b"{}",
        [415],
    ),
    # Lengths
    "no number": (lambda s: translate(s, "Content-Length: many"), [400]),
    "a negative number": (lambda s: translate(s, "Content-Length: -5"), [400]),
    "a signed number": (lambda s: translate(s, "Content-Length: +5") + b"abcde", [400]),
    "a hexadecimal number": (lambda s: translate(s, "Content-Length: 0x5") + b"abcde", [400]),
    "a number with underscores": (lambda s: translate(s, "Content-Length: 1_0"), [400]),
    "a number of 5,000 digits": (lambda s: translate(s, f"Content-Length: {'9' * 5000}"), [400]),
    "two lengths": (lambda s: translate(s, "Content-Length: 3", "Content-Length: 4"), [400]),
    "a body shorter than declared": (lambda s: s.post("/translate", BODY)[:-3], []),
    "a body longer than declared": (lambda s: s.post("/translate", BODY) + b"abc", [200]),
    "junk after a request": (lambda s: s.head(HEALTH) + b"\0junk\r\n\r\n", [200, 400]),
    "a GET with a body": (lambda s: s.head(HEALTH, "Content-Length: 3") + b"abc", [200]),
    "leave for a large body": (
        lambda s: translate(s, "Expect: 100-continue", "Content-Length: 99999999"),
        [413],
    ),
    "leave for a body": (lambda s: s.post("/translate", BODY, "Expect: 100-continue"), [200]),
    "another expectation": (lambda s: s.post("/translate", BODY, "Expect: 200-ok"), [200]),
    # Smuggling
    "length, then chunks": (
        lambda s: translate(s, "Content-Length: 4", CHUNKED) + b"0\r\n\r\n" + s.head(HEALTH),
        [400],
    ),
    "chunks, then length": (
        lambda s: translate(s, CHUNKED, "Content-Length: 4") + b"0\r\n\r\n" + s.head(HEALTH),
        [400],
    ),
    "two encodings": (
        lambda s: translate(s, CHUNKED, "Transfer-Encoding: identity") + b"0\r\n\r\n",
        [400],
    ),
    "identity": (lambda s: translate(s, "Transfer-Encoding: identity") + BODY, [400]),
    "gzip and chunks": (lambda s: translate(s, "Transfer-Encoding: gzip, chunked") + BODY, [400]),
    "another encoding": (lambda s: translate(s, "Transfer-Encoding: xchunked") + BODY, [400]),
    "an encoding after a vertical tab": (
        lambda s: translate(s, "Transfer-Encoding: \vchunked") + CHUNKS,
        [400],
    ),
    # Chunks
    "chunks": (lambda s: translate(s, CHUNKED) + CHUNKS, [200]),
    "a chunk size that is none": (lambda s: translate(s, CHUNKED) + b"zz\r\nabc\r\n", [400]),
    "a negative chunk size": (lambda s: translate(s, CHUNKED) + b"-5\r\nabc\r\n", [400]),
    "a chunk size of 30 digits": (lambda s: translate(s, CHUNKED) + b"f" * 30 + b"\r\na", [400]),
    "a chunk size of 64 bits": (lambda s: translate(s, CHUNKED) + b"f" * 16 + b"\r\na", []),
    "a chunk longer than its size": (lambda s: translate(s, CHUNKED) + b"3\r\nabcde\r\n", [400]),
    "a huge chunk extension": (
        lambda s: translate(s, CHUNKED) + b"5;" + b"e" * 300_000 + b"\r\n",
        [400],
    ),
    "huge trailers": (lambda s: translate(s, CHUNKED) + b"0\r\n" + b"X: y\r\n" * 100_000, [400]),
    # Pipelines
    "three requests": (lambda s: s.head(HEALTH) * 3, [200] * 3),
    "ten requests with bodies": (lambda s: s.post("/translate", BODY) * 10, [200] * 10),
    "a request after a bad one": (lambda s: s.post("/translate", b"{") * 2, [400] * 2),
    # Nothing
    "nothing": (lambda s: b"", []),
    "a part of a header": (lambda s: b"GET /hea", []),
    "bytes": (lambda s: bytes(range(256)) * 10, [400]),
}


@pytest.mark.parametrize("name", ATTACKS)
def test_attacks_get_an_error_or_nothing(server, name):
    attack, expected = ATTACKS[name]
    if isinstance(expected, dict):
        expected = expected[server.token]
    data = attack(server)
    found = check(server.send(data))
    # A server that closes while it is being sent more resets the connection, at times before the
    # client has read the error.
    assert found == expected or (len(data) > 65536 and found == [])


def mutated(data, random):
    """Bytes with a few random changes."""
    changed = bytearray(data)
    for _ in range(random.randint(1, 4)):
        at, to = sorted(random.choices(range(len(changed) + 1), k=2))
        kind = random.randrange(5)
        if kind == 0:
            changed[at:at] = random.choice(
                [b"\0", b"\r\n", b"\n", b"\xff", b" ", b":", b"\r\n\r\n"]
            )
        elif kind == 1 and at < len(changed):
            changed[at] = random.randrange(256)
        elif kind == 2:
            del changed[at : min(to, at + 8)]
        elif kind == 3:
            changed[at:at] = changed[at : min(to, at + 40)]
        else:
            changed[at:at] = str(random.choice([-1, 0, 7, 2**31, 2**64, 10**40])).encode()
    return bytes(changed)


def send_mutations(server, number, seed):
    """Sends changed requests; counts of the replies by status."""
    chance = random.Random(seed)
    whole = [
        server.post("/translate", BODY),
        server.post("/translate/stream", BODY),
        server.post("/inspect", {"text": "abc"}, "Expect: 100-continue"),
        translate(server, CHUNKED) + CHUNKS,
        server.head("GET /training?model=mine HTTP/1.1"),
        server.head(HEALTH) + server.post("/translate", BODY),
    ]
    counts = {}
    for _ in range(number):
        for status in check(server.send(mutated(chance.choice(whole), chance))) or [None]:
            counts[status] = counts.get(status, 0) + 1
    return counts


STATUSES = {None, 200, 400, 401, 404, 405, 408, 413, 415, 421, 422}


def test_changed_requests(server):
    counts = send_mutations(server, 150, 0)
    assert counts.keys() <= STATUSES
    assert {200, 400} <= counts.keys()


@pytest.mark.slow
@pytest.mark.timeout(7200)
def test_many_changed_requests(server):
    assert send_mutations(server, 10_000, 1).keys() <= STATUSES


# Clients that take their time


@pytest.fixture(scope="module")
def hasty(start):
    """One that waits for clients for a second only, and may open few files."""

    def limit():
        resource.setrlimit(resource.RLIMIT_NOFILE, (150, 150))

    return start("--max-seconds", "1", preexec_fn=limit)


def test_a_header_that_comes_byte_by_byte(hasty):
    connections = [hasty.connect() for _ in range(20)]
    with pytest.raises(ConnectionError):  # noqa: PT012
        for byte in hasty.head(HEALTH, "X: " + "a" * 100_000):
            for connection in connections:
                connection.sendall(bytes([byte]))
            time.sleep(0.05)
    for connection in connections:
        connection.close()
    assert_well(hasty)


def test_a_body_that_comes_byte_by_byte(hasty):
    with hasty.connect() as connection:
        connection.sendall(hasty.post("/translate", b"[" * 50_000)[:-49_000])
        received = b""
        while part := connection.recv(65536):
            received += part
    assert b" 408 " in received.partition(b"\r\n")[0]
    assert b'"code": "slow_body"' in received
    assert_well(hasty)


def send_without_reading(server):
    """A connection with more responses than the system holds back."""
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    connection.connect(("127.0.0.1", server.port))
    connection.sendall(server.head("GET / HTTP/1.1") * 300)
    return connection


def test_a_client_that_does_not_read_is_cut_off(hasty):
    with send_without_reading(hasty) as connection:
        time.sleep(4)
        connection.settimeout(120)
        size = 0
        with pytest.raises(ConnectionError):  # noqa: PT012
            while part := connection.recv(65536):
                size += len(part)
            raise ConnectionError("closed")
    [page] = hasty.send(hasty.head("GET / HTTP/1.1"))
    assert size < 250 * len(page.body)
    assert_well(hasty)


def test_idle_connections_do_not_keep_others_out(hasty):
    idle = [hasty.connect() for _ in range(400)]
    try:
        for connection in idle[-10:]:
            connection.sendall(b"GET /hea")
        assert_well(hasty)
    finally:
        for connection in idle:
            connection.close()
    assert_well(hasty)
    assert "Too many open files" not in hasty.said()


# The end


def test_clients_that_hang_do_not_delay_the_end(start):
    """Nor does a worker. The time limit of a request is longer than that of this test."""
    server = start("--max-seconds", "1000")
    [worker] = children(server.process.pid)
    os.kill(worker, signal.SIGSTOP)
    with server.connect() as gone:
        gone.sendall(server.post("/translate", BODY))
        time.sleep(1)
    hanging = [server.connect(), send_without_reading(server)]
    for data in (b"GET /hea", server.post("/translate", BODY)[:-2], server.head(HEALTH)):
        connection = server.connect()
        connection.sendall(data)
        hanging.append(connection)
    time.sleep(1)
    assert server.stop() == 0
    assert "Traceback" not in server.said()
    assert server.said().endswith("headway: stopped\n")
    assert not Path(f"/proc/{worker}").exists()
    for connection in hanging:
        connection.close()


def children(process):
    files = Path(f"/proc/{process}/task").glob("*/children")
    return [int(child) for file in files for child in file.read_text().split()]


def test_the_last_answers_close_their_connections(start):
    """A request that comes during a stop is refused, and its connection is closed."""
    server = start("--max-seconds", "1000")
    [worker] = children(server.process.pid)
    os.kill(worker, signal.SIGSTOP)
    with server.connect() as waiting, server.connect() as late:
        waiting.sendall(server.post("/translate", BODY))
        late.sendall(server.post("/translate", BODY)[:-2])
        time.sleep(1)
        server.process.send_signal(signal.SIGTERM)
        while "stopping" not in server.said():
            time.sleep(0.05)
        late.sendall(BODY[-2:])
        with late.makefile("rb") as file:
            refused = file.read()  # to the end: the server closes
        os.kill(worker, signal.SIGCONT)
        with waiting.makefile("rb") as file:
            answered = file.read()
    assert refused.startswith(b"HTTP/1.1 503 ")
    assert b'"code": "draining"' in refused
    assert answered.startswith(b"HTTP/1.1 200 ")
    for reply in (refused, answered):
        assert b"\r\nconnection: close\r\n" in reply.lower()
    server.process.communicate(timeout=120)
    assert server.process.returncode == 0

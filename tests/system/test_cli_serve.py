"""`headway serve` as a user runs it: a real process, real connections, its end."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

import httpx2
import pytest
from cli_workdir import commands_in, run_file, train_runs

import headway
from headway.cli import main
from headway.cli.serve import named, read_token
from headway.errors import ConfigError, DataError

RUN_FILE = run_file(
    {"train": "pairs.tsv", "max_length": 40},
    text="characters",
    train={"steps": 20, "batch_tokens": 128, "lr": 1e-2},
    search={"beam": 3, "max_length": 48},
)
WORDS = ["abc", "cab", "bca", "bac", "acb", "cba", "aab", "bbc", "cca", "abab", "caca"]
# One worker and no batching, so that work can be seen to wait; time enough for a busy machine.
USUAL = ["--port", "0", "--json", "--workers", "1", "--batch-tokens", "1", "--max-seconds", "200"]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("serve")
    (folder / "pairs.tsv").write_text("".join(f"{w}\t{w[::-1]}\n" for w in WORDS * 2))
    with commands_in(folder):
        train_runs(mine=RUN_FILE)
    return folder / "mine"


class Server:
    """A process that serves, and what it said."""

    def __init__(self, *arguments):
        command = [sys.executable, "-m", "headway", "serve", *map(str, arguments)]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        env = {**os.environ, "OMP_NUM_THREADS": "1"}
        self.process = subprocess.Popen(command, env=env, **pipes)

    def ready(self):
        line = self.process.stdout.readline()
        assert line, self.process.stderr.read()
        self.announced = json.loads(line)
        self.url = self.announced["url"]
        self.port = int(self.url.rpartition(":")[2])
        return self

    def stop(self, number=signal.SIGTERM):
        """Exit code, and what was said on standard error."""
        self.process.send_signal(number)
        _, said = self.process.communicate(timeout=300)
        return self.process.returncode, said

    def translate(self, *texts, **options):
        body = {"texts": list(texts), **options}
        return httpx2.post(f"{self.url}/translate", json=body, timeout=250)

    def figures(self):
        """What Prometheus would read."""
        return httpx2.get(f"{self.url}/metrics", timeout=300).text

    def wait_for_work(self):
        while "headway_running_batches 1.0" not in self.figures():
            time.sleep(0.01)


@pytest.fixture
def serve(run):
    started = []

    def start(*arguments):
        started.append(Server(run, *USUAL, *arguments))
        return started[-1].ready()

    yield start
    for server in started:
        server.process.kill()
        server.process.communicate()


@pytest.fixture(scope="module")
def server(run):
    """One for the tests that leave it as it was."""
    one = Server(run, f"other={run}", *USUAL).ready()
    yield one
    one.process.kill()
    one.process.communicate()


def raw(server, data, *, half_close=False, timeout=300):
    """All that a server answers to some bytes."""
    with socket.create_connection(("127.0.0.1", server.port), timeout) as connection:
        connection.sendall(data)
        if half_close:
            connection.shutdown(socket.SHUT_WR)
        received = b""
        while part := connection.recv(65536):
            received += part
        return received


def request(body, path="/translate"):
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    return f"{head}Connection: close\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body


def children(pid):
    """The processes that any thread of a process has started."""
    files = Path(f"/proc/{pid}/task").glob("*/children")
    return [int(child) for file in files for child in file.read_text().split()]


def test_it_serves_on_loopback_and_says_where(server, run):
    assert server.announced == {
        "url": f"http://127.0.0.1:{server.port}",
        "models": ["mine", "other"],
        "process": server.process.pid,
    }
    right = [one.text for one in headway.load(run).translate(["abc", "cab"])]
    for name in ("mine", "other"):
        found = server.translate("abc", "cab", model=name).json()
        assert found["model"] == name
        assert [one["outputs"][0]["text"] for one in found["results"]] == right


def test_sigterm_lets_it_finish_what_is_under_way(serve):
    server = serve()
    found = []
    texts = [WORDS[n % len(WORDS)] * 3 for n in range(20)]
    asking = threading.Thread(target=lambda: found.append(server.translate(*texts, beam=16)))
    [worker] = children(server.process.pid)
    os.kill(worker, signal.SIGSTOP)  # or it may be done before anybody looks
    asking.start()
    server.wait_for_work()
    server.process.send_signal(signal.SIGTERM)
    os.kill(worker, signal.SIGCONT)
    _, said = server.process.communicate(timeout=300)
    asking.join()
    assert server.process.returncode == 0
    assert said.splitlines()[-1] == "headway: stopped"
    assert [one["source"] for one in found[0].json()["results"]] == texts
    with pytest.raises(httpx2.ConnectError):
        server.figures()


def test_workers_are_replaced_and_end_with_the_server(serve):
    server = serve("--workers", "2")
    before = children(server.process.pid)
    for worker in before:
        os.kill(worker, signal.SIGKILL)
    assert server.translate(*WORDS).status_code == 200
    workers = children(server.process.pid)
    assert len(workers) == 2
    assert not set(workers) & set(before)
    server.process.kill()  # nobody is left to tell them
    server.process.wait()
    deadline = time.monotonic() + 60
    while any(Path(f"/proc/{worker}").exists() for worker in workers):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_a_client_that_leaves_is_not_worked_for(server):
    texts = [WORDS[n % len(WORDS)] * 3 for n in range(120)]
    body = json.dumps({"texts": texts, "beam": 16, "model": "mine"}).encode()
    with socket.create_connection(("127.0.0.1", server.port)) as connection:
        connection.sendall(request(body))
        server.wait_for_work()
    while 'path="/translate",status="499"} 1.0' not in server.figures():
        time.sleep(0.01)
    assert server.translate("abc", model="mine").status_code == 200
    figures = server.figures()
    [done] = [line for line in figures.splitlines() if line.startswith("headway_batch_texts_sum")]
    assert float(done.split()[1]) < 100


# Bad connections


def test_half_closed_connections_get_their_answer_and_do_not_hang(server):
    body = json.dumps({"texts": ["abc"], "model": "mine"}).encode()
    answer = raw(server, request(body), half_close=True)
    assert json.loads(answer.rpartition(b"\r\n\r\n")[2])["results"][0]["source"] == "abc"
    for data in (request(body)[:60], b"", b"POST / HTTP/1.1\r\n"):
        raw(server, data, half_close=True)
    assert server.translate("abc", model="mine").status_code == 200


@pytest.mark.parametrize(
    "data",
    [
        b"nonsense\r\n\r\n",
        b"\x00\xff\xfe\r\n\r\n",
        b"POST /translate HTTP/1.1\r\nHost: a\r\nContent-Length: many\r\n\r\n",
        b"POST /translate HTTP/1.1\r\nHost: a\r\nContent-Length: -5\r\n\r\n",
    ],
)
def test_what_is_no_http(server, data):
    answer = raw(server, data)
    assert answer.startswith(b"HTTP/1.1 4")
    assert json.loads(answer.partition(b"\r\n\r\n")[2])["error"]["code"] == "malformed"
    assert server.translate("abc", model="mine").status_code == 200


def test_a_name_that_is_rebound_to_this_machine_is_not_served(server):
    for path in ("/", "/models", "/translate"):
        answer = raw(server, request(b"{}", path).replace(b"localhost", b"evil.example"))
        assert answer.startswith(b"HTTP/1.1 421")


def test_two_lengths_of_a_body(server):
    data = request(b"{}").replace(b"\r\n\r\n", b"\r\nTransfer-Encoding: chunked\r\n\r\n", 1)
    assert raw(server, data).startswith(b"HTTP/1.1 400")


@pytest.mark.parametrize(
    ("content", "status"),
    [
        (b'{"model": "mine", "texts": ["\xff"]}', 400),
        (b'{"model": "mine", "texts": ["\\u0000 a \\u0000"]}', 200),
        (b'{"model": "mine", "texts": ["' + b"a" * 900_000 + b'"]}', 422),
        (b'{"texts": ["' + b"a" * 1_100_000 + b'"]}', 413),
        (b"[" * 900_000, 400),
    ],
)
def test_bad_bodies_over_the_wire(server, content, status):
    assert raw(server, request(content)).startswith(f"HTTP/1.1 {status} ".encode())


def test_a_body_in_chunks_without_an_end_is_cut_off(server):
    head = "POST /translate HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    chunk = b"10000\r\n" + b"[" * 0x10000 + b"\r\n"
    data = f"{head}Transfer-Encoding: chunked\r\n\r\n".encode() + chunk * 20
    with socket.create_connection(("127.0.0.1", server.port), 60) as connection:
        connection.sendall(data)
        assert connection.recv(65536).startswith(b"HTTP/1.1 413 ")


def test_slow_clients_do_not_hold_up_the_others(server):
    body = json.dumps({"texts": ["abc"], "model": "mine"}).encode()
    slow = [socket.create_connection(("127.0.0.1", server.port), 60) for _ in range(20)]
    try:
        for connection in slow:
            connection.sendall(request(body)[:-3])
        assert server.translate("cab", model="mine").status_code == 200
        for connection in slow:
            connection.sendall(request(body)[-3:])
        for connection in slow:
            assert connection.recv(65536).startswith(b"HTTP/1.1 200 ")
    finally:
        for connection in slow:
            connection.close()


def test_a_client_that_never_ends_the_head_of_its_request_is_cut_off(serve):
    server = serve("--max-seconds", "1")
    with socket.create_connection(("127.0.0.1", server.port), 60) as connection:
        connection.sendall(b"GET /health HTTP/1.1\r\nHost: a\r\n")
        with suppress(ConnectionError):
            for _ in range(600):
                connection.sendall(b"x")
                time.sleep(0.1)
        with suppress(ConnectionError):
            assert connection.recv(1) == b""
    assert httpx2.get(f"{server.url}/health", timeout=300).status_code == 200


# Mistakes


def refused(capsys, *arguments):
    """Exit code and the one line that is said."""
    code = main(["serve", *map(str, arguments)])
    captured = capsys.readouterr()
    assert captured.out == ""
    [line] = captured.err.splitlines()
    return code, line.removeprefix("headway: error: ")


def test_a_port_that_is_taken(run, capsys):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        code, line = refused(capsys, run, "--port", port)
    assert code == 2
    assert line.startswith(f"127.0.0.1 port {port} cannot be listened on (Address already in use")


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["{folder}"], 1, "is not a run"),
        (["{folder}/nowhere"], 1, "nowhere"),
        (["{run}", "{run}"], 2, "two runs would be called 'mine'"),
        (["{run}", "--engine", "other"], 2, "expected headway or ctranslate2"),
        (["{run}", "--max-beam", "0"], 2, "limit beam = 0: expected a number above 0"),
        (["{run}", "--max-texts", "9", "--max-queue", "8"], 2, "8 texts may wait"),
        (["{run}", "--token-file", "{folder}/nowhere"], 1, "cannot be read: No such file"),
        (["{run}", "--host", "256.1.1.1"], 2, "cannot be listened on"),
        (["{run}", "--port", "70000"], 2, "cannot be listened on"),
        (["{run}", "--port", "many"], 2, "'many' is not a whole number"),
    ],
)
def test_mistakes_are_one_line(run, tmp_path, capsys, arguments, code, said):
    filled = [argument.format(folder=tmp_path, run=run) for argument in arguments]
    if "--port" not in filled:
        filled += ["--port", "0"]
    found, line = refused(capsys, *filled)
    assert said in line
    assert found == code


@pytest.mark.parametrize("package", ["fastapi", "uvicorn", "prometheus_client"])
def test_a_missing_extra_is_named(run, capsys, monkeypatch, package):
    monkeypatch.setitem(sys.modules, package, None)
    code, line = refused(capsys, run, "--port", "0", "--workers", "1")
    assert code == 1
    assert line.startswith(f"headway serve needs the package {package.replace('_', '-')!r}")
    assert line.endswith("pip install 'headway-attention[serve]'")


def test_names_of_runs(tmp_path):
    (tmp_path / "a=b").mkdir()
    assert named(["runs/mine", "x=runs/mine", f"{tmp_path}/a=b", "y=a=b/"]) == {
        "mine": Path("runs/mine"),
        "x": Path("runs/mine"),
        "a=b": tmp_path / "a=b",
        "y": Path("a=b"),
    }
    with pytest.raises(ConfigError, match="=runs/mine: expected NAME=DIR or DIR"):
        named(["=runs/mine"])


def test_where_tokens_come_from(tmp_path, monkeypatch):
    file = tmp_path / "token"
    monkeypatch.delenv("HEADWAY_TOKEN", raising=False)
    assert read_token(None) is None
    file.write_text(" open sesame\n")
    assert read_token(file) == "open sesame"
    monkeypatch.setenv("HEADWAY_TOKEN", "another")
    assert read_token(None) == "another"
    with pytest.raises(ConfigError, match="both set a token; leave one out"):
        read_token(file)
    monkeypatch.setenv("HEADWAY_TOKEN", " ")
    with pytest.raises(ConfigError, match="HEADWAY_TOKEN is empty"):
        read_token(None)
    monkeypatch.delenv("HEADWAY_TOKEN")
    file.write_text("\n")
    with pytest.raises(ConfigError, match="is empty; write a token into it"):
        read_token(file)
    file.write_bytes(b"\xff\xfe")
    with pytest.raises(DataError, match="cannot be read: not UTF-8"):
        read_token(file)


# Long


def resident(pid):
    """MB of a process and its children."""
    pages = sum(
        int(Path(f"/proc/{one}/statm").read_text().split()[1]) for one in [pid, *children(pid)]
    )
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def hammer(server, stop, counts, clients):
    """Clients that ask without a pause until they are stopped."""

    def client(number):
        with httpx2.Client(timeout=300) as asking:
            turn = number
            while not stop.is_set():
                word = WORDS[turn % len(WORDS)]
                body = {"texts": [word] * (1 + turn % 4), "beam": 1 + turn % 5}
                response = asking.post(f"{server.url}/translate", json=body)
                counts[number].append(response.status_code)
                if response.status_code == 200:
                    assert {one["source"] for one in response.json()["results"]} == {word}
                turn += 1

    threads = [threading.Thread(target=client, args=(number,)) for number in range(clients)]
    for thread in threads:
        thread.start()
    return threads


@pytest.mark.slow
def test_memory_does_not_grow_under_load(serve):
    """Ten minutes: less than 1 MB a minute after the first."""
    server = serve("--workers", "2", "--batch-tokens", "8192")
    stop, counts = threading.Event(), [[] for _ in range(8)]
    threads = hammer(server, stop, counts, 8)
    sizes = []
    for _ in range(11):
        time.sleep(60)
        sizes.append(resident(server.process.pid))
    stop.set()
    for thread in threads:
        thread.join()
    assert (sizes[-1] - sizes[0]) / 10 < 1.0, sizes
    assert {code for each in counts for code in each} == {200}
    assert server.stop()[0] == 0


@pytest.mark.slow
def test_ten_times_what_may_wait_for_a_minute(serve):
    limits = ["--max-queue", "8", "--max-texts", "4", "--max-seconds", "10"]
    server = serve(*limits)
    stop, counts = threading.Event(), [[] for _ in range(80)]
    threads = hammer(server, stop, counts, 80)
    end = time.monotonic() + 60
    while time.monotonic() < end:
        assert httpx2.get(f"{server.url}/health", timeout=300).status_code == 200
        time.sleep(1)
    stop.set()
    for thread in threads:
        thread.join()
    codes = {code for each in counts for code in each}
    assert {200, 429} <= codes <= {200, 429, 503}
    assert server.translate("abc", model="mine").status_code == 200
    assert server.stop()[0] == 0

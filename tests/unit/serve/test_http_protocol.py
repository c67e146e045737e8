"""The HTTP protocol over real sockets: JSON errors, half-closed connections, clients that leave."""

import asyncio
import json

import pytest
import uvicorn

from headway.serve.http_protocol import make_protocol

WHOLE = b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nhi"
CHUNKED = b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"


class Application:
    """Answers when `release` is set, or notes that the client has gone."""

    def __init__(self):
        self.release, self.begun, self.gone = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def __call__(self, scope, receive, send):
        await receive()
        self.begun.set()
        leaving = asyncio.create_task(receive())
        waiting = asyncio.create_task(self.release.wait())
        await asyncio.wait({leaving, waiting}, return_when=asyncio.FIRST_COMPLETED)
        if leaving.done():
            waiting.cancel()
            self.gone.set()
            return
        leaving.cancel()
        headers = [(b"content-length", b"4")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": b"done"})


def converse(act, most=100):
    """Runs `act(application, reader, writer)` against a server on a free port.

    Args:
        most: open connections.
    """

    async def run():
        application = Application()
        config = uvicorn.Config(
            application, port=0, log_config=None, lifespan="off", http=make_protocol(most)
        )
        config.load()
        server = uvicorn.Server(config)
        serving = asyncio.create_task(server._serve())
        while not server.started:
            await asyncio.sleep(0.01)
        port = server.servers[0].sockets[0].getsockname()[1]
        try:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            return await asyncio.wait_for(act(application, reader, writer), 120)
        finally:
            server.should_exit = server.force_exit = True
            await serving

    return asyncio.run(run())


@pytest.mark.parametrize(
    "data",
    [
        b"nonsense\r\n\r\n",
        b"GET / HTTP/1.1\r\n" + b"a" * 100_000,
        CHUNKED + b"no size\r\n",  # while the application waits for the body
    ],
)
def test_what_is_not_http_is_answered_in_json(data):
    async def act(application, reader, writer):
        writer.write(data)
        return await reader.read()

    head, _, body = converse(act).partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 400")
    assert b"connection: close" in head.lower()
    assert b"content-type: application/json" in head.lower()
    assert f"content-length: {len(body)}".encode() in head.lower()
    assert json.loads(body)["error"]["code"] == "malformed"


def test_a_request_that_was_refused_is_not_answered_again(capfd):
    async def act(application, reader, writer):
        writer.write(CHUNKED + b"2\r\nhi\r\n")
        await application.begun.wait()
        application.release.set()  # in the same turn of the loop as the refusal
        writer.write(b"no size\r\n")
        return await reader.read()

    converse(act)
    assert "Traceback" not in capfd.readouterr().err


def test_a_client_that_closes_its_sending_side_gets_its_answer():
    async def act(application, reader, writer):
        writer.write(WHOLE)
        writer.write_eof()
        await application.begun.wait()
        await asyncio.sleep(0.2)
        assert not application.gone.is_set()
        application.release.set()
        return await reader.read()

    answer = converse(act)
    assert answer.endswith(b"\r\n\r\ndone")
    assert b"HTTP/1.1 200 OK" in answer


def test_all_complete_requests_before_a_half_close_are_answered():
    async def act(application, reader, writer):
        writer.write(3 * WHOLE + WHOLE[:-1])
        writer.write_eof()
        application.release.set()
        return await reader.read()

    assert converse(act).count(b"\r\n\r\ndone") == 3


def test_one_connection_too_many_closes_the_one_that_was_idle_for_longest():
    async def act(application, reader, writer):
        writer.write(WHOLE)  # busy, so it stays
        await application.begun.wait()
        port = writer.get_extra_info("peername")[1]
        idle = []
        for _ in range(3):
            idle.append(await asyncio.open_connection("127.0.0.1", port))
            await asyncio.sleep(0.2)
        assert await idle[0][0].read() == b""
        application.release.set()
        idle[2][1].write(WHOLE)
        answer = await idle[2][0].readuntil(b"done")
        return await reader.readuntil(b"done") + answer

    assert converse(act, most=3).count(b"200 OK") == 2


def test_the_work_for_a_client_that_leaves_is_dropped():
    async def act(application, reader, writer):
        writer.write(WHOLE)
        await application.begun.wait()
        writer.close()
        await application.gone.wait()
        return True

    assert converse(act)


def test_half_a_request_is_not_waited_for():
    async def act(application, reader, writer):
        writer.write(WHOLE[:-1])
        writer.write_eof()
        return await reader.read()

    assert converse(act) == b""

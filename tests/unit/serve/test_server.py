"""Clients that take their time to send a header or to read, and the limit of connections."""

import resource
from dataclasses import dataclass, field

import pytest

from headway.serve.server import MOST_CONNECTIONS, StalledConnections, most_connections


@dataclass(eq=False)
class Cycle:
    response_complete: bool = False
    more_body: bool = False


@dataclass
class Transport:
    n_unsent: int = 0

    def get_write_buffer_size(self):
        return self.n_unsent


@dataclass(eq=False)
class Connection:
    cycle: Cycle | None = None
    transport: Transport = field(default_factory=Transport)

    @property
    def is_idle(self):
        return self.cycle is None or self.cycle.response_complete


def test_a_head_that_does_not_come_is_waited_for_so_long():
    slow, later = Connection(), Connection()
    stalled = StalledConnections(5)
    assert stalled.expired([slow], 0.0) == []
    assert stalled.expired([slow, later], 4.0) == []
    assert stalled.expired([slow, later], 5.5) == [slow]
    assert stalled.expired([later], 9.5) == [later]


def test_a_request_under_way_may_take_as_long_as_it_takes():
    connection, stalled = Connection(Cycle()), StalledConnections(5)
    assert stalled.expired([connection], 0.0) == []
    assert stalled.expired([connection], 100.0) == []
    connection.cycle.response_complete = True  # from now on it is the next head's turn
    assert stalled.expired([connection], 101.0) == []
    assert stalled.expired([connection], 107.0) == [connection]


def test_every_request_that_came_between_two_looks_begins_anew():
    connection, stalled = Connection(), StalledConnections(5)
    for now in range(20):
        assert stalled.expired([connection], now) == []
        connection.cycle = Cycle(response_complete=True)


def test_a_client_must_read_some_of_its_response_in_time():
    connection, stalled = Connection(Cycle(), Transport(1000)), StalledConnections(5)
    for now in range(20):
        assert stalled.expired([connection], now) == []
        connection.transport.n_unsent -= 1
    connection.cycle.response_complete = True  # all of it is with the system
    assert stalled.expired([connection], 20) == []
    assert stalled.expired([connection], 24) == []
    assert stalled.expired([connection], 26) == [connection]


def test_a_stop_waits_for_bodies_only_so_long():
    connection = Connection(Cycle(more_body=True))
    for is_stopping in (False, True):
        stalled = StalledConnections(5, is_stopping)
        stalled.expired([connection], 0.0)
        assert stalled.expired([connection], 6.0) == [connection] * is_stopping


@pytest.mark.parametrize(
    ("limit", "most"),
    [(80, 40), (1024, 960), (1_000_000, 4096), (resource.RLIM_INFINITY, MOST_CONNECTIONS)],
)
def test_connections_leave_some_files_to_others(monkeypatch, limit, most):
    monkeypatch.setattr(resource, "getrlimit", lambda _: (limit, limit))
    assert most_connections() == most

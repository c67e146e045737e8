"""Clients that take their time with the head of a request."""

from dataclasses import dataclass

from headway.serve.server import HeaderTimeout


@dataclass(eq=False)
class Cycle:
    response_complete: bool = False


@dataclass(eq=False)
class Connection:
    cycle: Cycle | None = None


def test_a_head_that_does_not_come_is_waited_for_so_long():
    slow, later = Connection(), Connection()
    patience = HeaderTimeout(5)
    assert patience.expired([slow], 0.0) == []
    assert patience.expired([slow, later], 4.0) == []
    assert patience.expired([slow, later], 5.5) == [slow]
    assert patience.expired([later], 9.5) == [later]


def test_a_request_under_way_may_take_as_long_as_it_takes():
    connection, patience = Connection(Cycle()), HeaderTimeout(5)
    assert patience.expired([connection], 0.0) == []
    assert patience.expired([connection], 100.0) == []
    connection.cycle.response_complete = True  # from now on it is the next head's turn
    assert patience.expired([connection], 101.0) == []
    assert patience.expired([connection], 107.0) == [connection]


def test_every_request_that_came_between_two_looks_begins_anew():
    connection, patience = Connection(), HeaderTimeout(5)
    for now in range(20):
        assert patience.expired([connection], now) == []
        connection.cycle = Cycle(response_complete=True)

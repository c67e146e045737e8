"""SIGTERM as an exception."""

import signal
import threading

import pytest

from headway.cli.termination import Terminated, raising_terminated


def test_sigterm_raises_and_the_handler_is_put_back():
    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(Terminated), raising_terminated():
        signal.raise_signal(signal.SIGTERM)
    assert signal.getsignal(signal.SIGTERM) == before


def test_a_second_sigterm_ends_the_process_at_once():
    with raising_terminated():
        with pytest.raises(Terminated):
            signal.raise_signal(signal.SIGTERM)
        assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL


def test_a_thread_has_no_signals():
    done = []

    def work():
        with raising_terminated():
            done.append(True)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert done == [True]

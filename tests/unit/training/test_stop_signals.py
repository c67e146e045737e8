"""Signals: noted, or ending the work they arrive in."""

import signal
import threading

import pytest

from headway.training.stop_signals import StoppedBySignal, catch_signals

NUMBERS = [signal.SIGINT, signal.SIGTERM]


@pytest.mark.parametrize("number", NUMBERS)
def test_the_first_signal_is_noted_and_the_second_has_its_usual_effect(number):
    before = signal.getsignal(number)
    with catch_signals() as signals:
        assert signals.number is None
        signal.raise_signal(number)
        assert signals.number == number
        assert signal.getsignal(number) == before
    assert signal.getsignal(number) == before


@pytest.mark.parametrize("number", NUMBERS)
def test_work_is_ended(number):
    with catch_signals() as signals:
        with pytest.raises(StoppedBySignal), signals.ending_work():
            signal.raise_signal(number)
        assert signals.number == number


def test_work_does_not_begin_after_a_signal():
    with catch_signals() as signals:
        signal.raise_signal(signal.SIGTERM)
        with pytest.raises(StoppedBySignal), signals.ending_work():
            pytest.fail("the work began")


def test_a_thread_has_no_signals():
    seen = []

    def work():
        with catch_signals() as signals:
            seen.append(signals.number)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [None]

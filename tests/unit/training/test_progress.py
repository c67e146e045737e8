"""Progress output: plain lines on standard error, durations."""

import pytest

from headway.training.progress import LineDisplay, Silent, clock

FIGURES = {"loss": 2.34567, "lr": 3e-4, "tokens_per_second": 12345.6, "seconds_left": 3723.0}


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0:00"), (59.6, "1:00"), (123, "2:03"), (3599, "59:59"), (3723, "1:02:03")],
)
def test_clock(seconds, text):
    assert clock(seconds) == text


def test_lines(capsys):
    lines = LineDisplay(seconds=0.0)
    lines.note("learning the vocabulary")
    lines.update(5, 10, FIGURES)
    lines.validation(5, {"valid_loss": 1.23456, "bleu": 30.0}, is_best=True)
    lines.validation(6, {"valid_loss": 1.3}, is_best=False)
    lines.samples([("a", "b", "c")])
    streams = capsys.readouterr()
    assert streams.out == ""  # for results only
    assert streams.err.splitlines() == [
        "learning the vocabulary",
        "step 5/10  loss 2.346  12,346 tokens/s  lr 3.00e-04  1:02:03 left",
        "step 5  validation: valid_loss 1.235  bleu 30  (best)",
        "step 6  validation: valid_loss 1.3",
        "    a",
        "  = c",
        "  > b",
    ]


def test_lines_come_now_and_then_and_at_the_end(capsys):
    lines = LineDisplay(seconds=1e9)
    lines.update(5, 10, FIGURES)
    assert capsys.readouterr().err == ""
    lines.update(10, 10, FIGURES)
    assert capsys.readouterr().err.startswith("step 10/10")


def test_silence(capsys):
    silent = Silent()
    silent.note("x")
    silent.update(1, 2, FIGURES)
    silent.validation(1, {}, True)
    silent.samples([])
    silent.close()
    assert capsys.readouterr() == ("", "")

"""Standard output and standard error: encoding, full disks, closed readers."""

import errno
import io
import os
import sys

import pytest

from headway.cli import main
from headway.cli.streams import SafeStream, log, utf8_output
from headway.errors import RunError


class Failing(io.StringIO):
    """A stream whose writes fail."""

    def __init__(self, error: OSError) -> None:
        super().__init__()
        self.error = error

    def write(self, text: str) -> int:
        raise self.error

    def flush(self) -> None:
        raise self.error


def test_a_full_disk_is_an_error_of_the_user():
    stream = SafeStream(Failing(OSError(errno.ENOSPC, "No space left on device")))
    for write in (lambda: stream.write("text"), stream.flush):
        with pytest.raises(RunError) as caught:
            write()
        assert str(caught.value) == (
            "standard output cannot be written: No space left on device; make room or write "
            "elsewhere"
        )


def test_a_reader_that_has_gone_stays_a_broken_pipe():
    stream = SafeStream(Failing(BrokenPipeError(errno.EPIPE, "Broken pipe")))
    with pytest.raises(BrokenPipeError):
        stream.write("text")


def test_everything_else_is_that_of_the_stream():
    inner = io.StringIO()
    stream = SafeStream(inner)
    assert stream.write("text") == 4
    assert (stream.getvalue(), stream.isatty()) == ("text", False)


def test_output_is_utf8_whatever_the_locale(monkeypatch):
    buffer = io.BytesIO()
    stream = io.TextIOWrapper(buffer, encoding="ascii")
    monkeypatch.setattr(sys, "stdout", stream)
    with utf8_output():
        print("naïve ™")
        assert isinstance(sys.stdout, SafeStream)
    assert sys.stdout is stream
    assert buffer.getvalue() == "naïve ™\n".encode()


def test_the_reference_of_run_files_is_utf8_too(monkeypatch):
    buffer = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(buffer, encoding="ascii"))
    assert main(["config"]) == 0
    assert "™" in buffer.getvalue().decode("utf-8")


def test_bytes_of_file_names_that_are_no_text_can_be_logged(monkeypatch):
    buffer = io.BytesIO()
    monkeypatch.setattr(sys, "stderr", io.TextIOWrapper(buffer, encoding="ascii"))
    with utf8_output():
        log(os.fsdecode(b"no\xff"))
    assert buffer.getvalue() == b"headway: no\\udcff\n"


def test_a_closed_standard_output_is_left_alone(monkeypatch):
    monkeypatch.setattr(sys, "stdout", None)
    with utf8_output():
        assert sys.stdout is None


def test_a_log_that_nobody_can_read_is_dropped(monkeypatch, tmp_path):
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w", buffering=1) as stream:
        monkeypatch.setattr(sys, "stderr", stream)
        log("unread")
        stream.write("also unread\n")  # goes to the null device now

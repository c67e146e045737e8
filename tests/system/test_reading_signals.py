"""^C and SIGTERM end a command that reads: a large file, a line without end, standard input."""

import gzip
import os
import signal
import subprocess
import time

import pytest
from cli_workdir import start

SOON = 120
"""Seconds; reading everything would take hours on the same machine."""
CODES = {signal.SIGINT: (130,), signal.SIGTERM: (143, -signal.SIGTERM)}


def check_end(process, number):
    """Sends the signal, and checks that the process ends with its code and without a traceback."""
    process.send_signal(number)
    _, stderr = process.communicate(timeout=SOON)
    assert process.returncode in CODES[number], stderr
    assert "Traceback" not in stderr


@pytest.mark.parametrize("number", CODES)
def test_a_large_gzip_file(workdir, number):
    lines = b"".join(b"w%d x%d\ty%d\n" % (i, i * 7 % 9973, i % 777) for i in range(200_000))
    member = gzip.compress(lines, 1)
    (workdir / "large.tsv.gz").write_bytes(member * 100)  # 20 million lines
    out = f"out-{number}"
    process = start("train", "run.toml", 'data.train="large.tsv.gz"', "--out", out, cwd=workdir)
    for line in process.stderr:
        if "learning the vocabulary" in line:
            break
    time.sleep(1)
    check_end(process, number)


@pytest.mark.parametrize("number", CODES)
def test_a_line_without_end_on_standard_input(trained, workdir, number):
    process = start("translate", "run", cwd=workdir, stdin=subprocess.PIPE)
    for _ in range(40):  # more than a pipe holds, less than a line may have
        os.write(process.stdin.fileno(), b"one two " * 8192)
    check_end(process, number)

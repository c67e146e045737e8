"""What every process of a benchmark gives itself, so that contestants stand on the same ground."""

import os
import sys

from headway.cli.process_setup import keep_freed_memory


def start_alike() -> None:
    """What the command `headway` does when it starts; how threads wait is decided at loading."""
    if "OMP_WAIT_POLICY" not in os.environ:
        os.environ["OMP_WAIT_POLICY"] = "PASSIVE"
        os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])
    keep_freed_memory()

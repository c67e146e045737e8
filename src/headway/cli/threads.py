"""Threads that wait asleep.

PyTorch's thread pool spins while it waits for the other threads of an operation. On a machine with
something else to do that turns a thousand short waits per update into a standstill (measured: six
times slower beside one busy process); asleep, they cost a few percent at most. The setting is read
when torch is loaded, so the command makes it first; a user's own setting wins.
"""

import os


def wait_asleep() -> None:
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

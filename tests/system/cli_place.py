"""Where commands are given: a folder with nothing of the machine's own around it."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def commands_in(folder: Path) -> Iterator[None]:
    """Makes a folder the current one, with a cache of its own and one thread."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HEADWAY_CACHE", str(folder / "cache"))
        patch.setenv("OMP_NUM_THREADS", "1")
        patch.delenv("HEADWAY_DATA", raising=False)
        patch.chdir(folder)
        yield

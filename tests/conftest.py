"""Settings of all tests."""

from hypothesis import settings

# A deadline per example measures the machine's other work, not the code. The same examples are
# tried in every run, so that a change is judged by what it does; `make slow` draws new ones.
settings.register_profile("headway", deadline=None, derandomize=True)
settings.register_profile("explore", deadline=None, max_examples=500)
settings.load_profile("headway")

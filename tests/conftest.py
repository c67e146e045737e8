"""Settings of all tests."""

from hypothesis import settings

# A deadline per example measures the machine's other work, not the code.
settings.register_profile("headway", deadline=None)
settings.load_profile("headway")

"""What tests of file formats share: rows out of one file, and what is said of a bad one."""

import pytest

PAIR = ("source", "target")


def values(found):
    """The values of rows."""
    return [row.values for row in found]


def message_of(kind, run, *args, **settings):
    """The one line that an error of this class says."""
    with pytest.raises(kind) as caught:
        run(*args, **settings)
    assert "\n" not in str(caught.value)
    return str(caught.value)

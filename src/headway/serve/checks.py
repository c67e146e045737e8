"""How a request is refused before it may wait: what is checked of every kind of text.

A refusal is an exception with the part of the request that it is about; it knows nothing of HTTP.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from ..errors import ConfigError, DataError
from .limits import Limits

SHORTEN = "shorten it, or give its sentences one by one"


class Refusal(Exception):
    """A request that cannot be answered, in one sentence.

    Attributes:
        field: the part of the request that is meant.
    """

    def __init__(self, message: str, field: str | None = None) -> None:
        super().__init__(message)
        self.field = field


@contextmanager
def refusing(field: str | None) -> Iterator[None]:
    """Makes a refusal of what is wrong with a text or a setting."""
    try:
        yield
    except (DataError, ConfigError) as error:
        raise Refusal(str(error), field) from None


def check_number(limits: Limits, texts: Sequence[object], field: str) -> None:
    """Refuses more texts than a request may have."""
    if len(texts) > limits.texts:
        raise Refusal(
            f"{field} has {len(texts)} entries and at most {limits.texts} may be given; ask "
            "several times",
            field,
        )


def check_characters(limits: Limits, text: str, place: str) -> None:
    """Refuses a long text before anything is done with it."""
    if len(text) > limits.characters:
        raise Refusal(
            f"{place} has {len(text)} characters and at most {limits.characters} may be given; "
            f"{SHORTEN}",
            place,
        )

"""The limits of requests. Beyond a limit there is a clear error, never a hang."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields

from ..errors import ConfigError, DataError


@dataclass(frozen=True)
class Limits:
    """Limits of a request, of the queue and of the time for an answer."""

    body: int = 1_000_000
    """Bytes of a request."""
    texts: int = 128
    """Texts, or series, in a request."""
    characters: int = 5_000
    """Characters of a text, of a prefix or of a term."""
    terms: int = 16
    """Required terms, and forbidden terms, of a text: each makes the search wider."""
    glossary: int = 500
    """Entries of a glossary."""
    beam: int = 16
    """Hypotheses of a search."""
    queue: int = 1_024
    """Waiting texts of all requests."""
    seconds: float = 30.0
    """Seconds until a request is answered; of a stream, until its next answer."""
    cells: int = 500_000
    """Attention weights in the answer for one text."""
    steps: int = 100_000
    """Time steps of all series in a request."""
    horizon: int = 1_000
    """Steps of a forecast, unless the run was trained for more."""
    inspection: int = 8 * 2**20
    """Bytes of an inspection; what does not fit is left out and listed."""

    def __post_init__(self) -> None:
        for limit in fields(self):
            if not 0 < (value := getattr(self, limit.name)) < float("inf"):
                raise ConfigError(f"limit {limit.name} = {value}: expected a number above 0")
        if self.queue < self.texts:
            raise ConfigError(
                f"{self.queue} texts may wait but a request may have {self.texts}; let as many wait"
            )


SHORTEN = "shorten it, or send its sentences one by one"


class InvalidRequest(Exception):
    """A request that cannot be answered, in one sentence.

    Attributes:
        field: the part of the request it concerns.
    """

    def __init__(self, message: str, field: str | None = None) -> None:
        super().__init__(message)
        self.field = field


@contextmanager
def as_invalid_request(field: str | None) -> Iterator[None]:
    """Turns errors about data and settings into `InvalidRequest`."""
    try:
        yield
    except (DataError, ConfigError) as error:
        raise InvalidRequest(str(error), field) from None


def check_number(limits: Limits, texts: Sequence[object], field: str) -> None:
    """Refuses more texts than a request may have."""
    if len(texts) > limits.texts:
        raise InvalidRequest(
            f"{field} has {len(texts)} entries and at most {limits.texts} are allowed; send "
            "several requests",
            field,
        )


def check_characters(limits: Limits, text: str, field: str) -> None:
    """Refuses a text that is too long, before it is tokenised."""
    if len(text) > limits.characters:
        raise InvalidRequest(
            f"{field} has {len(text)} characters and at most {limits.characters} are allowed; "
            f"{SHORTEN}",
            field,
        )

"""How much may be asked at once. Beyond a limit there is a clear answer, never a hang."""

from dataclasses import dataclass, fields

from ..errors import ConfigError


@dataclass(frozen=True)
class Limits:
    """What one request may hold, how many texts may wait, how long an answer may take."""

    body: int = 1_000_000
    """Bytes of a request."""
    texts: int = 128
    """Texts in a request."""
    characters: int = 5_000
    """Characters of a text, of a beginning or of a term."""
    terms: int = 16
    """Required terms, and forbidden terms, of a text: each makes the search wider."""
    glossary: int = 500
    """Entries of a glossary."""
    beam: int = 16
    """Hypotheses."""
    queue: int = 1_024
    """Texts of all requests that may wait."""
    seconds: float = 30.0
    """Until a request is answered; of a stream, until its next answer."""
    cells: int = 500_000
    """Attention weights in the answer to one text."""
    inspection: int = 8 * 2**20
    """Bytes of an inspection; what does not fit is left out and named."""

    def __post_init__(self) -> None:
        for one in fields(self):
            if not 0 < getattr(self, one.name) < float("inf"):
                raise ConfigError(
                    f"limit {one.name} = {getattr(self, one.name)}: expected a number above 0"
                )
        if self.queue < self.texts:
            raise ConfigError(
                f"{self.queue} texts may wait but a request may have {self.texts}; let as many wait"
            )

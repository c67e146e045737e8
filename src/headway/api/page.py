"""A page in hand: shown inline by a notebook, saved to a file by everyone else."""

import html
from pathlib import Path

from ..errors import RunError
from ..runs.atomic import write_bytes

HEIGHT = 900  # of the frame in a notebook, px


class Page:
    """One self-contained HTML document."""

    def __init__(self, content: str) -> None:
        self.html = content

    def save(self, path: str | Path) -> Path:
        """Writes it, all or nothing, over what was there.

        Raises:
            RunError: the file cannot be written.
        """
        return save_bytes(path, self.html.encode("utf-8"))

    def _repr_html_(self) -> str:
        """The page in a frame of its own, where its styles and scripts meet nobody else's."""
        return (
            f'<iframe srcdoc="{html.escape(self.html)}" sandbox="allow-scripts allow-downloads" '
            f'style="width:100%;height:{HEIGHT}px;border:0" title="headway"></iframe>'
        )


def save_bytes(path: str | Path, content: bytes) -> Path:
    """Writes a file, all or nothing."""
    path = Path(path)
    try:
        write_bytes(path, content)
    except OSError as error:
        raise RunError(
            f"{path} cannot be written: {error.strerror}; name another path or make room"
        ) from None
    return path

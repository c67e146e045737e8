"""`Page`: an HTML document that a notebook shows and a script saves. `view` makes the HTML."""

from pathlib import Path

from ..arguments import checked
from ..errors import RunError
from ..runs.atomic import write_bytes
from ..view.page import notebook_frame

HEIGHT = 900
"""Height of the frame in a notebook, in pixels."""


class Page:
    """One self-contained HTML document."""

    def __init__(self, content: str) -> None:
        self.html = content

    @checked
    def save(self, path: str | Path) -> Path:
        """Writes the page atomically, over an existing file, and returns its path.

        Raises:
            RunError: the file cannot be written.
        """
        return save_bytes(path, self.html.encode("utf-8"))

    def _repr_html_(self) -> str:
        """The page in a frame, apart from the styles and scripts of the notebook."""
        return notebook_frame(self.html, HEIGHT)


def save_bytes(path: str | Path, content: bytes) -> Path:
    """Writes a file atomically and returns its path.

    Raises:
        RunError: the file cannot be written.
    """
    path = Path(path)
    try:
        write_bytes(path, content)
    except OSError as error:
        raise RunError(
            f"{path} cannot be written: {error.strerror}; name another path or make room"
        ) from None
    return path

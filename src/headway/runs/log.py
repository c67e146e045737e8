"""`log.jsonl`: one JSON object per line, in the order of the events.

Non-finite numbers are written as Python's JSON writes them (NaN, Infinity) and come back as such.
The callers decide what to log and when.
"""

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ..errors import RunError
from .atomic import sync, write_bytes
from .disk_errors import explained
from .older_formats import renamed


class RunLog:
    """The log of a run. A last line without newline is torn: a kill interrupted its write.

    Args:
        renamed_metrics: current name of each renamed key of an older format.
    """

    def __init__(self, path: Path, renamed_metrics: Mapping[str, str] | None = None) -> None:
        self.path = path
        self.renamed_metrics = renamed_metrics or {}

    def append(self, record: Mapping[str, Any]) -> None:
        """Adds a line; a killed process loses no line that was added. After a kill, `cut` first."""
        text = json.dumps(record, ensure_ascii=False)
        # backslashreplace spells a lone surrogate the way JSON does.
        line = text.encode("utf-8", "backslashreplace") + b"\n"
        with explained(self.path.parent, self.path.name, len(line)):
            size = self.path.stat().st_size if self.path.exists() else 0
            try:
                with open(self.path, "ab") as file:
                    file.write(line)
            except OSError:
                if self.path.exists():
                    os.truncate(self.path, size)  # the next line must not follow half a line
                raise

    def read(self) -> list[dict[str, Any]]:
        """All complete records, with the current names of metrics; an absent log is empty.

        Raises:
            RunError: a line other than a torn last one is not a JSON object.
        """
        records = [record for _, record in self._lines(self._content())]
        return [renamed(record, self.renamed_metrics) for record in records]

    def cut(self, after_step: int) -> None:
        """Drops the records whose "step" is beyond `after_step`, and a torn last line."""
        content = self._content()
        kept = b"".join(
            line
            for line, record in self._lines(content)
            if record.get("step") is None or record["step"] <= after_step
        )
        if kept != content:
            with explained(self.path.parent, self.path.name, len(kept)):
                write_bytes(self.path, kept)

    def sync(self) -> None:
        """Syncs the log to disk, so that no later checkpoint outlives it in a power cut."""
        if self.path.exists():
            with explained(self.path.parent, self.path.name, self.path.stat().st_size):
                sync(self.path)

    def _content(self) -> bytes:
        try:
            return self.path.read_bytes()
        except FileNotFoundError:
            return b""
        except OSError as error:
            raise RunError(
                f"{self.path} cannot be read ({error.strerror}); check its permissions"
            ) from error

    def _lines(self, content: bytes) -> Iterator[tuple[bytes, dict[str, Any]]]:
        """Each complete line, with its newline, and its record."""
        for number, line in enumerate(content.split(b"\n")[:-1], 1):
            try:
                record = json.loads(line)
            except ValueError:
                record = None
            if not isinstance(record, dict):
                raise RunError(
                    f"{self.path}:{number} is not a JSON object; delete that line and try again"
                )
            yield line + b"\n", record

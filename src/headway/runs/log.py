"""`log.jsonl`: one JSON object per line, in the order of the events.

Non-finite numbers are written as Python's JSON writes them (NaN, Infinity) and come back as such.
The callers decide what to log and when.
"""

import json
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from ..errors import RunError
from ..file_limits import parse_json
from .atomic import sync, write_bytes
from .disk_errors import explained
from .manifest import Manifest, version_of
from .older_formats import renamed
from .reading import unreadable


class RunLog:
    """The log of a run. A last line without newline is torn: a kill interrupted its write.

    Args:
        renamed_metrics: current name of each renamed key of an older format.
    """

    def __init__(self, path: Path, renamed_metrics: Mapping[str, str] | None = None) -> None:
        self.path = path
        self.renamed_metrics = renamed_metrics or {}
        self.manifest = Manifest(path.parent)

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

    def finish(self, step: int) -> None:
        """Adds the last line of a finished run."""
        self.append({"step": step, "finished": True})
        self.seal()

    def read(self) -> list[dict[str, Any]]:
        """All complete records, with the current names of metrics; an absent log is empty.

        Raises:
            RunError: the lines up to the last checkpoint were changed, or a line other than a torn
                last one is not a record.
        """
        content, is_as_written = self._content()
        if not is_as_written:
            raise RunError(
                f"{self.path} was changed or cut off; restore it from a copy, or let `headway "
                f"resume {self.path.parent}` leave damaged lines out; if the change is yours, "
                f"delete {self.manifest.path}"
            )
        records = []
        for number, _, record in _lines(content):
            if record is None:
                raise RunError(
                    f"{self.path}:{number} is not a JSON object with a step; delete that line and "
                    "try again"
                )
            records.append(renamed(record, self.renamed_metrics))
        return records

    def cut(self, after_step: int, warn: Callable[[str], None]) -> None:
        """Drops the records whose "step" is beyond `after_step`, a torn last line and damage.

        Args:
            warn: is told what was damaged.
        """
        try:
            content, is_as_written = self._content()
        except RunError as error:
            warn(str(error))
            content, is_as_written = b"", False
        lines = list(_lines(content))
        damaged = [str(number) for number, _, record in lines if record is None]
        if damaged:
            warn(f"{self.path} is damaged; left out: line {', '.join(damaged)}")
        elif lines and not is_as_written:
            warn(f"{self.path} was changed or cut off; its {len(lines)} lines stay as they are")
        elif not is_as_written:
            warn(f"{self.path} is missing or empty; continuing without its records")
        kept = b"".join(line for _, line, record in lines if _is_within(record, after_step))
        if kept != content or not is_as_written:
            with (
                explained(self.path.parent, self.path.name, len(kept)),
                self.manifest.replacing({self.path.name: version_of(kept)}),
            ):
                write_bytes(self.path, kept)

    def seal(self) -> None:
        """Syncs the log to disk and lists it in the manifest: from here on, damage is noticed.

        A checkpoint comes after this, so that it never outlives its log in a power cut.
        """
        if self.path.exists():
            with explained(self.path.parent, self.path.name, self.path.stat().st_size):
                sync(self.path)
                self.manifest.record(self.path.name, version_of(self._content()[0]))

    def _content(self) -> tuple[bytes, bool]:
        """The bytes, and whether those that the manifest lists are unchanged."""
        try:
            return self.manifest.read_log(self.path.name)
        except OSError as error:
            raise unreadable(self.path, error) from error


def _lines(content: bytes) -> Iterator[tuple[int, bytes, dict[str, Any] | None]]:
    """Number of each complete line, the line with its newline, and its record if it is one."""
    for number, line in enumerate(content.split(b"\n")[:-1], 1):
        try:
            record = parse_json(line)
        except ValueError:
            record = None
        is_record = isinstance(record, dict) and isinstance(record.get("step"), int | None)
        yield number, line + b"\n", record if is_record else None


def _is_within(record: Mapping[str, Any] | None, last_step: int) -> bool:
    return record is not None and (record.get("step") is None or record["step"] <= last_step)

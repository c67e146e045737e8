"""`manifest.json`: size and digest of the files that a run is loaded from.

Before a file is replaced, the manifest lists its old and its new version, afterwards only the new
one. So every kill leaves files that agree with their manifest. Weights and checkpoints are large or
copied alone and have their own checksums. Runs of older headways have no manifest and are not
checked; whoever changes a file on purpose deletes the manifest.
"""

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TypeVar

from ..errors import RunError
from ..file_limits import parse_json
from .atomic import write_bytes
from .reading import read_regular, unreadable

MANIFEST = "manifest.json"
FILES = ("headway.json", "run.toml", "data.json", "plan.json")
FOLDER = "codecs"
DIGEST = "blake2b"
RETRIES = 10  # a reader may meet a writer


@dataclass(frozen=True)
class Version:
    """The content of a file. A log may have grown beyond `bytes`."""

    bytes: int
    blake2b: str


Read = TypeVar("Read")
Versions = list[Version | None]
"""The versions of a file that are accepted; None stands for its absence."""


def version_of(content: bytes) -> Version:
    return Version(len(content), _digest(content))


def version_at(path: Path) -> Version | None:
    """The version of a file; None if it does not exist.

    Raises:
        RunError: it cannot be read.
    """
    try:
        return version_of(read_regular(path))
    except FileNotFoundError:
        return None
    except OSError as error:
        raise unreadable(path, error) from error


def versions_below(parent: Path, folder: str) -> dict[str, Version | None]:
    """The versions of all files in a folder, by their path in its parent."""
    paths = sorted(path for path in (parent / folder).rglob("*") if not path.is_dir())
    return {path.relative_to(parent).as_posix(): version_at(path) for path in paths}


class Manifest:
    """The manifest of a run directory. Only the holder of the run's lock may change it."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.path = folder, folder / MANIFEST

    @contextmanager
    def replacing(self, changes: Mapping[str, Version | None]) -> Iterator[None]:
        """Accepts the old and the new versions of files inside the block, then the new ones."""
        listed = self._read()
        before = self._present() if listed is None else listed
        both, after = dict(before), dict(before)
        for name, version in changes.items():
            absent = [None] if name.startswith(f"{FOLDER}/") else []  # between its two renames
            both[name] = [*before.get(name, [None]), *absent, version]
            after[name] = [version]
        if after == listed:
            yield
            return
        self._write(both)
        yield
        self._write(after)

    def replacing_folder(self, staging: Path) -> Mapping[str, Version | None]:
        """The changes if `staging` becomes the folder of codecs."""
        entries = self._read() or self._present()
        gone = dict.fromkeys(name for name in entries if name.startswith(f"{FOLDER}/"))
        new = versions_below(staging.parent, staging.name)
        renamed = {FOLDER + name.removeprefix(staging.name): new[name] for name in new}
        return {**gone, **renamed}

    def record(self, name: str, version: Version) -> None:
        """Lists the version that a file already has."""
        self._write({**(self._read() or self._present()), name: [version]})

    def settle(self) -> None:
        """Forgets versions that a killed or failed writer announced and did not write."""
        entries = self._read()
        if entries is None or all(len(versions) == 1 for versions in entries.values()):
            return
        for name, versions in entries.items():
            if len(versions) > 1:
                now = version_at(self.folder / name)
                entries[name] = [now] if now in versions else versions
        self._write(entries)

    def read(self, name: str) -> bytes:
        """The content of a file, compared with the manifest.

        Raises:
            OSError: it is missing or cannot be read.
            RunError: the manifest lists another version.
        """
        entries, content = self._with_entries(lambda: read_regular(self.folder / name))
        self._check(entries, {name: version_of(content)})
        return content

    def read_log(self, name: str) -> tuple[bytes, bool]:
        """The content of a file that only grows, and whether it starts with its listed version.

        Raises:
            OSError: it cannot be read; a missing one is empty.
        """
        entries, content = self._with_entries(lambda: _content_or_nothing(self.folder / name))
        versions = [] if entries is None else entries.get(name, [])
        starts = [v is None or version_of(content[: v.bytes]) == v for v in versions]
        return content, any(starts) or not starts

    def lists(self, name: str) -> bool:
        """Whether a file must exist."""
        return None not in (self._read() or {}).get(name, [None])

    def check(self, *names: str) -> None:
        """Reads files, and all codecs, and compares them with the manifest.

        Raises:
            RunError: a file is damaged, missing or not listed.
        """
        entries, found = self._with_entries(lambda: self._found(names))
        listed = [n for n in entries or {} if n in names or n.startswith(f"{FOLDER}/")]
        self._check(entries, {**dict.fromkeys(listed), **found})

    def _with_entries(self, read: Callable[[], Read]) -> tuple[dict[str, Versions] | None, Read]:
        """The accepted versions, and what `read` returns while no writer changes them."""
        entries, value = self._read(), read()
        for _ in range(RETRIES):
            before, entries = entries, self._read()
            if entries == before:
                break
            value = read()
        return entries, value

    def _check(
        self, entries: Mapping[str, Versions] | None, found: Mapping[str, Version | None]
    ) -> None:
        for name, version in found.items() if entries is not None else ():
            problem = self._problem(entries or {}, name, version)
            if problem is not None:
                raise RunError(problem)

    def _problem(
        self, entries: Mapping[str, Versions], name: str, found: Version | None
    ) -> str | None:
        versions = entries.get(name, [None])
        if found in versions:
            return None
        path, own = self.folder / name, f"if the change is yours, delete {self.path}"
        if name == "run.toml":
            own = f"if you changed only [search], delete {self.path}; other settings need a new run"
        if found is None:
            return f"{path} is missing; restore it from a copy, or {own}"
        expected = versions[-1]
        if expected is None:
            return f"{path} is not a file of this run ({MANIFEST} lists none); remove it, or {own}"
        return (
            f"{path} was changed ({difference(found, expected)}); restore it from a copy, or {own}"
        )

    def _present(self) -> dict[str, Versions]:
        """The files of a run without manifest, as they are."""
        found = self._found(FILES)
        return {name: [version] for name, version in found.items() if version is not None}

    def _found(self, names: Sequence[str]) -> dict[str, Version | None]:
        """The versions of files and of all codecs."""
        files = {name: version_at(self.folder / name) for name in names}
        return files | versions_below(self.folder, FOLDER)

    def _read(self) -> dict[str, Versions] | None:
        """The accepted versions by file; None without manifest.

        Raises:
            RunError: the manifest is damaged.
        """
        try:
            table = parse_json(read_regular(self.path))
            files = table["files"]
            if table[DIGEST] != _digest(_canonical(files)):
                raise ValueError
            return {
                name: [None if entry is None else Version(**entry) for entry in entries]
                for name, entries in files.items()
            }
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            raise RunError(
                f"{self.path} is damaged; restore it from a copy, or delete it to use the other "
                "files unchecked"
            ) from None

    def _write(self, entries: Mapping[str, Versions]) -> None:
        files = {
            name: [None if version is None else asdict(version) for version in versions]
            for name, versions in sorted(entries.items())
            if versions != [None]
        }
        table = {"files": files, DIGEST: _digest(_canonical(files))}
        write_bytes(self.path, (json.dumps(table, indent=2) + "\n").encode())


def difference(found: Version, expected: Version) -> str:
    """How a file differs from the one that headway wrote."""
    if found.bytes != expected.bytes:
        return f"it has {found.bytes} bytes, headway wrote {expected.bytes}"
    return "its digest is not that of the file headway wrote"


def _content_or_nothing(path: Path) -> bytes:
    try:
        return read_regular(path)
    except FileNotFoundError:
        return b""


def _canonical(files: object) -> bytes:
    return json.dumps(files, sort_keys=True).encode()


def _digest(content: bytes) -> str:
    return hashlib.blake2b(content, digest_size=32).hexdigest()

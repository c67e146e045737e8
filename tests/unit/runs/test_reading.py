import os
from pathlib import Path

import pytest

from headway.runs.reading import read_regular, unreadable


def test_only_regular_files_are_read(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"a")
    assert read_regular(tmp_path / "file") == b"a"
    os.mkfifo(tmp_path / "pipe")
    for path, reason in ((tmp_path, "it is a directory"), (tmp_path / "pipe", "it is not a regu")):
        with pytest.raises(OSError, match=reason):
            read_regular(path)
    with pytest.raises(FileNotFoundError):
        read_regular(tmp_path / "absent")


def test_the_remedy_fits_the_error(tmp_path: Path) -> None:
    assert str(unreadable(tmp_path, PermissionError(13, "forbidden"))) == (
        f"{tmp_path} cannot be read (forbidden); check its permissions"
    )
    assert str(unreadable(tmp_path, OSError(5, "broken"))).endswith("; restore it from a copy")

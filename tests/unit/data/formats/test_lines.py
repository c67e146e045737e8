import gzip
import io
import re
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headway.data.formats.lines import read_lines
from headway.errors import DataError


def lines_of(tmp_path, content: bytes, name="a.txt"):
    path = tmp_path / name
    path.write_bytes(content)
    return list(read_lines(path, name))


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"", []),
        (b"\n", [""]),
        (b"a", ["a"]),
        (b"a\nb\n", ["a", "b"]),
        (b"a\r\nb", ["a", "b"]),
        (b"a\n\nb\n\n", ["a", "", "b", ""]),
        (b"a\rb\x0bc\x0cd\x1ce\x85\n".replace(b"\x85", b""), ["a\rb\x0bc\x0cd\x1ce"]),
        ("a\u2028b\u2029c\u0085d\n".encode(), ["a\u2028b\u2029c\u0085d"]),
        (b"\xef\xbb\xbfa\n\xef\xbb\xbfb\n", ["a", "\ufeffb"]),
        (b"a\r\r\n", ["a\r"]),
    ],
)
def test_only_newlines_end_a_line(tmp_path, content, expected):
    assert lines_of(tmp_path, content) == expected


@settings(max_examples=40)
@given(texts=st.lists(st.text(st.characters(exclude_characters="\n", exclude_categories=["Cs"]))))
def test_any_lines_come_back(texts, tmp_path_factory):
    texts = [text.rstrip("\r") for text in texts]
    if texts:
        texts[0] = texts[0].removeprefix("\ufeff")
    path = tmp_path_factory.getbasetemp() / "any.txt"
    path.write_bytes("".join(text + "\n" for text in texts).encode())
    assert list(read_lines(path)) == texts


def test_gzip_by_content_whatever_the_name(tmp_path):
    packed = gzip.compress("ä\nb\n".encode())
    assert lines_of(tmp_path, packed, "a.gz") == ["ä", "b"]
    assert lines_of(tmp_path, packed, "a.txt") == ["ä", "b"]


def failure(tmp_path, content, name="a.txt"):
    with pytest.raises(DataError) as caught:
        lines_of(tmp_path, content, name)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_bad_utf8_names_line_and_byte(tmp_path):
    message = failure(tmp_path, b"good\nol\xe9\n")
    assert message.startswith("a.txt:2: not UTF-8: byte 0xe9 at position 3 of the line")


def test_a_byte_order_mark_does_not_shift_the_position(tmp_path):
    assert "byte 0xff at position 1 of" in failure(tmp_path, b"\xff\xffa\x00\n")


def test_gzip_cut_off(tmp_path):
    packed = gzip.compress(b"\n".join(b"%d" % (i * i) for i in range(100_000)))
    message = failure(tmp_path, packed[: len(packed) // 2], "a.gz")
    found = re.fullmatch(r"a.gz: the gzip data end too early, after line (\d+); .*", message)
    assert found
    assert 20_000 < int(found[1]) < 80_000


def test_gzip_damaged(tmp_path):
    packed = bytearray(gzip.compress(b"hello\nworld\n" * 1000))
    packed[-6] ^= 0xFF
    assert "a.gz: broken gzip data after line " in failure(tmp_path, bytes(packed), "a.gz")
    packed[10] ^= 0xFF
    assert "broken gzip data" in failure(tmp_path, bytes(packed), "a.gz")


def test_named_gz_but_is_not(tmp_path):
    message = failure(tmp_path, b"plain\n", "a.gz")
    assert message == "a.gz is named .gz but holds no gzip data; unpack or rename it"
    assert "holds no gzip data" in failure(tmp_path, b"", "a.gz")


@pytest.mark.parametrize(
    ("content", "name", "message"),
    [
        (b"PK\x03\x04...[Content_Types].xml...xl/w", "a.txt", "is an Excel workbook; save it as C"),
        (b"PK\x03\x04", "a.XLSX", "is an Excel workbook; save it as CSV (UTF-8)"),
        (b"PK\x03\x04a.csv", "a.zip", "is a zip archive or an office document; unpack it, or sa"),
        (b"\xd0\xcf\x11\xe0\xa1", "a.xls", "is an Excel workbook or another office document; s"),
        ("a,ü\n".encode("utf-16"), "a.csv", "is UTF-16, not UTF-8; convert it: iconv -f UTF-16 -t"),
        (b"\xfe\xff\0a\0\n", "a.csv", "is UTF-16, not UTF-8; convert it: iconv -f UTF-16 -t UTF"),
    ],
)
def test_files_that_are_no_text(tmp_path, content, name, message):
    assert failure(tmp_path, content, name).startswith(f"{name} {message}")


def test_no_such_file(tmp_path):
    with pytest.raises(DataError, match=r"cannot read .*none.txt: No such file"):
        list(read_lines(tmp_path / "none.txt"))


def test_standard_input(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"one\r\ntwo")))
    assert list(read_lines("-")) == ["one", "two"]
    assert not sys.stdin.closed
    packed = io.BufferedReader(io.BytesIO(gzip.compress(b"one\ntwo")))
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(packed))
    assert list(read_lines("-")) == ["one", "two"]
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"one\n\xff")))
    with pytest.raises(DataError, match="standard input:2: not UTF-8"):
        list(read_lines("-"))

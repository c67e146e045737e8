"""Random damage of files: bytes are changed, or values inside a parsed file.

Every function draws from the given generator alone, so that an input can be made again from its
seed. The kinds of files are in `fuzz_kinds`.
"""

import gzip
import json
from collections.abc import Sequence
from random import Random
from typing import Any

import tomli_w

RAW = "@raw{}@"
"""A text in place of a value that no writer writes; `_filled` puts the value there."""
DIGITS = "9" * 5000  # the interpreter reads no more than 4,300
DEEP = "[" * 3000 + "]" * 3000
UNWRITABLE = {
    "json": (
        *("1e400", "-1e400", "NaN", "Infinity", "-0", DIGITS, f"1.{DIGITS}", '"\\ud800"'),
        *(DEEP, '{"a":' * 99, "{" * 3000, "[" * 200_000),
    ),
    "toml": (
        *("1e400", "inf", "-inf", "nan", "0x" + "f" * 6000, DIGITS, f"1.{DIGITS}", "2020-01-01"),
        *(DEEP, f"{{{'a.' * 60}a = 1}}", f"{{{'a.' * 9000}a = 1}}", "[" * 200_000),
    ),
}
NUMBERS = (
    *(0, -1, 1, 2, 3, 7, 255, 65536, 1000003, 1000000007, 2_000_000_000, 200_000_000_000),
    *(2**31 - 1, 2**31, 2**53, 2**63 - 1, 2**63, 2**64, 10**30, 10**400),
    *(-(2**31), -(2**63), -(10**30)),
)
FRACTIONS = (0.0, -0.0, 0.5, 1.0, 1.5, -1.0, 1e-320, 1e-9, 1e9, 1e308, -1e308)
TEXTS = (
    *("", " ", "\0", "\ufeff", "\n", "\r", "\t", "\x1b[31m", "\u2028", "\u202e", "a" * 10_000),
    *("none", "auto", "true", "1", "nan", "-", "~", "..", "/", "/dev/zero", "../../../etc/passwd"),
    *("<pad>", "[MASK]", "%s%n", "{}"),
    *("é" * 99, "e\u0301", "\U0001f600", "\uffff"),
)
TOKENS = (
    *(bytes([byte]) for byte in b"\0\r\n\t\"'\\\xff\x85\x0b\x1c,|!#=[]{}"),
    *(b"\r\n", b"\n\n", b"  ", b"\xed\xa0\x80", b"\xef\xbb\xbf", b"\xe2\x80\xa8", b"\x1f\x8b"),
    *(b"-1", b"1e400", b"NaN", b"null", b"99999999999999999999", b"\x1b[2J"),
)


def damaged_bytes(rng: Random, content: bytes, others: Sequence[bytes]) -> bytes:
    """The content with one to four changes of its bytes.

    Args:
        others: valid files to splice with.
    """
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        content = rng.choice(_BYTE_CHANGES)(rng, content, others)
    return content


def _flip(rng: Random, content: bytes, others: Sequence[bytes]) -> bytes:
    changed = bytearray(content or b"\0")
    for _ in range(rng.choice((1, 1, 3))):
        changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def _truncate(rng: Random, content: bytes, others: Sequence[bytes]) -> bytes:
    return content[: rng.randint(0, len(content))]


def _range(rng: Random, content: bytes) -> tuple[int, int]:
    start = rng.randint(0, len(content))
    return start, min(len(content), start + rng.choice((1, 4, 30, 1000)))


def _duplicate(rng: Random, content: bytes, others: Sequence[bytes]) -> bytes:
    start, end = _range(rng, content)
    part = content[start:end] * rng.choice((1, 1, 2, 50))
    at = rng.choice((end, rng.randint(0, len(content))))
    return content[:at] + part + content[at:]


def _delete(rng: Random, content: bytes, others: Sequence[bytes]) -> bytes:
    start, end = _range(rng, content)
    return content[:start] + content[end:]


def _insert(rng: Random, content: bytes, others: Sequence[bytes]) -> bytes:
    at = rng.choice((0, len(content), rng.randint(0, len(content))))
    return content[:at] + rng.choice(TOKENS) * rng.choice((1, 1, 1, 2, 500)) + content[at:]


def _splice(rng: Random, content: bytes, others: Sequence[bytes]) -> bytes:
    other = rng.choice(others) if others else content
    return content[: rng.randint(0, len(content))] + other[rng.randint(0, len(other)) :]


def _line_ends(rng: Random, content: bytes, others: Sequence[bytes]) -> bytes:
    return content.replace(b"\n", rng.choice((b"\r\n", b"\r", b"\n\r\n", b"\xe2\x80\xa8")))


def _recode(rng: Random, content: bytes, others: Sequence[bytes]) -> bytes:
    return content.decode("utf-8", "replace").encode(rng.choice(("utf-16", "utf-32", "utf-8-sig")))


_BYTE_CHANGES = (_flip, _flip, _truncate, _duplicate, _delete, _insert, _insert, _splice)
_BYTE_CHANGES += (_line_ends, _recode)


def damaged_json(rng: Random, value: Any, others: Sequence[Any] = ()) -> bytes:
    """JSON text with changed values."""
    text = json.dumps(damaged_value(rng, value, others), ensure_ascii=rng.random() < 0.5)
    return _filled(rng, text, "json")


def damaged_toml(rng: Random, tables: dict[str, Any], others: Sequence[Any] = ()) -> bytes:
    """TOML text with changed values."""
    changed = damaged_value(rng, tables, others)
    text = tomli_w.dumps(_without_none(changed if isinstance(changed, dict) else {"": changed}))
    return _filled(rng, text, "toml")


def _filled(rng: Random, text: str, syntax: str) -> bytes:
    for i, raw in enumerate(UNWRITABLE[syntax]):
        text = text.replace(json.dumps(RAW.format(i)), raw)
    return text.encode("utf-8", "surrogatepass")


def _without_none(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_none(entry) for key, entry in value.items() if entry is not None}
    if isinstance(value, list):
        return [_without_none(entry) for entry in value if entry is not None]
    return value


def damaged_value(rng: Random, value: Any, others: Sequence[Any] = ()) -> Any:
    """A copy of a JSON value with one to three changes at random paths."""
    value = _copied(value)
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        value = _changed(rng, value, others)
    return value


def _copied(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _copied(entry) for key, entry in value.items()}
    return [_copied(entry) for entry in value] if isinstance(value, list) else value


def _changed(rng: Random, value: Any, others: Sequence[Any]) -> Any:
    """The value with one entry replaced, removed, renamed, repeated or nested."""
    parents = _containers(value)
    if not parents or rng.random() < 0.02:
        return hostile_value(rng)
    # Long lists, such as vocabularies, would otherwise get all changes.
    parent = rng.choice(parents)
    keys = list(parent) if isinstance(parent, dict) else list(range(len(parent)))
    key = rng.choice(keys)
    change = rng.random()
    if change < 0.55:
        parent[key] = _replacement(rng, parent[key], value, others)
    elif change < 0.65:
        del parent[key]
    elif change < 0.72 and isinstance(parent, dict):
        parent[rng.choice((*TEXTS, "k" * 10_000, f"{key}s"))] = parent.pop(key)
    elif change < 0.73 and isinstance(parent, dict):
        parent.update({f"unknown{i}": 1 for i in range(rng.choice((30, 3000)))})
    elif change < 0.80 and isinstance(parent, dict):
        parent[rng.choice((*TEXTS, "unknown", "type", "weight"))] = hostile_value(rng)
    elif change < 0.88 and isinstance(parent, list):
        parent[key:key] = [_copied(parent[key])] * rng.choice((1, 2, 300))
    else:
        parent[key] = [parent[key]] if rng.random() < 0.5 else {str(key): parent[key]}
    return value


def _replacement(rng: Random, old: Any, whole: Any, others: Sequence[Any]) -> Any:
    """A value that is hostile, of the same type, or from elsewhere."""
    choice = rng.random()
    if choice < 0.35:
        same = {bool: (True, False), int: NUMBERS, float: FRACTIONS, str: TEXTS}.get(type(old))
        return rng.choice(same) if same else hostile_value(rng)
    if choice < 0.5:
        parents = _containers(rng.choice(others) if others else whole)
        parent = rng.choice(parents) if parents else {}
        entries = list(parent.values()) if isinstance(parent, dict) else parent
        return _copied(rng.choice(entries)) if entries else None
    return hostile_value(rng)


def hostile_value(rng: Random) -> Any:
    """Any value that a parser may return and nobody expects."""
    kinds = (NUMBERS, FRACTIONS, TEXTS, (True, False, None), ([], {}, [[]], {"a": {}}))
    if rng.random() < 0.2:
        return RAW.format(rng.randrange(len(UNWRITABLE["json"])))
    return _copied(rng.choice(rng.choice(kinds)))


def _containers(value: Any) -> list[Any]:
    """All tables and lists that are not empty, from the outside in."""
    found: list[Any] = []
    waiting = [value]
    while waiting:
        entry = waiting.pop()
        if isinstance(entry, dict | list) and entry:
            found.append(entry)
            waiting += entry.values() if isinstance(entry, dict) else entry
    return found


def zipped(rng: Random, content: bytes) -> bytes:
    """Gzip data, some of them damaged."""
    packed = gzip.compress(content, 1, mtime=0)
    choice = rng.random()
    if choice < 0.5:
        return packed
    if choice < 0.6:
        return packed + rng.choice((packed, b"\0" * 20, b"rubbish"))
    return damaged_bytes(rng, packed, ())

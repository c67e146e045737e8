"""Texts for types, values and near misses, for error messages and for the reference page."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import is_dataclass
from difflib import SequenceMatcher
from types import NoneType
from typing import Any, Literal, get_args, get_origin

import annotated_types as at

from .schema import NONE_WORD, alternatives, choice_of, join, keys, quote, split
from .synonyms import is_other_name

_NOUNS = {bool: "true or false", int: "a whole number", float: "a number", str: "text"}
_LONGEST_VALUE = 60
MANY_KEYS = 12
"""Longer lists of keys are left out of messages."""
_NEAR = 0.6  # difflib's own idea of a close match
_NEAR_ELSEWHERE = 0.8  # in another section, half of a name is a coincidence
_SAME_SECTION, _SAME_TABLE = 0.15, 0.05


def expected(tp: Any) -> str:
    """The description of a type's values: `a number greater than 0`."""
    members = [member for member in alternatives(tp) if member is not NoneType]
    parts = [_expected_member(member) for member in members]
    if len(parts) < len(alternatives(tp)) and accepts_none_word(tp):
        parts.append(show(NONE_WORD))
    return either(parts)


def accepts_none_word(tp: Any) -> bool:
    """Whether the text "none" means None; it does not if the type allows texts."""
    bases = [split(member)[0] for member in alternatives(tp)]
    return NoneType in bases and str not in bases and Any not in bases


def _expected_member(tp: Any) -> str:
    base, metadata = split(tp)
    origin, arguments = get_origin(base), get_args(base)
    if choice_of(tp):
        return "a table"
    if is_dataclass(base):
        names = [key.name for key in keys(base)]  # type: ignore[arg-type]
        return f"a table with keys {', '.join(names)}" if len(names) <= MANY_KEYS else "a table"
    if origin is Literal:
        names = [show(value) for value in arguments]
        return names[0] if len(names) == 1 else f"one of {', '.join(names)}"
    if base is Any:
        return "any value"
    if origin is dict:
        noun = f"a table (each value {expected(arguments[1])})"
    elif origin is list or (origin is tuple and arguments[-1] is Ellipsis):
        noun = f"a list (each item {expected(arguments[0])})"
    elif origin is tuple:
        noun = f"a list of exactly {len(arguments)} ({'; '.join(map(expected, arguments))})"
    else:
        noun = _NOUNS[base]
    unit = ("character", "characters") if base is str else ("entry", "entries")
    bounds = [text for item in metadata if (text := _bound(item, unit))]
    return " ".join([noun, " and ".join(bounds)]) if bounds else noun


def _bound(constraint: Any, unit: tuple[str, str]) -> str | None:
    match constraint:
        case at.Gt(limit):
            return f"greater than {_number(limit)}"
        case at.Ge(limit):
            return f"of at least {_number(limit)}"
        case at.Lt(limit):
            return f"less than {_number(limit)}"
        case at.Le(limit):
            return f"of at most {_number(limit)}"
        case at.MultipleOf(factor):
            return f"divisible by {factor}"
        case at.MinLen(count):
            return f"with {_count(count, unit)} or more"
        case at.MaxLen(count):
            return f"with {_count(count, unit)} or fewer"
    return None


def _number(limit: Any) -> Any:
    """A whole limit without `.0`: typing caches `Gt(0)` and `Gt(0.0)` as the same type."""
    return int(limit) if isinstance(limit, float) and limit.is_integer() else limit


def _count(count: int, unit: tuple[str, str]) -> str:
    return f"{count} {unit[count != 1]}"


def show(value: Any) -> str:
    """A value as TOML, cut if it is long."""
    return shorten(_toml(value))


def counted(number: int, noun: str) -> str:
    """A number with its noun, singular or plural."""
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def shorten(text: str) -> str:
    """A text, cut if it is long."""
    return text if len(text) <= _LONGEST_VALUE else text[: _LONGEST_VALUE - 3] + "..."


def _toml(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return quote(value)
    if isinstance(value, dict):
        entries = (f"{join('', key)} = {_toml(item)}" for key, item in value.items())
        return f"{{{', '.join(entries)}}}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(_toml, value)) + "]"
    return NONE_WORD if value is None else str(value)


def nearest(name: str, candidates: Iterable[str]) -> str | None:
    """The candidate most similar to a name, or None if none is near."""
    best = max(candidates, key=lambda other: _likeness(name, other), default=None)
    return best if best is not None and _likeness(name, best) >= _NEAR else None


def did_you_mean(name: str, candidates: Iterable[str]) -> str:
    """The end of a message about an unknown name: `; did you mean ...?`, or nothing."""
    near = nearest(name, candidates)
    return f"; did you mean {show(near)}?" if near else ""


def nearest_keys(dotted: str, known: Iterable[str]) -> list[str]:
    """The known dotted keys most similar to an unknown one, by their last part.

    Several if other sections have the very name. A near miss in the same section is preferred,
    unless another section has the exact name.
    """
    section, _, name = dotted.rpartition(".")
    best: dict[str, None] = {}
    best_score = 0.0
    for candidate in known:
        home, _, other = candidate.rpartition(".")
        score = _likeness(name, other)
        is_own = home == section
        if score < (_NEAR if is_own else _NEAR_ELSEWHERE):
            continue
        score += _SAME_SECTION if is_own else 0.0
        score += _SAME_TABLE if _table(candidate) == _table(dotted) else 0.0
        if score > best_score:
            best, best_score = {}, score
        if score == best_score and (is_same(dotted, candidate) or not best):
            best[candidate] = None
    return list(best)


def is_same(dotted: str, candidate: str) -> bool:
    """Whether two dotted keys have the same last part."""
    parts = (key.rpartition(".")[2].lower().replace("-", "_") for key in (dotted, candidate))
    return len(set(parts)) == 1


def _table(dotted: str) -> str:
    return re.split(r"[.\[]", dotted, maxsplit=1)[0]


def either(names: Sequence[str]) -> str:
    """`a`, `a or b`, `a, b or c`."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} or {names[-1]}"


def _likeness(name: str, other: str) -> float:
    if len(name) > _LONGEST_VALUE:
        return 0.0
    name, other = name.lower().replace("-", "_"), other.lower().replace("-", "_")
    if name == other:
        return 1.0
    # learning_rate and lr share two letters of fifteen: difflib alone would miss it.
    if min(len(name), len(other)) > 1 and (other == _initials(name) or name == _initials(other)):
        return 0.95
    if is_other_name(name, other):
        return 0.97
    return SequenceMatcher(None, name, other).ratio()


def _initials(name: str) -> str:
    return "".join(part[:1] for part in name.split("_"))

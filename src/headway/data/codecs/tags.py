"""The codec of tags: one tag for each word of a sentence, as numbers.

The scheme of entities is detected in the training data: `bio` (`B-X` begins every entity, `I-X`
continues it) or `iob1` (`I-X` does both, `B-X` occurs only after another entity of type X). The
numbers always stand for `bio`, where the meaning of a tag does not depend on its neighbours;
decoded tags have the scheme of the training data. Tags without prefixes are `plain`. A few such
tags among those of entities are mistakes.
"""

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Literal, get_args

import numpy as np

from ...errors import DataError, RunError
from ..store import Column, integers
from .codec import WrittenCodec
from .labels import SHOWN, name_hint

Scheme = Literal["bio", "iob1", "plain"]

OUTSIDE = "O"
MOST = 1 << 12
"""The most tags; a column with more is probably not the tags."""
MOST_MISTAKES = 0.05
"""Entity tags with this share of other words, or more, are plain tags; with fewer, mistyped."""
_ENTITY = re.compile(r"O|[BI](-.+)?")
_OTHER_SCHEMES = re.compile(r"O|[BIESLU]-.+")  # BIOES, BILOU and their like


class MistypedTagError(DataError):
    """Entity tags and a few others.

    Attributes:
        tag: the most frequent of the others.
    """

    def __init__(self, tag: str, message: str) -> None:
        super().__init__(message)
        self.tag = tag


class TagCodec(WrittenCodec):
    """Tags as numbers; the tags of a sentence are separated by white space.

    Every type of entity has both `B-` and `I-`, even if the training data have only one of them. A
    sentence with an unknown tag encodes to an empty array, and `complaint` gives the reason.

    Args:
        tags: in the order of their numbers; those of entities in `bio`.
    """

    marks = 0

    def __init__(self, tags: Sequence[str], scheme: Scheme) -> None:
        self.tags = tuple(tags)
        self.scheme = scheme
        self._numbers = {tag: number for number, tag in enumerate(self.tags)}

    @classmethod
    def fit(cls, sentences: Iterable[str]) -> "TagCodec":
        """The codec of the tags that occur, with their scheme.

        Raises:
            DataError: there is only one tag, there are too many, or the scheme is unknown.
            MistypedTagError: a few tags are not of the scheme of the others.
        """
        counts: Counter[str] = Counter()
        begins: set[str] = set()  # prefixes of tags after a tag of another type
        for sentence in sentences:
            tags = sentence.split()
            counts.update(tags)
            begins.update(
                tag[0]
                for tag, before in zip(tags, [OUTSIDE, *tags], strict=False)
                if tag != OUTSIDE and type_of(tag) != type_of(before)
            )
            if len(counts) > MOST:
                raise DataError(
                    f"the training data have more than {MOST} different tags; is another column "
                    "the tags?"
                )
        names = set(counts)
        if len(names) == 1:
            raise DataError(
                f"all words of the training data have the tag {names.pop()!r}, and there is "
                "nothing to tell apart; give sentences with other tags"
            )
        scheme = _scheme(counts, begins)
        return cls(sorted(names) if scheme == "plain" else _entity_tags(names), scheme)

    @classmethod
    def named(cls, tags: Sequence[str]) -> "TagCodec":
        """The codec of an imported model's tags, in the order of their numbers.

        The scheme is `bio` if every `I` has its `B`, else `plain`: IOB1 cannot be recognised
        without sentences.
        """
        is_bio = all(map(_ENTITY.fullmatch, tags)) and all(
            "B" + tag[1:] in tags for tag in tags if tag.startswith("I")
        )
        return cls(tags, "bio" if is_bio else "plain")

    def __len__(self) -> int:
        return len(self.tags)

    def column(self, name: str) -> Column:
        return integers(name, len(self.tags))

    def clean(self, text: str) -> str:
        return " ".join(text.split())

    def encode_batch(self, texts: Sequence[str]) -> list[np.ndarray]:
        return [self.encode(text.split()) for text in texts]

    def encode(self, tags: Sequence[str]) -> np.ndarray:
        """The number of each tag of a sentence; empty if a tag is unknown."""
        inside = list(tags) if self.scheme == "plain" else to_bio(tags)
        numbers = [self._numbers.get(tag, -1) for tag in inside]
        return np.array([] if -1 in numbers else numbers, self.column("").dtype)

    def decode(self, values: Sequence[int] | np.ndarray) -> str:
        return " ".join(self.tags_of(values))

    def tags_of(self, values: Sequence[int] | np.ndarray) -> list[str]:
        """The tags of a sentence, in the scheme of the training data."""
        tags = [self.tags[int(value)] for value in values]
        return to_iob1(tags) if self.scheme == "iob1" else tags

    def may_follow(self) -> np.ndarray:
        """Which tag may follow which: `I-X` only follows `B-X` and `I-X`.

        Shape: bool (V + 1, V): [before, tag]; the last row is for the first word.
        """
        n = len(self.tags)
        allowed = np.ones((n + 1, n), bool)
        if self.scheme != "plain":
            before = [*self.tags, OUTSIDE]
            for number, tag in enumerate(self.tags):
                if tag.startswith("I"):
                    allowed[:, number] = [type_of(tag) == type_of(other) for other in before]
        return allowed

    def complaint(self, text: str) -> str | None:
        for tag in text.split():
            if not len(self.encode([tag])):
                return self._unknown(tag)
        return None

    def _unknown(self, tag: str) -> str:
        # All types have the same prefixes, so only the types are compared.
        start = 0 if self.scheme == "plain" else len("B-")
        parts = {known[start:]: tag[:start] + known[start:] for known in self.tags}
        near = get_close_matches(tag[start:], filter(None, parts), n=1, cutoff=0.6)
        hint = name_hint(parts[near[0]] if near else None, self.tags)
        return f"the training data have no tag {tag!r}; {hint}"

    def fingerprint(self) -> str:
        content = json.dumps([self.scheme, self.tags])
        return hashlib.blake2b(content.encode(), digest_size=16).hexdigest()

    def save(self, path: Path) -> None:
        content = {"scheme": self.scheme, "tags": self.tags}
        path.write_text(json.dumps(content, ensure_ascii=False, indent=1) + "\n", "utf-8")

    @classmethod
    def load(cls, path: Path) -> "TagCodec":
        try:
            content = json.loads(path.read_text("utf-8"))
            tags, scheme = content["tags"], content["scheme"]
        except (OSError, ValueError, TypeError, KeyError) as error:
            raise RunError(f"{path} cannot be read ({error}); restore it from a copy") from None
        is_list = isinstance(tags, list) and all(isinstance(tag, str) for tag in tags)
        if not is_list or scheme not in get_args(Scheme):
            raise RunError(f"{path} holds no tags; restore it from a copy")
        return cls(tags, scheme)


def type_of(tag: str) -> str | None:
    """The entity type of a tag; None for `O`."""
    return None if tag == OUTSIDE else tag[1:].removeprefix("-")


def to_bio(tags: Sequence[str]) -> list[str]:
    """Tags of the same entities with `B` at the beginning of each; other tags are kept.

    An `I` after a tag of another type begins an entity, as in IOB1 and in faulty BIO.
    """
    converted = []
    for tag, before in zip(tags, [OUTSIDE, *tags], strict=False):
        begins = tag.startswith("I") and type_of(tag) != type_of(before)
        converted.append("B" + tag[1:] if begins else tag)
    return converted


def to_iob1(tags: Sequence[str]) -> list[str]:
    """`bio` tags as `iob1`: `B` only after an entity of the same type."""
    converted = []
    for tag, before in zip(tags, [OUTSIDE, *tags], strict=False):
        is_inside = tag.startswith("B") and type_of(tag) != type_of(before)
        converted.append("I" + tag[1:] if is_inside else tag)
    return converted


def _entity_tags(tags: set[str]) -> list[str]:
    """`O`, then `B` and `I` of each type, sorted by type."""
    types = sorted({tag[1:] for tag in tags if tag != OUTSIDE})
    return [OUTSIDE, *(prefix + name for name in types for prefix in "BI")]


def _scheme(counts: Counter[str], begins: set[str]) -> Scheme:
    if all(map(_ENTITY.fullmatch, counts)):
        return "bio" if "B" in begins else "iob1"
    if not any(tag.startswith(("B-", "I-")) for tag in counts):
        return "plain"
    if all(map(_OTHER_SCHEMES.fullmatch, counts)):
        strange = min(tag for tag in counts if tag[0] in "ESLU")
        raise DataError(
            f"the training data have the tag {strange!r} beside B- and I-, which looks like BIOES "
            "or BILOU; expected BIO or IOB1, convert the tags"
        )
    _check_mistyped(counts)
    return "plain"


def _check_mistyped(counts: Counter[str]) -> None:
    """Refuses a few other tags among those of entities."""
    known = (_ENTITY, _OTHER_SCHEMES)
    others = Counter(
        {tag: n for tag, n in counts.items() if not any(p.fullmatch(tag) for p in known)}
    )
    if OUTSIDE not in counts or others.total() >= MOST_MISTAKES * counts.total():
        return
    shown = ", ".join(f"{tag!r} ({n})" for tag, n in others.most_common(SHOWN))
    more = ", ..." if len(others) > SHOWN else ""
    raise MistypedTagError(
        others.most_common(1)[0][0],
        f"{others.total()} of {counts.total()} words of the training data have a tag other than O, "
        f"B-... and I-...: {shown}{more}; fix these tags, or, if the tags are not of entities, "
        "rename those with B- and I-",
    )

"""The codec of tags: one for each word of a sentence, as numbers.

Entities are told in the scheme of the training data, which is found out from them: `bio` (`B-X`
begins every entity, `I-X` goes on) or `iob1` (`I-X` does both, `B-X` stands only behind another
entity of type X). Inside it is always `bio`, in which a tag says what it means without its
neighbours; what comes out is in the scheme that went in. Tags without prefixes are `plain`.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Literal, get_args

import numpy as np

from headway.data.store import Column, integers
from headway.errors import DataError, RunError

Scheme = Literal["bio", "iob1", "plain"]

OUTSIDE = "O"
SHOWN = 10
MOST = 1 << 12
"""More different tags than this are another column."""
_ENTITY = re.compile(r"O|[BI](-.+)?")
_OTHER_SCHEMES = re.compile(r"O|[BIESLU]-.+")  # BIOES, BILOU and their like


class TagCodec:
    """Tags of sentences as numbers, a sentence being a text of tags with white space between.

    Every type of entity has its `B-` and its `I-`, whether the training data have both or not. A
    sentence with a tag that is not known encodes to nothing, and `complaint` says why.

    Args:
        tags: in the order of their numbers; of entities in `bio`.
    """

    marks = 0

    def __init__(self, tags: Sequence[str], scheme: Scheme) -> None:
        self.tags = tuple(tags)
        self.scheme = scheme
        self._numbers = {tag: number for number, tag in enumerate(self.tags)}

    @classmethod
    def learn(cls, sentences: Iterable[str]) -> "TagCodec":
        """The tags that occur, and their scheme.

        Raises:
            DataError: they are all the same, too many, or in a scheme that is not known.
        """
        found: set[str] = set()
        begins: set[str] = set()  # prefixes of entities behind something else
        for sentence in sentences:
            tags = sentence.split()
            found.update(tags)
            begins.update(
                tag[0]
                for tag, before in zip(tags, [OUTSIDE, *tags], strict=False)
                if tag != OUTSIDE and type_of(tag) != type_of(before)
            )
            if len(found) > MOST:
                raise DataError(
                    f"the training data have more than {MOST} different tags; is another column "
                    "the tags?"
                )
        if len(found) == 1:
            raise DataError(
                f"all words of the training data have the tag {found.pop()!r}, and there is "
                "nothing to tell apart; give sentences with other tags"
            )
        scheme = _scheme(found, begins)
        return cls(sorted(found) if scheme == "plain" else _entity_tags(found), scheme)

    @classmethod
    def named(cls, tags: Sequence[str]) -> "TagCodec":
        """Tags whose numbers and names a model brings with it, without sentences to go by.

        They are in `bio` if whatever an `I` goes on with has its `B`; everything else, of which
        IOB1 cannot be told from tags of its own, is taken as it is.
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
        """The number of each tag of a sentence; none at all if one is not known."""
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
        """Which tag may stand behind which: `I-X` behind `B-X` and `I-X` alone.

        Shape: bool (V + 1, V): [before, tag]; before the first word is the last row.
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
        # All types have the same prefixes, which make none of them alike.
        start = 0 if self.scheme == "plain" else len("B-")
        parts = {known[start:]: tag[:start] + known[start:] for known in self.tags}
        near = get_close_matches(tag[start:], filter(None, parts), n=1, cutoff=0.6)
        if near:
            hint = f"did you mean {parts[near[0]]!r}?"
        else:
            more = ", ..." if len(self.tags) > SHOWN else ""
            hint = f"expected one of {', '.join(self.tags[:SHOWN])}{more}"
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
    """The type of entity that a tag tells of; None of `O`."""
    return None if tag == OUTSIDE else tag[1:].removeprefix("-")


def to_bio(tags: Sequence[str]) -> list[str]:
    """The same entities with `B` at the beginning of each; other tags stay as they are.

    An `I` behind something else begins an entity, as IOB1 has it and as faulty BIO is read.
    """
    found = []
    for tag, before in zip(tags, [OUTSIDE, *tags], strict=False):
        begins = tag.startswith("I") and type_of(tag) != type_of(before)
        found.append("B" + tag[1:] if begins else tag)
    return found


def to_iob1(tags: Sequence[str]) -> list[str]:
    """The same entities, from `bio`, with `B` only behind an entity of the same type."""
    found = []
    for tag, before in zip(tags, [OUTSIDE, *tags], strict=False):
        is_plain = tag.startswith("B") and type_of(tag) != type_of(before)
        found.append("I" + tag[1:] if is_plain else tag)
    return found


def _entity_tags(found: set[str]) -> list[str]:
    """`O`, then `B` and `I` of each type in the order of the types."""
    types = sorted({tag[1:] for tag in found if tag != OUTSIDE})
    return [OUTSIDE, *(prefix + kind for kind in types for prefix in "BI")]


def _scheme(tags: set[str], begins: set[str]) -> Scheme:
    if all(map(_ENTITY.fullmatch, tags)):
        return "bio" if "B" in begins else "iob1"
    if all(map(_OTHER_SCHEMES.fullmatch, tags)) and any(
        tag.startswith(("B-", "I-")) for tag in tags
    ):
        strange = min(tag for tag in tags if tag[0] in "ESLU")
        raise DataError(
            f"the training data have the tag {strange!r} beside B- and I-, which looks like BIOES "
            "or BILOU; expected BIO or IOB1, convert the tags"
        )
    return "plain"

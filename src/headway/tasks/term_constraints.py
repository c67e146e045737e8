"""Terms as text -> constraints of a search: token sequences and matchers.

The codec itself shows how it encodes a term (after a space, without one, in pieces), so this file
does not depend on the type of tokenizer.
"""

from collections.abc import Iterator, Sequence
from functools import lru_cache, partial
from itertools import chain

from ..data.codecs.text import TextCodec
from ..errors import DataError
from ..search.constraints import Constraints, Term
from ..text.word_matching import contains, is_word_boundary

_NEIGHBOURS = ("a", "(")  # one of them shares no token with the start of a term


def make_constraints(
    codec: TextCodec, require: Sequence[str | Sequence[str]], forbid: Sequence[str], location: str
) -> Constraints:
    """The required and the forbidden terms of one sentence.

    Args:
        codec: codec of the target.
        require: terms; a list of terms requires any of them.
        location: name of the sentence in messages, such as `news.en:7`.

    Raises:
        DataError: a term is empty, or a required term is forbidden as well.
    """
    groups = [[group] if isinstance(group, str) else group for group in require]
    if not all(groups) or not all(term.split() for term in chain(*groups, forbid)):
        raise DataError(
            f"{location}: an empty term is required or forbidden; give a word or leave it out"
        )
    for group in groups:
        _check_conflict(codec, group, forbid, location)
    return Constraints(
        tuple(tuple(_term(codec, text) for text in group) for group in groups),
        tuple(_term(codec, text) for text in forbid),
    )


def _check_conflict(
    codec: TextCodec, group: Sequence[str], forbid: Sequence[str], location: str
) -> None:
    """Refuses a group in which every alternative contains a forbidden term as whole words."""
    clashes = {
        text: other
        for text in group
        for other in forbid
        if contains(_written(codec, text), _written(codec, other))
    }
    if len(clashes) == len(set(group)):
        banned = ", ".join(repr(text) for text in dict.fromkeys(clashes.values()))
        raise DataError(
            f"{location}: {' | '.join(group)!r} is required while {banned} is forbidden, and no "
            "output can do both; remove one of them"
        )


@lru_cache(maxsize=1 << 16)
def _term(codec: TextCodec, text: str) -> Term:
    text = " ".join(text.split())
    is_in = partial(contains, term=_written(codec, text))
    return Term(text, tuple(dict.fromkeys(_token_sequences(codec, text))), is_in, is_word_boundary)


@lru_cache(maxsize=1 << 16)
def _written(codec: TextCodec, text: str) -> str:
    """The term as the codec decodes it, for example in lower case."""
    ids = codec.tokenizer.encode(text)
    return text if codec.unk in ids else codec.tokenizer.decode(ids)


def _token_sequences(codec: TextCodec, text: str) -> Iterator[tuple[int, ...]]:
    """Token sequences that append the term to a text, after a space or directly."""
    tokenizer, written = codec.tokenizer, _written(codec, text)
    neighbours = {sign: tokenizer.encode(sign) for sign in _NEIGHBOURS}
    candidates = [tokenizer.encode(text), tokenizer.encode(f" {text}")]
    for sign, ids in neighbours.items():
        joined = tokenizer.encode(sign + text)
        if joined[: len(ids)] == ids:
            candidates.append(joined[len(ids) :])
    for ids in candidates:
        for before in neighbours.values():
            left, whole = tokenizer.decode(before), tokenizer.decode(before + ids)
            if codec.unk not in ids and whole in (left + written, f"{left} {written}"):
                yield tuple(ids)

"""Clean tokens and a generator -> damaged ones, and what there is to restore.

Pure functions: what is drawn comes from the generator alone, which `draws` makes of a key such as
(seed, epoch, index of the example). Tokens are those of a text without its marks; begin and end
marks, and what a model is asked, are put to them by the tasks.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np


@dataclass(frozen=True)
class Alphabet:
    """What corruption has to know of the ids of a vocabulary.

    Attributes:
        is_control: by id (V,): control tokens, which are neither damaged nor put in for words.
        begins_word: by id (V,): tokens that white space stands before.
        mask: the id that stands in the place of what is hidden.
        sentinels: ids that stand for spans, in order.
    """

    is_control: np.ndarray
    begins_word: np.ndarray
    mask: int | None = None
    sentinels: tuple[int, ...] = ()

    @cached_property
    def ordinary(self) -> np.ndarray:
        """The ids of everything that is no control token."""
        return np.flatnonzero(~self.is_control)


def draws(*key: int) -> np.random.Generator:
    """The generator of a key of whole numbers from 0 on."""
    return np.random.default_rng(key)


def share_of(n: int, rate: float) -> int:
    """How many of `n` a rate means: `rate * n` with halves rounded up, but at least one.

    None of none, and none at a rate of 0.
    """
    return min(n, max(1, int(rate * n + 0.5))) if n and rate else 0


def mask_words(
    tokens: np.ndarray,
    rng: np.random.Generator,
    alphabet: Alphabet,
    *,
    rate: float,
    masked: float = 0.8,
    random: float = 0.1,
    whole_words: bool = False,
) -> tuple[np.ndarray, np.ndarray]:
    """The tokens with some hidden, and the places of those, in order (BERT, Devlin et al. 2019).

    Of the n tokens that are no control tokens, `share_of(n, rate)` are chosen, evenly. Each is then
    replaced by the mask (with the chance `masked`), by any ordinary token, evenly (`random`), or
    left as it is.

    Args:
        whole_words: words are chosen in place of tokens, in random order, each one that fits into
            what is left of the number; where none fits, the first of the shortest.
    """
    places = np.flatnonzero(~alphabet.is_control[tokens])
    n_chosen = share_of(len(places), rate)
    if whole_words:
        chosen = _choose_words(places, alphabet.begins_word[tokens], n_chosen, rng)
    else:
        chosen = np.sort(rng.permutation(places)[:n_chosen])
    damaged = tokens.copy()
    fate = rng.random(len(chosen))
    others = alphabet.ordinary[rng.integers(len(alphabet.ordinary), size=len(chosen))]
    damaged[chosen[fate < masked]] = alphabet.mask
    is_other = (fate >= masked) & (fate < masked + random)
    damaged[chosen[is_other]] = others[is_other]
    return damaged, chosen


def _choose_words(
    places: np.ndarray, begins: np.ndarray, n_tokens: int, rng: np.random.Generator
) -> np.ndarray:
    """Places of whole words, at most `n_tokens` unless every word is longer.

    A word is a run of neighbouring places up to the next that begins one: a control token ends it.
    """
    if not n_tokens:
        return places[:0]
    is_first = begins[places] | (np.diff(places, prepend=-2) > 1)
    words = np.split(places, np.flatnonzero(is_first)[1:])
    chosen: list[np.ndarray] = []
    for number in rng.permutation(len(words)):
        if len(words[number]) <= n_tokens:
            chosen.append(words[number])
            n_tokens -= len(words[number])
    return np.sort(np.concatenate(chosen or [min(words, key=len)]))


def pair_border(begins: np.ndarray, rng: np.random.Generator) -> int:
    """Where to cut a passage in two, both of them not empty; 0 for one of less than two tokens.

    At one of the sentences that begin inside it, drawn evenly; in the middle where none does.

    Args:
        begins: by token, whether a sentence begins with it.
    """
    inside = np.flatnonzero(begins[1:]) + 1
    return int(inside[rng.integers(len(inside))]) if len(inside) else len(begins) // 2


def permute_sentences(
    tokens: np.ndarray, begins: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """The sentences of a passage in random order (BART, Lewis et al. 2020).

    What stands before the first one that begins inside counts as a sentence.
    """
    sentences = np.split(tokens, np.flatnonzero(begins[1:]) + 1)
    return np.concatenate([sentences[i] for i in rng.permutation(len(sentences))])


def mask_tokens(tokens: np.ndarray, rng: np.random.Generator, mask: int, rate: float) -> np.ndarray:
    """The tokens with `share_of(n, rate)` of them replaced by the mask."""
    damaged = tokens.copy()
    damaged[rng.permutation(len(tokens))[: share_of(len(tokens), rate)]] = mask
    return damaged


def delete_tokens(tokens: np.ndarray, rng: np.random.Generator, rate: float) -> np.ndarray:
    """The tokens without `share_of(n, rate)` of them: where, nothing tells."""
    return np.delete(tokens, rng.permutation(len(tokens))[: share_of(len(tokens), rate)])


def infill(
    tokens: np.ndarray, rng: np.random.Generator, mask: int, rate: float, mean: float
) -> np.ndarray:
    """The tokens with spans of them replaced by one mask each (BART's text infilling).

    Lengths are drawn from a Poisson distribution until `share_of(n, rate)` tokens are gone, the
    last one cut to fit; a span of length 0 is a mask put in. Spans do not touch each other. Should
    there be more of them than tokens that go, which would make the text longer, or than what is
    left can keep apart, the last ones are joined.
    """
    n_gone = share_of(len(tokens), rate)
    lengths: list[int] = []
    while sum(lengths) < n_gone:
        lengths.append(min(int(rng.poisson(mean)), n_gone - sum(lengths)))
    n_most = min(n_gone, len(tokens) - n_gone + 1)
    if len(lengths) > n_most:
        lengths[n_most - 1 :] = [sum(lengths[n_most - 1 :])]
    [before, *kept], _ = _cut_out(tokens, lengths, rng)
    return np.concatenate([before, _behind([mask] * len(kept), kept, tokens.dtype)])


def corrupt_spans(
    tokens: np.ndarray, rng: np.random.Generator, sentinels: Sequence[int], rate: float, mean: float
) -> tuple[np.ndarray, np.ndarray]:
    """The tokens with spans replaced by sentinels, and each span behind its sentinel.

    Span corruption (T5, Raffel et al. 2020): `share_of(n, rate)` tokens go, in this number over
    `mean` spans, halves rounded up, at least one and at most as many as there are sentinels. Every
    way to share the tokens out over the spans is as likely. Spans do not touch each other.

    The target has no closing sentinel, as in T5's own program; the paper's figure shows one.
    """
    n_gone = share_of(len(tokens), rate)
    if not n_gone:
        return tokens.copy(), tokens[:0]
    n_most = min(len(sentinels), n_gone, len(tokens) - n_gone + 1)
    n_spans = min(max(1, int(n_gone / mean + 0.5)), n_most)
    cuts = np.sort(rng.permutation(n_gone - 1)[: n_spans - 1]) + 1
    lengths = np.diff(cuts, prepend=0, append=n_gone)
    [before, *kept], spans = _cut_out(tokens, lengths, rng)
    marks = sentinels[:n_spans]
    damaged = np.concatenate([before, _behind(marks, kept, tokens.dtype)])
    return damaged, _behind(marks, spans, tokens.dtype)


def _cut_out(
    tokens: np.ndarray, lengths: Sequence[int] | np.ndarray, rng: np.random.Generator
) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """What is left of the tokens, in pieces, and the spans of these lengths between the pieces.

    Every arrangement in which no two spans touch is as likely: it is a choice of gaps between the
    tokens that are kept.
    """
    gaps = np.sort(rng.permutation(len(tokens) - sum(lengths) + 1)[: len(lengths)])
    ends = gaps + np.cumsum(lengths, dtype=np.int64)
    starts = ends - np.asarray(lengths, np.int64)
    pieces = np.split(tokens, np.stack([starts, ends], axis=1).ravel())
    return pieces[::2], pieces[1::2]


def _behind(marks: Sequence[int], pieces: Sequence[np.ndarray], dtype: np.dtype) -> np.ndarray:
    """Each piece behind its mark, all in one."""
    heads = (np.array([mark], dtype) for mark in marks)
    parts = [part for pair in zip(heads, pieces, strict=True) for part in pair]
    return np.concatenate([np.empty(0, dtype), *parts])


PATTERNS = ("bidirectional", "left_to_right", "sequence")


def draw_pattern(rng: np.random.Generator, shares: Sequence[float]) -> int:
    """Which of `PATTERNS` an example has (UniLM, Dong et al. 2019), by the chance of each."""
    return int(np.searchsorted(np.cumsum(shares)[:-1], rng.random(), side="right"))

"""Corruption for denoising objectives: clean tokens -> corrupted tokens and what to restore.

Pure functions: all randomness comes from the generator, which `draws` seeds with a key such as
(seed, epoch, index of the example). Tokens are those of a text without special tokens; the tasks
add these and build the model's input.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np


@dataclass(frozen=True)
class Alphabet:
    """The ids of a vocabulary that corruption treats specially.

    Attributes:
        is_control: by id (V,): control tokens, which are never corrupted nor drawn as replacements.
        begins_word: by id (V,): tokens that follow white space.
        mask: the id of the mask token.
        sentinels: the ids of the sentinel tokens, in order.
    """

    is_control: np.ndarray
    begins_word: np.ndarray
    mask: int | None = None
    sentinels: tuple[int, ...] = ()

    @cached_property
    def ordinary(self) -> np.ndarray:
        """The ids of all tokens but the control tokens."""
        return np.flatnonzero(~self.is_control)


def draws(*key: int) -> np.random.Generator:
    """The generator that a key of non-negative integers seeds."""
    return np.random.default_rng(key)


def share_of(n: int, rate: float) -> int:
    """`rate * n`, rounded with halves up, and at least 1.

    0 if `n` or `rate` is 0.
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
    """The tokens with some of them masked, and the positions of these (BERT, Devlin et al. 2019).

    Of the n tokens that are no control tokens, `share_of(n, rate)` are chosen uniformly. Each is
    replaced by the mask with probability `masked` and by a uniformly drawn ordinary token with
    probability `random`; otherwise it is kept.

    Args:
        whole_words: choose words instead of tokens: in random order, each word that still fits
            into the number; if none fits, the first of the shortest.
    """
    positions = np.flatnonzero(~alphabet.is_control[tokens])
    n_chosen = share_of(len(positions), rate)
    if whole_words:
        chosen = _choose_words(positions, alphabet.begins_word[tokens], n_chosen, rng)
    else:
        chosen = np.sort(rng.permutation(positions)[:n_chosen])
    corrupted = tokens.copy()
    fate = rng.random(len(chosen))
    replacements = alphabet.ordinary[rng.integers(len(alphabet.ordinary), size=len(chosen))]
    corrupted[chosen[fate < masked]] = alphabet.mask
    is_replaced = (fate >= masked) & (fate < masked + random)
    corrupted[chosen[is_replaced]] = replacements[is_replaced]
    return corrupted, chosen


def _choose_words(
    positions: np.ndarray, begins: np.ndarray, n_tokens: int, rng: np.random.Generator
) -> np.ndarray:
    """Positions of whole words, at most `n_tokens` unless every word is longer.

    A word is a run of adjacent positions up to the next word beginning; a control token ends it.
    """
    if not n_tokens:
        return positions[:0]
    is_first = begins[positions] | (np.diff(positions, prepend=-2) > 1)
    words = np.split(positions, np.flatnonzero(is_first)[1:])
    chosen: list[np.ndarray] = []
    for number in rng.permutation(len(words)):
        if len(words[number]) <= n_tokens:
            chosen.append(words[number])
            n_tokens -= len(words[number])
    return np.sort(np.concatenate(chosen or [min(words, key=len)]))


def pair_border(begins: np.ndarray, rng: np.random.Generator) -> int:
    """Where to cut a passage into two non-empty parts; 0 if it has fewer than two tokens.

    At the beginning of a sentence inside it, drawn uniformly; in the middle if there is none.

    Args:
        begins: for each token, whether it begins a sentence.
    """
    inside = np.flatnonzero(begins[1:]) + 1
    return int(inside[rng.integers(len(inside))]) if len(inside) else len(begins) // 2


def permute_sentences(
    tokens: np.ndarray, begins: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """The sentences of a passage in random order (BART, Lewis et al. 2020).

    The tokens before the first sentence beginning count as a sentence.
    """
    sentences = np.split(tokens, np.flatnonzero(begins[1:]) + 1)
    return np.concatenate([sentences[i] for i in rng.permutation(len(sentences))])


def mask_tokens(tokens: np.ndarray, rng: np.random.Generator, mask: int, rate: float) -> np.ndarray:
    """The tokens with `share_of(n, rate)` of them replaced by the mask."""
    corrupted = tokens.copy()
    corrupted[rng.permutation(len(tokens))[: share_of(len(tokens), rate)]] = mask
    return corrupted


def delete_tokens(tokens: np.ndarray, rng: np.random.Generator, rate: float) -> np.ndarray:
    """The tokens without `share_of(n, rate)` of them; nothing marks the gaps."""
    return np.delete(tokens, rng.permutation(len(tokens))[: share_of(len(tokens), rate)])


def infill(
    tokens: np.ndarray, rng: np.random.Generator, mask: int, rate: float, mean: float
) -> np.ndarray:
    """The tokens with spans replaced by one mask each (BART's text infilling).

    Span lengths are drawn from a Poisson distribution until they cover `share_of(n, rate)` tokens;
    the last one is cut to fit. A span of length 0 inserts a mask. Spans do not touch each other.
    The last ones are joined if there are more spans than removed tokens, which would lengthen the
    text, or too many for the kept tokens to separate.
    """
    n_removed = share_of(len(tokens), rate)
    lengths: list[int] = []
    while sum(lengths) < n_removed:
        lengths.append(min(int(rng.poisson(mean)), n_removed - sum(lengths)))
    n_most = min(n_removed, len(tokens) - n_removed + 1)
    if len(lengths) > n_most:
        lengths[n_most - 1 :] = [sum(lengths[n_most - 1 :])]
    [before, *kept], _ = _cut_out(tokens, lengths, rng)
    return np.concatenate([before, _prefixed([mask] * len(kept), kept, tokens.dtype)])


def corrupt_spans(
    tokens: np.ndarray, rng: np.random.Generator, sentinels: Sequence[int], rate: float, mean: float
) -> tuple[np.ndarray, np.ndarray]:
    """Span corruption (T5, Raffel et al. 2020): the input with sentinels, and the target.

    `share_of(n, rate)` tokens are removed in spans, each replaced by a sentinel; the target has
    each span after its sentinel. The number of spans is the number of tokens over `mean`, halves
    rounded up, at least 1 and at most the number of sentinels. All divisions of the tokens into
    spans are equally likely. Spans do not touch each other.

    The target has no closing sentinel, as in T5's own code; the paper's figure shows one.
    """
    n_removed = share_of(len(tokens), rate)
    if not n_removed:
        return tokens.copy(), tokens[:0]
    n_most = min(len(sentinels), n_removed, len(tokens) - n_removed + 1)
    n_spans = min(max(1, int(n_removed / mean + 0.5)), n_most)
    cuts = np.sort(rng.permutation(n_removed - 1)[: n_spans - 1]) + 1
    lengths = np.diff(cuts, prepend=0, append=n_removed)
    [before, *kept], spans = _cut_out(tokens, lengths, rng)
    marks = sentinels[:n_spans]
    corrupted = np.concatenate([before, _prefixed(marks, kept, tokens.dtype)])
    return corrupted, _prefixed(marks, spans, tokens.dtype)


def _cut_out(
    tokens: np.ndarray, lengths: Sequence[int] | np.ndarray, rng: np.random.Generator
) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """The kept tokens in pieces, and the removed spans, of these lengths, between the pieces.

    All arrangements in which no two spans touch are equally likely: an arrangement is a choice of
    gaps between the kept tokens.
    """
    gaps = np.sort(rng.permutation(len(tokens) - sum(lengths) + 1)[: len(lengths)])
    ends = gaps + np.cumsum(lengths, dtype=np.int64)
    starts = ends - np.asarray(lengths, np.int64)
    pieces = np.split(tokens, np.stack([starts, ends], axis=1).ravel())
    return pieces[::2], pieces[1::2]


def _prefixed(marks: Sequence[int], pieces: Sequence[np.ndarray], dtype: np.dtype) -> np.ndarray:
    """All pieces in one array, each after its mark."""
    heads = (np.array([mark], dtype) for mark in marks)
    parts = [part for pair in zip(heads, pieces, strict=True) for part in pair]
    return np.concatenate([np.empty(0, dtype), *parts])


PATTERNS = ("bidirectional", "left_to_right", "sequence")


def draw_pattern(rng: np.random.Generator, shares: Sequence[float]) -> int:
    """The index in `PATTERNS` of an example's mask pattern (UniLM, Dong et al. 2019).

    Args:
        shares: the probability of each pattern.
    """
    return int(np.searchsorted(np.cumsum(shares)[:-1], rng.random(), side="right"))

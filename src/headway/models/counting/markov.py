"""Markov chains: the next word from the last ones, by counting.

Any order, with add-k or Kneser-Ney smoothing; and the second order with skips, where every earlier
word, paired with the newest one, votes for the next (selective: only informative pairs vote).
Counting is in `ngrams.py`, look-up in `count_table.py`, matrices in `teaching/matrices.py`.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, cast

import numpy as np
import torch
from annotated_types import Ge, Gt
from torch import Tensor, nn
from torch.nn.functional import pad

from ...nn.decoding import DecoderState, RecurrentCache
from ..family import Family, VocabularySizes
from .count_table import Counted, CountTable
from .ngrams import (
    BOS,
    PAD,
    Counts,
    continuations,
    count_ngrams,
    count_pairs,
    distinct,
    estimate_discounts,
    information_gain,
    read_corpus,
)

_CHUNK = 2**20  # context words that are looked up at once


@dataclass(frozen=True)
class MarkovConfig:
    """Counting language model: a Markov chain of any order, or of the second order with skips."""

    family: Literal["markov"] = "markov"
    """The model family."""
    order: Annotated[int, Ge(0)] = 2
    """Number of previous words that the next one depends on; 0 is the frequency of words."""
    smoothing: Literal["none", "add-k", "kneser-ney"] = "kneser-ney"
    """The probability of words that never followed a context: `none` is zero, `add-k` adds `k` to
    each count, `kneser-ney` (modified, interpolated) uses shorter contexts."""
    k: Annotated[float, Gt(0)] = 1.0
    """With `add-k`: added to each count."""
    skips: bool | Annotated[int, Ge(1)] = False
    """With order 2: each earlier word, paired with the newest one, votes for the next. A number is
    the number of words before the newest one that vote; true is all of them."""
    selective: bool = False
    """With skips: only pairs with more information than the newest word alone vote."""
    min_gain: Annotated[float, Ge(0)] = 0.1
    """With `selective`: smallest information of a pair about the next word, in bits beyond
    chance."""

    def resolve(self, n_examples: int, vocabularies: VocabularySizes) -> "MarkovConfig":
        _check_settings(self)
        return self


class MarkovModel(Counted):
    """A counting model: `count` makes it from data, `load_state_dict` from saved tensors.

    BOS and padding have probability 0. All W other tokens of the vocabulary can have more; those
    without counts, such as the unknown token, have what smoothing gives them. Contexts start with
    BOS and never reach beyond the start of a sequence. By smoothing:

    * `none`: `count / total`, of the longest suffix of the context that was counted.
    * `add-k`: `(count + k) / (total + k W)` in the longest context alone.
    * `kneser-ney`: `(count - D) / total + backoff p(w | context without its farthest word)`, at the
      bottom `1 / W` (Chen & Goodman 1998, section 3); counts are those of `continuations`,
      discounts those of `estimate_discounts`.

    With skips the result is the mean of the rows `p(w | x, q)` of all counted pairs of a different
    earlier word x and the newest word q; if selective, only of those whose `information_gain` is at
    least `min_gain`. Rows are smoothed as above, `kneser-ney` by the first order. If no pair votes,
    the result is that of the first order.
    """

    gain: Tensor | None

    def __init__(self, config: MarkovConfig, vocabularies: VocabularySizes) -> None:
        super().__init__()
        _check_settings(config)
        self.config = config
        self.size = vocabularies.target
        self.depth = 1 if config.skips else config.order
        self.levels = nn.ModuleList(CountTable(self.size) for _ in range(self.depth + 1))
        self.pairs = CountTable(self.size) if config.skips else None
        self.register_buffer("gain", torch.zeros(0) if config.selective else None)

    @property
    def reach(self) -> int | None:
        """Number of last words that the next one depends on; None is all of them."""
        skips = self.config.skips
        return None if skips is True else self.depth + int(skips)

    @property
    def device(self) -> torch.device:
        return self.level(0).entries.device

    @torch.no_grad()
    def log_probs(self, tokens_in: Tensor, targets: Tensor) -> Tensor:
        """The log probability of each target; 0 for padding.

        Args:
            tokens_in: the token before each target, BOS first.

        Shape: (B, T), (B, T) -> (B, T).
        """
        self._check_counted()
        T = tokens_in.size(1)
        if not targets.numel():
            return torch.zeros(targets.shape, device=targets.device)
        reach = T if self.reach is None else self.reach
        contexts = pad(tokens_in, (reach, 0), value=BOS).unfold(1, reach, 1)[:, 1:]  # (B, T, reach)
        rows = max(1, _CHUNK // (T * max(1, reach)))
        probs = torch.cat(
            [
                self._probs(context.flatten(0, 1), target.flatten()).view_as(target)
                for context, target in zip(contexts.split(rows), targets.split(rows), strict=True)
            ]
        )
        return probs.log().masked_fill(targets == PAD, 0.0)

    def start(self, batch: Mapping[str, Tensor], prefix: Tensor | None = None) -> DecoderState:
        """One hypothesis per row of the batch, whose content is not used."""
        self._check_counted()
        rows = next((tensor.size(0) for tensor in batch.values()), None)
        if rows is None:
            raise ValueError("the batch is empty; add a tensor with one row per sequence")
        last = torch.full((rows, 1, self.reach or 0), BOS, device=self.device)
        if prefix is not None:
            last = self._extended(last, prefix[:, None])
        return DecoderState({}, {"last": RecurrentCache(last)})

    @torch.no_grad()
    def step(self, tokens: Tensor, state: DecoderState) -> tuple[Tensor, DecoderState]:
        """tokens (B, N, t) -> log probabilities of the next one (B, N, V)."""
        cache = state.cache["last"]
        assert isinstance(cache, RecurrentCache)
        last = self._extended(cache.value, tokens)  # (B, N, reach)
        log_probs = self.probs(last.flatten(0, 1)).log()
        return log_probs.unflatten(0, last.shape[:2]), state.successor(
            {"last": RecurrentCache(last)}
        )

    def _extended(self, last: Tensor, tokens: Tensor) -> Tensor:
        """The last `reach` words after adding tokens (B, N, t)."""
        words = torch.cat([last, tokens], dim=-1)
        return words if self.reach is None else words[..., words.size(-1) - self.reach :]

    def probs(self, contexts: Tensor) -> Tensor:
        """The distribution after each context, its newest word last. (n, R) -> (n, V)."""
        return self._probs(contexts, None)

    def pair_probs(self, chosen: Tensor | None = None) -> Tensor:
        """The distributions of pairs, whether they vote or not.

        Args:
            chosen: indices of pairs (n,); by default all.

        Shape: -> (n, V).
        """
        pairs = self.pair_table()
        newest, _ = self.pair_words()
        if chosen is None:
            chosen = torch.arange(len(newest), device=newest.device)
        first, _ = self._chain(newest[chosen, None], None)
        share = pairs.shares(chosen, torch.arange(len(chosen)).to(chosen), len(chosen), None)
        return share + pairs.backoff[chosen, None] * self._below_pairs(first, None)

    def pair_words(self) -> tuple[Tensor, Tensor]:
        """The newest word and the earlier word of each counted pair, (C,) each."""
        contexts = self.pair_table().contexts
        newest = self.level(1).contexts[contexts // self.size]
        return newest, contexts % self.size

    def pair_votes(self) -> Tensor:
        """The mask of counted pairs that vote, bool (C,)."""
        if self.gain is None:
            return torch.ones_like(self.pair_table().contexts, dtype=torch.bool)
        return self.gain >= self.config.min_gain

    def _probs(self, contexts: Tensor, targets: Tensor | None) -> Tensor:
        """contexts (n, R), targets (n,) -> (n, 1), or (n, V) without targets."""
        first, newest = self._chain(contexts, targets)
        if self.pairs is None:
            return first
        pair = self.pairs.find(newest[:, None], distinct(contexts[:, :-1]))  # (n, R - 1)
        has_vote = pair >= 0
        if self.gain is not None and self.gain.numel():
            has_vote &= self.pair_votes()[pair.clamp(min=0)]
        row, column = has_vote.nonzero(as_tuple=True)
        context = pair[row, column]
        share = self.pairs.shares(context, row, len(pair), targets)
        backoff = share.new_zeros(len(pair)).index_add_(0, row, self.pairs.backoff[context])
        votes = share + backoff[:, None] * self._below_pairs(first, targets)
        n_votes = has_vote.sum(1, keepdim=True)
        return torch.where(n_votes > 0, votes / n_votes.clamp(min=1), first)

    def _chain(self, contexts: Tensor, targets: Tensor | None) -> tuple[Tensor, Tensor]:
        """Probabilities by a chain of longer and longer contexts, and the index of the longest."""
        n = len(contexts)
        probs = self._uniform(contexts, targets)
        context = torch.zeros(n, dtype=torch.int64, device=contexts.device)
        for depth in range(self.depth + 1):
            level = self.level(depth)
            if depth:
                context = level.find(context, contexts[:, -depth])
            if depth < self.depth and self.config.smoothing == "add-k":
                continue  # shorter contexts are only needed to find the longest
            row = (context >= 0).nonzero().squeeze(1)
            share = level.shares(context[row], row, n, targets)
            backoff = torch.where(context >= 0, level.backoff[context.clamp(min=0)], 1.0)
            probs = share + backoff[:, None] * probs
        return probs, context

    def _uniform(self, contexts: Tensor, targets: Tensor | None) -> Tensor:
        """Equal probabilities of all tokens but BOS and padding."""
        words = torch.arange(self.size, device=contexts.device)[None]
        if targets is not None:
            words = targets[:, None]
        return (words > BOS).float() / (self.size - BOS - 1)

    def _below_pairs(self, first: Tensor, targets: Tensor | None) -> Tensor:
        """The distribution that smooths the rows of pairs."""
        return self._uniform(first, targets) if self.config.smoothing == "add-k" else first

    def level(self, depth: int) -> CountTable:
        """The counts of contexts of `depth` words."""
        return cast(CountTable, self.levels[depth])

    def pair_table(self) -> CountTable:
        """The counts of pairs, of a model with skips."""
        if self.pairs is None:
            raise ValueError(
                "this model has no pairs, because it has no skips; set model.skips = true"
            )
        return self.pairs

    def _check_counted(self) -> None:
        if not self.level(0).contexts.numel():
            raise ValueError(
                "this markov model is empty; make it with count(), or load the tensors of one"
            )


def count(
    config: MarkovConfig, vocabularies: VocabularySizes, sequences: Iterable[np.ndarray]
) -> MarkovModel:
    """The model of the sequences, each of them token ids with EOS last.

    Raises:
        ValueError: settings exclude each other, there is nothing to count, or no sequence is long
            enough for the order.
    """
    longest = max(map(len, sequences), default=0)
    if config.order > longest > 0:  # before a table is made for each order
        raise ValueError(
            f"model.order = {config.order} needs a sequence of at least {config.order} tokens, the "
            f"end token included, and the longest of the training data has {longest}; "
            f"set model.order to {longest} or less"
        )
    model = MarkovModel(config, vocabularies)
    corpus = read_corpus(sequences, max(1, model.depth), model.size)
    levels = count_ngrams(corpus, model.depth, model.size)
    if model.pairs is not None:
        distance = None if config.skips is True else int(config.skips)
        pairs = count_pairs(corpus, levels[1], distance, model.size)
        _fill(model.pairs, pairs, config)
        if config.selective:
            gain = information_gain(pairs, levels[1], model.size)
            model.gain = torch.from_numpy(gain).float()
    if config.smoothing == "kneser-ney":
        levels = continuations(levels, model.size)
    for table, counts in zip(model.levels, levels, strict=True):
        _fill(cast(CountTable, table), counts, config)
    return model


def _fill(table: CountTable, counts: Counts, config: MarkovConfig) -> None:
    match config.smoothing:
        case "none":
            table.fill(counts)
        case "add-k":
            table.fill(counts, added=config.k * (table.size - BOS - 1))
        case "kneser-ney":
            table.fill(counts, estimate_discounts(counts.counts))


def _check_settings(config: MarkovConfig) -> None:
    if config.skips and config.order != 2:
        raise ValueError(
            f"model.skips is for the second order and model.order is {config.order}; "
            "set model.order = 2 or model.skips = false"
        )
    if config.selective and not config.skips:
        raise ValueError(
            "model.selective chooses among the votes of earlier words, which exist only with "
            "skips; set model.skips = true or model.selective = false"
        )


def _empty(config: MarkovConfig, vocabularies: VocabularySizes) -> Any:
    """A model to load saved tensors into."""
    return MarkovModel(config, vocabularies)


MARKOV = Family(
    "markov",
    MarkovConfig,
    _empty,
    frozenset({"step", "score"}),
    learns="counting",
    source="none",
    count=count,
)

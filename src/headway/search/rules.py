"""What may not come next, whatever the model thinks of it: short ends, repetitions, other openings.

A search asks before it chooses. What is forbidden gets -inf and nothing is normalised again, so
that scores stay the model's own. Terms that must appear somewhere are not decided here.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from .config import SearchConfig
from .length import length_minimums


@dataclass(frozen=True)
class Prefix:
    """How an output has to begin."""

    tokens: Sequence[int] = ()
    """Its first tokens, these and no others."""
    opening: bytes = b""
    """What its text goes on with after them, however that is cut into tokens."""


class Spellings:
    """The bytes that each token adds to a text, sorted to be looked up; made once per vocabulary.

    Args:
        spellings: by token number; b"" for control tokens.
    """

    def __init__(self, spellings: Sequence[bytes]) -> None:
        self._spellings = spellings
        self._order = sorted(range(len(spellings)), key=spellings.__getitem__)
        self._sorted = [spellings[token] for token in self._order]
        self._longest = max(map(len, spellings), default=0)
        self._continuing: dict[bytes, list[int]] = {}

    def write(self, tokens: Sequence[int]) -> bytes:
        """The text of some tokens."""
        return b"".join(self._spellings[token] for token in tokens)

    def continuing(self, rest: bytes) -> list[int]:
        """The tokens that write all of `rest` and perhaps more, or a beginning of it after which
        other tokens can write what is left. None of them writes nothing.
        """
        for start in range(len(rest) - 1, -1, -1):  # from its end, so that what is left is known
            part = rest[start:]
            if part not in self._continuing:
                found = self._beginning_with(part)
                for length in range(1, min(len(part), self._longest + 1)):
                    if self._continuing[part[length:]]:
                        found += self._between(part[:length])
                self._continuing[part] = found
        return self._continuing[rest]

    def _between(self, spelling: bytes) -> list[int]:
        """The tokens with exactly this spelling."""
        start, end = bisect_left(self._sorted, spelling), bisect_right(self._sorted, spelling)
        return self._order[start:end]

    def _beginning_with(self, rest: bytes) -> list[int]:
        cut = len(rest)
        start = bisect_left(self._sorted, rest)
        end = bisect_right(self._sorted, rest, key=lambda spelling: spelling[:cut])
        return self._order[start:end]


class Rules:
    """What may not come next in the sentences of one batch.

    Args:
        minimums: smallest `|y|` per sentence (B,), END counted: END may not come before.
        no_repeat: no n-gram of this length comes twice; 0 is off.
        prefixes: how each sentence has to begin. What was asked for may repeat itself.
        spellings: needed where a prefix has an opening.
        before: tokens that each sentence goes on from (B, P), which do not come again either.

    Raises:
        ValueError: an opening without spellings.
    """

    def __init__(
        self,
        *,
        eos: int,
        minimums: Tensor | None = None,
        no_repeat: int = 0,
        prefixes: Sequence[Prefix] = (),
        spellings: Spellings | None = None,
        before: Tensor | None = None,
    ) -> None:
        self._eos = eos
        self._minimums = minimums
        self._longest_minimum = 0 if minimums is None else max(minimums.tolist(), default=0)
        self._no_repeat = no_repeat
        self._prefixes = prefixes
        self._spellings = spellings or Spellings([])
        self._before = before
        # Every token of an opening writes a byte at least, so that by then all of them are over.
        ends = (len(prefix.tokens) + len(prefix.opening) for prefix in prefixes)
        self._longest_prefix = max(ends, default=0)
        if spellings is None and any(prefix.opening for prefix in prefixes):
            raise ValueError("a prefix has an opening but no spellings to find it; give spellings=")

    def ban(self, logits: Tensor, past: Tensor, rows: Tensor) -> None:
        """Sets the logits of what may not come next to -inf, in place.

        A hypothesis may be left with nothing. Normalise before: afterwards it is too late.

        Args:
            past: the tokens of each hypothesis that were chosen.
            rows: which sentences of the batch these are, finished ones having left.

        Shape: logits (B', N, V), past (B', N, n), rows (B',).
        """
        n_tokens = past.size(2)
        is_free = torch.ones(past.shape[:2], dtype=torch.bool, device=past.device)  # (B', N)
        if n_tokens < self._longest_prefix:
            is_free = self._hold_to_prefixes(logits, past, rows)
        if self._minimums is not None and n_tokens + 1 < self._longest_minimum:
            is_short = self._minimums[rows] > n_tokens + 1
            logits[is_short, :, self._eos] = -torch.inf
        if self._no_repeat and self._before is not None:
            before = self._before[rows][:, None].expand(-1, past.size(1), -1)
            past = torch.cat([before, past], dim=2)
        if 0 < self._no_repeat <= past.size(2):
            _ban_repeats(logits, past, self._no_repeat, is_free)

    def _hold_to_prefixes(self, logits: Tensor, past: Tensor, rows: Tensor) -> Tensor:
        """Leaves what continues the prefixes; which hypotheses are past theirs (B', N)."""
        is_free = [[True] * past.size(1) for _ in rows]
        for i, row in enumerate(rows.tolist()):
            prefix = self._prefixes[row]
            if past.size(2) >= len(prefix.tokens) + len(prefix.opening):
                continue
            for j, tokens in enumerate(past[i].tolist()):
                allowed = self._allowed(prefix, tokens)
                if allowed is not None:
                    is_free[i][j] = False
                    _leave_only(logits[i, j], allowed)
        return torch.tensor(is_free, device=past.device)

    def _allowed(self, prefix: Prefix, tokens: list[int]) -> list[int] | None:
        """What may follow tokens; None when the prefix is complete and anything may."""
        n_forced = len(prefix.tokens)
        if len(tokens) < n_forced:
            return [prefix.tokens[len(tokens)]]
        written = self._spellings.write(tokens[n_forced:])
        if written.startswith(prefix.opening):
            return None
        if not prefix.opening.startswith(written):
            return []  # an empty place of a beam, or a hypothesis that is already over
        return self._spellings.continuing(prefix.opening[len(written) :])


def make_rules(
    batch: Mapping[str, Tensor],
    config: SearchConfig,
    *,
    eos: int,
    limits: Tensor | None = None,
    prefixes: Sequence[Prefix] = (),
    spellings: Spellings | None = None,
    before: Tensor | None = None,
) -> Rules | None:
    """The rules of a batch by its settings and prefixes, or None when there are none.

    Args:
        limits: largest `|y|` per sentence (B,), which no minimum exceeds.
        before: tokens that each sentence goes on from (B, P).
    """
    has_minimum = config.min_length > 1 or config.min_ratio > 0
    has_prefix = any(prefix.tokens or prefix.opening for prefix in prefixes)
    if not (has_minimum or config.no_repeat or has_prefix):
        return None
    return Rules(
        eos=eos,
        minimums=length_minimums(batch, config, limits) if has_minimum else None,
        no_repeat=config.no_repeat,
        prefixes=prefixes if has_prefix else (),
        spellings=spellings,
        before=before,
    )


def _leave_only(logits: Tensor, allowed: list[int]) -> None:
    """Sets all logits (V,) but those allowed to -inf, in place."""
    kept = logits[allowed]
    logits.fill_(-torch.inf)
    logits[allowed] = kept


def _ban_repeats(logits: Tensor, past: Tensor, n: int, is_free: Tensor) -> None:
    """Forbids the last token of every n-gram of the past that the newest tokens begin again."""
    n_grams = past.unfold(2, n, 1)  # (B, N, W, n)
    newest = past[:, :, past.size(2) - n + 1 :]  # (B, N, n-1)
    begins_again = (n_grams[..., :-1] == newest[:, :, None]).all(dim=-1) & is_free[..., None]
    # A token may stand in several windows: the smallest wins, and +inf changes nothing.
    change = torch.where(begins_again, -torch.inf, torch.inf).to(logits.dtype)  # (B, N, W)
    logits.scatter_reduce_(2, n_grams[..., -1], change, "amin")

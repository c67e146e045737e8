"""Rules that forbid next tokens: minimum length, repeated n-grams, required prefixes.

A search applies them before it chooses. Forbidden tokens get -inf and logits are not normalised
again, so that scores stay the model's. Each rule is a class in the table `RULES`. Required and
forbidden terms are in `constraints.py`.
"""

from abc import ABC, abstractmethod
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

import torch
from torch import Tensor

from .config import SETTINGS, SearchConfig
from .length import length_minimums


@dataclass(frozen=True)
class Prefix:
    """The required start of an output."""

    tokens: Sequence[int] = ()
    """Its first tokens, exactly."""
    opening: bytes = b""
    """The text that follows them, in any tokenization."""


class TokenBytes:
    """The bytes that each token adds to a text, sorted for lookup; made once per vocabulary.

    Args:
        spellings: by token number; b"" for special tokens.
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
        """The tokens that start with `rest`, or are a prefix of it that other tokens can complete.

        None of them is empty.
        """
        for start in range(len(rest) - 1, -1, -1):  # from the end: shorter suffixes come first
            part = rest[start:]
            if part not in self._continuing:
                tokens = self._starting_with(part)
                for length in range(1, min(len(part), self._longest + 1)):
                    if self._continuing[part[length:]]:
                        tokens += self._spelled(part[:length])
                self._continuing[part] = tokens
        return self._continuing[rest]

    def _spelled(self, spelling: bytes) -> list[int]:
        """The tokens with exactly this spelling."""
        start, end = bisect_left(self._sorted, spelling), bisect_right(self._sorted, spelling)
        return self._order[start:end]

    def _starting_with(self, rest: bytes) -> list[int]:
        cut = len(rest)
        start = bisect_left(self._sorted, rest)
        end = bisect_right(self._sorted, rest, key=lambda spelling: spelling[:cut])
        return self._order[start:end]


@dataclass(frozen=True)
class RuleInputs:
    """The inputs from which the rules of a batch are made.

    Attributes:
        limits: largest `|y|` per sentence (B,), which no minimum exceeds.
        prefixes: the required start of each sentence; empty if there is none.
        spellings: makes the bytes of tokens, which only some rules need.
        before: tokens that each sentence continues (B, P).
    """

    batch: Mapping[str, Tensor]
    config: SearchConfig
    eos: int
    limits: Tensor | None = None
    prefixes: Sequence[Prefix] = ()
    spellings: Callable[[], TokenBytes] | None = None
    before: Tensor | None = None

    def token_bytes(self, reason: str) -> TokenBytes:
        """The bytes of tokens.

        Args:
            reason: why they are needed, for the message.

        Raises:
            ValueError: the caller passed no spellings.
        """
        if self.spellings is None:
            raise ValueError(f"{reason}, which needs the bytes of tokens; pass spellings=")
        return self.spellings()


class LogitsRule(ABC):
    """A rule about the next token, for the sentences of a batch.

    Attributes:
        settings: the rule is on if one of these differs from its default.
    """

    settings: ClassVar[tuple[str, ...]] = ()

    @classmethod
    def is_on(cls, inputs: RuleInputs) -> bool:
        """Whether the rule can forbid anything in this batch."""
        return any(getattr(inputs.config, name) != SETTINGS[name].default for name in cls.settings)

    @classmethod
    @abstractmethod
    def make(cls, inputs: RuleInputs) -> Self:
        """The rule for a batch; called if it is on."""

    @abstractmethod
    def apply(self, logits: Tensor, past: Tensor, rows: Tensor, is_free: Tensor) -> None:
        """Sets the logits of forbidden tokens to -inf, in place.

        Args:
            past: the chosen tokens of each hypothesis.
            rows: the sentences of the batch that are not finished.
            is_free: hypotheses with a complete prefix. `PrefixRule`, which comes first, clears the
                others.

        Shape: logits (B', N, V), past (B', N, n), rows (B',), is_free bool (B', N).
        """


class PrefixRule(LogitsRule):
    """Outputs start with their required prefix.

    Args:
        spellings: needed if a prefix has an opening.
    """

    def __init__(self, prefixes: Sequence[Prefix], spellings: TokenBytes | None = None) -> None:
        self._prefixes = prefixes
        self._spellings = spellings or TokenBytes([])
        # Every token adds at least a byte to an opening, so that all prefixes are complete by then.
        ends = (len(prefix.tokens) + len(prefix.opening) for prefix in prefixes)
        self._longest = max(ends, default=0)

    @classmethod
    def is_on(cls, inputs: RuleInputs) -> bool:
        return any(prefix.tokens or prefix.opening for prefix in inputs.prefixes)

    @classmethod
    def make(cls, inputs: RuleInputs) -> Self:
        if any(prefix.opening for prefix in inputs.prefixes):
            return cls(inputs.prefixes, inputs.token_bytes("a prefix has an opening"))
        return cls(inputs.prefixes)

    def apply(self, logits: Tensor, past: Tensor, rows: Tensor, is_free: Tensor) -> None:
        if past.size(2) >= self._longest:
            return
        is_complete = [[True] * past.size(1) for _ in rows]
        for i, row in enumerate(rows.tolist()):
            prefix = self._prefixes[row]
            if past.size(2) >= len(prefix.tokens) + len(prefix.opening):
                continue
            for j, tokens in enumerate(past[i].tolist()):
                allowed = self._allowed(prefix, tokens)
                if allowed is not None:
                    is_complete[i][j] = False
                    _leave_only(logits[i, j], allowed)
        is_free &= torch.tensor(is_complete, device=past.device)

    def _allowed(self, prefix: Prefix, tokens: list[int]) -> list[int] | None:
        """The tokens that may follow; None if the prefix is complete and any token may."""
        n_forced = len(prefix.tokens)
        if len(tokens) < n_forced:
            return [prefix.tokens[len(tokens)]]
        written = self._spellings.write(tokens[n_forced:])
        if written.startswith(prefix.opening):
            return None
        if not prefix.opening.startswith(written):
            return []  # an empty beam slot, or a hypothesis that has ended
        return self._spellings.continuing(prefix.opening[len(written) :])


class MinimumLengthRule(LogitsRule):
    """END is forbidden until an output is long enough.

    Args:
        minimums: smallest `|y|` per sentence (B,), END counted.
    """

    settings = ("min_length", "min_ratio")

    def __init__(self, minimums: Tensor, eos: int) -> None:
        self._minimums, self._eos = minimums, eos
        self._longest = max(minimums.tolist(), default=0)

    @classmethod
    def is_on(cls, inputs: RuleInputs) -> bool:
        return inputs.config.min_length > 1 or inputs.config.min_ratio > 0

    @classmethod
    def make(cls, inputs: RuleInputs) -> Self:
        return cls(length_minimums(inputs.batch, inputs.config, inputs.limits), inputs.eos)

    def apply(self, logits: Tensor, past: Tensor, rows: Tensor, is_free: Tensor) -> None:
        length = past.size(2) + 1  # with END
        if length < self._longest:
            logits[self._minimums[rows] > length, :, self._eos] = -torch.inf


class NoRepeatRule(LogitsRule):
    """No n-gram occurs twice. A required prefix may repeat itself.

    Args:
        n: length of the n-gram.
        before: tokens that each sentence continues (B, P), whose n-grams do not occur again either.
    """

    settings = ("no_repeat",)

    def __init__(self, n: int, before: Tensor | None = None) -> None:
        self._n, self._before = n, before

    @classmethod
    def make(cls, inputs: RuleInputs) -> Self:
        return cls(inputs.config.no_repeat, inputs.before)

    def apply(self, logits: Tensor, past: Tensor, rows: Tensor, is_free: Tensor) -> None:
        if self._before is not None:
            before = self._before[rows][:, None].expand(-1, past.size(1), -1)
            past = torch.cat([before, past], dim=2)
        if self._n <= past.size(2):
            _ban_repeats(logits, past, self._n, is_free)


RULES: tuple[type[LogitsRule], ...] = (PrefixRule, MinimumLengthRule, NoRepeatRule)
"""All rules, in the order in which they are applied."""


class LogitsRules:
    """The rules that are on for the sentences of one batch, applied in order."""

    def __init__(self, rules: Sequence[LogitsRule]) -> None:
        self._rules = rules

    def apply(self, logits: Tensor, past: Tensor, rows: Tensor) -> None:
        """Sets the logits of forbidden tokens to -inf, in place.

        A hypothesis may have no token left. Compute the normaliser before: logits are overwritten.

        Args:
            past: the chosen tokens of each hypothesis.
            rows: the sentences of the batch that are not finished.

        Shape: logits (B', N, V), past (B', N, n), rows (B',).
        """
        is_free = torch.ones(past.shape[:2], dtype=torch.bool, device=past.device)  # (B', N)
        for rule in self._rules:
            rule.apply(logits, past, rows, is_free)


def make_logits_rules(
    batch: Mapping[str, Tensor],
    config: SearchConfig,
    *,
    eos: int,
    limits: Tensor | None = None,
    prefixes: Sequence[Prefix] = (),
    spellings: Callable[[], TokenBytes] | None = None,
    before: Tensor | None = None,
) -> LogitsRules | None:
    """The rules that are on for a batch, or None if none is.

    Args:
        limits: largest `|y|` per sentence (B,), which no minimum exceeds.
        spellings: makes the bytes of tokens; called if a rule needs them.
        before: tokens that each sentence continues (B, P).

    Raises:
        ValueError: a rule needs the bytes of tokens and there are no spellings.
    """
    inputs = RuleInputs(batch, config, eos, limits, prefixes, spellings, before)
    rules = [rule.make(inputs) for rule in RULES if rule.is_on(inputs)]
    return LogitsRules(rules) if rules else None


def _leave_only(logits: Tensor, allowed: list[int]) -> None:
    """Sets all logits (V,) except the allowed ones to -inf, in place."""
    kept = logits[allowed]
    logits.fill_(-torch.inf)
    logits[allowed] = kept


def _ban_repeats(logits: Tensor, past: Tensor, n: int, is_free: Tensor) -> None:
    """Forbids the last token of every past n-gram whose other tokens are the newest ones."""
    n_grams = past.unfold(2, n, 1)  # (B, N, W, n)
    newest = past[:, :, past.size(2) - n + 1 :]  # (B, N, n-1)
    is_repeated = (n_grams[..., :-1] == newest[:, :, None]).all(dim=-1) & is_free[..., None]
    # A token may be in several windows: the smallest value wins, and +inf changes nothing.
    change = torch.where(is_repeated, -torch.inf, torch.inf).to(logits.dtype)  # (B, N, W)
    logits.scatter_reduce_(2, n_grams[..., -1], change, "amin")

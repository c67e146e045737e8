"""The settings of each objective of `task = "pretrain"`: which corruptions, and how much.

`data/corruption.py` implements the corruptions; the files of the objectives define the labels.
"""

from dataclasses import dataclass
from typing import Annotated, Literal

from annotated_types import Ge, Gt, Le

Rate = Annotated[float, Ge(0.0), Le(1.0)]
Some = Annotated[float, Gt(0.0), Le(1.0)]
Length = Annotated[float, Ge(1.0)]


@dataclass(frozen=True)
class MaskedConfig:
    """Tokens are masked, and the model predicts them (BERT's first objective; RoBERTa's)."""

    objective: Literal["masked"] = "masked"
    rate: Some = 0.15
    """The share of tokens to predict: `rate` times their number, halves rounded up, at least one.
    Every epoch draws other tokens."""
    masked: Rate = 0.8
    """The share of these that are replaced by the mask token."""
    random: Rate = 0.1
    """The share of these that are replaced by a random other token; the rest is unchanged."""
    whole_words: bool = False
    """Choose whole words, separated by white space, instead of tokens, so that no part of a word
    reveals the rest."""

    def __post_init__(self) -> None:
        if self.masked + self.random > 1.0:
            raise ValueError(
                f"masked={self.masked:g} and random={self.random:g} are together more than 1; they "
                "are shares of the same tokens, lower one of them"
            )


@dataclass(frozen=True)
class MaskedNextConfig(MaskedConfig):
    """Masked tokens, and whether the second half of a passage follows the first or comes from
    another document (both objectives of BERT at once)."""

    objective: Literal["masked_next"] = "masked_next"  # type: ignore[assignment]


@dataclass(frozen=True)
class NextConfig:
    """Whether the second half of a passage follows the first or comes from another document;
    both are equally likely."""

    objective: Literal["next"] = "next"


@dataclass(frozen=True)
class BartConfig:
    """The input is a corrupted text, the output the original (BART). The corruptions are applied in
    this order: sentences permuted, tokens deleted, tokens masked, spans infilled."""

    objective: Literal["bart"] = "bart"
    permute: bool = True
    """Put the sentences of a passage in random order."""
    delete: Rate = 0.0
    """The share of tokens that are deleted; the input does not show their positions."""
    mask: Rate = 0.0
    """The share of tokens that are each replaced by a mask token."""
    infill: Rate = 0.3
    """The share of tokens in spans that are each replaced by one mask token. An empty span inserts
    a mask token."""
    span: Length = 3.0
    """The mean length of spans; lengths are drawn from a Poisson distribution."""

    def __post_init__(self) -> None:
        if not (self.permute or self.delete or self.mask or self.infill):
            raise ValueError(
                'objective = "bart" with nothing damaged has nothing to restore; set permute = '
                "true, or one of delete, mask and infill above 0"
            )


@dataclass(frozen=True)
class T5Config:
    """The input is a text with spans replaced by sentinels, the output the spans (T5)."""

    objective: Literal["t5"] = "t5"
    rate: Some = 0.15
    """The share of tokens that are in spans: `rate` times their number, halves rounded up, at
    least one."""
    span: Length = 3.0
    """The mean length of spans. Their number is that of the tokens in spans divided by it."""
    sentinels: Annotated[int, Ge(1)] = 100
    """The number of sentinels in the vocabulary, and the most spans in a text."""


@dataclass(frozen=True)
class UnilmConfig(MaskedConfig):
    """One network with three attention patterns (UniLM): masked tokens in a text that is visible as
    a whole, the next token of a text, the next token of its second part after all of the first."""

    objective: Literal["unilm"] = "unilm"  # type: ignore[assignment]
    bidirectional: Annotated[float, Ge(0.0)] = 1.0
    """How often masked tokens are predicted, relative to the other two."""
    left_to_right: Annotated[float, Ge(0.0)] = 1.0
    """How often the next token of a text is predicted."""
    sequence: Annotated[float, Ge(0.0)] = 1.0
    """How often the next token of the second part is predicted."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.bidirectional + self.left_to_right + self.sequence > 0:
            raise ValueError(
                "bidirectional, left_to_right and sequence are all 0; raise one of them"
            )

    @property
    def shares(self) -> tuple[float, float, float]:
        """The probability of each pattern, in the order of `data.corruption.PATTERNS`."""
        total = self.bidirectional + self.left_to_right + self.sequence
        return self.bidirectional / total, self.left_to_right / total, self.sequence / total


@dataclass(frozen=True)
class NoneConfig:
    """No objective: the model was imported without a head, and other tasks start from it."""

    objective: Literal["none"] = "none"


CONFIGS: dict[str, type] = {
    "masked": MaskedConfig,
    "masked_next": MaskedNextConfig,
    "next": NextConfig,
    "bart": BartConfig,
    "t5": T5Config,
    "unilm": UnilmConfig,
    "none": NoneConfig,
}

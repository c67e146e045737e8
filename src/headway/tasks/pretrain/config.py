"""The settings of each objective of `task = "pretrain"`: what is done to a text, and how much.

How it is done is in `data/corruption.py`, what is then asked of a model in the files of the tasks.
"""

from dataclasses import dataclass
from typing import Annotated, Literal

from annotated_types import Ge, Gt, Le

Rate = Annotated[float, Ge(0.0), Le(1.0)]
Some = Annotated[float, Gt(0.0), Le(1.0)]
Length = Annotated[float, Ge(1.0)]


@dataclass(frozen=True)
class MaskedConfig:
    """Words are hidden, and the model says what they were (BERT's first objective; RoBERTa's)."""

    objective: Literal["masked"] = "masked"
    rate: Some = 0.15
    """The share of tokens that are asked for: `rate` times their number, halves rounded up, at
    least one. They are others in every epoch."""
    masked: Rate = 0.8
    """The share of these that are replaced by the mask."""
    random: Rate = 0.1
    """The share of these that are replaced by any other token; what is left stays as it is."""
    whole_words: bool = False
    """Choose words (what stands between white space) in place of tokens, so that no part of a
    word gives away the rest."""

    def __post_init__(self) -> None:
        if self.masked + self.random > 1.0:
            raise ValueError(
                f"masked={self.masked:g} and random={self.random:g} are together more than 1; they "
                "are shares of the same tokens, lower one of them"
            )


@dataclass(frozen=True)
class MaskedNextConfig(MaskedConfig):
    """Hidden words, and whether the second half of a passage follows the first or comes from
    another document (both objectives of BERT at once)."""

    objective: Literal["masked_next"] = "masked_next"  # type: ignore[assignment]


@dataclass(frozen=True)
class NextConfig:
    """Whether the second half of a passage follows the first or comes from another document: half
    of them do."""

    objective: Literal["next"] = "next"


@dataclass(frozen=True)
class BartConfig:
    """A damaged text goes in, the text comes out (BART). What is damaged is added up in this order:
    sentences permuted, tokens deleted, tokens masked, spans filled in."""

    objective: Literal["bart"] = "bart"
    permute: bool = True
    """Put the sentences of a passage in random order."""
    delete: Rate = 0.0
    """The share of tokens that are deleted, and nothing tells where."""
    mask: Rate = 0.0
    """The share of tokens that are replaced by the mask, one by one."""
    infill: Rate = 0.3
    """The share of tokens that are replaced in spans, each by one mask. A span of no token is a
    mask put in."""
    span: Length = 3.0
    """The mean length of spans, which is drawn from a Poisson distribution."""

    def __post_init__(self) -> None:
        if not (self.permute or self.delete or self.mask or self.infill):
            raise ValueError(
                'objective = "bart" with nothing damaged has nothing to restore; set permute = '
                "true, or one of delete, mask and infill above 0"
            )


@dataclass(frozen=True)
class T5Config:
    """A text with spans replaced by sentinels goes in, the spans come out (T5)."""

    objective: Literal["t5"] = "t5"
    rate: Some = 0.15
    """The share of tokens that are in spans: `rate` times their number, halves rounded up, at
    least one."""
    span: Length = 3.0
    """The mean length of spans: their number is that of the tokens over it."""
    sentinels: Annotated[int, Ge(1)] = 100
    """How many sentinels the vocabulary gets; there are no more spans in a text than that."""


@dataclass(frozen=True)
class UnilmConfig(MaskedConfig):
    """One network for three kinds of reading (UniLM): hidden words in a text that is seen whole,
    the next token of a text, the next token of its second part with all of the first in sight."""

    objective: Literal["unilm"] = "unilm"  # type: ignore[assignment]
    bidirectional: Annotated[float, Ge(0.0)] = 1.0
    """How often, compared with the other two, hidden words are asked for."""
    left_to_right: Annotated[float, Ge(0.0)] = 1.0
    """How often the next token of a text."""
    sequence: Annotated[float, Ge(0.0)] = 1.0
    """How often the next token of the second part."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.bidirectional + self.left_to_right + self.sequence > 0:
            raise ValueError(
                "bidirectional, left_to_right and sequence are all 0; raise one of them"
            )

    @property
    def shares(self) -> tuple[float, float, float]:
        """The chance of each, in the order of `data.corruption.PATTERNS`."""
        total = self.bidirectional + self.left_to_right + self.sequence
        return self.bidirectional / total, self.left_to_right / total, self.sequence / total


@dataclass(frozen=True)
class NoneConfig:
    """Nothing is asked: the model was imported without a head, and other tasks start from it."""

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

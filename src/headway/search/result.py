"""The result of a search."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Hypothesis:
    """An output for a sentence."""

    tokens: list[int]
    """Without BOS and END."""
    log_prob: float
    """Sum of the token log probabilities, END included when finished."""
    score: float
    """`log_prob / |y|**alpha`, END counted in `|y|`; hypotheses are ranked by it."""
    token_log_probs: list[float]
    """One per token, and one more for END when finished."""
    finished: bool
    """False if the hypothesis was cut off before END: at the length limit, or at a dead end."""
    unmet: tuple[str, ...] = ()
    """Required terms that are missing."""
    proven: bool | None = None
    """Whether no other output can score higher; None if the method cannot prove it."""

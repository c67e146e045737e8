"""What a search gives back."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Hypothesis:
    """One output for one sentence."""

    tokens: list[int]
    """Without the begin token and without END."""
    log_prob: float
    """Sum of the token log probabilities, END included when finished."""
    score: float
    """`log_prob / |y|**alpha`, END counted in `|y|`: what hypotheses are ranked by."""
    token_log_probs: list[float]
    """One per token, and one more for END when finished."""
    finished: bool
    """False when the length limit, or a point where nothing can follow, came before END."""
    unmet: tuple[str, ...] = ()
    """Required terms that are missing."""
    proven: bool | None = None
    """Whether no other output can score above it; None where the method proves nothing."""

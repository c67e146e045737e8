"""Randomness from the run's seed alone.

The default generator is re-seeded for each micro-batch from (seed, update, index of the micro-batch
in the whole update), so that resuming, accumulating and several processes draw what one
uninterrupted process draws.
"""

import numpy as np
import torch


def seed_microbatch(seed: int, update: int, index: int) -> None:
    """Sets torch's default generator for one forward and backward pass."""
    words = np.random.SeedSequence([seed, update, index]).generate_state(1, np.uint64)
    torch.manual_seed(int(words[0]))


def seed_start(seed: int) -> None:
    """For the initial weights."""
    torch.manual_seed(int(np.random.SeedSequence([seed]).generate_state(1, np.uint64)[0]))

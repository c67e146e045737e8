"""Randomness from the run's seed alone.

The random numbers of a micro-batch depend on (seed, update, index in the whole update), so that
resuming, accumulating, threads and processes draw the same as one uninterrupted thread.
"""

import numpy as np
import torch


def microbatch_seed(seed: int, update: int, index: int) -> int:
    """The seed of one forward pass."""
    return int(np.random.SeedSequence([seed, update, index]).generate_state(1, np.uint64)[0]) >> 1


def seed_start(seed: int) -> None:
    """Seeds torch for the initial weights."""
    torch.manual_seed(int(np.random.SeedSequence([seed]).generate_state(1, np.uint64)[0]))

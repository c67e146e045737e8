"""Seeds of micro-batches and initial weights: functions of the run's seed alone."""

from itertools import product

import torch

from headway.training.seeds import microbatch_seed, seed_start


def test_every_micro_batch_has_a_seed_of_its_own():
    numbers = list(product(range(5), range(6), range(4)))
    seeds = {microbatch_seed(*arguments) for arguments in numbers}
    assert len(seeds) == len(numbers)


def test_seeds_are_those_of_earlier_versions():
    """A run that an older headway began must continue with the same draws."""
    assert microbatch_seed(1, 1, 0) == 38901565946305238
    assert microbatch_seed(1, 2, 1) == 3638645711756376738


def test_generators_take_the_seeds():
    assert all(0 <= microbatch_seed(1, update, 0) < 2**63 for update in range(1000))
    torch.Generator().manual_seed(microbatch_seed(2**63, 10**9, 10**6))


def test_the_start_draws_the_same_weights_for_the_same_seed():
    weights = []
    for seed in (1, 1, 2):
        seed_start(seed)
        weights.append(torch.nn.Linear(4, 4).weight)
    assert torch.equal(weights[0], weights[1])
    assert not torch.equal(weights[0], weights[2])

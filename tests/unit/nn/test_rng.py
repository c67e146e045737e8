"""The source of draws inside a model: one per micro-batch, none shared between threads."""

from concurrent.futures import ThreadPoolExecutor

import pytest
import torch

from headway.nn.dropout import Dropout
from headway.nn.rng import generator, use_generator


def mask_of(seed, n=1000):
    with use_generator(torch.Generator().manual_seed(seed)):
        return Dropout(0.5).train()(torch.ones(n))


def test_the_default_generator_unless_told_otherwise():
    assert generator() is None
    torch.manual_seed(3)
    default = Dropout(0.5).train()(torch.ones(1000))
    assert torch.equal(mask_of(3), default)


def test_draws_from_another_source_leave_the_default_generator_alone():
    before = torch.get_rng_state()
    assert torch.equal(mask_of(1), mask_of(1))
    assert not torch.equal(mask_of(1), mask_of(2))
    assert torch.equal(torch.get_rng_state(), before)


def test_the_source_is_put_back_after_an_error():
    def fail():
        with use_generator(torch.Generator()):
            raise RuntimeError("on purpose")

    with pytest.raises(RuntimeError, match="on purpose"):
        fail()
    assert generator() is None


def test_threads_draw_apart():
    expected = [mask_of(seed) for seed in range(16)]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(mask_of, range(16)))
    assert all(torch.equal(one, other) for one, other in zip(found, expected, strict=True))

"""Weights as named tensors: each once, refused whole when they do not fit, swapped for a while."""

import pytest
import torch
from torch import nn

from headway.errors import RunError
from headway.models.state_dict import set_weights, using_weights, weights_of


class Tied(nn.Module):
    """Two names of one matrix, and a buffer."""

    def __init__(self):
        super().__init__()
        self.first = nn.Linear(2, 2, bias=False)
        self.second = nn.Linear(2, 2, bias=False)
        self.second.weight = self.first.weight
        self.register_buffer("seen", torch.zeros(1))
        self.register_buffer("passing", torch.zeros(1), persistent=False)


def test_a_shared_matrix_has_its_first_name_and_buffers_are_weights():
    model = Tied()
    weights = weights_of(model)
    assert list(weights) == ["seen", "first.weight"]
    assert not weights["first.weight"].requires_grad
    weights["first.weight"].fill_(7.0)  # not a copy
    assert (model.second.weight == 7.0).all()


def test_set_weights_copies():
    model, tensors = Tied(), {"first.weight": torch.ones(2, 2), "seen": torch.ones(1)}
    set_weights(model, tensors, "the file")
    tensors["first.weight"].zero_()
    assert (model.second.weight == 1.0).all()
    assert model.seen.item() == 1.0
    assert model.first.weight.requires_grad


def test_everything_that_does_not_fit_is_named_and_nothing_is_set():
    model = Tied()
    before = model.first.weight.clone()
    tensors = {"first.weight": torch.ones(2, 3), "second.weight": torch.ones(2, 2)}
    with pytest.raises(RunError) as caught:
        set_weights(model, tensors, "model.safetensors")
    assert str(caught.value) == (
        "model.safetensors does not fit the model: seen is missing; second.weight is not known to "
        "this model; first.weight has shape (2, 3) instead of (2, 2); was the run file changed?"
    )
    torch.testing.assert_close(model.first.weight, before)


def test_five_that_do_not_fit_are_named_and_the_rest_counted():
    tensors = {f"extra{number}": torch.ones(1) for number in range(7)}
    with pytest.raises(RunError, match="extra4 is not known to this model; and 2 more; was"):
        set_weights(nn.Identity(), tensors, "the file")


def test_resized_buffers_take_tensors_of_any_shape():
    model = nn.Module()
    model.inner = nn.Module()
    model.inner.register_buffer("counts", torch.zeros(0))
    set_weights(model, {"inner.counts": torch.arange(3)}, "the counts", resized=True)
    assert model.inner.counts.tolist() == [0, 1, 2]
    assert list(weights_of(model)) == ["inner.counts"]


def test_other_weights_for_a_while_even_when_something_fails():
    model = nn.Linear(1, 1, bias=False)
    own = model.weight.item()

    def fail():
        with using_weights(model, {"weight": torch.full((1, 1), 9.0)}):
            raise KeyError(model.weight.item())

    with pytest.raises(KeyError, match=r"9\.0"):
        fail()
    assert model.weight.item() == own
    with using_weights(model, None):
        assert model.weight.item() == own

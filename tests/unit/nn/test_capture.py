"""Looking: names, choice of layers, joined queries, and nothing left behind."""

import pytest
import torch

from headway.nn.attend import attend
from headway.nn.attention import SelfAttention
from headway.nn.capture import capture, recorder


class Two(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = SelfAttention(8, 2, 4)
        self.second = SelfAttention(8, 2, 4)

    def forward(self, x):
        return self.second(self.first(x))


def test_weights_by_module_name():
    model, x = Two().eval(), torch.randn(3, 5, 8)
    with capture(model) as maps:
        model(x)
    assert set(maps) == {"first", "second"}
    assert maps["first"].shape == (3, 2, 5, 5)
    torch.testing.assert_close(maps["first"].sum(-1), torch.ones(3, 2, 5))


def test_only_the_layers_asked_for():
    model = Two().eval()
    with capture(model, layers=lambda name: name == "second") as maps:
        model(torch.randn(1, 4, 8))
    assert set(maps) == {"second"}


def test_looking_does_not_change_the_output_nor_cost_gradients():
    model, x = Two().eval(), torch.randn(2, 5, 8)
    with capture(model) as maps:
        seen = model(x)
    torch.testing.assert_close(seen, model(x))
    assert not maps["first"].requires_grad


def test_queries_of_one_module_are_joined_in_order():
    owner = torch.nn.Module()
    query, key = torch.randn(2, 1, 3, 4), torch.randn(2, 1, 5, 4)
    with capture(owner) as whole:
        attend(query, key, key, owner=owner)
    with capture(owner) as pieces:
        for i in range(3):
            attend(query[:, :, i : i + 1], key, key, owner=owner)
    torch.testing.assert_close(pieces[""], whole[""])


def test_strangers_and_the_nameless_are_not_recorded():
    mine, other = torch.nn.Module(), torch.nn.Module()
    query = torch.randn(1, 1, 2, 4)
    with capture(mine) as maps:
        attend(query, query, query, owner=other)
        attend(query, query, query)
    assert maps == {}


def test_nobody_looks_afterwards_even_after_an_error():
    def look():
        with capture(torch.nn.Module()):
            assert recorder() is not None
            raise RuntimeError("on purpose")

    with pytest.raises(RuntimeError, match="on purpose"):
        look()
    assert recorder() is None

"""Low-rank adaptation: computed by hand, put together with its matrix."""

import torch
from torch import nn

from headway.nn.lora import Adapted, merged


def test_it_adds_a_scaled_product_of_thin_matrices():
    layer = nn.Linear(3, 2)
    adapted = Adapted(layer, rank=1, alpha=4.0)
    x = torch.tensor([1.0, 2.0, 3.0])
    assert torch.equal(adapted(x), layer(x))  # nothing has changed yet
    with torch.no_grad():
        adapted.lora.down.copy_(torch.tensor([[1.0, 0.0, 2.0]]))
        adapted.lora.up.copy_(torch.tensor([[0.5], [-1.0]]))
    # down x = 7, times up = (3.5, -7), times alpha / rank = 4
    torch.testing.assert_close(adapted(x) - layer(x), torch.tensor([14.0, -28.0]))


def test_only_the_thin_matrices_learn():
    adapted = Adapted(nn.Linear(3, 2), rank=2, alpha=1.0)
    adapted(torch.randn(4, 3)).sum().backward()
    learns = {name for name, p in adapted.named_parameters() if p.requires_grad}
    assert learns == {"lora.down", "lora.up"}
    assert adapted.weight.grad is None
    assert adapted.lora.up.grad.any()


def test_merged_weights_are_those_of_an_ordinary_layer():
    adapted = Adapted(nn.Linear(5, 4), rank=2, alpha=3.0)
    nn.init.normal_(adapted.lora.up)
    outer = nn.ModuleDict({"inner": adapted, "norm": nn.LayerNorm(4)})
    tensors = merged(outer.state_dict())
    plain = nn.ModuleDict({"inner": nn.Linear(5, 4), "norm": nn.LayerNorm(4)})
    plain.load_state_dict(tensors)  # nothing missing, nothing left over
    x = torch.randn(6, 5)
    torch.testing.assert_close(plain["inner"](x), adapted(x))


def test_weights_without_adaptation_stay_as_they_are():
    tensors = nn.Linear(2, 2).state_dict()
    found = merged(tensors)
    assert found.keys() == tensors.keys()
    assert all(found[name] is tensors[name] for name in tensors)

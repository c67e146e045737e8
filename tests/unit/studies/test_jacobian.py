"""Norms of gradients: a recurrence whose derivatives are known by hand, and finite differences."""

import pytest
import torch
from torch import nn

from headway.models import FAMILIES, VocabularySizes
from headway.models.family import OutputLayer
from headway.studies.jacobian import norms


class Leaky(nn.Module):
    """`h_t = a h_{t-1} + x_t`, so that `d h_T / d x_{T-k} = a^k` times the identity."""

    def __init__(self, a: float, vocabulary: int = 5, width: int = 3) -> None:
        super().__init__()
        self.a = a
        self.embedding = nn.Parameter(torch.randn(vocabulary, width))
        self.output = OutputLayer(self.embedding, bias=False)

    def forward(self, batch):
        h, states = 0.0, []
        for x in self.embedding[batch["tgt_in"]].unbind(1):
            h = self.a * h + x
            states.append(h)
        return torch.stack(states, dim=1)


@pytest.mark.parametrize("a", [0.5, 1.0, 1.1])
def test_a_linear_recurrence_fades_or_grows_as_its_powers(a):
    torch.manual_seed(1)
    model = Leaky(a)
    tokens = torch.tensor([[0, 1, 1, 2], [4, 4, 4, 4]])  # repeated words are separate
    # Logits are W h, so at distance k the norm is |W| a^k, W being the rows of the outputs.
    for rows in (torch.arange(5), torch.tensor([3, 1])):
        expected = model.embedding[rows].norm() * torch.tensor([a**3, a**2, a, 1.0])
        assert torch.allclose(norms(model, tokens, rows), expected.expand(2, 4))


@pytest.mark.parametrize(
    ("family", "settings"),
    [
        ("recurrent_decoder", {"cell": "rnn"}),
        ("recurrent_decoder", {"cell": "gru"}),
        ("recurrent_decoder", {"cell": "lstm"}),
        ("decoder", {"layers": 2, "n_heads": 2, "d_ff": 16}),
    ],
)
def test_finite_differences_give_the_same(family, settings):
    torch.manual_seed(2)
    sizes = VocabularySizes(9, 9, shared=True)
    config = FAMILIES[family].config(d_model=8, dropout=0.0, **settings).resolve(0, sizes)
    model = FAMILIES[family].build(config, sizes).double().eval()
    tokens = torch.tensor([[1, 5, 6, 7, 8]])  # each once, so that a row of the matrix is a position
    outputs = torch.tensor([0, 2, 5, 8])
    result = norms(model, tokens, outputs)[0]
    weight = model.output.weight.detach()[outputs].clone()
    step = 1e-6

    @torch.no_grad()
    def logits():
        return model({"tgt_in": tokens})[0, -1] @ weight.T

    for position, token in enumerate(tokens[0]):
        columns = []
        for unit in range(8):
            ends = []
            for sign in (1, -1):
                with torch.no_grad():
                    model.embedding[token, unit] += sign * step
                    ends.append(logits())
                    model.embedding[token, unit] -= sign * step
            columns.append((ends[0] - ends[1]) / (2 * step))
        expected = torch.stack(columns).norm().item()
        assert result[position].item() == pytest.approx(expected, rel=1e-5)


def test_weights_are_left_as_they_were():
    torch.manual_seed(3)
    model = Leaky(0.5)
    before = model.embedding.detach().clone()
    norms(model, torch.tensor([[0, 1]]), torch.tensor([0]))
    assert torch.equal(model.embedding, before)
    assert model.embedding.grad is None
    assert model.output.weight is model.embedding

"""Gated convolutions by hand, what reaches which position, and the variance of every layer."""

import math

import pytest
import torch

from headway.nn.convolution import (
    HALF,
    ConvolutionalDecoderLayer,
    ConvolutionalEncoderLayer,
    ConvolutionCache,
    GatedConvolution,
    SourceAttention,
    make_linear,
)

KERNELS = [1, 2, 3, 4, 5]


def sigmoid(x):
    return 1 / (1 + math.exp(-x))


def test_a_convolution_by_hand():
    """Width one, kernel two: `(2 x_i + 3 x_{i+1} + 0.5) * sigmoid(x_i - x_{i+1})`."""
    convolution = GatedConvolution(1, 2)
    with torch.no_grad():
        convolution.window.weight.copy_(torch.tensor([[2.0, 3.0], [1.0, -1.0]]))
        convolution.window.bias.copy_(torch.tensor([0.5, 0.0]))
    found = convolution(torch.tensor([[1.0], [2.0], [-1.0]]))
    expected = [8.5 * sigmoid(-1), 1.5 * sigmoid(3)]
    assert found.flatten().tolist() == pytest.approx(expected)


def test_an_input_shorter_than_its_window_gives_nothing():
    assert GatedConvolution(4, 3)(torch.ones(2, 5, 2, 4)).shape == (2, 5, 0, 4)


@pytest.mark.parametrize(("kernel", "seen"), [(1, [0]), (2, [0, 1]), (3, [-1, 0, 1])])
def test_what_an_encoder_layer_sees(kernel, seen):
    """The gradient of one position says which inputs it was made of."""
    torch.manual_seed(0)
    layer = ConvolutionalEncoderLayer(4, kernel, 0.0)
    x = torch.randn(1, 7, 4, requires_grad=True)
    layer(x, torch.ones(1, 7, dtype=torch.bool))[0, 3].sum().backward()
    assert x.grad[0].abs().sum(1).nonzero().flatten().tolist() == [3 + i for i in seen]


@pytest.mark.parametrize("kernel", KERNELS)
def test_padding_is_the_end_of_the_sentence(kernel):
    torch.manual_seed(0)
    layer, x = ConvolutionalEncoderLayer(4, kernel, 0.0), torch.randn(2, 6, 4)
    valid = torch.arange(6) < torch.tensor([[6], [2]])
    x[1, 2:] = torch.nan  # whatever stands there
    found = layer(x, valid)
    alone = layer(x[1:, :2], valid[1:, :2])
    torch.testing.assert_close(found[1, :2], alone[0])
    assert found[0].isfinite().all()


def memory_of(B=1, S=3):
    return torch.randn(B, 1, S, 4), torch.randn(B, 1, S, 4)


@pytest.mark.parametrize("kernel", KERNELS)
def test_what_a_decoder_layer_sees(kernel):
    """Itself and the kernel - 1 before it, whether they come together or were there before."""
    torch.manual_seed(0)
    layer, memory = ConvolutionalDecoderLayer(4, kernel, 0.0), memory_of()
    x = torch.randn(1, 1, 8, 4, requires_grad=True)
    before = torch.zeros(1, 1, kernel - 1, 4)
    whole, _ = layer(x, before, x, memory, None)
    whole[0, 0, 5].sum().backward()
    reached = x.grad[0, 0].abs().sum(1).nonzero().flatten().tolist()
    assert reached == list(range(5 - kernel + 1, 6))

    parts, earlier = [], before
    for part in x.split([1, 2, 5], dim=2):
        y, earlier = layer(part, earlier, part, memory, None)
        assert earlier.shape == before.shape
        parts.append(y)
    torch.testing.assert_close(torch.cat(parts, dim=2), whole)


def test_hypotheses_share_their_sentences_memory_and_nothing_else():
    torch.manual_seed(0)
    layer, memory = ConvolutionalDecoderLayer(4, 3, 0.0), memory_of(B=2)
    x, earlier = torch.randn(2, 3, 2, 4), torch.randn(2, 3, 2, 4)
    together, inputs = layer(x, earlier, x, memory, None)
    for b in range(2):
        for n in range(3):
            own = (slice(b, b + 1), slice(n, n + 1))
            alone, last = layer(
                x[own], earlier[own], x[own], tuple(m[b : b + 1] for m in memory), None
            )
            torch.testing.assert_close(together[own], alone)
            torch.testing.assert_close(inputs[own], last)


def test_a_query_is_made_of_state_and_embedding():
    """With `W = 0` the embedding alone decides: here it points at the second key."""
    attention = SourceAttention(2)
    with torch.no_grad():
        attention.query.weight.zero_()
        attention.out.weight.copy_(torch.eye(2))
    key = torch.tensor([[[[1.0, 0.0], [0.0, 1.0]]]])
    value = torch.tensor([[[[1.0, 2.0], [3.0, 5.0]]]])
    x, embedded = torch.tensor([[[7.0, 7.0]]]), torch.tensor([[[0.0, 2.0]]])
    weight = sigmoid(2 * HALF / math.sqrt(2))  # of the second key; the first has a score of zero
    context = torch.tensor([1.0, 2.0]) * (1 - weight) + torch.tensor([3.0, 5.0]) * weight
    found = attention(x, embedded, key, value, None)
    torch.testing.assert_close(found[0, 0], (7.0 + context) * HALF)


@pytest.mark.parametrize("rate", [0.0, 0.3])
def test_layers_keep_the_variance_of_their_input(rate):
    """In training, dropout included: that is what the initial weights are for."""
    torch.manual_seed(0)
    D, x = 64, torch.randn(8, 1, 200, 64)
    valid = torch.ones(8, 200, dtype=torch.bool)
    encoder = ConvolutionalEncoderLayer(D, 3, rate)
    assert encoder(x[:, 0], valid).var().item() == pytest.approx(1.0, abs=0.15)
    convolution = GatedConvolution(D, 3)
    assert convolution(x).var().item() == pytest.approx(1.0, abs=0.15)
    decoder = ConvolutionalDecoderLayer(D, 3, rate)
    key = torch.randn(8, 1, 50, D) * 1e-3  # every word alike: a mean of fifty
    value = torch.randn(8, 1, 50, D) * math.sqrt(50)
    found, _ = decoder(x, torch.zeros(8, 1, 2, D), x, (key, value), None)
    assert found.var().item() == pytest.approx(1.0, abs=0.15)
    assert make_linear(D, D)(x).var().item() == pytest.approx(1.0, abs=0.15)


def test_recent_inputs_follow_their_hypotheses():
    recent = ConvolutionCache(
        [torch.arange(12.0).view(2, 3, 1, 2), torch.arange(6.0).view(2, 3, 1, 1)], 7
    )
    parents = torch.tensor([[2, 2], [0, 1]])
    moved = recent.reorder(parents).keep(torch.tensor([1]))
    assert moved.inputs[0].tolist() == [[[[6.0, 7.0]], [[8.0, 9.0]]]]
    assert moved.inputs[1].tolist() == [[[[3.0]], [[4.0]]]]
    assert recent.fork().length == moved.length == 7

"""Gated convolutions over sequences and the layers made of them (Gehring et al. 2017).

The layers have no norm. Weights are initialised so that a layer keeps the variance of its input,
and every sum of two terms is multiplied by sqrt(0.5). A convolution does not pad: the encoder
surrounds its input with zeros, the decoder prepends its earlier inputs.
"""

import math

import torch
from torch import Tensor, nn
from torch.nn.functional import glu, pad

from .attend import Attends, attend
from .decoding import select
from .dropout import Dropout
from .masks import Mask

HALF = math.sqrt(0.5)
"""Factor that gives the sum of two independent terms the variance of one term."""
GATED = 3.0
"""Variance of a gate's input for which its output has variance 1. The paper's 4 holds for its
states of variance 0.01, half of which pass; ours have variance 1 and open the gates further."""


def make_linear(d_in: int, d_out: int, variance: float = 1.0) -> nn.Linear:
    """A linear layer with weights from `N(0, variance / d_in)` and a bias of 0 (section 3.5).

    Args:
        variance: of the output, for an input of variance 1. After dropout pass the keep
            probability, because dropout scales up the elements it keeps.
    """
    linear = nn.Linear(d_in, d_out)
    nn.init.normal_(linear.weight, std=math.sqrt(variance / d_in))
    nn.init.zeros_(linear.bias)
    return linear


class GatedConvolution(nn.Module):
    """`a * sigmoid(b)` with `[a, b] = W x_window + bias` for each window (Dauphin et al. 2017).

    Args:
        kept: keep probability of the dropout before it.
    """

    def __init__(self, d_model: int, kernel: int, kept: float = 1.0) -> None:
        super().__init__()
        self.kernel = kernel
        self.window = make_linear(kernel * d_model, 2 * d_model, GATED * kept)

    def forward(self, x: Tensor) -> Tensor:
        """x (..., T+k-1, D) -> (..., T, D)."""
        T = x.size(-2) - self.kernel + 1
        # Concatenated windows and one product: no slower than a convolution on a CPU, and the same
        # code for a sentence and for the single window of a step.
        windows = torch.cat([x[..., j : j + T, :] for j in range(self.kernel)], dim=-1)
        return glu(self.window(windows), dim=-1)


class ConvolutionalEncoderLayer(nn.Module):
    """A gated convolution around each position, and a residual connection.

    An even kernel looks one position further ahead than back.
    """

    def __init__(self, d_model: int, kernel: int, dropout: float) -> None:
        super().__init__()
        self.convolution = GatedConvolution(d_model, kernel, 1.0 - dropout)
        self.dropout = Dropout(dropout)

    def forward(self, x: Tensor, valid: Tensor) -> Tensor:
        """x (B, S, D), valid (B, S) -> (B, S, D); padding is read as zeros."""
        k = self.convolution.kernel
        inner = self.dropout(x).masked_fill(~valid[..., None], 0.0)
        inner = pad(inner, (0, 0, (k - 1) // 2, k // 2))
        return (x + self.convolution(inner)) * HALF


class SourceAttention(nn.Module):
    """Attention to the source with queries `d = W_d h + b_d + g`, g the target embedding (eq. 1).

    Scores are scaled by `1 / sqrt(D)`, unlike the paper's, whose states are ten times smaller.
    """

    attends: Attends = "cross"

    def __init__(self, d_model: int) -> None:
        super().__init__()
        self.query = make_linear(d_model, d_model)
        self.out = make_linear(d_model, d_model)

    def forward(
        self, x: Tensor, embedded: Tensor, key: Tensor, value: Tensor, mask: Mask | None
    ) -> Tensor:
        """x and embedded (B, Q, D), key and value (B, 1, S, D) -> (B, Q, D)."""
        query = (self.query(x) + embedded) * HALF
        context = attend(query[:, None], key, value, mask, owner=self)[:, 0]  # (B, Q, D)
        return (x + self.out(context)) * HALF


class ConvolutionalDecoderLayer(nn.Module):
    """A gated convolution over each position and its predecessors, then attention to the source."""

    def __init__(self, d_model: int, kernel: int, dropout: float) -> None:
        super().__init__()
        self.convolution = GatedConvolution(d_model, kernel, 1.0 - dropout)
        self.attention = SourceAttention(d_model)
        self.dropout = Dropout(dropout)

    def forward(
        self,
        x: Tensor,
        earlier: Tensor,
        embedded: Tensor,
        memory: tuple[Tensor, Tensor],
        mask: Mask | None,
    ) -> tuple[Tensor, Tensor]:
        """Outputs of the newest positions, and the last k-1 inputs, for the next call.

        Args:
            embedded: the target embeddings of these positions.
            memory: keys and values of the source, shared by all hypotheses of a sentence.

        Shape: x and embedded (B, N, t, D), earlier (B, N, k-1, D), memory (B, 1, S, D) each
            -> (B, N, t, D) and (B, N, k-1, D).
        """
        N, t = x.shape[1:3]
        inner = torch.cat([earlier, self.dropout(x)], dim=2)
        state = self.convolution(inner)
        # Hypotheses are folded into the query axis, so that the memory is not copied.
        state = self.attention(state.flatten(1, 2), embedded.flatten(1, 2), *memory, mask)
        return (x + state.unflatten(1, (N, t))) * HALF, inner[:, :, t:]


class ConvolutionCache:
    """The last k-1 inputs of each layer and the number of past tokens; a `decoding.Cache`.

    Shape: inputs (B, N, k-1, D) each, zeros before the first token.
    """

    def __init__(self, inputs: list[Tensor], length: int) -> None:
        self.inputs = inputs
        self.length = length

    def reorder(self, parents: Tensor) -> "ConvolutionCache":
        return ConvolutionCache([select(value, parents) for value in self.inputs], self.length)

    def keep(self, rows: Tensor) -> "ConvolutionCache":
        return ConvolutionCache([value[rows] for value in self.inputs], self.length)

    def fork(self) -> "ConvolutionCache":
        return ConvolutionCache(list(self.inputs), self.length)  # nothing is written in place

"""Gated convolutions over sequences and the layers made of them (Gehring et al. 2017).

There is no norm in these layers: weights start so that a layer keeps the variance of its input, and
every sum of two is multiplied by sqrt(0.5). A convolution reads windows and knows nothing of the
ends of a sequence: the encoder puts zeros around its input, the decoder its earlier inputs before.
"""

import math

import torch
from torch import Tensor, nn
from torch.nn.functional import glu, pad

from .attend import attend
from .dropout import Dropout
from .masks import Mask
from .step import select

HALF = math.sqrt(0.5)
"""What the sum of two is multiplied by, to have the variance of one."""
GATED = 3.0
"""Variance before a gate that leaves one behind it. The paper's 4 is for its states, of variance
0.01, where half a state passes; ours have variance one and open the gates further."""


def make_linear(d_in: int, d_out: int, variance: float = 1.0) -> nn.Linear:
    """Weights from `N(0, variance / d_in)`, no bias at first (section 3.5).

    Args:
        variance: of the output, for an input of variance one. Behind dropout it is the share that
            is kept, because the rest is scaled up by as much.
    """
    linear = nn.Linear(d_in, d_out)
    nn.init.normal_(linear.weight, std=math.sqrt(variance / d_in))
    nn.init.zeros_(linear.bias)
    return linear


class GatedConvolution(nn.Module):
    """`a * sigmoid(b)` with `[a, b] = W x_window + bias` (Dauphin et al. 2017): one per window.

    Args:
        kept: share of the input that dropout keeps.
    """

    def __init__(self, d_model: int, kernel: int, kept: float = 1.0) -> None:
        super().__init__()
        self.kernel = kernel
        self.window = make_linear(kernel * d_model, 2 * d_model, GATED * kept)

    def forward(self, x: Tensor) -> Tensor:
        """x (..., T+k-1, D) -> (..., T, D)."""
        T = x.size(-2) - self.kernel + 1
        # Windows side by side and one product: on a CPU no slower than a convolution, and the same
        # for a sentence and for the one window of a step.
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
        """x (B, S, D), valid (B, S) -> (B, S, D); padding is read as zeros, as what lies beyond."""
        k = self.convolution.kernel
        inner = self.dropout(x).masked_fill(~valid[..., None], 0.0)
        inner = pad(inner, (0, 0, (k - 1) // 2, k // 2))
        return (x + self.convolution(inner)) * HALF


class SourceAttention(nn.Module):
    """Queries from a state and the target embedding: `d = W_d h + b_d + g` (eq. 1).

    Scores are scaled by `1 / sqrt(D)`, unlike the paper's, whose states are ten times smaller.
    """

    def __init__(self, d_model: int) -> None:
        super().__init__()
        self.query = make_linear(d_model, d_model)
        self.out = make_linear(d_model, d_model)

    def forward(
        self, x: Tensor, embedded: Tensor, key: Tensor, value: Tensor, mask: Mask | None
    ) -> Tensor:
        """x and embedded (B, Q, D), key and value (B, 1, S, D) -> x with what it attends to."""
        query = (self.query(x) + embedded) * HALF
        context = attend(query[:, None], key, value, mask, owner=self)[:, 0]  # (B, Q, D)
        return (x + self.out(context)) * HALF


class ConvolutionalDecoderLayer(nn.Module):
    """A gated convolution over each position and those before it, then attention to the source."""

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
        """The newest positions of all hypotheses, and the inputs that the next ones will need.

        Args:
            embedded: the target embeddings of these positions.
            memory: keys and values of the source, for all hypotheses of a sentence.

        Shape: x and embedded (B, N, t, D), earlier (B, N, k-1, D), memory (B, 1, S, D) each
            -> (B, N, t, D) and (B, N, k-1, D).
        """
        N, t = x.shape[1:3]
        inner = torch.cat([earlier, self.dropout(x)], dim=2)
        state = self.convolution(inner)
        # Hypotheses are folded into the query axis: the memory is not copied.
        state = self.attention(state.flatten(1, 2), embedded.flatten(1, 2), *memory, mask)
        return (x + state.unflatten(1, (N, t))) * HALF, inner[:, :, t:]


class Recent:
    """A cache (`nn.step.Cache`): the last k-1 inputs of each layer, and how long the past is.

    Shape: inputs (B, N, k-1, D) each, zeros before the first token.
    """

    def __init__(self, inputs: list[Tensor], length: int) -> None:
        self.inputs = inputs
        self.length = length

    def reorder(self, parents: Tensor) -> "Recent":
        return Recent([select(value, parents) for value in self.inputs], self.length)

    def keep(self, rows: Tensor) -> "Recent":
        return Recent([value[rows] for value in self.inputs], self.length)

    def fork(self) -> "Recent":
        return Recent(list(self.inputs), self.length)  # nothing is written in place

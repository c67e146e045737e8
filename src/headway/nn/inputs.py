"""Input modules for vectors: linear projection, patches over time or over a grid, positions in two
axes, a convolutional stem, a class vector.

A module turns the vectors of a batch into the sequence that a model reads, with its mask. Model
families add positions in one axis and dropout, as they do for tokens.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Literal

import torch
from annotated_types import Ge, Le
from torch import Tensor, nn
from torch.nn.functional import gelu, pad

from ..errors import DataError
from ..file_limits import MODEL_SIZE
from .convolution import make_linear
from .positions import GridSinusoidal

LARGEST_PATCH, PATCHES = 16, 6
"""The default patch of series: this size at most, and at least so many of them."""
KERNEL = 3
"""Width of the convolutions of a stem."""


@dataclass(frozen=True)
class VectorInputConfig:
    """How a model reads vectors: the steps of a series, or the points of a grid such as an image.

    One element of the model's sequence is a patch.
    """

    patch: Annotated[int, Ge(1), Le(MODEL_SIZE)] | None = None
    """Steps of a patch; over a grid, its rows and its columns. Default: a sixth of the length of
    all inputs, or a sixteenth of the usual length if lengths differ; at most 16."""
    stride: Annotated[int, Ge(1), Le(MODEL_SIZE)] | None = None
    """Steps from the start of a patch to that of the next. Default: `patch`, without overlap."""
    stem: Literal["none", "convolution"] = "none"
    """`convolution` reads two convolutions of width 3 with GELU in place of patches, as Whisper and
    CCT do; `stride` is that of the second."""
    class_vector: bool = False
    """Puts a learned vector before the first patch; `pooling = "first"` is its state."""

    def __post_init__(self) -> None:
        if self.stem != "none" and self.width > 1:
            raise ValueError(
                f'patch = {self.patch} has no meaning with stem = "{self.stem}", which replaces '
                "patches; leave one of them out, or set stride"
            )
        if self.stem == "none" and self.patch is not None and self.hop > self.patch:
            raise ValueError(
                f"stride = {self.hop} is larger than patch = {self.patch}, so that steps between "
                f"patches would not be read; set patch = {self.hop} or a smaller stride"
            )

    @property
    def hop(self) -> int:
        """Steps from the start of a patch to the start of the next."""
        return self.stride or self.width

    @property
    def width(self) -> int:
        """Steps of a patch."""
        return self.patch or 1

    def resolve(self, usual: int) -> "VectorInputConfig":
        """The settings with every size.

        Args:
            usual: the patch of such inputs.
        """
        has_stem = self.stem != "none"
        patch = self.patch or (1 if has_stem else max(usual, self.stride or 1))
        stride = self.stride or patch
        return replace(self, patch=patch, stride=stride)

    def n_patches(self, n_steps: int) -> int:
        """Number of patches along an axis: one starts at every multiple of the stride."""
        return max(1, -(-n_steps // self.hop))

    def spans(self, n_steps: int) -> list[tuple[int, int]]:
        """First and last step of each patch along an axis, without the padding of the last ones.

        With a stem, these are the steps from one patch to the next; the convolutions also see the
        steps around them.
        """
        width = max(self.width, self.hop)
        starts = [number * self.hop for number in range(self.n_patches(n_steps))]
        return [(start, min(start + width, n_steps) - 1) for start in starts]


class VectorInput(nn.Module):
    """Vectors in one or two axes, as a sequence of width `d_model`.

    A patch starts at every multiple of the stride, and the end is padded with zeros up to a whole
    patch. A patch is valid if any of its steps is; invalid steps are read as zeros. So the patches
    of a sequence do not depend on the padding of its batch. A grid becomes a sequence row by row.

    Args:
        features: numbers of a vector.
        size: length of all inputs, or height and width; 0 if an axis has no fixed length. Shorter
            inputs are padded to it.
        grid_base: in two axes, the base of sinusoidal codes, half for the row and half for the
            column of a patch. None adds no codes.
    """

    def __init__(
        self,
        features: int,
        size: Sequence[int],
        d_model: int,
        config: VectorInputConfig,
        grid_base: float | None = None,
    ) -> None:
        super().__init__()
        self.config, self.size = config, tuple(size)
        if config.stem == "convolution":
            self.projection: nn.Module = Stem(features, d_model, config.hop, len(self.size))
        else:
            self.projection = Patches(features, d_model, config, len(self.size))
        has_codes = grid_base is not None and len(self.size) == 2
        self.codes = GridSinusoidal(d_model, grid_base or 1.0) if has_codes else nn.Identity()
        self.class_vector = None
        if config.class_vector:
            self.class_vector = nn.Parameter(0.02 * torch.randn(d_model))

    def forward(self, steps: Tensor, valid: Tensor) -> tuple[Tensor, Tensor]:
        """The sequence and its mask.

        Shape: steps (B, S, F) or (B, rows, columns, F), valid without F -> (B, S', D), (B, S').
        """
        steps, valid = self._pad(steps, valid)
        x = self.projection(steps.masked_fill(~valid[..., None], 0.0), valid)  # (B, *grid, D)
        width = max(self.config.width, self.config.hop)
        valid = windows(valid[..., None], width, self.config.hop).any(dim=-1)  # (B, *grid)
        x, valid = self.codes(x).flatten(1, -2), valid.flatten(1)
        if self.class_vector is None:
            return x, valid
        first = self.class_vector.to(x.dtype).expand(x.size(0), 1, -1)
        return torch.cat([first, x], dim=1), pad(valid, (1, 0), value=True)

    def grid(self, *sizes: int) -> tuple[int, ...]:
        """Number of patches along each axis, for inputs of these sizes."""
        wanted = zip(sizes, self.size, strict=True)
        return tuple(self.config.n_patches(max(n, fixed)) for n, fixed in wanted)

    @property
    def length(self) -> int:
        """Length of the sequence, class vector included; 0 if inputs have no fixed size."""
        if not all(self.size):
            return 0
        n_patches = 1
        for n in self.grid(*self.size):
            n_patches *= n
        return n_patches + (self.class_vector is not None)

    def _pad(self, steps: Tensor, valid: Tensor) -> tuple[Tensor, Tensor]:
        """Invalid steps at the end of each axis, up to whole patches."""
        sizes, hop = steps.shape[1:-1], self.config.hop
        too_large = any(0 < fixed < n for n, fixed in zip(sizes, self.size, strict=True))
        if len(sizes) == 2 and too_large:
            raise DataError(
                f"a grid of {sizes[0]} x {sizes[1]} is larger than the {self.size[0]} x "
                f"{self.size[1]} that this model reads; make it smaller"
            )
        last = max(self.config.width, hop) - hop
        more = [n * hop + last - size for n, size in zip(self.grid(*sizes), sizes, strict=True)]
        if any(more):
            ends = [side for extra in reversed(more) for side in (0, extra)]
            steps, valid = pad(steps, (0, 0, *ends)), pad(valid, ends)
        return steps, valid


class Patches(nn.Module):
    """A linear projection of each patch; vectors of variance 1 keep it."""

    def __init__(self, features: int, d_model: int, config: VectorInputConfig, n_axes: int) -> None:
        super().__init__()
        self.patch, self.hop = config.width, config.hop
        self.linear = make_linear(features * config.width**n_axes, d_model)

    def forward(self, steps: Tensor, valid: Tensor) -> Tensor:
        """steps (B, *axes, F), zero where not valid -> (B, *grid, D)."""
        projected: Tensor = self.linear(windows(steps, self.patch, self.hop))
        return projected


class Stem(nn.Module):
    """Two convolutions with GELU (Whisper, Radford et al. 2023; CCT, Hassani et al. 2021).

    Padding is zero in front of both, as if it were not there.
    """

    def __init__(self, features: int, d_model: int, stride: int, n_axes: int) -> None:
        super().__init__()
        make = nn.Conv1d if n_axes == 1 else nn.Conv2d
        self.first = make(features, d_model, KERNEL, padding=KERNEL // 2)
        self.second = make(d_model, d_model, KERNEL, stride, padding=KERNEL // 2)

    def forward(self, steps: Tensor, valid: Tensor) -> Tensor:
        """steps (B, *axes, F), zero where not valid -> (B, *grid, D)."""
        inner = gelu(self.first(steps.movedim(-1, 1)))
        inner = inner.masked_fill(~valid[:, None], 0.0)
        return gelu(self.second(inner)).movedim(1, -1)


def usual_patch(size: Sequence[int]) -> int:
    """The default patch of inputs of one length; 1 for others."""
    is_whole = len(size) == 1 and size[0]
    return max(1, min(LARGEST_PATCH, size[0] // PATCHES)) if is_whole else 1


def windows(x: Tensor, size: int, stride: int) -> Tensor:
    """All windows of `size` steps along each axis. Shape: (B, *axes, F) -> (B, *grid, size^n F)."""
    n_axes = x.dim() - 2
    for axis in range(1, n_axes + 1):
        x = x.unfold(axis, size, stride)
    return x.movedim(n_axes + 1, -1).flatten(n_axes + 1)  # steps first, then features

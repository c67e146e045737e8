"""How the library keeps a tensor that we keep otherwise. Each transform can be undone.

`give` turns a tensor of ours into one or more of theirs, `take` turns those back.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor


class Transform(Protocol):
    """Between one tensor of ours and those that the library has for it."""

    def give(self, ours: Tensor) -> tuple[Tensor, ...]: ...

    def take(self, theirs: Sequence[Tensor]) -> Tensor: ...


@dataclass(frozen=True)
class Same:
    """The tensor as it is."""

    def give(self, ours: Tensor) -> tuple[Tensor, ...]:
        return (ours,)

    def take(self, theirs: Sequence[Tensor]) -> Tensor:
        (only,) = theirs
        return only


@dataclass(frozen=True)
class Transposed:
    """A matrix that multiplies from the other side, as those of `Conv1D`."""

    def give(self, ours: Tensor) -> tuple[Tensor, ...]:
        return (ours.mT,)

    def take(self, theirs: Sequence[Tensor]) -> Tensor:
        (only,) = theirs
        return only.mT


@dataclass(frozen=True)
class Packed:
    """Several tensors of theirs are one of ours, each a part of its rows.

    Attributes:
        parts: how many; they have the same size.
    """

    parts: int

    def give(self, ours: Tensor) -> tuple[Tensor, ...]:
        return ours.chunk(self.parts)

    def take(self, theirs: Sequence[Tensor]) -> Tensor:
        return torch.cat(list(theirs))


@dataclass(frozen=True)
class Reserved:
    """A table of positions whose first rows no position ever has."""

    rows: int

    def give(self, ours: Tensor) -> tuple[Tensor, ...]:
        return (torch.cat([ours.new_zeros(self.rows, ours.size(1)), ours]),)

    def take(self, theirs: Sequence[Tensor]) -> Tensor:
        (only,) = theirs
        return only[self.rows :]


@dataclass(frozen=True)
class AsRow:
    """A vector that is kept as a matrix of one row."""

    def give(self, ours: Tensor) -> tuple[Tensor, ...]:
        return (ours[None],)

    def take(self, theirs: Sequence[Tensor]) -> Tensor:
        (only,) = theirs
        return only[0]

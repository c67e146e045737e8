"""A table of weights at work: tensors of ours under the library's names, and the way back.

Both directions go through the same rows, and nothing is passed over: what a file lacks, has too
much of, or holds in another shape is named.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from .rows import Row, Rows

FORMULA = 1e-3
"""How far stored positions may be from the formula; files of half precision round."""

Tensors = Mapping[str, Tensor]


@dataclass(frozen=True)
class Mismatch:
    """Where a file and a table do not agree, by the library's names.

    Attributes:
        misshapen: the shape that was found and the one that was expected.
        unequal: tied weights that differ.
        unfit: values that follow from the settings, and are others.
    """

    missing: list[str]
    unexpected: list[str]
    misshapen: dict[str, tuple[tuple[int, ...], tuple[int, ...]]]
    unequal: list[tuple[str, str]]
    unfit: list[str]

    def __bool__(self) -> bool:
        return any((self.missing, self.unexpected, self.misshapen, self.unequal, self.unfit))


class Table:
    """Rows, and the order in which the library has the channels of the residual stream.

    Args:
        order: of our channels; None if they stand in the same order.
    """

    def __init__(self, rows: Rows, order: Tensor | None = None) -> None:
        self.rows = list(rows)
        self.order = order
        self.back = None if order is None else order.argsort()

    def give(self, ours: Tensors) -> dict[str, Tensor]:
        """What an export holds, by the library's names."""
        written = [row for row in self.rows if row.is_written]
        return {name: tensor for row in written for name, tensor in self._given(row, ours)}

    def take(self, theirs: Tensors) -> dict[str, Tensor]:
        """Tensors by our names, from a file that has no `mismatch`."""
        found = {}
        for row in self.rows:
            parts = [next(_present(row, name, theirs), None) for name in row.theirs]
            tensors = [theirs[name] for name in parts if name is not None]
            if tensors:
                ours = row.transform.take(tensors)
                found[row.ours] = _ordered(ours, row, self.back)
        return found

    def mismatch(self, ours: Tensors, theirs: Tensors) -> Mismatch:
        """Holds a file against the table.

        Args:
            ours: every tensor that the rows name, with the shapes that the settings give it; those
                that are implied with their values.
        """
        found = Mismatch([], [], {}, [], [])
        known = set()
        for row in self.rows:
            for name, expected in self._given(row, ours):
                here = list(_present(row, name, theirs))
                known.update(here)
                self._compare(row, name, expected, {other: theirs[other] for other in here}, found)
        found.unexpected.extend(name for name in theirs if name not in known)
        return found

    @staticmethod
    def _compare(row: Row, name: str, expected: Tensor, held: Tensors, found: Mismatch) -> None:
        if not held and not row.is_implied:
            found.missing.append(name)
        first = next(iter(held), name)
        for other, tensor in held.items():
            if tensor.shape != expected.shape:
                found.misshapen[other] = (tuple(tensor.shape), tuple(expected.shape))
            elif not torch.equal(tensor, held[first]):
                found.unequal.append((first, other))
            elif row.is_implied and not _is_close(tensor, expected):
                found.unfit.append(other)

    def _given(self, row: Row, ours: Tensors) -> Iterator[tuple[str, Tensor]]:
        ordered = _ordered(ours[row.ours], row, self.order)
        yield from zip(row.theirs, row.transform.give(ordered), strict=True)


def _present(row: Row, name: str, theirs: Tensors) -> Iterator[str]:
    """The names under which a file holds a tensor."""
    return (other for other in (name, *row.aliases) if other in theirs)


def _ordered(tensor: Tensor, row: Row, order: Tensor | None) -> Tensor:
    if order is None or row.stream is None:
        return tensor
    return tensor.index_select(row.stream, order)


def _is_close(tensor: Tensor, expected: Tensor) -> bool:
    return torch.allclose(tensor.float(), expected.float(), rtol=0, atol=FORMULA)


def listed(names: list[str]) -> str:
    """Names in one line; those that differ by the number of a layer only are one."""
    groups: dict[str, list[str]] = {}
    for name in names:
        number = re.search(r"(?<=\.)\d+(?=\.)", name)
        key = name if number is None else f"{name[: number.start()]}*{name[number.end() :]}"
        groups.setdefault(key, []).append("" if number is None else number[0])
    return ", ".join(
        key if numbers == [""] else key.replace("*", _numbers(numbers), 1)
        for key, numbers in groups.items()
    )


def _numbers(numbers: list[str]) -> str:
    return numbers[0] if len(numbers) == 1 else "{" + ",".join(numbers) + "}"

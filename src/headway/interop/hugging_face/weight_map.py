"""Maps our tensors to the library's tensors and back, through one table of rows.

Nothing is passed over in silence: missing, unexpected, misshapen and contradictory tensors are
reported by name. The rows themselves are in the files of the architectures.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import torch
from torch import Tensor, nn


class Transform(Protocol):
    """Converts one tensor of ours to the library's tensors and back."""

    def to_hf(self, ours: Tensor) -> tuple[Tensor, ...]: ...

    def from_hf(self, theirs: Sequence[Tensor]) -> Tensor: ...


@dataclass(frozen=True)
class Same:
    """One tensor, unchanged."""

    def to_hf(self, ours: Tensor) -> tuple[Tensor, ...]:
        return (ours,)

    def from_hf(self, theirs: Sequence[Tensor]) -> Tensor:
        (only,) = theirs
        return only


@dataclass(frozen=True)
class Transposed:
    """A transposed matrix, as in the library's `Conv1D`."""

    def to_hf(self, ours: Tensor) -> tuple[Tensor, ...]:
        return (ours.mT,)

    def from_hf(self, theirs: Sequence[Tensor]) -> Tensor:
        (only,) = theirs
        return only.mT


@dataclass(frozen=True)
class Packed:
    """Several tensors of equal size, stacked along the rows of one of ours."""

    parts: int

    def to_hf(self, ours: Tensor) -> tuple[Tensor, ...]:
        return ours.chunk(self.parts)

    def from_hf(self, theirs: Sequence[Tensor]) -> Tensor:
        return torch.cat(list(theirs))


@dataclass(frozen=True)
class OffsetPositions:
    """A position table that begins with rows which no position uses."""

    rows: int

    def to_hf(self, ours: Tensor) -> tuple[Tensor, ...]:
        return (torch.cat([ours.new_zeros(self.rows, ours.size(1)), ours]),)

    def from_hf(self, theirs: Sequence[Tensor]) -> Tensor:
        (only,) = theirs
        return only[self.rows :]


@dataclass(frozen=True)
class Unsqueezed:
    """A vector, stored as a matrix of one row."""

    def to_hf(self, ours: Tensor) -> tuple[Tensor, ...]:
        return (ours[None],)

    def from_hf(self, theirs: Sequence[Tensor]) -> Tensor:
        (only,) = theirs
        return only[0]


SAME = Same()


@dataclass(frozen=True)
class WeightRow:
    """One tensor of ours and its names in both libraries.

    Attributes:
        theirs: one name, or several where we pack the library's tensors into one.
        stream_axis: axis of our tensor that indexes the channels of the residual stream, if any.
        aliases: other names of tied weights; a file may use any of them, and all must be equal.
        is_implied: the values follow from the settings; a file may leave the tensor out.
        is_written: whether an export contains it.
    """

    theirs: tuple[str, ...]
    ours: str
    transform: Transform = SAME
    stream_axis: int | None = None
    aliases: tuple[str, ...] = ()
    is_implied: bool = False
    is_written: bool = True


Rows = Iterable[WeightRow]


def matrix(theirs: str, ours: str, *aliases: str) -> WeightRow:
    """An embedding matrix: each row is a vector of the residual stream."""
    return WeightRow((theirs,), ours, stream_axis=1, aliases=aliases)


def reads(
    theirs: str, ours: str, transform: Transform = SAME, bias: bool = True
) -> Iterator[WeightRow]:
    """A linear layer whose input is the residual stream."""
    yield WeightRow((f"{theirs}.weight",), f"{ours}.weight", transform, stream_axis=1)
    if bias:
        yield WeightRow((f"{theirs}.bias",), f"{ours}.bias")


def writes(
    theirs: str, ours: str, transform: Transform = SAME, bias: bool = True
) -> Iterator[WeightRow]:
    """A linear layer whose output is added to the residual stream."""
    yield WeightRow((f"{theirs}.weight",), f"{ours}.weight", transform, stream_axis=0)
    if bias:
        yield WeightRow((f"{theirs}.bias",), f"{ours}.bias", stream_axis=0)


def packed(theirs: Sequence[str], ours: str, bias: bool = True) -> Iterator[WeightRow]:
    """Linear layers over the residual stream that are one layer of ours."""
    parts = Packed(len(theirs))
    weights = tuple(f"{name}.weight" for name in theirs)
    yield WeightRow(weights, f"{ours}.weight", parts, stream_axis=1)
    if bias:
        yield WeightRow(tuple(f"{name}.bias" for name in theirs), f"{ours}.bias", parts)


def norm(theirs: str, ours: str, bias: bool = True) -> Iterator[WeightRow]:
    """A norm of the residual stream."""
    for part in ("weight", "bias") if bias else ("weight",):
        yield WeightRow((f"{theirs}.{part}",), f"{ours}.{part}", stream_axis=0)


def prefixed(theirs: str, ours: str, rows: Rows) -> Iterator[WeightRow]:
    """The rows with a prefix before each name."""
    for row in rows:
        yield replace(
            row,
            theirs=tuple(f"{theirs}{name}" for name in row.theirs),
            ours=f"{ours}{row.ours}",
            aliases=tuple(f"{theirs}{name}" for name in row.aliases),
        )


def stack(theirs: str, ours: str, n_layers: int, rows: Sequence[WeightRow]) -> Iterator[WeightRow]:
    """The rows of one layer, repeated for each layer of a stack."""
    for i in range(n_layers):
        yield from prefixed(f"{theirs}.{i}.", f"{ours}.{i}.", rows)


FORMULA_TOLERANCE = 1e-3
"""Largest difference of stored positions from their formula; half precision rounds."""

Tensors = Mapping[str, Tensor]


@dataclass(frozen=True)
class Mismatch:
    """Differences between a file and a weight map, by the library's names.

    Attributes:
        wrong_shapes: name -> (shape in the file, expected shape).
        unequal: pairs of tied weights that differ.
        wrong_values: tensors that contradict the settings they follow from.
    """

    missing: list[str] = field(default_factory=list)
    unexpected: list[str] = field(default_factory=list)
    wrong_shapes: dict[str, tuple[tuple[int, ...], tuple[int, ...]]] = field(default_factory=dict)
    unequal: list[tuple[str, str]] = field(default_factory=list)
    wrong_values: list[str] = field(default_factory=list)

    def __bool__(self) -> bool:
        differences = (self.missing, self.unexpected, self.wrong_shapes, self.unequal)
        return any((*differences, self.wrong_values))


class WeightMap:
    """The weights of one model in both libraries.

    Args:
        order: the library's order of our residual-stream channels; None if it is ours.
    """

    def __init__(self, rows: Rows, order: Tensor | None = None) -> None:
        self.rows = list(rows)
        self._order = order
        self._inverse = None if order is None else order.argsort()

    def to_hf(self, ours: Tensors) -> dict[str, Tensor]:
        """The tensors of an export, by the library's names."""
        written = [row for row in self.rows if row.is_written]
        return {name: tensor for row in written for name, tensor in self._row_to_hf(row, ours)}

    def from_hf(self, theirs: Tensors) -> dict[str, Tensor]:
        """Tensors by our names, from a file that has no `mismatch`."""
        converted = {}
        for row in self.rows:
            names = [next(_names_in_file(row, name, theirs), None) for name in row.theirs]
            tensors = [theirs[name] for name in names if name is not None]
            if tensors:
                ours = row.transform.from_hf(tensors)
                converted[row.ours] = _reorder(ours, row, self._inverse)
        return converted

    def mismatch(self, ours: Tensors, theirs: Tensors) -> Mismatch:
        """Compares a file with the rows.

        Args:
            ours: every tensor that the rows name, in the shapes that the settings give; implied
                ones with their values.
        """
        mismatch = Mismatch()
        known: set[str] = set()
        for row in self.rows:
            for name, expected in self._row_to_hf(row, ours):
                candidates = {other: theirs[other] for other in _names_in_file(row, name, theirs)}
                known.update(candidates)
                self._compare(row, name, expected, candidates, mismatch)
        mismatch.unexpected.extend(name for name in theirs if name not in known)
        return mismatch

    @staticmethod
    def _compare(
        row: WeightRow, name: str, expected: Tensor, candidates: Tensors, mismatch: Mismatch
    ) -> None:
        if not candidates and not row.is_implied:
            mismatch.missing.append(name)
        first = next(iter(candidates), name)
        for other, tensor in candidates.items():
            if tensor.shape != expected.shape:
                mismatch.wrong_shapes[other] = (tuple(tensor.shape), tuple(expected.shape))
            elif not torch.equal(tensor, candidates[first]):
                mismatch.unequal.append((first, other))
            elif row.is_implied and not _is_close(tensor, expected):
                mismatch.wrong_values.append(other)

    def _row_to_hf(self, row: WeightRow, ours: Tensors) -> Iterator[tuple[str, Tensor]]:
        reordered = _reorder(ours[row.ours], row, self._order)
        yield from zip(row.theirs, row.transform.to_hf(reordered), strict=True)


def _names_in_file(row: WeightRow, name: str, theirs: Tensors) -> Iterator[str]:
    """The names under which a file has a tensor: its own and its aliases."""
    return (other for other in (name, *row.aliases) if other in theirs)


def _reorder(tensor: Tensor, row: WeightRow, order: Tensor | None) -> Tensor:
    if order is None or row.stream_axis is None:
        return tensor
    return tensor.index_select(row.stream_axis, order)


def _is_close(tensor: Tensor, expected: Tensor) -> bool:
    return torch.allclose(tensor.float(), expected.float(), rtol=0, atol=FORMULA_TOLERANCE)


def format_names(names: list[str]) -> str:
    """Tensor names in one line; names that differ only in the layer number are joined."""
    groups: dict[str, list[str]] = {}
    for name in names:
        number = re.search(r"(?<=\.)\d+(?=\.)", name)
        key = name if number is None else f"{name[: number.start()]}*{name[number.end() :]}"
        groups.setdefault(key, []).append("" if number is None else number[0])
    return ", ".join(
        key if numbers == [""] else key.replace("*", _format_numbers(numbers), 1)
        for key, numbers in groups.items()
    )


def _format_numbers(numbers: list[str]) -> str:
    return numbers[0] if len(numbers) == 1 else "{" + ",".join(numbers) + "}"


@torch.no_grad()
def materialize(model: nn.Module, rows: list[WeightRow], n_positions: int) -> dict[str, Tensor]:
    """Every tensor that the rows name, by our names, on the CPU.

    A bias that the model lacks becomes zeros; positions that are no weights become a table.

    Args:
        n_positions: length of such a table.
    """
    config: Any = model.config
    tensors = {name: tensor.cpu() for name, tensor in model.state_dict().items()}
    for row in rows:
        module, _, part = row.ours.rpartition(".")
        if row.ours in tensors:
            continue
        if part == "bias":
            tensors[row.ours] = torch.zeros(tensors[f"{module}.weight"].size(0))
        else:
            positions = model.get_submodule(module)
            tensors[row.ours] = position_table(positions, n_positions, config.d_model)
    return tensors


@torch.no_grad()
def position_table(positions: nn.Module, n_positions: int, d_model: int) -> Tensor:
    """What a module of positions adds to the first `n_positions` vectors. Shape: (T, D)."""
    weight = getattr(positions, "weight", torch.empty(0))
    table: Tensor = positions(torch.zeros(n_positions, d_model, device=weight.device))
    return table.cpu().clone()

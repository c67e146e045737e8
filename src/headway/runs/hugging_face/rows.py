"""The rows of a table of weights: what the library calls a tensor, what we call it, how it changes.

A family's table is written with the short words below: most weights are linear layers and norms,
and most names repeat for every layer of a stack.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from .transforms import Packed, Same, Transform

SAME = Same()


@dataclass(frozen=True)
class Row:
    """One tensor of ours under both names.

    Attributes:
        theirs: one name, or several where the library keeps apart what we pack.
        stream: the axis of ours along which the residual stream lies, if one does.
        aliases: where weights are tied, the other names of the same tensor: a file may hold any of
            them, and what it holds must be equal.
        is_implied: it follows from the settings. A file may lack it, and must hold the same if not.
        is_written: whether an export holds it.
    """

    theirs: tuple[str, ...]
    ours: str
    transform: Transform = SAME
    stream: int | None = None
    aliases: tuple[str, ...] = ()
    is_implied: bool = False
    is_written: bool = True


Rows = Iterable[Row]


def matrix(theirs: str, ours: str, *aliases: str) -> Row:
    """A table with one vector of the residual stream in each row: embeddings, learned positions."""
    return Row((theirs,), ours, stream=1, aliases=aliases)


def reads(theirs: str, ours: str, transform: Transform = SAME, bias: bool = True) -> Iterator[Row]:
    """A linear layer that reads the residual stream."""
    yield Row((f"{theirs}.weight",), f"{ours}.weight", transform, stream=1)
    if bias:
        yield Row((f"{theirs}.bias",), f"{ours}.bias")


def writes(theirs: str, ours: str, transform: Transform = SAME, bias: bool = True) -> Iterator[Row]:
    """A linear layer whose output is added to the residual stream."""
    yield Row((f"{theirs}.weight",), f"{ours}.weight", transform, stream=0)
    if bias:
        yield Row((f"{theirs}.bias",), f"{ours}.bias", stream=0)


def packed(theirs: Sequence[str], ours: str, bias: bool = True) -> Iterator[Row]:
    """Linear layers that read the residual stream, which are one of ours."""
    parts = Packed(len(theirs))
    yield Row(tuple(f"{name}.weight" for name in theirs), f"{ours}.weight", parts, stream=1)
    if bias:
        yield Row(tuple(f"{name}.bias" for name in theirs), f"{ours}.bias", parts)


def norm(theirs: str, ours: str, bias: bool = True) -> Iterator[Row]:
    """A norm of the residual stream."""
    for part in ("weight", "bias") if bias else ("weight",):
        yield Row((f"{theirs}.{part}",), f"{ours}.{part}", stream=0)


def under(theirs: str, ours: str, rows: Rows) -> Iterator[Row]:
    """Rows whose names stand behind others."""
    for row in rows:
        yield replace(
            row,
            theirs=tuple(f"{theirs}{name}" for name in row.theirs),
            ours=f"{ours}{row.ours}",
            aliases=tuple(f"{theirs}{name}" for name in row.aliases),
        )


def stack(theirs: str, ours: str, n_layers: int, rows: Sequence[Row]) -> Iterator[Row]:
    """The rows of a layer for each of a stack."""
    for i in range(n_layers):
        yield from under(f"{theirs}.{i}.", f"{ours}.{i}.", rows)

"""A small run file's classes: every kind of key that the machinery must read."""

from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from annotated_types import Ge, Gt, Lt, MinLen

from headway.config import Choice


@dataclass(frozen=True)
class Columns:
    source: str
    """The side that is read."""
    target: str | None = None


@dataclass(frozen=True)
class Data:
    """Where examples come from."""

    train: str | Columns | list[str | Columns]
    """Training examples: a table's name, two files, or several of them."""
    root: str | None = None
    weights: tuple[Annotated[float, Gt(0)], ...] = ()
    span: tuple[int, int] = (0, 1)


@dataclass(frozen=True)
class Train:
    """How the model learns."""

    lr: Annotated[float, Gt(0)] = 1e-3
    """Peak learning rate | of the schedule."""
    steps: Annotated[int, Ge(1)] = 100
    dropout_rate: Annotated[float, Ge(0), Lt(1)] = 0.1
    clip: Annotated[float, Gt(0)] | None = 1.0
    patience: Annotated[int | None, Ge(1)] = None
    batch: Annotated[int, Ge(1)] | Literal["auto"] = "auto"
    shuffle: bool = True
    groups: dict[str, float] = field(default_factory=dict)
    names: Annotated[list[str], MinLen(1)] = field(default_factory=lambda: ["a"])


@dataclass(frozen=True)
class Transformer:
    """Attention all the way."""

    family: str = "transformer"
    d_model: Annotated[int, Ge(1)] = 64
    n_heads: Annotated[int, Ge(1)] = 4
    dropout: float = 0.1
    norm: Literal["layer", "rms"] = "layer"

    def __post_init__(self) -> None:
        if self.d_model % self.n_heads:
            raise ValueError(
                f"d_model={self.d_model} is not divisible by n_heads={self.n_heads}; try n_heads=1"
            )


@dataclass(frozen=True)
class Gru:
    """One cell after the other; the name `gru` is known to the table alone."""

    d_model: Annotated[int, Ge(1)] = 32
    cells: int = 1
    normed: bool = False


def families() -> dict[str, type]:
    return {"transformer": Transformer, "gru": Gru}


@dataclass(frozen=True)
class Run:
    data: Data
    task: str = "translate"
    """What the model is trained for."""
    train: Train = field(default_factory=Train)
    model: Annotated[Any, Choice("family", families, "transformer")] = field(
        default_factory=Transformer
    )

"""Settings under both names: what `config.json` says and what `[model]` says, both ways.

A layout lists its settings once. Read, they give the settings of a model of ours and name what of
`config.json` it cannot express; written, they give `config.json` and name what of a model the
library cannot express.
"""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from ..obstacles import Obstacles

ACTIVATIONS = {
    "relu": "relu",
    "gelu": "gelu",
    "gelu_pytorch_tanh": "gelu_tanh",
    "gelu_new": "gelu_tanh",
    "gelu_fast": "gelu_tanh",
    "silu": "silu",
    "swish": "silu",
}
"""Theirs and ours; of several names for one, the first is written."""


@dataclass
class Reading:
    """`config.json`, and what is found while it is read.

    Attributes:
        names: of the tensors that lie beside it.
        pooling: how sentence-transformers makes the vector of a text, if files beside it say so.
        obstacles: what our models cannot express.
        notes: what was left out, with the reason: it is said.
        left_out: beginnings of the names of tensors that are not needed.
    """

    config: Mapping[str, Any]
    names: frozenset[str] = frozenset()
    pooling: Literal["mean", "first"] | None = None
    obstacles: Obstacles = field(default_factory=Obstacles)
    notes: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)

    def get(self, name: str, default: Any) -> Any:
        """An entry; what is left out or null is as the library has it."""
        value = self.config.get(name)
        return default if value is None else value

    def holds(self, beginning: str) -> bool:
        """Whether there is a tensor whose name begins so."""
        return any(name.startswith(beginning) for name in self.names)


class Setting(Protocol):
    """One setting, or several that go together."""

    def read(self, given: Reading) -> dict[str, Any]:
        """Settings of ours from `config.json`."""

    def write(self, model: Any) -> dict[str, Any]:
        """Entries of `config.json` from settings of ours."""

    def check(self, model: Any, found: Obstacles) -> None:
        """Names the settings of ours that the library has no place for."""


@dataclass(frozen=True)
class Key:
    """A setting that both have.

    Attributes:
        theirs: one name, or several that have to agree because we have one for all.
        default: what the library takes where `config.json` says nothing.
        values: theirs and ours, where they differ; what is missing cannot be expressed.
        is_rate: of dropping, in training: where theirs do not agree the first is taken, and said.
    """

    theirs: tuple[str, ...]
    ours: str
    default: Any
    values: Mapping[Any, Any] | None = None
    is_rate: bool = False

    def read(self, given: Reading) -> dict[str, Any]:
        found = {name: given.get(name, self.default) for name in self.theirs}
        value = found[self.theirs[0]]
        for name, other in found.items():
            if other != value and self.is_rate:
                given.notes.append(
                    f"{name} = {other} is {value} here: model.{self.ours} is one rate for all"
                )
            elif other != value:
                first = f"{self.theirs[0]} = {value}"
                given.obstacles.add(name, other, f"{first}, and model.{self.ours} is one for both")
        if self.values is None:
            return {self.ours: value}
        if not isinstance(value, Hashable) or value not in self.values:
            given.obstacles.add(self.theirs[0], value, f"one of {', '.join(map(str, self.values))}")
            return {}
        return {self.ours: self.values[value]}

    def write(self, model: Any) -> dict[str, Any]:
        value = getattr(model, self.ours)
        if self.values is not None:
            value = next(theirs for theirs, ours in self.values.items() if ours == value)
        return dict.fromkeys(self.theirs, value)

    def check(self, model: Any, found: Obstacles) -> None:
        value = getattr(model, self.ours)
        if self.values is not None and value not in self.values.values():
            known = ", ".join(dict.fromkeys(map(str, self.values.values())))
            found.add(f"model.{self.ours}", value, f"one of {known}")


@dataclass(frozen=True)
class Only:
    """An entry of `config.json` of which we have one value, which is the library's usual one."""

    theirs: str
    value: Any
    reason: str

    def read(self, given: Reading) -> dict[str, Any]:
        value = given.get(self.theirs, self.value)
        if value != self.value:
            given.obstacles.add(self.theirs, value, self.reason)
        return {}

    def write(self, model: Any) -> dict[str, Any]:
        return {}

    def check(self, model: Any, found: Obstacles) -> None:
        """Every model of ours has that value."""


@dataclass(frozen=True)
class Training:
    """A rate of theirs for training that we do not have; unless it is zero, it is said."""

    theirs: str

    def read(self, given: Reading) -> dict[str, Any]:
        value = given.get(self.theirs, 0.0)
        if value:
            given.notes.append(f"{self.theirs} = {value} is left out: headway has no such rate")
        return {}

    def write(self, model: Any) -> dict[str, Any]:
        return {}

    def check(self, model: Any, found: Obstacles) -> None:
        """Nothing of ours is asked for."""


@dataclass(frozen=True)
class BuiltIn:
    """A setting of ours that the library's model has built in.

    Attributes:
        allowed: other values that can be written as well.
    """

    ours: str
    value: Any
    reason: str
    allowed: tuple[Any, ...] = ()

    def read(self, given: Reading) -> dict[str, Any]:
        return {self.ours: self.value}

    def write(self, model: Any) -> dict[str, Any]:
        return {}

    def check(self, model: Any, found: Obstacles) -> None:
        value = getattr(model, self.ours)
        if value != self.value and value not in self.allowed:
            found.add(f"model.{self.ours}", value, self.reason)


@dataclass(frozen=True)
class Heads:
    """Heads whose widths add up to that of the model.

    Attributes:
        width, heads: what the library calls the two, and their usual values.
    """

    width: tuple[str, int]
    heads: tuple[str, int]

    def read(self, given: Reading) -> dict[str, Any]:
        width, heads = given.get(*self.width), given.get(*self.heads)
        if not isinstance(width, int) or not isinstance(heads, int) or heads < 1 or width % heads:
            given.obstacles.add(self.heads[0], heads, f"must divide {self.width[0]} = {width}")
            return {}
        return {"d_head": width // heads, "d_value": width // heads}

    def write(self, model: Any) -> dict[str, Any]:
        return {}

    def check(self, model: Any, found: Obstacles) -> None:
        if model.d_head * model.n_heads != model.d_model:
            even = model.d_model / model.n_heads
            found.add("model.d_head", model.d_head, f"must be d_model / n_heads = {even:g}")
        if model.d_value != model.d_head:
            found.add("model.d_value", model.d_value, f"must be d_head = {model.d_head}")


LAYER_NORM = BuiltIn("norm", "layer", "only layer normalisation")
BARE_EMBEDDINGS = BuiltIn("embedding_norm", False, "no norm after the embeddings")
UNGATED = BuiltIn("gated", False, "no gates")
SCALED_DOT = BuiltIn("score", "scaled_dot", "only scaled dot products")
WITH_BIAS = BuiltIn("bias", True, "", allowed=(False,))  # none is written as zeros

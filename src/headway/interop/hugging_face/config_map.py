"""Maps settings of `[model]` to entries of `config.json` and back.

An architecture lists its mappings once. An import reads our settings through them and collects the
entries that headway cannot express; an export writes `config.json` through them and collects the
settings that transformers cannot express.
"""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from ..unsupported import UnsupportedSettings

ACTIVATIONS = {
    "relu": "relu",
    "gelu": "gelu",
    "gelu_pytorch_tanh": "gelu_tanh",
    "gelu_new": "gelu_tanh",
    "gelu_fast": "gelu_tanh",
    "silu": "silu",
    "swish": "silu",
}
"""Names in transformers -> ours; where several map to one of ours, an export writes the first."""


@dataclass
class ConfigReader:
    """`config.json` of an imported model, and what reading it brings to light.

    Attributes:
        names: of the tensors in the folder.
        pooling: pooling of sentence-transformers, if the folder has its files.
        obstacles: entries that our models cannot express.
        notes: what the import leaves out, with the reason; shown to the user.
        ignored_prefixes: prefixes of the tensors that the import leaves out.
    """

    config: Mapping[str, Any]
    names: frozenset[str] = frozenset()
    pooling: Literal["mean", "first"] | None = None
    obstacles: UnsupportedSettings = field(default_factory=UnsupportedSettings)
    notes: list[str] = field(default_factory=list)
    ignored_prefixes: list[str] = field(default_factory=list)

    def get(self, name: str, default: Any) -> Any:
        """An entry; the default if it is missing or null."""
        value = self.config.get(name)
        return default if value is None else value

    def has_tensor(self, prefix: str) -> bool:
        """Whether the folder has a tensor whose name begins with `prefix`."""
        return any(name.startswith(prefix) for name in self.names)


class ConfigMapping:
    """One setting, or several that belong together; subclasses override what they need."""

    def read(self, reader: ConfigReader) -> dict[str, Any]:
        """Our settings, from `config.json`."""
        return {}

    def write(self, model: Any) -> dict[str, Any]:
        """Entries of `config.json`, from our settings."""
        return {}

    def check(self, model: Any, obstacles: UnsupportedSettings) -> None:
        """Adds our settings that transformers cannot express to `obstacles`."""


@dataclass(frozen=True)
class RenamedKey(ConfigMapping):
    """A setting that both libraries have.

    Attributes:
        theirs: one name, or several that must agree because we have a single setting for them.
        default: the library's, for a `config.json` without the entry.
        values: theirs -> ours, where the values differ; any other value is an obstacle.
        is_rate: a dropout rate; if theirs disagree, the import takes the first and notes it.
    """

    theirs: tuple[str, ...]
    ours: str
    default: Any
    values: Mapping[Any, Any] | None = None
    is_rate: bool = False

    def read(self, reader: ConfigReader) -> dict[str, Any]:
        entries = {name: reader.get(name, self.default) for name in self.theirs}
        value = entries[self.theirs[0]]
        for name, other in entries.items():
            if other != value and self.is_rate:
                reader.notes.append(
                    f"{name} = {other} is {value} here: model.{self.ours} is one rate for all"
                )
            elif other != value:
                first = f"{self.theirs[0]} = {value}"
                reader.obstacles.add(name, other, f"{first}, and model.{self.ours} is one for both")
        if self.values is None:
            return {self.ours: value}
        if not isinstance(value, Hashable) or value not in self.values:
            known = ", ".join(map(str, self.values))
            reader.obstacles.add(self.theirs[0], value, f"one of {known}")
            return {}
        return {self.ours: self.values[value]}

    def write(self, model: Any) -> dict[str, Any]:
        value = getattr(model, self.ours)
        if self.values is not None:
            value = next(theirs for theirs, ours in self.values.items() if ours == value)
        return dict.fromkeys(self.theirs, value)

    def check(self, model: Any, obstacles: UnsupportedSettings) -> None:
        value = getattr(model, self.ours)
        if self.values is not None and value not in self.values.values():
            known = ", ".join(dict.fromkeys(map(str, self.values.values())))
            obstacles.add(f"model.{self.ours}", value, f"one of {known}")


@dataclass(frozen=True)
class FixedKey(ConfigMapping):
    """An entry of `config.json` that must have the library's default value."""

    theirs: str
    value: Any
    reason: str

    def read(self, reader: ConfigReader) -> dict[str, Any]:
        value = reader.get(self.theirs, self.value)
        if value != self.value:
            reader.obstacles.add(self.theirs, value, self.reason)
        return {}


@dataclass(frozen=True)
class IgnoredRate(ConfigMapping):
    """A rate for training that headway does not have; the import notes it unless it is zero."""

    theirs: str

    def read(self, reader: ConfigReader) -> dict[str, Any]:
        value = reader.get(self.theirs, 0.0)
        if value:
            reader.notes.append(f"{self.theirs} = {value} is left out: headway has no such rate")
        return {}


@dataclass(frozen=True)
class FixedSetting(ConfigMapping):
    """A setting of ours that the library's model has built in.

    Attributes:
        allowed: other values that an export can express.
    """

    ours: str
    value: Any
    reason: str
    allowed: tuple[Any, ...] = ()

    def read(self, reader: ConfigReader) -> dict[str, Any]:
        return {self.ours: self.value}

    def check(self, model: Any, obstacles: UnsupportedSettings) -> None:
        value = getattr(model, self.ours)
        if value != self.value and value not in self.allowed:
            obstacles.add(f"model.{self.ours}", value, self.reason)


@dataclass(frozen=True)
class HeadWidths(ConfigMapping):
    """The width of a head: `d_model / n_heads`, for keys and values alike.

    Attributes:
        width, heads: the entries of `config.json` with their defaults.
    """

    width: tuple[str, int]
    heads: tuple[str, int]

    def read(self, reader: ConfigReader) -> dict[str, Any]:
        width, heads = reader.get(*self.width), reader.get(*self.heads)
        if not isinstance(width, int) or not isinstance(heads, int) or heads < 1 or width % heads:
            reader.obstacles.add(self.heads[0], heads, f"must divide {self.width[0]} = {width}")
            return {}
        return {"d_head": width // heads, "d_value": width // heads}

    def check(self, model: Any, obstacles: UnsupportedSettings) -> None:
        if model.d_head * model.n_heads != model.d_model:
            even = model.d_model / model.n_heads
            obstacles.add("model.d_head", model.d_head, f"must be d_model / n_heads = {even:g}")
        check_value_width(model, obstacles)


def check_value_width(model: Any, obstacles: UnsupportedSettings) -> None:
    """Adds `d_value` to the obstacles if it differs from `d_head`."""
    if model.d_value != model.d_head:
        obstacles.add("model.d_value", model.d_value, f"must be d_head = {model.d_head}")


PRE_NORM = FixedSetting("residual", "pre", "the norm stands before each sub-layer")
POST_NORM = FixedSetting("residual", "post", "the norm stands after the residual sum")
LAYER_NORM = FixedSetting("norm", "layer", "only layer normalisation")
EMBEDDING_NORM = FixedSetting("embedding_norm", True, "a norm after the embeddings")
BARE_EMBEDDINGS = FixedSetting("embedding_norm", False, "no norm after the embeddings")
UNSCALED_EMBEDDINGS = FixedSetting("scale_embeddings", False, "embeddings are taken as they are")
# An export writes sinusoids, or zeros for no positions, as a table of learned ones.
POSITION_TABLE = FixedSetting(
    "positions", "learned", "positions are added to embeddings", allowed=("sinusoidal", "none")
)
UNGATED = FixedSetting("gated", False, "no gates")
SCALED_DOT = FixedSetting("score", "scaled_dot", "only scaled dot products")
WITH_BIAS = FixedSetting("bias", True, "", allowed=(False,))  # an export writes zeros

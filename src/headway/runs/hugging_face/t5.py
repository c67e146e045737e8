"""T5: our Transformer with relative positions, RMS norm before each sub-layer and no biases.

The first version scales what goes to the output layer, which is the matrix of the embeddings; the
later ones (1.1, Flan) have an output layer of their own, and gates.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ..obstacles import Obstacles
from .layout import Layout
from .purposes import Form
from .rows import Row, matrix, norm, packed, reads, stack, under, writes
from .settings import ACTIVATIONS, BARE_EMBEDDINGS, BuiltIn, Key, Reading

GATED = {"gelu": "gelu_tanh", "gelu_new": "gelu_tanh", "relu": "relu", "silu": "silu"}
"""Activations of gates; this library's `gated-gelu` is the approximation."""


def sublayer(number: int, rows: Iterator[Row], residual: str) -> tuple[Row, ...]:
    """The parts of a block are numbered, and each has its norm."""
    parts = (*rows, *norm("layer_norm", f"{residual}.norm", bias=False))
    return tuple(under(f"layer.{number}.", "", parts))


def self_attention() -> Iterator[Row]:
    names = tuple(f"SelfAttention.{part}" for part in "qkv")
    yield from packed(names, "attention.qkv", bias=False)
    yield from writes("SelfAttention.o", "attention.out", bias=False)


def cross_attention() -> Iterator[Row]:
    yield from reads("EncDecAttention.q", "cross.query", bias=False)
    yield from packed(("EncDecAttention.k", "EncDecAttention.v"), "cross.kv", bias=False)
    yield from writes("EncDecAttention.o", "cross.out", bias=False)


def feed_forward(is_gated: bool) -> Iterator[Row]:
    if is_gated:
        yield from reads("DenseReluDense.wi_0", "feed.gate", bias=False)
    yield from reads(f"DenseReluDense.wi{'_1' if is_gated else ''}", "feed.inner", bias=False)
    yield from writes("DenseReluDense.wo", "feed.outer", bias=False)


def rows(model: Any, form: Form) -> Iterator[Row]:
    """Of a `TransformerConfig`."""
    both = sublayer(0, self_attention(), "attention_residual")
    cross = sublayer(1, cross_attention(), "cross_residual")
    layers = {
        "encoder": (*both, *sublayer(1, feed_forward(model.gated), "feed_residual")),
        "decoder": (*both, *cross, *sublayer(2, feed_forward(model.gated), "feed_residual")),
    }
    for side, layer in layers.items():
        yield from stack(f"{side}.block", side, getattr(model, f"{side}_layers"), layer)
        # One serves all layers, and is kept with the first.
        bias = f"{side}.block.0.layer.0.SelfAttention.relative_attention_bias.weight"
        yield Row((bias,), f"{side}_position_bias.weight")
        yield from norm(f"{side}.final_layer_norm", f"{side}_norm", bias=False)
    inputs = ("encoder.embed_tokens.weight", "decoder.embed_tokens.weight")
    if model.share == "all":
        yield matrix("shared.weight", "source_embedding", *inputs, "lm_head.weight")
    else:
        yield matrix("shared.weight", "source_embedding", *inputs)
        yield matrix("lm_head.weight", "output.weight")


@dataclass(frozen=True)
class Sharing:
    """Whether the output layer is the matrix of the embeddings, which is then scaled."""

    def read(self, given: Reading) -> dict[str, Any]:
        # Newer versions of the library always write that it is tied, and keep the other flag.
        is_tied = given.get("tie_word_embeddings", True)
        is_scaled = given.get("scale_decoder_outputs", is_tied)
        has_own = not is_scaled and given.holds("lm_head.")
        return {"share": "inputs" if has_own else "all", "scale_output": is_scaled}

    def write(self, model: Any) -> dict[str, Any]:
        return {"tie_word_embeddings": model.share == "all"}

    def check(self, model: Any, found: Obstacles) -> None:
        if model.share not in ("all", "inputs"):
            found.add("model.share", model.share, "source and target have one embedding matrix")
        elif model.scale_output != (model.share == "all"):
            goes = 'is true with share = "all", false with "inputs"'
            found.add("model.scale_output", model.scale_output, goes)


@dataclass(frozen=True)
class FeedForward:
    """The activation, and whether there are gates, in one word."""

    def read(self, given: Reading) -> dict[str, Any]:
        said = given.get("feed_forward_proj", "relu")
        gate, _, name = str(said).rpartition("-")
        known = {"": ACTIVATIONS, "gated": GATED}.get(gate, {})
        if name not in known:
            given.obstacles.add("feed_forward_proj", said, "an activation, or one behind gated-")
            return {}
        return {"gated": bool(gate), "activation": known[name]}

    def write(self, model: Any) -> dict[str, Any]:
        known, gate = (GATED, "gated-") if model.gated else (ACTIVATIONS, "")
        name = next(theirs for theirs, ours in known.items() if ours == model.activation)
        return {"feed_forward_proj": f"{gate}{name}"}

    def check(self, model: Any, found: Obstacles) -> None:
        if model.gated and model.activation not in GATED.values():
            found.add("model.activation", model.activation, "gelu_tanh, relu or silu with gates")


@dataclass(frozen=True)
class Layers:
    """As many in the decoder as in the encoder, where nothing else is said."""

    def read(self, given: Reading) -> dict[str, Any]:
        n_layers = given.get("num_layers", 6)
        decoder = given.get("num_decoder_layers", n_layers)
        return {"encoder_layers": n_layers, "decoder_layers": decoder}

    def write(self, model: Any) -> dict[str, Any]:
        return {"num_layers": model.encoder_layers, "num_decoder_layers": model.decoder_layers}

    def check(self, model: Any, found: Obstacles) -> None:
        """Any numbers will do."""


@dataclass(frozen=True)
class Rates:
    """One rate of dropping for all places."""

    def read(self, given: Reading) -> dict[str, Any]:
        rate = given.get("dropout_rate", 0.1)
        return dict.fromkeys(("dropout", "attention_dropout", "activation_dropout"), rate)

    def write(self, model: Any) -> dict[str, Any]:
        return {"dropout_rate": model.dropout}

    def check(self, model: Any, found: Obstacles) -> None:
        """It makes a difference in training only."""


@dataclass(frozen=True)
class Length:
    """How long the texts were that it was trained on; any length can be read."""

    def read(self, given: Reading) -> dict[str, Any]:
        return {"max_positions": given.get("n_positions", 512)}

    def write(self, model: Any) -> dict[str, Any]:
        return {}

    def check(self, model: Any, found: Obstacles) -> None:
        """Nothing of ours is asked for."""


@dataclass(frozen=True)
class Values:
    """Values are as wide as keys."""

    def read(self, given: Reading) -> dict[str, Any]:
        return {"d_head": given.get("d_kv", 64), "d_value": given.get("d_kv", 64)}

    def write(self, model: Any) -> dict[str, Any]:
        return {"d_kv": model.d_head}

    def check(self, model: Any, found: Obstacles) -> None:
        if model.d_value != model.d_head:
            found.add("model.d_value", model.d_value, f"must be d_head = {model.d_head}")


T5 = Layout(
    "T5",
    "t5",
    {"T5ForConditionalGeneration": "words", "T5Model": "words"},
    n_tokens=32128,
    family="transformer",
    task="translate",
    roles={
        "pad": ("pad",),
        "bos": ("decoder_start", "pad"),
        "eos": ("eos",),
        "unk": ("unk",),
    },
    usual_ids={"pad": 0, "eos": 1},
    settings=(
        Key(("d_model",), "d_model", 512),
        Values(),
        Key(("d_ff",), "d_ff", 2048),
        Layers(),
        Key(("num_heads",), "n_heads", 8),
        Key(("relative_attention_num_buckets",), "position_buckets", 32),
        Key(("relative_attention_max_distance",), "position_distance", 128),
        Key(("layer_norm_epsilon",), "norm_eps", 1e-6),
        Rates(),
        Length(),
        FeedForward(),
        Sharing(),
        BuiltIn("positions", "relative", "positions are relative"),
        BuiltIn("score", "dot", "products that are not scaled"),
        BuiltIn("residual", "pre", "the norm stands before each sub-layer"),
        BuiltIn("norm", "rms", "only RMS normalisation"),
        BuiltIn("bias", False, "no biases"),
        BuiltIn("output_bias", False, "no biases"),
        BuiltIn("scale_embeddings", False, "embeddings are taken as they are"),
        BARE_EMBEDDINGS,
    ),
    rows=rows,
    # Of a layer that was never used, in the first files.
    skipped=(r"decoder\.block\.0\.layer\.1\.EncDecAttention\.relative_attention_bias\.weight",),
    habits={"is_encoder_decoder": True},
)

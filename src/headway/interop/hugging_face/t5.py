"""T5: our Transformer with relative positions, RMS norm before each sub-layer and no biases.

The first version ties the output layer to the embeddings and scales its input. Later versions (1.1,
Flan) have an output layer of their own and gated feed-forward layers.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ..unsupported import UnsupportedSettings
from .architecture import SEQ2SEQ_ROLES, Architecture
from .config_map import (
    ACTIVATIONS,
    BARE_EMBEDDINGS,
    PRE_NORM,
    UNSCALED_EMBEDDINGS,
    ConfigMapping,
    ConfigReader,
    FixedSetting,
    RenamedKey,
    check_value_width,
)
from .task_heads import Form
from .weight_map import WeightRow, matrix, norm, packed, prefixed, reads, stack, writes

GATED = {"gelu": "gelu_tanh", "gelu_new": "gelu_tanh", "relu": "relu", "silu": "silu"}
"""Activations of gated layers; the library's `gated-gelu` is the tanh approximation."""


def sublayer(number: int, rows: Iterator[WeightRow], residual: str) -> tuple[WeightRow, ...]:
    """The rows of a sub-layer and its norm, under its number in the block."""
    parts = (*rows, *norm("layer_norm", f"{residual}.norm", bias=False))
    return tuple(prefixed(f"layer.{number}.", "", parts))


def self_attention() -> Iterator[WeightRow]:
    names = tuple(f"SelfAttention.{part}" for part in "qkv")
    yield from packed(names, "attention.qkv", bias=False)
    yield from writes("SelfAttention.o", "attention.out", bias=False)


def cross_attention() -> Iterator[WeightRow]:
    yield from reads("EncDecAttention.q", "cross.query", bias=False)
    yield from packed(("EncDecAttention.k", "EncDecAttention.v"), "cross.kv", bias=False)
    yield from writes("EncDecAttention.o", "cross.out", bias=False)


def feed_forward(is_gated: bool) -> Iterator[WeightRow]:
    if is_gated:
        yield from reads("DenseReluDense.wi_0", "feed.gate", bias=False)
    yield from reads(f"DenseReluDense.wi{'_1' if is_gated else ''}", "feed.inner", bias=False)
    yield from writes("DenseReluDense.wo", "feed.outer", bias=False)


def rows(model: Any, form: Form) -> Iterator[WeightRow]:
    """The weights of a `TransformerConfig`."""
    attention = sublayer(0, self_attention(), "attention_residual")
    cross = sublayer(1, cross_attention(), "cross_residual")
    layers = {
        "encoder": (*attention, *sublayer(1, feed_forward(model.gated), "feed_residual")),
        "decoder": (*attention, *cross, *sublayer(2, feed_forward(model.gated), "feed_residual")),
    }
    for side, layer in layers.items():
        yield from stack(f"{side}.block", side, getattr(model, f"{side}_layers"), layer)
        # All layers share one bias, which is stored with the first.
        bias = f"{side}.block.0.layer.0.SelfAttention.relative_attention_bias.weight"
        yield WeightRow((bias,), f"{side}_position_bias.weight")
        yield from norm(f"{side}.final_layer_norm", f"{side}_norm", bias=False)
    inputs = ("encoder.embed_tokens.weight", "decoder.embed_tokens.weight")
    if model.share == "all":
        yield matrix("shared.weight", "source_embedding", *inputs, "lm_head.weight")
    else:
        yield matrix("shared.weight", "source_embedding", *inputs)
        yield matrix("lm_head.weight", "output.weight")


@dataclass(frozen=True)
class TiedOutput(ConfigMapping):
    """Whether the output layer is tied to the embeddings, and its input scaled."""

    def read(self, reader: ConfigReader) -> dict[str, Any]:
        # Newer versions of the library always write tie_word_embeddings = true and distinguish the
        # two by scale_decoder_outputs.
        is_tied = reader.get("tie_word_embeddings", True)
        is_scaled = reader.get("scale_decoder_outputs", is_tied)
        has_own = not is_scaled and reader.has_tensor("lm_head.")
        return {"share": "inputs" if has_own else "all", "scale_output": is_scaled}

    def write(self, model: Any) -> dict[str, Any]:
        return {"tie_word_embeddings": model.share == "all"}

    def check(self, model: Any, obstacles: UnsupportedSettings) -> None:
        if model.share not in ("all", "inputs"):
            reason = "source and target have one embedding matrix"
            obstacles.add("model.share", model.share, reason)
        elif model.scale_output != (model.share == "all"):
            reason = 'is true with share = "all", false with "inputs"'
            obstacles.add("model.scale_output", model.scale_output, reason)


@dataclass(frozen=True)
class FeedForwardType(ConfigMapping):
    """Activation and gates, which `config.json` has in one entry: `relu` or `gated-gelu`."""

    def read(self, reader: ConfigReader) -> dict[str, Any]:
        entry = reader.get("feed_forward_proj", "relu")
        gate, _, name = str(entry).rpartition("-")
        known = {"": ACTIVATIONS, "gated": GATED}.get(gate, {})
        if name not in known:
            reader.obstacles.add("feed_forward_proj", entry, "an activation, or one behind gated-")
            return {}
        return {"gated": bool(gate), "activation": known[name]}

    def write(self, model: Any) -> dict[str, Any]:
        known, gate = (GATED, "gated-") if model.gated else (ACTIVATIONS, "")
        name = next(theirs for theirs, ours in known.items() if ours == model.activation)
        return {"feed_forward_proj": f"{gate}{name}"}

    def check(self, model: Any, obstacles: UnsupportedSettings) -> None:
        if model.gated and model.activation not in GATED.values():
            reason = "gelu_tanh, relu or silu with gates"
            obstacles.add("model.activation", model.activation, reason)


@dataclass(frozen=True)
class LayerCounts(ConfigMapping):
    """Layers of encoder and decoder; by default the decoder has as many as the encoder."""

    def read(self, reader: ConfigReader) -> dict[str, Any]:
        n_layers = reader.get("num_layers", 6)
        decoder = reader.get("num_decoder_layers", n_layers)
        return {"encoder_layers": n_layers, "decoder_layers": decoder}

    def write(self, model: Any) -> dict[str, Any]:
        return {"num_layers": model.encoder_layers, "num_decoder_layers": model.decoder_layers}


@dataclass(frozen=True)
class DropoutRate(ConfigMapping):
    """The single dropout rate; an export keeps `model.dropout`, as only training uses it."""

    def read(self, reader: ConfigReader) -> dict[str, Any]:
        rate = reader.get("dropout_rate", 0.1)
        return dict.fromkeys(("dropout", "attention_dropout", "activation_dropout"), rate)

    def write(self, model: Any) -> dict[str, Any]:
        return {"dropout_rate": model.dropout}


@dataclass(frozen=True)
class TrainingLength(ConfigMapping):
    """Length of the training texts; relative positions have no limit."""

    def read(self, reader: ConfigReader) -> dict[str, Any]:
        return {"max_positions": reader.get("n_positions", 512)}


@dataclass(frozen=True)
class HeadWidth(ConfigMapping):
    """The width of keys and values, in one entry."""

    def read(self, reader: ConfigReader) -> dict[str, Any]:
        return dict.fromkeys(("d_head", "d_value"), reader.get("d_kv", 64))

    def write(self, model: Any) -> dict[str, Any]:
        return {"d_kv": model.d_head}

    def check(self, model: Any, obstacles: UnsupportedSettings) -> None:
        check_value_width(model, obstacles)


T5 = Architecture(
    "T5",
    "t5",
    {"T5ForConditionalGeneration": "words", "T5Model": "words"},
    default_vocab_size=32128,
    family="transformer",
    task="translate",
    roles=SEQ2SEQ_ROLES,
    default_ids={"pad": 0, "eos": 1},
    settings=(
        RenamedKey(("d_model",), "d_model", 512),
        HeadWidth(),
        RenamedKey(("d_ff",), "d_ff", 2048),
        LayerCounts(),
        RenamedKey(("num_heads",), "n_heads", 8),
        RenamedKey(("relative_attention_num_buckets",), "position_buckets", 32),
        RenamedKey(("relative_attention_max_distance",), "position_distance", 128),
        RenamedKey(("layer_norm_epsilon",), "norm_eps", 1e-6),
        DropoutRate(),
        TrainingLength(),
        FeedForwardType(),
        TiedOutput(),
        FixedSetting("positions", "relative", "positions are relative"),
        FixedSetting("score", "dot", "products that are not scaled"),
        PRE_NORM,
        FixedSetting("norm", "rms", "only RMS normalisation"),
        FixedSetting("bias", False, "no biases"),
        FixedSetting("output_bias", False, "no biases"),
        UNSCALED_EMBEDDINGS,
        BARE_EMBEDDINGS,
    ),
    rows=rows,
    # A weight that the first files contain and the model never uses.
    ignored=(r"decoder\.block\.0\.layer\.1\.EncDecAttention\.relative_attention_bias\.weight",),
    extra_config={"is_encoder_decoder": True},
)

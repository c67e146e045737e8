"""GPT-NeoX: our decoder with rotary positions and pre-norm layers, the default of headway.

GPT-NeoX rotates the first half of a head's components with the second half, headway neighbours:
an export reorders the components of queries and keys. Scaled embeddings are written multiplied.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from .architecture import Architecture
from .config_map import (
    ACTIVATIONS,
    BARE_EMBEDDINGS,
    LAYER_NORM,
    PRE_NORM,
    SCALED_DOT,
    UNGATED,
    WITH_BIAS,
    ConfigMapping,
    ConfigReader,
    FixedKey,
    FixedSetting,
    HeadWidths,
    RenamedKey,
)
from .task_heads import Form
from .weight_map import WeightRow, matrix, norm, reads, stack, writes

OLD_OUTPUT = "embed_out.weight"  # which all versions of the library read
NEW_OUTPUT = "lm_head.weight"


@dataclass(frozen=True)
class HeadwisePacked:
    """Queries, keys and values: ours one after the other, theirs head by head."""

    n_heads: int

    def to_hf(self, ours: Tensor) -> tuple[Tensor, ...]:
        parts = ours.unflatten(0, (3, self.n_heads, -1))  # (3, H, E, ...)
        query, key, value = parts
        halves = [torch.cat([part[:, 0::2], part[:, 1::2]], dim=1) for part in (query, key)]
        return (torch.stack([*halves, value], dim=1).flatten(0, 2),)

    def from_hf(self, theirs: Sequence[Tensor]) -> Tensor:
        (only,) = theirs
        query, key, value = only.unflatten(0, (self.n_heads, 3, -1)).unbind(1)  # (H, E, ...) each
        pairs = [torch.stack(part.chunk(2, dim=1), dim=2).flatten(1, 2) for part in (query, key)]
        return torch.stack([*pairs, value]).flatten(0, 2)


@dataclass(frozen=True)
class ScaledEmbeddings:
    """One matrix of ours: multiplied for the embeddings, and as it is for the output layer."""

    scale: float
    has_output: bool

    def to_hf(self, ours: Tensor) -> tuple[Tensor, ...]:
        return (ours * self.scale, ours) if self.has_output else (ours * self.scale,)

    def from_hf(self, theirs: Sequence[Tensor]) -> Tensor:
        return theirs[-1] if self.has_output else theirs[0] / self.scale


def rows(model: Any, form: Form) -> Iterator[WeightRow]:
    """The weights of a `DecoderConfig`."""
    embedding = "gpt_neox.embed_in.weight"
    if model.scale_embeddings:
        both = (embedding, OLD_OUTPUT) if model.share else (embedding,)
        scaled = ScaledEmbeddings(math.sqrt(model.d_model), model.share)
        yield WeightRow(both, "embedding", scaled, stream_axis=1)
    else:
        yield matrix(embedding, "embedding", *((OLD_OUTPUT, NEW_OUTPUT) if model.share else ()))
    if not model.share:
        yield matrix(OLD_OUTPUT, "output.weight", NEW_OUTPUT)
    theirs, ours, packed = (
        "attention.query_key_value",
        "attention.qkv",
        HeadwisePacked(model.n_heads),
    )
    layer = (
        *norm("input_layernorm", "attention_residual.norm"),
        WeightRow((f"{theirs}.weight",), f"{ours}.weight", packed, stream_axis=1),
        WeightRow((f"{theirs}.bias",), f"{ours}.bias", packed),
        *writes("attention.dense", "attention.out"),
        *norm("post_attention_layernorm", "feed_residual.norm"),
        *reads("mlp.dense_h_to_4h", "feed.inner"),
        *writes("mlp.dense_4h_to_h", "feed.outer"),
    )
    yield from stack("gpt_neox.layers", "layers", model.layers, layer)
    yield from norm("gpt_neox.final_layer_norm", "norm")


@dataclass(frozen=True)
class RotaryPositions(ConfigMapping):
    """Rotary positions of all components of a head; newer versions have a table of their own."""

    def read(self, reader: ConfigReader) -> dict[str, Any]:
        table = reader.get("rope_parameters", {})
        table = table if isinstance(table, dict) else {}
        share = table.get("partial_rotary_factor", reader.get("rotary_pct", 0.25))
        kind = table.get("rope_type", "default")
        if share != 1.0:
            reader.obstacles.add("rotary_pct", share, "all components are rotated")
        if kind != "default":
            reader.obstacles.add("rope_type", kind, "plain rotary positions")
        base = table.get("rope_theta", reader.get("rotary_emb_base", 10000))
        return {"positions": "rotary", "position_base": base}

    def write(self, model: Any) -> dict[str, Any]:
        return {"rotary_pct": 1.0, "rotary_emb_base": model.position_base}


@dataclass(frozen=True)
class TiedEmbeddings(ConfigMapping):
    """Whether embeddings and output layer are one matrix, which only unscaled embeddings can be."""

    def read(self, reader: ConfigReader) -> dict[str, Any]:
        return {"share": reader.get("tie_word_embeddings", False), "scale_embeddings": False}

    def write(self, model: Any) -> dict[str, Any]:
        return {"tie_word_embeddings": model.share and not model.scale_embeddings}


@dataclass(frozen=True)
class SequentialResiduals(ConfigMapping):
    """The feed-forward layer comes after the attention, not beside it as in the library's
    default."""

    def read(self, reader: ConfigReader) -> dict[str, Any]:
        if reader.get("use_parallel_residual", True) is not False:
            reader.obstacles.add(
                "use_parallel_residual", True, "the feed-forward layer follows the attention"
            )
        return {}

    def write(self, model: Any) -> dict[str, Any]:
        return {"use_parallel_residual": False}


GPT_NEOX = Architecture(
    "GPT-NeoX",
    "gpt_neox",
    {"GPTNeoXForCausalLM": "words", "GPTNeoXModel": "words"},
    default_vocab_size=50432,
    family="decoder",
    task="language",
    roles={
        "pad": ("pad", "eos"),
        "bos": ("bos", "eos"),
        "eos": ("eos",),
        "unk": ("unk", "eos"),  # never used: bytes spell every text
    },
    default_ids={"bos": 0, "eos": 2},
    settings=(
        RenamedKey(("hidden_size",), "d_model", 6144),
        RenamedKey(("num_hidden_layers",), "layers", 44),
        RenamedKey(("num_attention_heads",), "n_heads", 64),
        HeadWidths(("hidden_size", 6144), ("num_attention_heads", 64)),
        RenamedKey(("intermediate_size",), "d_ff", 24576),
        RenamedKey(("hidden_act",), "activation", "gelu", ACTIVATIONS),
        RenamedKey(("layer_norm_eps",), "norm_eps", 1e-5),
        RenamedKey(("hidden_dropout",), "dropout", 0.0),
        RenamedKey(("attention_dropout",), "attention_dropout", 0.0),
        RenamedKey(("max_position_embeddings",), "max_positions", 2048),
        RotaryPositions(),
        TiedEmbeddings(),
        SequentialResiduals(),
        PRE_NORM,
        FixedSetting("positions", "rotary", "rotary positions"),
        FixedSetting("output_bias", False, "no bias on the output layer"),
        BARE_EMBEDDINGS,
        LAYER_NORM,
        UNGATED,
        SCALED_DOT,
        WITH_BIAS,
        FixedKey("attention_bias", True, "biases on all linear layers"),
    ),
    rows=rows,
    prefix="gpt_neox.",
    unprefixed=("embed_out.", "lm_head."),
    # Masks and wavelengths, which older versions saved with the weights.
    ignored=(
        r"gpt_neox\.layers\.\d+\.attention\.(bias|masked_bias|rotary_emb\.inv_freq)",
        r"gpt_neox\.rotary_emb\.inv_freq",
    ),
)

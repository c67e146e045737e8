"""GPT-2: our decoder with learned positions, pre-norm layers and the tanh approximation of GELU."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from .architecture import Architecture
from .config_map import (
    ACTIVATIONS,
    BARE_EMBEDDINGS,
    LAYER_NORM,
    POSITION_TABLE,
    PRE_NORM,
    SCALED_DOT,
    UNGATED,
    UNSCALED_EMBEDDINGS,
    WITH_BIAS,
    ConfigMapping,
    ConfigReader,
    FixedKey,
    FixedSetting,
    HeadWidths,
    RenamedKey,
)
from .task_heads import Form
from .weight_map import Transposed, WeightRow, matrix, norm, reads, stack, writes

CONV = Transposed()
LAYER = (
    *norm("ln_1", "attention_residual.norm"),
    *reads("attn.c_attn", "attention.qkv", CONV),
    *writes("attn.c_proj", "attention.out", CONV),
    *norm("ln_2", "feed_residual.norm"),
    *reads("mlp.c_fc", "feed.inner", CONV),
    *writes("mlp.c_proj", "feed.outer", CONV),
)


def rows(model: Any, form: Form) -> Iterator[WeightRow]:
    """The weights of a `DecoderConfig`."""
    tied = ("lm_head.weight",) if model.share else ()
    yield matrix("transformer.wte.weight", "embedding", *tied)
    if not model.share:
        yield matrix("lm_head.weight", "output.weight")
    yield matrix("transformer.wpe.weight", "positions.weight")
    yield from stack("transformer.h", "layers", model.layers, LAYER)
    yield from norm("transformer.ln_f", "norm")


@dataclass(frozen=True)
class FeedForwardWidth(ConfigMapping):
    """The width of the feed-forward layers; by default four times that of the model."""

    def read(self, reader: ConfigReader) -> dict[str, Any]:
        d_model, d_ff = reader.get("n_embd", 768), reader.get("n_inner", None)
        if d_ff is None and not isinstance(d_model, int):
            return {}  # `HeadWidths` reports it
        return {"d_ff": 4 * d_model if d_ff is None else d_ff}

    def write(self, model: Any) -> dict[str, Any]:
        return {"n_inner": model.d_ff}


GPT2 = Architecture(
    "GPT-2",
    "gpt2",
    {"GPT2LMHeadModel": "words", "GPT2Model": "words"},
    default_vocab_size=50257,
    family="decoder",
    task="language",
    roles={
        "pad": ("pad", "eos"),
        "bos": ("bos", "eos"),
        "eos": ("eos",),
        "unk": ("unk", "eos"),  # never used: bytes spell every text
    },
    default_ids={"bos": 50256, "eos": 50256},
    settings=(
        RenamedKey(("n_embd",), "d_model", 768),
        RenamedKey(("n_layer",), "layers", 12),
        RenamedKey(("n_head",), "n_heads", 12),
        HeadWidths(("n_embd", 768), ("n_head", 12)),
        FeedForwardWidth(),
        RenamedKey(("activation_function",), "activation", "gelu_new", ACTIVATIONS),
        RenamedKey(("layer_norm_epsilon",), "norm_eps", 1e-5),
        RenamedKey(("resid_pdrop", "embd_pdrop"), "dropout", 0.1, is_rate=True),
        RenamedKey(("attn_pdrop",), "attention_dropout", 0.1),
        RenamedKey(("n_positions",), "max_positions", 1024),
        RenamedKey(("tie_word_embeddings",), "share", True),
        PRE_NORM,
        POSITION_TABLE,
        UNSCALED_EMBEDDINGS,
        FixedSetting("output_bias", False, "no bias on the output layer"),
        BARE_EMBEDDINGS,
        LAYER_NORM,
        UNGATED,
        SCALED_DOT,
        WITH_BIAS,
        FixedKey("scale_attn_weights", True, "scores are divided by the root of the width"),
        FixedKey("scale_attn_by_inverse_layer_idx", False, "no scale of a layer's own"),
        FixedKey("add_cross_attention", False, "a language model reads no other text"),
    ),
    rows=rows,
    prefix="transformer.",
    unprefixed=("lm_head.",),
    # Causal masks, which older versions saved with the weights.
    ignored=(r"transformer\.h\.\d+\.attn\.(masked_)?bias",),
)

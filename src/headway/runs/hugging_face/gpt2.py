"""GPT-2: our decoder with learned positions, the norm before each sub-layer, tanh's GELU."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ..obstacles import Obstacles
from .layout import Layout
from .purposes import Form
from .rows import Row, matrix, norm, reads, stack, writes
from .settings import (
    ACTIVATIONS,
    BARE_EMBEDDINGS,
    LAYER_NORM,
    SCALED_DOT,
    UNGATED,
    WITH_BIAS,
    BuiltIn,
    Heads,
    Key,
    Only,
    Reading,
)
from .transforms import Transposed

CONV = Transposed()
LAYER = (
    *norm("ln_1", "attention_residual.norm"),
    *reads("attn.c_attn", "attention.qkv", CONV),
    *writes("attn.c_proj", "attention.out", CONV),
    *norm("ln_2", "feed_residual.norm"),
    *reads("mlp.c_fc", "feed.inner", CONV),
    *writes("mlp.c_proj", "feed.outer", CONV),
)


def rows(model: Any, form: Form) -> Iterator[Row]:
    """Of a `DecoderConfig`."""
    tied = ("lm_head.weight",) if model.share else ()
    yield matrix("transformer.wte.weight", "embedding", *tied)
    if not model.share:
        yield matrix("lm_head.weight", "output.weight")
    yield matrix("transformer.wpe.weight", "positions.weight")
    yield from stack("transformer.h", "layers", model.layers, LAYER)
    yield from norm("transformer.ln_f", "norm")


@dataclass(frozen=True)
class Inner:
    """The width of the feed-forward layers, four times that of the model where none is given."""

    def read(self, given: Reading) -> dict[str, Any]:
        inner = given.get("n_inner", None)
        return {"d_ff": 4 * given.get("n_embd", 768) if inner is None else inner}

    def write(self, model: Any) -> dict[str, Any]:
        return {"n_inner": model.d_ff}

    def check(self, model: Any, found: Obstacles) -> None:
        """Any width will do."""


GPT2 = Layout(
    "GPT-2",
    "gpt2",
    {"GPT2LMHeadModel": "words", "GPT2Model": "words"},
    n_tokens=50257,
    family="decoder",
    task="language",
    roles={
        "pad": ("pad", "eos"),
        "bos": ("bos", "eos"),
        "eos": ("eos",),
        "unk": ("unk", "eos"),  # bytes leave nothing unknown
    },
    usual_ids={"bos": 50256, "eos": 50256},
    settings=(
        Key(("n_embd",), "d_model", 768),
        Key(("n_layer",), "layers", 12),
        Key(("n_head",), "n_heads", 12),
        Heads(("n_embd", 768), ("n_head", 12)),
        Inner(),
        Key(("activation_function",), "activation", "gelu_new", ACTIVATIONS),
        Key(("layer_norm_epsilon",), "norm_eps", 1e-5),
        Key(("resid_pdrop", "embd_pdrop"), "dropout", 0.1, is_rate=True),
        Key(("attn_pdrop",), "attention_dropout", 0.1),
        Key(("n_positions",), "max_positions", 1024),
        Key(("tie_word_embeddings",), "share", True),
        BuiltIn("residual", "pre", "the norm stands before each sub-layer"),
        # Other positions that are added to embeddings are written as a table.
        BuiltIn("positions", "learned", "a table of positions", allowed=("sinusoidal", "none")),
        BuiltIn("scale_embeddings", False, "embeddings are taken as they are"),
        BuiltIn("output_bias", False, "no bias on the output layer"),
        BARE_EMBEDDINGS,
        LAYER_NORM,
        UNGATED,
        SCALED_DOT,
        WITH_BIAS,
        Only("scale_attn_weights", True, "scores are divided by the root of the width"),
        Only("scale_attn_by_inverse_layer_idx", False, "no scale of a layer's own"),
        Only("add_cross_attention", False, "a language model reads no other text"),
    ),
    rows=rows,
    prefix="transformer.",
    unprefixed=("lm_head.",),
    # Masks, which older versions kept with the weights.
    skipped=(r"transformer\.h\.\d+\.attn\.(masked_)?bias",),
)

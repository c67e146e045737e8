"""BART, Marian, Pegasus and Blenderbot: our Transformer in four variants that share their names.

BART and Marian have the norm after the residual sum, Pegasus and Blenderbot before it. BART and
Blenderbot learn their positions, and BART has a norm after the embeddings; those of Marian and
Pegasus are fixed sinusoids. The sines of the first two fill the
first half of the channels and their cosines the second, where ours alternate: the channels of the
residual stream stand in their order, which makes the models equal.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

from ...text import Frame
from ..obstacles import Obstacles
from .layout import Layout
from .purposes import Form
from .rows import SAME, Row, matrix, norm, packed, reads, stack, writes
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
    Setting,
    Training,
)
from .transforms import AsRow, Reserved, Transform

SELF_ATTENTION = (
    *packed(("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"), "attention.qkv"),
    *writes("self_attn.out_proj", "attention.out"),
    *norm("self_attn_layer_norm", "attention_residual.norm"),
)
CROSS_ATTENTION = (
    *reads("encoder_attn.q_proj", "cross.query"),
    *packed(("encoder_attn.k_proj", "encoder_attn.v_proj"), "cross.kv"),
    *writes("encoder_attn.out_proj", "cross.out"),
    *norm("encoder_attn_layer_norm", "cross_residual.norm"),
)
FEED_FORWARD = (
    *reads("fc1", "feed.inner"),
    *writes("fc2", "feed.outer"),
    *norm("final_layer_norm", "feed_residual.norm"),
)
SIDES = {
    "encoder": ("positions", "source_embedding_norm", (*SELF_ATTENTION, *FEED_FORWARD)),
    "decoder": (
        "target_positions",
        "target_embedding_norm",
        (*SELF_ATTENTION, *CROSS_ATTENTION, *FEED_FORWARD),
    ),
}

PositionsKept = Literal["no", "copied", "learned"]
"""Whether a file holds positions: not, as a copy of what the formula gives, or as weights."""


def rows(
    model: Any, form: Form, positions: PositionsKept, places: Transform = SAME
) -> Iterator[Row]:
    """Of a `TransformerConfig`."""
    for side, (codes, embedded, layer) in SIDES.items():
        yield from stack(f"model.{side}.layers", side, getattr(model, f"{side}_layers"), layer)
        if model.residual == "pre":
            yield from norm(f"model.{side}.layer_norm", f"{side}_norm")
        if model.embedding_norm:
            yield from norm(f"model.{side}.layernorm_embedding", embedded)
        yield Row(
            (f"model.{side}.embed_positions.weight",),
            f"{codes}.weight",
            places,
            stream=1,
            is_implied=positions != "learned",
            is_written=positions != "no",
        )
    yield from embeddings(model.share)
    # Where there is no bias, zeros are written, and no file needs them.
    bias = Row(("final_logits_bias",), "output.bias", AsRow())
    yield replace(bias, is_implied=not model.output_bias)


def embeddings(share: str) -> Iterator[Row]:
    """Of source, target and output; what is one matrix may stand under any of its names."""
    source, target, output = (
        "model.encoder.embed_tokens.weight",
        "model.decoder.embed_tokens.weight",
        "lm_head.weight",
    )
    if share == "all":
        yield matrix("model.shared.weight", "source_embedding", source, target, output)
        return
    yield matrix(source, "source_embedding")
    yield matrix(target, "target_embedding", *((output,) if share == "target" else ()))
    if share == "none":
        yield matrix(output, "output.weight")


@dataclass(frozen=True)
class Sharing:
    """Which embeddings are one matrix."""

    def read(self, given: Reading) -> dict[str, Any]:
        is_one = given.get("share_encoder_decoder_embeddings", True)
        is_tied = given.get("tie_word_embeddings", True)
        if is_one and not is_tied:
            given.obstacles.add(
                "tie_word_embeddings", False, "true where source and target are one"
            )
        return {"share": "all" if is_one else "target" if is_tied else "none"}

    def write(self, model: Any) -> dict[str, Any]:
        return {
            "share_encoder_decoder_embeddings": model.share == "all",
            "tie_word_embeddings": model.share != "none",
        }

    def check(self, model: Any, found: Obstacles) -> None:
        if model.share == "inputs":
            reason = "an output layer of its own goes with share = none"
            found.add("model.share", model.share, reason)


@dataclass(frozen=True)
class OutputBias:
    """A bias on the output layer, where there is one in the file."""

    def read(self, given: Reading) -> dict[str, Any]:
        return {"output_bias": given.holds("final_logits_bias")}

    def write(self, model: Any) -> dict[str, Any]:
        return {}

    def check(self, model: Any, found: Obstacles) -> None:
        """None is written as zeros."""


def common(
    width: int = 1024,
    layers: tuple[int, int] = (12, 12),
    heads: int = 16,
    inner: int = 4096,
    positions: int = 1024,
) -> tuple[Setting, ...]:
    """What all have, with what the library takes where `config.json` says nothing."""
    return (
        Key(("d_model",), "d_model", width),
        Key(("encoder_layers",), "encoder_layers", layers[0]),
        Key(("decoder_layers",), "decoder_layers", layers[1]),
        Key(("encoder_attention_heads", "decoder_attention_heads"), "n_heads", heads),
        Key(("encoder_ffn_dim", "decoder_ffn_dim"), "d_ff", inner),
        Key(("activation_function",), "activation", "gelu", ACTIVATIONS),
        Key(("dropout",), "dropout", 0.1),
        Key(("attention_dropout",), "attention_dropout", 0.0),
        Key(("activation_dropout",), "activation_dropout", 0.0),
        Key(("max_position_embeddings",), "max_positions", positions),
        Key(("scale_embedding",), "scale_embeddings", False),
        Heads(("d_model", width), ("encoder_attention_heads", heads)),
        OutputBias(),
        BuiltIn("scale_output", False, "hidden states go as they are to the output layer"),
        SCALED_DOT,
        LAYER_NORM,
        BuiltIn("norm_eps", 1e-5, "must be 1e-05"),
        UNGATED,
        WITH_BIAS,
        Training("encoder_layerdrop"),
        Training("decoder_layerdrop"),
    )


SINES = (
    BuiltIn("positions", "sinusoidal", "only sinusoidal ones"),
    BuiltIn("position_base", 10000.0, "must be 10000"),
)
TABLE = BuiltIn(
    "positions", "learned", "positions are added to embeddings", allowed=("sinusoidal", "none")
)
ONE_MATRIX = (
    BuiltIn("share", "all", "one embedding matrix"),
    Only("tie_word_embeddings", True, "one embedding matrix"),
)
PRE = BuiltIn("residual", "pre", "the norm stands before each sub-layer")
POST = BuiltIn("residual", "post", "the norm stands after the residual sum")
# Of the original models; they would change the search.
HABITS = {"is_encoder_decoder": True, "forced_eos_token_id": None}

# Outputs begin with the token that the decoder starts from.
ROLES = {
    "pad": ("pad",),
    "bos": ("decoder_start", "pad"),
    "eos": ("eos",),
    "unk": ("unk",),
}

BART = Layout(
    "BART",
    "bart",
    {"BartForConditionalGeneration": "words", "BartModel": "words"},
    n_tokens=50265,
    family="transformer",
    task="translate",
    # The decoder starts from the end mark, and what it writes begins with the begin mark.
    roles={**ROLES, "bos": ("bos",), "start": ("decoder_start", "eos"), "mask": ("mask",)},
    usual_ids={"pad": 1, "bos": 0, "eos": 2, "decoder_start": 2},
    frame=Frame(begin=True, between=2),
    settings=(
        *common(),
        POST,
        BuiltIn("embedding_norm", True, "a norm after the embeddings"),
        TABLE,
        *ONE_MATRIX,
    ),
    # The first two rows of positions are those of padding in an older numbering.
    rows=partial(rows, positions="learned", places=Reserved(2)),
    prefix="model.",
    unprefixed=("lm_head.", "final_logits_bias"),
    skipped=(r"model\.(encoder|decoder)\.version",),
    habits=HABITS,
)
MARIAN = Layout(
    "Marian",
    "marian",
    {"MarianMTModel": "words", "MarianModel": "words"},
    n_tokens=58101,
    family="transformer",
    task="translate",
    roles=ROLES,
    usual_ids={"pad": 58100, "eos": 0, "decoder_start": 58100},
    settings=(*common(), POST, BARE_EMBEDDINGS, *SINES, Sharing()),
    rows=partial(rows, positions="no"),
    prefix="model.",
    unprefixed=("lm_head.", "final_logits_bias"),
    splits_positions=True,
    has_two_vocabularies=True,
    habits=HABITS,
)
PEGASUS = Layout(
    "Pegasus",
    "pegasus",
    {"PegasusForConditionalGeneration": "words", "PegasusModel": "words"},
    n_tokens=50265,
    family="transformer",
    task="translate",
    roles=ROLES,
    usual_ids={"pad": 0, "eos": 1, "decoder_start": 0},
    settings=(*common(), PRE, BARE_EMBEDDINGS, *SINES, *ONE_MATRIX),
    rows=partial(rows, positions="copied"),
    prefix="model.",
    unprefixed=("lm_head.", "final_logits_bias"),
    splits_positions=True,
    habits=HABITS,
)
BLENDERBOT = Layout(
    "Blenderbot",
    "blenderbot",
    {"BlenderbotForConditionalGeneration": "words", "BlenderbotModel": "words"},
    n_tokens=8008,
    family="transformer",
    task="translate",
    roles=ROLES,
    usual_ids={"pad": 0, "bos": 1, "eos": 2, "decoder_start": 1},
    settings=(
        *common(2560, (2, 24), 32, 10240, 128),
        PRE,
        BARE_EMBEDDINGS,
        TABLE,
        *ONE_MATRIX,
    ),
    rows=partial(rows, positions="learned"),
    prefix="model.",
    unprefixed=("lm_head.", "final_logits_bias"),
    habits={**HABITS, "encoder_no_repeat_ngram_size": 0},
)

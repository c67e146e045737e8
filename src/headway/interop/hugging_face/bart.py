"""BART, Marian, Pegasus and Blenderbot: our Transformer in four variants with common tensor names.

BART and Marian are post-norm, Pegasus and Blenderbot pre-norm. BART and Blenderbot learn their
positions, and BART has a norm after the embeddings. Marian and Pegasus use sinusoids: all sines,
then all cosines, where ours alternate. The weight map reorders the channels of the residual stream
accordingly, which gives an equal model.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

from ...text import SpecialTokenTemplate
from ..unsupported import UnsupportedSettings
from .architecture import SEQ2SEQ_ROLES, Architecture
from .config_map import (
    ACTIVATIONS,
    BARE_EMBEDDINGS,
    EMBEDDING_NORM,
    LAYER_NORM,
    POSITION_TABLE,
    POST_NORM,
    PRE_NORM,
    SCALED_DOT,
    UNGATED,
    WITH_BIAS,
    ConfigMapping,
    ConfigReader,
    FixedKey,
    FixedSetting,
    HeadWidths,
    IgnoredRate,
    RenamedKey,
)
from .task_heads import Form
from .weight_map import (
    SAME,
    OffsetPositions,
    Transform,
    Unsqueezed,
    WeightRow,
    matrix,
    norm,
    packed,
    reads,
    stack,
    writes,
)

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

StoredPositions = Literal["no", "copied", "learned"]
"""Whether files contain positions: not at all, as a copy of the formula's values, or as weights."""


def rows(
    model: Any, form: Form, positions: StoredPositions, transform: Transform = SAME
) -> Iterator[WeightRow]:
    """The weights of a `TransformerConfig`.

    Args:
        transform: of the position tables.
    """
    for side, (position_name, norm_name, layer) in SIDES.items():
        yield from stack(f"model.{side}.layers", side, getattr(model, f"{side}_layers"), layer)
        if model.residual == "pre":
            yield from norm(f"model.{side}.layer_norm", f"{side}_norm")
        if model.embedding_norm:
            yield from norm(f"model.{side}.layernorm_embedding", norm_name)
        yield WeightRow(
            (f"model.{side}.embed_positions.weight",),
            f"{position_name}.weight",
            transform,
            stream_axis=1,
            is_implied=positions != "learned",
            is_written=positions != "no",
        )
    yield from embeddings(model.share)
    # Without a bias an export writes zeros, and an import needs no tensor.
    bias = WeightRow(("final_logits_bias",), "output.bias", Unsqueezed())
    yield replace(bias, is_implied=not model.output_bias)


def embeddings(share: str) -> Iterator[WeightRow]:
    """The matrices of source, target and output; a shared one may have any of its names."""
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
class SharedEmbeddings(ConfigMapping):
    """Which of the matrices of source, target and output are one."""

    def read(self, reader: ConfigReader) -> dict[str, Any]:
        is_shared = reader.get("share_encoder_decoder_embeddings", True)
        is_tied = reader.get("tie_word_embeddings", True)
        if is_shared and not is_tied:
            reader.obstacles.add(
                "tie_word_embeddings", False, "true where source and target are one"
            )
        return {"share": "all" if is_shared else "target" if is_tied else "none"}

    def write(self, model: Any) -> dict[str, Any]:
        return {
            "share_encoder_decoder_embeddings": model.share == "all",
            "tie_word_embeddings": model.share != "none",
        }

    def check(self, model: Any, obstacles: UnsupportedSettings) -> None:
        if model.share == "inputs":
            reason = "an output layer of its own goes with share = none"
            obstacles.add("model.share", model.share, reason)


@dataclass(frozen=True)
class OutputBias(ConfigMapping):
    """A bias on the output layer, if the file has one."""

    def read(self, reader: ConfigReader) -> dict[str, Any]:
        return {"output_bias": reader.has_tensor("final_logits_bias")}


def common(
    width: int = 1024,
    layers: tuple[int, int] = (12, 12),
    heads: int = 16,
    inner: int = 4096,
    positions: int = 1024,
) -> tuple[ConfigMapping, ...]:
    """The settings of all four, with the defaults of `config.json`."""
    return (
        RenamedKey(("d_model",), "d_model", width),
        RenamedKey(("encoder_layers",), "encoder_layers", layers[0]),
        RenamedKey(("decoder_layers",), "decoder_layers", layers[1]),
        RenamedKey(("encoder_attention_heads", "decoder_attention_heads"), "n_heads", heads),
        RenamedKey(("encoder_ffn_dim", "decoder_ffn_dim"), "d_ff", inner),
        RenamedKey(("activation_function",), "activation", "gelu", ACTIVATIONS),
        RenamedKey(("dropout",), "dropout", 0.1),
        RenamedKey(("attention_dropout",), "attention_dropout", 0.0),
        RenamedKey(("activation_dropout",), "activation_dropout", 0.0),
        RenamedKey(("max_position_embeddings",), "max_positions", positions),
        RenamedKey(("scale_embedding",), "scale_embeddings", False),
        HeadWidths(("d_model", width), ("encoder_attention_heads", heads)),
        OutputBias(),
        FixedSetting("scale_output", False, "hidden states go as they are to the output layer"),
        SCALED_DOT,
        LAYER_NORM,
        FixedSetting("norm_eps", 1e-5, "must be 1e-05"),
        UNGATED,
        WITH_BIAS,
        IgnoredRate("encoder_layerdrop"),
        IgnoredRate("decoder_layerdrop"),
    )


SINUSOIDS = (
    FixedSetting("positions", "sinusoidal", "only sinusoidal ones"),
    FixedSetting("position_base", 10000.0, "must be 10000"),
)
ONE_MATRIX = (
    FixedSetting("share", "all", "one embedding matrix"),
    FixedKey("tie_word_embeddings", True, "one embedding matrix"),
)
# By default transformers forces the end token at the length limit, which changes scores.
EXTRA_CONFIG = {"is_encoder_decoder": True, "forced_eos_token_id": None}


def classes(name: str, generating: str = "ForConditionalGeneration") -> dict[str, Form]:
    """The library's classes, by the beginning of their names."""
    return {f"{name}{generating}": "words", f"{name}Model": "words"}


variant = partial(
    Architecture,
    family="transformer",
    task="translate",
    prefix="model.",
    unprefixed=("lm_head.", "final_logits_bias"),
)

BART = variant(
    "BART",
    "bart",
    classes("Bart"),
    default_vocab_size=50265,
    # The decoder starts from the end token; its outputs begin with the begin token.
    roles={**SEQ2SEQ_ROLES, "bos": ("bos",), "start": ("decoder_start", "eos"), "mask": ("mask",)},
    default_ids={"pad": 1, "bos": 0, "eos": 2, "decoder_start": 2},
    frame=SpecialTokenTemplate(begin=True, between=2),
    settings=(*common(), POST_NORM, EMBEDDING_NORM, POSITION_TABLE, *ONE_MATRIX),
    # The first two rows of positions belong to padding in an older numbering.
    rows=partial(rows, positions="learned", transform=OffsetPositions(2)),
    ignored=(r"model\.(encoder|decoder)\.version",),
    extra_config=EXTRA_CONFIG,
)
MARIAN = variant(
    "Marian",
    "marian",
    classes("Marian", "MTModel"),
    default_vocab_size=58101,
    roles=SEQ2SEQ_ROLES,
    default_ids={"pad": 58100, "eos": 0, "decoder_start": 58100},
    settings=(*common(), POST_NORM, BARE_EMBEDDINGS, *SINUSOIDS, SharedEmbeddings()),
    rows=partial(rows, positions="no"),
    splits_positions=True,
    has_two_vocabularies=True,
    extra_config=EXTRA_CONFIG,
)
PEGASUS = variant(
    "Pegasus",
    "pegasus",
    classes("Pegasus"),
    default_vocab_size=50265,
    roles=SEQ2SEQ_ROLES,
    default_ids={"pad": 0, "eos": 1, "decoder_start": 0},
    settings=(*common(), PRE_NORM, BARE_EMBEDDINGS, *SINUSOIDS, *ONE_MATRIX),
    rows=partial(rows, positions="copied"),
    splits_positions=True,
    extra_config=EXTRA_CONFIG,
)
BLENDERBOT = variant(
    "Blenderbot",
    "blenderbot",
    classes("Blenderbot"),
    default_vocab_size=8008,
    roles=SEQ2SEQ_ROLES,
    default_ids={"pad": 0, "bos": 1, "eos": 2, "decoder_start": 1},
    settings=(
        *common(2560, (2, 24), 32, 10240, 128),
        PRE_NORM,
        BARE_EMBEDDINGS,
        POSITION_TABLE,
        *ONE_MATRIX,
    ),
    rows=partial(rows, positions="learned"),
    extra_config={**EXTRA_CONFIG, "encoder_no_repeat_ngram_size": 0},
)

"""BERT, RoBERTa and DistilBERT: our encoder with learned positions and post-norm layers.

RoBERTa names its heads differently and reserves two rows of positions. DistilBERT has other names
throughout, no segments and no pooler. MiniLM and most models of sentence-transformers are BERT or
RoBERTa with further files (`sentence_transformers.py`); the poolers are described in `pooling.py`.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from ...text import SpecialTokenTemplate
from ..unsupported import UnsupportedSettings
from .architecture import Architecture
from .config_map import (
    ACTIVATIONS,
    EMBEDDING_NORM,
    LAYER_NORM,
    POSITION_TABLE,
    POST_NORM,
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
from .pooling import Pooling
from .task_heads import Form
from .weight_map import (
    SAME,
    OffsetPositions,
    Transform,
    WeightRow,
    matrix,
    norm,
    packed,
    reads,
    stack,
    writes,
)

RESERVED = 2  # rows of RoBERTa's position table up to that of padding, its second

LAYER = (
    *packed(
        ("attention.self.query", "attention.self.key", "attention.self.value"), "attention.qkv"
    ),
    *writes("attention.output.dense", "attention.out"),
    *norm("attention.output.LayerNorm", "attention_residual.norm"),
    *reads("intermediate.dense", "feed.inner"),
    *writes("output.dense", "feed.outer"),
    *norm("output.LayerNorm", "feed_residual.norm"),
)
DISTILLED_LAYER = (
    *packed(("attention.q_lin", "attention.k_lin", "attention.v_lin"), "attention.qkv"),
    *writes("attention.out_lin", "attention.out"),
    *norm("sa_layer_norm", "attention_residual.norm"),
    *reads("ffn.lin1", "feed.inner"),
    *writes("ffn.lin2", "feed.outer"),
    *norm("output_layer_norm", "feed_residual.norm"),
)


def embeddings(
    theirs: str, tied: str, model: Any, transform: Transform = SAME
) -> Iterator[WeightRow]:
    """Token, position and segment embeddings and the norm after their sum.

    Args:
        tied: name of the output layer, which shares the token embeddings.
        transform: of the position table.
    """
    yield matrix(f"{theirs}.word_embeddings.weight", "backbone.embedding", tied)
    positions = f"{theirs}.position_embeddings.weight"
    yield WeightRow((positions,), "backbone.positions.weight", transform, stream_axis=1)
    if model.segments:
        yield matrix(f"{theirs}.token_type_embeddings.weight", "backbone.segments")
    yield from norm(f"{theirs}.LayerNorm", "backbone.embedding_norm")


def masked_lm(dense: str, layer_norm: str, bias: str, *aliases: str) -> Iterator[WeightRow]:
    """The masked-LM head, by the names of its layers."""
    yield from writes(dense, "masked.dense")
    yield from norm(layer_norm, "masked.norm")
    yield WeightRow((bias,), "masked.output.bias", aliases=aliases)


def bert_rows(model: Any, form: Form) -> Iterator[WeightRow]:
    """The weights of an `EncoderConfig` as BERT's."""
    yield from embeddings("bert.embeddings", "cls.predictions.decoder.weight", model)
    yield from stack("bert.encoder.layer", "backbone.layers", model.layers, LAYER)
    if form in ("masked", "masked_next"):
        head = "cls.predictions"
        biases = (f"{head}.bias", f"{head}.decoder.bias")
        yield from masked_lm(f"{head}.transform.dense", f"{head}.transform.LayerNorm", *biases)
    if form == "masked_next":
        yield from reads("cls.seq_relationship", "next")


def roberta_rows(model: Any, form: Form) -> Iterator[WeightRow]:
    """The weights of an `EncoderConfig` as RoBERTa's."""
    offset = OffsetPositions(RESERVED)
    yield from embeddings("roberta.embeddings", "lm_head.decoder.weight", model, offset)
    yield from stack("roberta.encoder.layer", "backbone.layers", model.layers, LAYER)
    if form == "masked":
        biases = ("lm_head.bias", "lm_head.decoder.bias")
        yield from masked_lm("lm_head.dense", "lm_head.layer_norm", *biases)


def distilbert_rows(model: Any, form: Form) -> Iterator[WeightRow]:
    """The weights of an `EncoderConfig` as DistilBERT's."""
    yield from embeddings("distilbert.embeddings", "vocab_projector.weight", model)
    layers = "distilbert.transformer.layer"
    yield from stack(layers, "backbone.layers", model.layers, DISTILLED_LAYER)
    if form == "masked":
        yield from masked_lm("vocab_transform", "vocab_layer_norm", "vocab_projector.bias")


@dataclass(frozen=True)
class PositionCount(ConfigMapping):
    """The number of positions; RoBERTa's entry includes the reserved ones."""

    reserved: int = 0

    def read(self, reader: ConfigReader) -> dict[str, Any]:
        number = reader.get("max_position_embeddings", 512)
        if not isinstance(number, int) or number <= self.reserved:
            reason = f"a number of positions above {self.reserved}"
            reader.obstacles.add("max_position_embeddings", number, reason)
            return {}
        return {"max_positions": number - self.reserved}

    def write(self, model: Any) -> dict[str, Any]:
        return {"max_position_embeddings": model.max_positions + self.reserved}


@dataclass(frozen=True)
class Segments(ConfigMapping):
    """The number of segment embeddings."""

    def read(self, reader: ConfigReader) -> dict[str, Any]:
        return {"segments": reader.get("type_vocab_size", 2)}

    def write(self, model: Any) -> dict[str, Any]:
        return {"type_vocab_size": model.segments}

    def check(self, model: Any, obstacles: UnsupportedSettings) -> None:
        if model.segments < 1:
            obstacles.add("model.segments", model.segments, "at least 1")


@dataclass(frozen=True)
class HeadDropout(ConfigMapping):
    """The dropout rate before a fine-tuning head, which headway takes from `model.dropout`.

    Attributes:
        theirs: the entry and its default; None means the rate of `general`.
        general: the entry that `model.dropout` maps to, and its default.
        prefix: of the head's weights; the import notes another rate only if they are present.
    """

    theirs: tuple[str, float | None]
    general: tuple[str, float]
    prefix: str

    def read(self, reader: ConfigReader) -> dict[str, Any]:
        general, rate = reader.get(*self.general), reader.get(*self.theirs)
        if rate not in (None, general) and reader.has_tensor(self.prefix):
            name = self.theirs[0]
            reader.notes.append(
                f"{name} = {rate} is {general} here: model.dropout is one rate for all"
            )
        return {}

    def write(self, model: Any) -> dict[str, Any]:
        return {self.theirs[0]: model.dropout}


COMMON = (
    POST_NORM,
    POSITION_TABLE,
    UNSCALED_EMBEDDINGS,
    EMBEDDING_NORM,
    LAYER_NORM,
    UNGATED,
    SCALED_DOT,
    WITH_BIAS,
    FixedKey("tie_word_embeddings", True, "the output layer is the matrix of the embeddings"),
)
"""What all three architectures have built in."""


def bert_settings(reserved: int) -> tuple[ConfigMapping, ...]:
    """The settings of BERT and RoBERTa.

    Args:
        reserved: rows of the position table that no token uses.
    """
    return (
        RenamedKey(("hidden_size",), "d_model", 768),
        RenamedKey(("num_hidden_layers",), "layers", 12),
        RenamedKey(("num_attention_heads",), "n_heads", 12),
        HeadWidths(("hidden_size", 768), ("num_attention_heads", 12)),
        RenamedKey(("intermediate_size",), "d_ff", 3072),
        RenamedKey(("hidden_act",), "activation", "gelu", ACTIVATIONS),
        RenamedKey(("layer_norm_eps",), "norm_eps", 1e-12),
        RenamedKey(("hidden_dropout_prob",), "dropout", 0.1),
        HeadDropout(("classifier_dropout", None), ("hidden_dropout_prob", 0.1), "classifier."),
        RenamedKey(("attention_probs_dropout_prob",), "attention_dropout", 0.1),
        PositionCount(reserved),
        Segments(),
        *COMMON,
        FixedKey("position_embedding_type", "absolute", "positions are added to embeddings"),
        FixedKey("is_decoder", False, "an encoder sees the whole text"),
        FixedKey("add_cross_attention", False, "an encoder reads no other text"),
    )


DISTILBERT_SETTINGS = (
    RenamedKey(("dim",), "d_model", 768),
    RenamedKey(("n_layers",), "layers", 6),
    RenamedKey(("n_heads",), "n_heads", 12),
    HeadWidths(("dim", 768), ("n_heads", 12)),
    RenamedKey(("hidden_dim",), "d_ff", 3072),
    RenamedKey(("activation",), "activation", "gelu", ACTIVATIONS),
    RenamedKey(("dropout",), "dropout", 0.1),
    HeadDropout(("seq_classif_dropout", 0.2), ("dropout", 0.1), "pre_classifier."),
    HeadDropout(("qa_dropout", 0.1), ("dropout", 0.1), "qa_outputs."),
    RenamedKey(("attention_dropout",), "attention_dropout", 0.1),
    PositionCount(),
    FixedSetting("segments", 0, "no segments"),
    FixedSetting("norm_eps", 1e-12, "must be 1e-12"),
    *COMMON,
)


def classes(name: str) -> dict[str, Form]:
    """The classes that all three architectures have, by the beginning of their names."""
    return {
        f"{name}ForMaskedLM": "masked",
        f"{name}Model": "none",
        f"{name}ForSequenceClassification": "texts",
        f"{name}ForTokenClassification": "tokens",
        f"{name}ForQuestionAnswering": "spans",
    }


# The library calls the begin token cls and the end token sep.
ROLES = {name: (name,) for name in ("pad", "unk", "mask")} | {"bos": ("cls",), "eos": ("sep",)}
OUTPUT_LAYERS: dict[Form, str] = {
    "texts": "classifier",
    "tokens": "classifier",
    "spans": "qa_outputs",
}
encoder = partial(Architecture, family="encoder", task="pretrain", roles=ROLES)

BERT = encoder(
    "BERT",
    "bert",
    {"BertForPreTraining": "masked_next", **classes("Bert")},
    default_vocab_size=30522,
    frame=SpecialTokenTemplate(begin=True),
    settings=bert_settings(0),
    rows=bert_rows,
    pooling=Pooling("bert.pooler.dense", "bert.pooler.dense"),
    output_layers=OUTPUT_LAYERS,
    prefix="bert.",
    unprefixed=("cls.", "classifier.", "qa_outputs."),
    head_prefixes={"cls.seq_relationship.": "masked_next", "cls.predictions.": "masked"},
    ignored=(r"bert\.embeddings\.(position_ids|token_type_ids)",),
    old_suffixes={"LayerNorm.gamma": "LayerNorm.weight", "LayerNorm.beta": "LayerNorm.bias"},
)
ROBERTA = encoder(
    "RoBERTa",
    "roberta",
    classes("Roberta"),
    default_vocab_size=50265,
    frame=SpecialTokenTemplate(begin=True, between=2),
    settings=(
        *bert_settings(RESERVED),
        FixedKey("pad_token_id", RESERVED - 1, "positions begin behind it"),
    ),
    pad_id=RESERVED - 1,
    rows=roberta_rows,
    pooling=Pooling("roberta.pooler.dense", "classifier.dense"),
    output_layers={**OUTPUT_LAYERS, "texts": "classifier.out_proj"},
    prefix="roberta.",
    unprefixed=("lm_head.", "classifier.", "qa_outputs."),
    head_prefixes={"lm_head.": "masked"},
    ignored=(r"roberta\.embeddings\.(position_ids|token_type_ids)",),
)
DISTILBERT = encoder(
    "DistilBERT",
    "distilbert",
    classes("DistilBert"),
    default_vocab_size=30522,
    frame=SpecialTokenTemplate(begin=True),
    settings=DISTILBERT_SETTINGS,
    rows=distilbert_rows,
    pooling=Pooling(None, "pre_classifier", "relu"),
    output_layers=OUTPUT_LAYERS,
    prefix="distilbert.",
    unprefixed=("vocab_", "pre_classifier.", "classifier.", "qa_outputs."),
    head_prefixes={"vocab_": "masked"},
    ignored=(r"distilbert\.embeddings\.position_ids",),
)

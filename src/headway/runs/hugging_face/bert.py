"""BERT and what came of it: our encoder with learned positions and the norm after each sum.

RoBERTa has other names for its heads and two rows of positions that no token has; DistilBERT has
other names throughout, no segments and no vector of a text. MiniLM and the models of
sentence-transformers are BERTs or RoBERTas with files beside them, which `sentences.py` reads. The
layer over the first token, which each has elsewhere, is in `pooling.py`.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ...text import Frame
from ..obstacles import Obstacles
from .layout import Layout
from .pooling import Pooling
from .purposes import Form
from .rows import SAME, Row, matrix, norm, packed, reads, stack, writes
from .settings import (
    ACTIVATIONS,
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
)
from .transforms import Reserved, Transform

RESERVED = 2  # rows of RoBERTa's positions: that of padding, and one before it

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


def embeddings(theirs: str, tied: str, model: Any, places: Transform = SAME) -> Iterator[Row]:
    """Of words, positions and segments.

    Args:
        tied: the name of the output layer, which is the matrix of the words.
    """
    yield matrix(f"{theirs}.word_embeddings.weight", "backbone.embedding", tied)
    positions = f"{theirs}.position_embeddings.weight"
    yield Row((positions,), "backbone.positions.weight", places, stream=1)
    if model.segments:
        yield matrix(f"{theirs}.token_type_embeddings.weight", "backbone.segments")
    yield from norm(f"{theirs}.LayerNorm", "backbone.embedding_norm")


def bert_rows(model: Any, form: Form) -> Iterator[Row]:
    """Of an `EncoderConfig`."""
    yield from embeddings("bert.embeddings", "cls.predictions.decoder.weight", model)
    yield from stack("bert.encoder.layer", "backbone.layers", model.layers, LAYER)
    if form in ("masked", "masked_next"):
        yield from writes("cls.predictions.transform.dense", "masked.dense")
        yield from norm("cls.predictions.transform.LayerNorm", "masked.norm")
        yield bias("cls.predictions.bias", "cls.predictions.decoder.bias")
    if form == "masked_next":
        yield from reads("cls.seq_relationship", "next")


def roberta_rows(model: Any, form: Form) -> Iterator[Row]:
    """Of an `EncoderConfig`."""
    places = Reserved(RESERVED)
    yield from embeddings("roberta.embeddings", "lm_head.decoder.weight", model, places)
    yield from stack("roberta.encoder.layer", "backbone.layers", model.layers, LAYER)
    if form == "masked":
        yield from writes("lm_head.dense", "masked.dense")
        yield from norm("lm_head.layer_norm", "masked.norm")
        yield bias("lm_head.bias", "lm_head.decoder.bias")


def distilbert_rows(model: Any, form: Form) -> Iterator[Row]:
    """Of an `EncoderConfig`."""
    yield from embeddings("distilbert.embeddings", "vocab_projector.weight", model)
    layers = "distilbert.transformer.layer"
    yield from stack(layers, "backbone.layers", model.layers, DISTILLED_LAYER)
    if form == "masked":
        yield from writes("vocab_transform", "masked.dense")
        yield from norm("vocab_layer_norm", "masked.norm")
        yield bias("vocab_projector.bias")


def bias(theirs: str, *aliases: str) -> Row:
    """Of the words, on the output layer."""
    return Row((theirs,), "masked.output.bias", aliases=aliases)


@dataclass(frozen=True)
class Places:
    """The number of positions; RoBERTa counts those that no token has."""

    reserved: int = 0

    def read(self, given: Reading) -> dict[str, Any]:
        number = given.get("max_position_embeddings", 512)
        if not isinstance(number, int) or number <= self.reserved:
            reason = f"a number of positions above {self.reserved}"
            given.obstacles.add("max_position_embeddings", number, reason)
            return {}
        return {"max_positions": number - self.reserved}

    def write(self, model: Any) -> dict[str, Any]:
        return {"max_position_embeddings": model.max_positions + self.reserved}

    def check(self, model: Any, found: Obstacles) -> None:
        """Any number will do."""


@dataclass(frozen=True)
class Segments:
    """Kinds of parts that a text may have."""

    def read(self, given: Reading) -> dict[str, Any]:
        return {"segments": given.get("type_vocab_size", 2)}

    def write(self, model: Any) -> dict[str, Any]:
        return {"type_vocab_size": model.segments}

    def check(self, model: Any, found: Obstacles) -> None:
        if model.segments < 1:
            found.add("model.segments", model.segments, "at least 1")


@dataclass(frozen=True)
class HeadRate:
    """A rate of dropping before a head that tells labels.

    Attributes:
        theirs: what it is called, and what it is where nothing is said of it; None is `elsewhere`.
        elsewhere: the same of the rate that `model.dropout` is.
        sign: a name that begins so tells of the head.
    """

    theirs: tuple[str, float | None]
    elsewhere: tuple[str, float]
    sign: str

    def read(self, given: Reading) -> dict[str, Any]:
        usual, rate = given.get(*self.elsewhere), given.get(*self.theirs)
        if rate not in (None, usual) and given.holds(self.sign):
            name = self.theirs[0]
            given.notes.append(
                f"{name} = {rate} is {usual} here: model.dropout is one rate for all"
            )
        return {}

    def write(self, model: Any) -> dict[str, Any]:
        return {self.theirs[0]: model.dropout}

    def check(self, model: Any, found: Obstacles) -> None:
        """Any rate will do."""


POST_NORM: tuple[Setting, ...] = (
    BuiltIn("residual", "post", "the norm stands after the residual sum"),
    BuiltIn("positions", "learned", "a table of positions", allowed=("sinusoidal", "none")),
    BuiltIn("scale_embeddings", False, "embeddings are taken as they are"),
    BuiltIn("embedding_norm", True, "a norm after the embeddings"),
    LAYER_NORM,
    UNGATED,
    SCALED_DOT,
    WITH_BIAS,
)


def bert_settings(reserved: int) -> tuple[Setting, ...]:
    """Of BERT and RoBERTa."""
    return (
        Key(("hidden_size",), "d_model", 768),
        Key(("num_hidden_layers",), "layers", 12),
        Key(("num_attention_heads",), "n_heads", 12),
        Heads(("hidden_size", 768), ("num_attention_heads", 12)),
        Key(("intermediate_size",), "d_ff", 3072),
        Key(("hidden_act",), "activation", "gelu", ACTIVATIONS),
        Key(("layer_norm_eps",), "norm_eps", 1e-12),
        Key(("hidden_dropout_prob",), "dropout", 0.1),
        HeadRate(("classifier_dropout", None), ("hidden_dropout_prob", 0.1), "classifier."),
        Key(("attention_probs_dropout_prob",), "attention_dropout", 0.1),
        Places(reserved),
        Segments(),
        *POST_NORM,
        Only("position_embedding_type", "absolute", "positions are added to embeddings"),
        Only("is_decoder", False, "an encoder sees the whole text"),
        Only("add_cross_attention", False, "an encoder reads no other text"),
        Only("tie_word_embeddings", True, "the output layer is the matrix of the embeddings"),
    )


# A text is begun by what the library calls cls, and ended by what it calls sep.
ROLES = {name: (name,) for name in ("pad", "unk", "mask")} | {"bos": ("cls",), "eos": ("sep",)}
# Files of the first versions.
OLD_NAMES = {"LayerNorm.gamma": "LayerNorm.weight", "LayerNorm.beta": "LayerNorm.bias"}

BERT = Layout(
    "BERT",
    "bert",
    {
        "BertForPreTraining": "masked_next",
        "BertForMaskedLM": "masked",
        "BertModel": "none",
        "BertForSequenceClassification": "texts",
        "BertForTokenClassification": "tokens",
        "BertForQuestionAnswering": "spans",
    },
    n_tokens=30522,
    family="encoder",
    task="pretrain",
    roles=ROLES,
    frame=Frame(begin=True),
    settings=bert_settings(0),
    rows=bert_rows,
    pooling=Pooling("bert.pooler.dense", "bert.pooler.dense"),
    outputs={"texts": "classifier", "tokens": "classifier", "spans": "qa_outputs"},
    prefix="bert.",
    unprefixed=("cls.", "classifier.", "qa_outputs."),
    signs={"cls.seq_relationship.": "masked_next", "cls.predictions.": "masked"},
    skipped=(r"bert\.embeddings\.(position_ids|token_type_ids)",),
    spellings=OLD_NAMES,
)
ROBERTA = Layout(
    "RoBERTa",
    "roberta",
    {
        "RobertaForMaskedLM": "masked",
        "RobertaModel": "none",
        "RobertaForSequenceClassification": "texts",
        "RobertaForTokenClassification": "tokens",
        "RobertaForQuestionAnswering": "spans",
    },
    n_tokens=50265,
    family="encoder",
    task="pretrain",
    roles=ROLES,
    frame=Frame(begin=True, between=2),
    settings=(
        *bert_settings(RESERVED),
        Only("pad_token_id", RESERVED - 1, "positions begin behind it"),
    ),
    pad=RESERVED - 1,
    rows=roberta_rows,
    pooling=Pooling("roberta.pooler.dense", "classifier.dense"),
    outputs={"texts": "classifier.out_proj", "tokens": "classifier", "spans": "qa_outputs"},
    prefix="roberta.",
    unprefixed=("lm_head.", "classifier.", "qa_outputs."),
    signs={"lm_head.": "masked"},
    skipped=(r"roberta\.embeddings\.(position_ids|token_type_ids)",),
)
DISTILBERT = Layout(
    "DistilBERT",
    "distilbert",
    {
        "DistilBertForMaskedLM": "masked",
        "DistilBertModel": "none",
        "DistilBertForSequenceClassification": "texts",
        "DistilBertForTokenClassification": "tokens",
        "DistilBertForQuestionAnswering": "spans",
    },
    n_tokens=30522,
    family="encoder",
    task="pretrain",
    roles=ROLES,
    frame=Frame(begin=True),
    settings=(
        Key(("dim",), "d_model", 768),
        Key(("n_layers",), "layers", 6),
        Key(("n_heads",), "n_heads", 12),
        Heads(("dim", 768), ("n_heads", 12)),
        Key(("hidden_dim",), "d_ff", 3072),
        Key(("activation",), "activation", "gelu", ACTIVATIONS),
        Key(("dropout",), "dropout", 0.1),
        HeadRate(("seq_classif_dropout", 0.2), ("dropout", 0.1), "pre_classifier."),
        HeadRate(("qa_dropout", 0.1), ("dropout", 0.1), "qa_outputs."),
        Key(("attention_dropout",), "attention_dropout", 0.1),
        Places(),
        BuiltIn("segments", 0, "no segments"),
        BuiltIn("norm_eps", 1e-12, "must be 1e-12"),
        *POST_NORM,
        Only("tie_word_embeddings", True, "the output layer is the matrix of the embeddings"),
    ),
    rows=distilbert_rows,
    pooling=Pooling(None, "pre_classifier", "relu"),
    outputs={"texts": "classifier", "tokens": "classifier", "spans": "qa_outputs"},
    prefix="distilbert.",
    unprefixed=("vocab_", "pre_classifier.", "classifier.", "qa_outputs."),
    signs={"vocab_": "masked"},
    skipped=(r"distilbert\.embeddings\.position_ids",),
)

"""BERT, RoBERTa and DistilBERT: positions, heads and dropout rates by hand, and older files."""

from dataclasses import replace

import pytest
import torch
from hf_cases import changed, make, model_config, our_logits, read_folder, refusal, save
from safetensors.torch import load_file

from headway.interop.hugging_face.bert import BERT, DISTILBERT, ROBERTA, HeadDropout, PositionCount
from headway.interop.hugging_face.config_map import ConfigReader
from headway.models import VocabularySizes

SIZES = VocabularySizes(30, 30, shared=True, head="masked")
SMALL = {"hidden_size": 6, "num_hidden_layers": 1, "num_attention_heads": 2}
NOTE = "qa_dropout = 0.2 is 0.1 here: model.dropout is one rate for all"
DISTILLED = {"dim": 6, "n_layers": 1, "n_heads": 2}


@pytest.mark.parametrize(
    ("architecture", "entries", "n_positions", "segments"),
    [
        (BERT, {**SMALL, "max_position_embeddings": 34}, 34, 2),
        (ROBERTA, {**SMALL, "max_position_embeddings": 34, "type_vocab_size": 1}, 32, 1),
        (DISTILBERT, {**DISTILLED, "max_position_embeddings": 34}, 34, 0),
    ],
)
def test_positions_and_segments_come_back(architecture, entries, n_positions, segments):
    config = model_config(architecture, **entries)
    assert (config.max_positions, config.segments) == (n_positions, segments)
    assert (config.d_model, config.layers, config.d_head, config.norm_eps) == (6, 1, 3, 1e-12)
    written = architecture.write(config, SIZES)
    assert {name: written[name] for name in entries} == entries


@pytest.mark.parametrize(("reserved", "number"), [(0, 0), (2, 2), (0, "many"), (2, -1)])
def test_a_number_of_positions_that_leaves_none(reserved, number):
    reader = ConfigReader({"max_position_embeddings": number})
    assert PositionCount(reserved).read(reader) == {}
    value = '"many"' if number == "many" else number
    assert reader.obstacles.messages == [
        f"max_position_embeddings = {value} (a number of positions above {reserved})"
    ]


def test_the_reserved_rows_of_roberta_are_zero_and_ours_follow():
    config = replace(model_config(ROBERTA, **SMALL), layers=0, segments=0, pooler=False)
    ours = {
        "backbone.embedding": torch.ones(30, 6),
        "backbone.positions.weight": torch.arange(12.0).reshape(2, 6),
        "backbone.embedding_norm.weight": torch.ones(6),
        "backbone.embedding_norm.bias": torch.zeros(6),
    }
    theirs = ROBERTA.weight_map(config, "none").to_hf(ours)
    table = theirs["roberta.embeddings.position_embeddings.weight"]
    assert table[:, 0].tolist() == [0, 0, 0, 6]


@pytest.mark.parametrize(
    ("architecture", "dense", "bias"),
    [
        (BERT, "cls.predictions.transform.dense", "cls.predictions.bias"),
        (ROBERTA, "lm_head.dense", "lm_head.bias"),
        (DISTILBERT, "vocab_transform", "vocab_projector.bias"),
    ],
)
def test_names_of_the_masked_lm_head(architecture, dense, bias):
    rows = architecture.weight_map(model_config(architecture), "masked").rows
    names = {row.ours: row.theirs for row in rows}
    assert names["masked.dense.weight"] == (f"{dense}.weight",)
    assert names["masked.output.bias"] == (bias,)
    bare = architecture.weight_map(model_config(architecture), "none").rows
    assert not any(row.ours.startswith("masked.") for row in bare)


def test_only_bert_predicts_the_next_sentence():
    rows = BERT.weight_map(model_config(BERT), "masked_next").rows
    assert [row.theirs for row in rows if row.ours.startswith("next.")] == [
        ("cls.seq_relationship.weight",),
        ("cls.seq_relationship.bias",),
    ]
    sizes = VocabularySizes(30, 30, shared=True, head="masked_next")
    config = model_config(ROBERTA, type_vocab_size=1)
    assert ROBERTA.obstacles(config, sizes, {"pad": 1}, None) == [
        'head = "masked_next" (RoBERTa has no such head)'
    ]


def test_settings_that_they_do_not_have():
    config = model_config(BERT, **SMALL)
    assert BERT.obstacles(replace(config, segments=0), SIZES, {"pad": 0}, None) == [
        "model.segments = 0 (at least 1)"
    ]
    assert ROBERTA.obstacles(config, SIZES, {"pad": 0}, None) == ["pad = 0 (RoBERTa pads with 1)"]
    assert DISTILBERT.obstacles(replace(config, norm_eps=0.1), SIZES, {"pad": 0}, None) == [
        "model.segments = 2 (no segments)",
        "model.norm_eps = 0.1 (must be 1e-12)",
    ]


def test_names_of_the_first_files_and_buffers_are_known(bert, tmp_path):
    weights = load_file(bert / "model.safetensors")
    new = {"LayerNorm.weight": "LayerNorm.gamma", "LayerNorm.bias": "LayerNorm.beta"}
    old = {}
    for name, tensor in weights.items():
        for ending, former in new.items():
            name = name.replace(ending, former)
        old[name] = tensor
    assert any(name.endswith("gamma") for name in old)
    removed = {name: None for name in weights if name not in old}
    tied = {"cls.predictions.decoder.weight": old["bert.embeddings.word_embeddings.weight"].clone()}
    buffers = {"bert.embeddings.position_ids": torch.arange(34)[None]}
    out = changed(bert, tmp_path / "old", {**removed, **old, **tied, **buffers})
    expected = our_logits(read_folder(bert).model)
    torch.testing.assert_close(our_logits(read_folder(out).model), expected)


def test_the_head_is_the_one_in_the_file(bert, tmp_path):
    names = load_file(bert / "model.safetensors")
    pair = {name: None for name in names if "seq_relationship" in name}
    words = {name: None for name in names if "predictions" in name}
    imported = read_folder(changed(bert, tmp_path / "masked", pair))
    assert imported.vocabularies.head == "masked"
    imported = read_folder(changed(bert, tmp_path / "none", pair | words))
    assert imported.vocabularies.head == "none"
    assert imported.config.pooler
    for name in ("cls.predictions.transform.dense.bias", "bert.pooler.dense.weight"):
        part = changed(bert, tmp_path / name, {name: None})
        assert refusal(part) == (
            f"{part} does not fit a BERT model: missing: {name}; give the folder as it was saved"
        )


@pytest.mark.parametrize(
    ("config", "message"),
    [
        (
            {"position_embedding_type": "relative_key", "is_decoder": True},
            'position_embedding_type = "relative_key" (positions are added to embeddings), '
            "is_decoder = true (an encoder sees the whole text)",
        ),
        (
            {"max_position_embeddings": 0},
            "max_position_embeddings = 0 (a number of positions above 0)",
        ),
    ],
)
def test_models_that_headway_does_not_have(bert, tmp_path, config, message):
    out = changed(bert, tmp_path / "out", **config)
    assert refusal(out) == (
        f"{out}/config.json: headway has no such BERT model: {message}; import another model"
    )


@pytest.mark.parametrize(
    ("setting", "names", "notes"),
    [
        (HeadDropout(("qa_dropout", 0.2), ("dropout", 0.1), "qa."), {"qa.weight"}, [NOTE]),
        (HeadDropout(("qa_dropout", 0.2), ("dropout", 0.1), "qa."), {"pooler.weight"}, []),
        (HeadDropout(("qa_dropout", 0.1), ("dropout", 0.1), "qa."), {"qa.weight"}, []),
        (HeadDropout(("qa_dropout", None), ("dropout", 0.1), "qa."), {"qa.weight"}, []),
    ],
    ids=["another", "no such head", "the same", "none of its own"],
)
def test_another_dropout_rate_before_a_head_is_noted(setting, names, notes):
    reader = ConfigReader({}, frozenset(names))
    assert setting.read(reader) == {}
    assert reader.notes == notes
    assert setting.write(model_config(BERT, hidden_dropout_prob=0.4)) == {"qa_dropout": 0.4}


def test_the_rate_that_distilbert_has_by_default_is_noted(tmp_path):
    folder = save(make("DistilBertForSequenceClassification"), tmp_path / "distilbert")
    assert read_folder(folder).notes == (
        "seq_classif_dropout = 0.2 is 0.1 here: model.dropout is one rate for all",
    )

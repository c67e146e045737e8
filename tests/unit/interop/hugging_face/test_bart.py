"""BART, Marian, Pegasus and Blenderbot: what separates them, by hand and in files."""

from dataclasses import replace

import pytest
import torch
import transformers
from hf_cases import changed, make, model_config, our_logits, read_folder, refusal, save
from safetensors.torch import load_file

from headway.interop.hugging_face.bart import (
    BART,
    BLENDERBOT,
    MARIAN,
    PEGASUS,
    SharedEmbeddings,
    embeddings,
)
from headway.interop.hugging_face.config_map import ConfigReader
from headway.interop.unsupported import UnsupportedSettings

SMALL = {"d_model": 4, "encoder_layers": 1, "decoder_layers": 1}
SMALL |= {"encoder_attention_heads": 2, "decoder_attention_heads": 2}
SOURCE, TARGET = "model.encoder.embed_tokens.weight", "model.decoder.embed_tokens.weight"
POSITIONS = "model.encoder.embed_positions.weight"


@pytest.mark.parametrize(
    ("architecture", "expected"),
    [
        (BART, ("post", "learned", True)),
        (MARIAN, ("post", "sinusoidal", False)),
        (PEGASUS, ("pre", "sinusoidal", False)),
        (BLENDERBOT, ("pre", "learned", False)),
    ],
    ids=["bart", "marian", "pegasus", "blenderbot"],
)
def test_norms_and_positions_separate_the_four(architecture, expected):
    config = model_config(architecture, **SMALL)
    assert (config.residual, config.positions, config.embedding_norm) == expected
    names = {row.theirs[0] for row in architecture.weight_map(config, "words").rows}
    assert ("model.encoder.layer_norm.weight" in names) == (config.residual == "pre")
    assert ("model.decoder.layernorm_embedding.bias" in names) == config.embedding_norm


@pytest.mark.parametrize(
    ("architecture", "expected"),
    [
        # BART reserves two rows; Pegasus has channels 0 and 2 (the sines) before 1 and 3.
        (BART, [[0, 0, 0, 0], [0, 0, 0, 0], [0, 1, 2, 3]]),
        (MARIAN, None),
        (PEGASUS, [[0, 2, 1, 3]]),
        (BLENDERBOT, [[0, 1, 2, 3]]),
    ],
    ids=["bart", "marian", "pegasus", "blenderbot"],
)
def test_positions_that_an_export_contains(architecture, expected):
    config = model_config(architecture, **SMALL)
    weight_map = architecture.weight_map(config, "words")
    weight_map.rows = [row for row in weight_map.rows if POSITIONS in row.theirs]
    written = weight_map.to_hf({"positions.weight": torch.arange(4.0)[None]})
    assert {name: table.tolist() for name, table in written.items()} == (
        {} if expected is None else {POSITIONS: expected}
    )


@pytest.mark.parametrize(
    ("share", "expected"),
    [
        (
            "all",
            [("model.shared.weight", "source_embedding", (SOURCE, TARGET, "lm_head.weight"))],
        ),
        (
            "target",
            [(SOURCE, "source_embedding", ()), (TARGET, "target_embedding", ("lm_head.weight",))],
        ),
        (
            "none",
            [
                (SOURCE, "source_embedding", ()),
                (TARGET, "target_embedding", ()),
                ("lm_head.weight", "output.weight", ()),
            ],
        ),
    ],
)
def test_matrices_of_source_target_and_output(share, expected):
    rows = [(row.theirs[0], row.ours, row.aliases) for row in embeddings(share)]
    assert rows == expected


@pytest.mark.parametrize(
    ("is_shared", "is_tied", "share"),
    [(True, True, "all"), (False, True, "target"), (False, False, "none")],
)
def test_entries_of_shared_embeddings_come_back(is_shared, is_tied, share):
    entries = {
        "share_encoder_decoder_embeddings": is_shared,
        "tie_word_embeddings": is_tied,
    }
    assert SharedEmbeddings().read(ConfigReader(entries)) == {"share": share}
    assert SharedEmbeddings().write(model_config(MARIAN, **entries)) == entries


def test_shared_embeddings_that_one_side_does_not_have():
    reader = ConfigReader({"tie_word_embeddings": False})
    SharedEmbeddings().read(reader)
    assert reader.obstacles.messages == [
        "tie_word_embeddings = false (true where source and target are one)"
    ]
    unsupported = UnsupportedSettings()
    SharedEmbeddings().check(replace(model_config(MARIAN), share="inputs"), unsupported)
    assert unsupported.messages == [
        'model.share = "inputs" (an output layer of its own goes with share = none)'
    ]


@pytest.mark.parametrize(
    ("kind", "bare"),
    [("BartForConditionalGeneration", "BartModel"), ("MarianMTModel", "MarianModel")],
)
def test_a_folder_saved_without_a_head_has_no_prefix(tmp_path, kind, bare):
    folder = save(make(kind), tmp_path / "whole")
    out = save(getattr(transformers, bare).from_pretrained(folder), tmp_path / "bare")
    assert any(name.startswith("encoder.") for name in load_file(out / "model.safetensors"))
    whole = read_folder(folder).model
    whole.output.bias.data.zero_()  # it belongs to the head
    torch.testing.assert_close(our_logits(read_folder(out).model), our_logits(whole))


def test_positions_in_a_file_must_be_those_of_the_formula(marian, tmp_path):
    table = make("MarianMTModel").model.encoder.embed_positions.weight.detach()
    same = changed(marian, tmp_path / "same", {POSITIONS: table.clone()})
    expected = our_logits(read_folder(marian).model)
    torch.testing.assert_close(our_logits(read_folder(same).model), expected)
    other = changed(marian, tmp_path / "other", {POSITIONS: table + 0.1})
    assert refusal(other) == (
        f"{other} does not fit a Marian model: not what the formula gives: {POSITIONS}; give the "
        "folder as it was saved"
    )


def test_the_output_layer_has_a_bias_if_the_file_has_one(marian, tmp_path):
    out = changed(marian, tmp_path / "out", {"final_logits_bias": None})
    assert read_folder(out).config.output_bias is False
    assert read_folder(marian).config.output_bias is True


def test_sides_of_different_sizes_and_rates_that_headway_does_not_have(marian, tmp_path):
    out = changed(marian, tmp_path / "out", decoder_ffn_dim=48)
    assert refusal(out) == (
        f"{out}/config.json: headway has no such Marian model: decoder_ffn_dim = 48 "
        "(encoder_ffn_dim = 24, and model.d_ff is one for both); import another model"
    )
    noted = read_folder(changed(marian, tmp_path / "noted", encoder_layerdrop=0.2))
    assert noted.notes == ("encoder_layerdrop = 0.2 is left out: headway has no such rate",)

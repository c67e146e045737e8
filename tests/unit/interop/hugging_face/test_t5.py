"""T5: entries for gates, layers and widths by hand, and both forms of its output layer."""

from dataclasses import replace

import pytest
import torch
import transformers
from hf_cases import (
    CLOSE,
    VOCABULARY,
    changed,
    make,
    model_config,
    our_logits,
    our_outputs,
    read_folder,
    refusal,
    save,
    their_outputs,
)

from headway.interop.hugging_face.config_map import ConfigReader
from headway.interop.hugging_face.model_files import write_model
from headway.interop.hugging_face.t5 import T5, FeedForwardType, TiedOutput
from headway.models import VocabularySizes

SIZES = VocabularySizes(30, 30, shared=True, head="words")
OWN = {"lm_head.weight": torch.randn(VOCABULARY, 16, generator=torch.Generator().manual_seed(3))}


@pytest.fixture(scope="module")
def t5(tmp_path_factory):
    return save(make("T5ForConditionalGeneration"), tmp_path_factory.mktemp("t5") / "t5")


@pytest.mark.parametrize(
    ("entry", "is_gated", "activation", "written"),
    [
        ("relu", False, "relu", "relu"),
        ("gelu", False, "gelu", "gelu"),
        ("gelu_new", False, "gelu_tanh", "gelu_pytorch_tanh"),
        ("gated-gelu", True, "gelu_tanh", "gated-gelu"),
        ("gated-gelu_new", True, "gelu_tanh", "gated-gelu"),
        ("gated-silu", True, "silu", "gated-silu"),
    ],
)
def test_gates_and_activation_have_one_entry(entry, is_gated, activation, written):
    config = model_config(T5, feed_forward_proj=entry)
    assert (config.gated, config.activation) == (is_gated, activation)
    assert FeedForwardType().write(config) == {"feed_forward_proj": written}


@pytest.mark.parametrize("entry", ["mish", "gated-mish", "closed-relu", 3])
def test_an_activation_that_headway_does_not_have(entry):
    reader = ConfigReader({"feed_forward_proj": entry})
    assert FeedForwardType().read(reader) == {}
    value = entry if entry == 3 else f'"{entry}"'
    assert reader.obstacles.messages == [
        f"feed_forward_proj = {value} (an activation, or one behind gated-)"
    ]


def test_the_decoder_has_as_many_layers_as_the_encoder_unless_said():
    config = model_config(T5, num_layers=2)
    assert (config.encoder_layers, config.decoder_layers) == (2, 2)
    config = model_config(T5, num_layers=2, num_decoder_layers=3)
    entries = T5.write(config, SIZES)
    assert (entries["num_layers"], entries["num_decoder_layers"]) == (2, 3)


def test_one_width_and_one_dropout_rate_are_for_all():
    config = model_config(T5, d_kv=5, dropout_rate=0.3, n_positions=77)
    assert (config.d_head, config.d_value) == (5, 5)
    assert (config.dropout, config.attention_dropout, config.activation_dropout) == (0.3,) * 3
    assert config.max_positions == 77
    entries = T5.write(replace(config, dropout=0.2), SIZES)
    assert (entries["d_kv"], entries["dropout_rate"]) == (5, 0.2)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"share": "target"},
            'model.share = "target" (source and target have one embedding matrix)',
        ),
        (
            {"scale_output": False},
            'model.scale_output = false (is true with share = "all", false with "inputs")',
        ),
        (
            {"share": "inputs"},
            'model.scale_output = true (is true with share = "all", false with "inputs")',
        ),
        (
            {"gated": True, "activation": "gelu"},
            'model.activation = "gelu" (gelu_tanh, relu or silu with gates)',
        ),
        ({"d_value": 9}, "model.d_value = 9 (must be d_head = 64)"),
        ({"bias": True}, "model.bias = true (no biases)"),
        ({"score": "scaled_dot"}, 'model.score = "scaled_dot" (products that are not scaled)'),
    ],
    ids=str,
)
def test_settings_that_t5_does_not_have(settings, message):
    config = replace(model_config(T5), **settings)
    assert T5.obstacles(config, SIZES, {"pad": 0}, None) == [message]


@pytest.mark.parametrize(
    ("entries", "names", "expected"),
    [
        ({}, (), ("all", True)),
        ({}, ("lm_head.weight",), ("all", True)),
        ({"tie_word_embeddings": False}, ("lm_head.weight",), ("inputs", False)),
        ({"scale_decoder_outputs": False}, ("lm_head.weight",), ("inputs", False)),
        ({"scale_decoder_outputs": False}, (), ("all", False)),
    ],
    ids=str,
)
def test_whether_the_output_layer_is_tied(entries, names, expected):
    settings = TiedOutput().read(ConfigReader(entries, frozenset(names)))
    assert (settings["share"], settings["scale_output"]) == expected


@pytest.mark.parametrize(
    "config",
    [
        {"tie_word_embeddings": False, "scale_decoder_outputs": None},
        {"tie_word_embeddings": True, "scale_decoder_outputs": False},
    ],
    ids=["as first written", "as written since"],
)
def test_an_output_layer_of_its_own_comes_back(t5, tmp_path, config):
    folder = changed(t5, tmp_path / "own", OWN, **config)
    imported = read_folder(folder)
    theirs = transformers.T5ForConditionalGeneration.from_pretrained(folder).eval()
    expected = their_outputs(theirs)
    torch.testing.assert_close(our_outputs(imported.model, expected), expected, **CLOSE)
    (tmp_path / "again").mkdir()
    ids = {"pad": 0, "bos": 0, "eos": 1}
    write_model(tmp_path / "again", imported.model, T5, imported.vocabularies, ids, 32)
    again, report = transformers.T5ForConditionalGeneration.from_pretrained(
        tmp_path / "again", output_loading_info=True
    )
    assert not any(report.values()), report
    torch.testing.assert_close(their_outputs(again.eval()), expected, **CLOSE)


def test_a_tied_output_layer_must_equal_the_embeddings(t5, tmp_path):
    wrong = changed(t5, tmp_path / "wrong", OWN)
    assert refusal(wrong) == (
        f"{wrong} does not fit a T5 model: tied, but not equal: shared.weight and lm_head.weight; "
        "give the folder as it was saved"
    )


def test_a_folder_saved_without_a_head_has_the_same_names(t5, tmp_path):
    out = save(transformers.T5Model.from_pretrained(t5), tmp_path / "bare")
    expected = our_logits(read_folder(t5).model)
    torch.testing.assert_close(our_logits(read_folder(out).model), expected)


def test_a_weight_that_the_first_files_contain_is_ignored(t5, tmp_path):
    name = "decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight"
    out = changed(t5, tmp_path / "out", {name: torch.ones(8, 2)})
    expected = our_logits(read_folder(t5).model)
    torch.testing.assert_close(our_logits(read_folder(out).model), expected)

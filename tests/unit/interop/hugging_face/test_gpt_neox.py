"""GPT-NeoX: the counterpart of the default language model; settings and weights by hand."""

import json
import math
from dataclasses import replace

import pytest
import torch
import transformers
from hf_cases import NEOX, changed, make, model_config, our_logits, read_folder, refusal, save
from hf_cases import their_outputs as outputs_of

from headway.interop.hugging_face import architecture_for
from headway.interop.hugging_face.gpt_neox import GPT_NEOX, HeadwisePacked
from headway.interop.hugging_face.model_files import write_model
from headway.models import FAMILIES, VocabularySizes

SIZES = VocabularySizes(30, 30, shared=True, head="words")
IDS = {"pad": 29, "bos": 29, "eos": 29, "unk": 29}
CLOSE = {"rtol": 1e-5, "atol": 1e-5}


@pytest.fixture(scope="module")
def neox(saved):
    return save(make("GPTNeoXForCausalLM"), saved / "gpt-neox")


def decoder(**settings):
    """A decoder with the default settings, small, and weights in which a mistake shows."""
    family = FAMILIES["decoder"]
    sizes = {"d_model": 16, "d_ff": 24, "n_heads": 2, "layers": 3}
    torch.manual_seed(1)
    model = family.build(family.config(**sizes, **settings).resolve(100, SIZES), SIZES)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.2 * torch.randn_like(parameter))
    return model.eval()


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"share": False},
        {"scale_embeddings": False},
        {"scale_embeddings": False, "share": False},
        {"bias": False, "activation": "relu", "position_base": 300.0},
    ],
    ids=str,
)
def test_a_language_model_with_the_default_settings_is_exported(tmp_path, settings):
    model = decoder(**settings)
    layout, obstacles = architecture_for(model.config, SIZES, IDS)
    assert (layout, obstacles) == (GPT_NEOX, [])
    write_model(tmp_path, model, layout, SIZES, IDS, 32)
    theirs, report = transformers.AutoModelForCausalLM.from_pretrained(
        tmp_path, output_loading_info=True
    )
    assert not any(report.values()), report
    expected = our_logits(model)
    torch.testing.assert_close(outputs_of(theirs.eval())["logits"], expected, **CLOSE)
    torch.testing.assert_close(our_logits(read_folder(tmp_path).model), expected, **CLOSE)


def test_queries_and_keys_are_halves_head_by_head():
    """Two heads of four components each, numbered: queries 0 to 7, keys 8 to 15, values from 16."""
    (theirs,) = HeadwisePacked(2).to_hf(torch.arange(24))
    assert theirs.tolist() == [
        *(0, 2, 1, 3, 8, 10, 9, 11, 16, 17, 18, 19),
        *(4, 6, 5, 7, 12, 14, 13, 15, 20, 21, 22, 23),
    ]
    assert HeadwisePacked(2).from_hf([theirs]).tolist() == list(range(24))


def test_scaled_embeddings_are_written_multiplied():
    model = decoder()
    tensors = GPT_NEOX.weight_map(model.config, "words").to_hf(dict(model.state_dict()))
    embedding = model.embedding.detach()
    assert torch.equal(tensors["gpt_neox.embed_in.weight"], embedding * math.sqrt(16))
    assert torch.equal(tensors["embed_out.weight"], embedding)
    assert GPT_NEOX.write(model.config, SIZES)["tie_word_embeddings"] is False


def test_settings_of_a_small_model():
    config = model_config(GPT_NEOX, **NEOX, hidden_dropout=0.3)
    assert (config.d_model, config.layers, config.n_heads, config.d_ff) == (16, 3, 2, 24)
    assert (config.positions, config.position_base, config.dropout) == ("rotary", 10000, 0.3)
    assert (config.share, config.scale_embeddings) == (False, False)


def test_both_spellings_of_rotary_positions(neox, tmp_path):
    table = json.loads((neox / "config.json").read_text())["rope_parameters"]
    assert table["partial_rotary_factor"] == 1.0
    old = changed(neox, tmp_path / "old", rope_parameters=None, rotary_pct=1.0, rotary_emb_base=1e4)
    expected = our_logits(read_folder(neox).model)
    assert torch.equal(our_logits(read_folder(old).model), expected)


@pytest.mark.parametrize(
    ("config", "message"),
    [
        (
            {"use_parallel_residual": None},
            "use_parallel_residual = true (the feed-forward layer follows the attention)",
        ),
        (
            {"rope_parameters": {"rope_type": "linear", "partial_rotary_factor": 0.25}},
            "rotary_pct = 0.25 (all components are rotated), "
            'rope_type = "linear" (plain rotary positions)',
        ),
        ({"rope_parameters": 1}, "rotary_pct = 0.25 (all components are rotated)"),
    ],
)
def test_models_that_headway_does_not_have(neox, tmp_path, config, message):
    out = changed(neox, tmp_path / "out", **config)
    assert refusal(out) == (
        f"{out}/config.json: headway has no such GPT-NeoX model: {message}; import another model"
    )


def test_settings_that_no_language_model_has():
    def obstacles(**settings):
        return architecture_for(replace(decoder().config, **settings), SIZES, IDS)[1]

    assert obstacles(norm="rms", gated=True) == [
        'model.norm = "rms" (only layer normalisation)',
        "model.gated = true (no gates)",
    ]
    assert obstacles(positions="relative") == ['model.positions = "relative" (rotary positions)']

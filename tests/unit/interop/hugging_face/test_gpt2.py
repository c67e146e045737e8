"""GPT-2: settings and weights by hand, files of older versions, and what headway has not."""

from dataclasses import replace

import pytest
import torch
import transformers
from hf_cases import changed, model_config, our_logits, read_folder, refusal, save
from safetensors.torch import load_file

from headway.interop.hugging_face.gpt2 import GPT2
from headway.interop.hugging_face.weight_map import materialize
from headway.models import FAMILIES, VocabularySizes

SIZES = VocabularySizes(5, 5, shared=True, head="words")
SMALL = {"n_embd": 6, "n_layer": 1, "n_head": 2, "n_positions": 4}
LAYER = {
    "ln_1.weight": (6,),
    "ln_1.bias": (6,),
    "attn.c_attn.weight": (6, 18),
    "attn.c_attn.bias": (18,),
    "attn.c_proj.weight": (6, 6),
    "attn.c_proj.bias": (6,),
    "ln_2.weight": (6,),
    "ln_2.bias": (6,),
    "mlp.c_fc.weight": (6, 24),
    "mlp.c_fc.bias": (24,),
    "mlp.c_proj.weight": (24, 6),
    "mlp.c_proj.bias": (6,),
}


def test_settings_of_a_small_model():
    config = model_config(GPT2, **SMALL, activation_function="gelu_fast", attn_pdrop=0.3)
    assert (config.d_model, config.layers, config.n_heads, config.max_positions) == (6, 1, 2, 4)
    assert (config.d_head, config.d_value, config.d_ff) == (3, 3, 24)
    assert (config.activation, config.dropout, config.attention_dropout) == ("gelu_tanh", 0.1, 0.3)
    assert (config.residual, config.positions, config.share) == ("pre", "learned", True)


@pytest.mark.parametrize(("n_inner", "d_ff"), [(None, 24), (7, 7)])
def test_feed_forward_layers_are_four_times_as_wide_unless_said(n_inner, d_ff):
    config = model_config(GPT2, **SMALL, n_inner=n_inner)
    assert config.d_ff == d_ff
    assert GPT2.write(config, SIZES)["n_inner"] == d_ff


def test_entries_of_an_export():
    config = replace(model_config(GPT2, **SMALL), dropout=0.2)
    assert GPT2.write(config, SIZES) == {
        "architectures": ["GPT2LMHeadModel"],
        "model_type": "gpt2",
        "vocab_size": 5,
        **SMALL,
        "n_inner": 24,
        "activation_function": "gelu_pytorch_tanh",
        "layer_norm_epsilon": 1e-5,
        "resid_pdrop": 0.2,
        "embd_pdrop": 0.2,
        "attn_pdrop": 0.1,
        "tie_word_embeddings": True,
    }


@pytest.mark.parametrize("is_tied", [True, False])
def test_weights_have_the_librarys_names_and_matrices_are_transposed(is_tied):
    config = model_config(GPT2, **SMALL, tie_word_embeddings=is_tied)
    model = FAMILIES["decoder"].build(config, SIZES)
    weight_map = GPT2.weight_map(config, "words")
    ours = materialize(model, weight_map.rows, 4)
    theirs = weight_map.to_hf(ours)
    assert {name: tuple(tensor.shape) for name, tensor in theirs.items()} == {
        "transformer.wte.weight": (5, 6),
        "transformer.wpe.weight": (4, 6),
        **{f"transformer.h.0.{name}": shape for name, shape in LAYER.items()},
        "transformer.ln_f.weight": (6,),
        "transformer.ln_f.bias": (6,),
        **({} if is_tied else {"lm_head.weight": (5, 6)}),
    }
    packed = theirs["transformer.h.0.attn.c_attn.weight"]
    assert torch.equal(packed, ours["layers.0.attention.qkv.weight"].T)
    back = weight_map.from_hf(theirs)
    assert all(torch.equal(tensor, ours[name]) for name, tensor in back.items())


def test_a_folder_saved_without_a_head_has_no_prefix(gpt2, tmp_path):
    out = save(transformers.GPT2Model.from_pretrained(gpt2), tmp_path / "bare")
    assert "wte.weight" in load_file(out / "model.safetensors")
    expected = our_logits(read_folder(gpt2).model)
    torch.testing.assert_close(our_logits(read_folder(out).model), expected)
    broken = changed(out, tmp_path / "broken", {"ln_f.bias": None})
    assert refusal(broken) == (
        f"{broken} does not fit a GPT-2 model: missing: ln_f.bias; give the folder as it was saved"
    )


def test_masks_that_were_saved_with_the_weights_are_ignored(gpt2, tmp_path):
    masks = {
        "transformer.h.0.attn.bias": torch.ones(1, 1, 32, 32, dtype=torch.uint8),
        "transformer.h.0.attn.masked_bias": torch.tensor(-1e4),
    }
    out = changed(gpt2, tmp_path / "out", masks)
    expected = our_logits(read_folder(gpt2).model)
    torch.testing.assert_close(our_logits(read_folder(out).model), expected)


@pytest.mark.parametrize(
    ("config", "message"),
    [
        (
            {"scale_attn_by_inverse_layer_idx": True, "activation_function": "mish"},
            'activation_function = "mish" (one of relu, gelu, gelu_pytorch_tanh, gelu_new, '
            "gelu_fast, silu, swish), scale_attn_by_inverse_layer_idx = true (no scale of a "
            "layer's own)",
        ),
        ({"n_head": 3}, "n_head = 3 (must divide n_embd = 16)"),
        ({"n_embd": {}, "n_inner": None}, "n_head = 2 (must divide n_embd = {})"),
        (
            {"scale_attn_weights": False, "add_cross_attention": True},
            "scale_attn_weights = false (scores are divided by the root of the width), "
            "add_cross_attention = true (a language model reads no other text)",
        ),
    ],
)
def test_models_that_headway_does_not_have(gpt2, tmp_path, config, message):
    out = changed(gpt2, tmp_path / "out", **config)
    assert refusal(out) == (
        f"{out}/config.json: headway has no such GPT-2 model: {message}; import another model"
    )


def test_settings_that_gpt2_does_not_have():
    def obstacles(**settings):
        config = replace(model_config(GPT2, **SMALL), **settings)
        return GPT2.obstacles(config, SIZES, {"pad": 0}, None)

    assert obstacles() == obstacles(positions="sinusoidal", bias=False) == []
    assert obstacles(positions="rotary", output_bias=True, norm="rms") == [
        'model.positions = "rotary" (positions are added to embeddings)',
        "model.output_bias = true (no bias on the output layer)",
        'model.norm = "rms" (only layer normalisation)',
    ]


def test_two_dropout_rates_become_the_first(gpt2, tmp_path):
    imported = read_folder(changed(gpt2, tmp_path / "out", embd_pdrop=0.0))
    assert imported.config.dropout == 0.1
    assert imported.notes == ("embd_pdrop = 0.0 is 0.1 here: model.dropout is one rate for all",)

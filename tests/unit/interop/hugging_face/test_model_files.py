"""Folders of Hugging Face: models of its own classes give the same logits here, and back again."""

import pytest
import torch
import transformers
from hf_cases import (
    CLOSE,
    changed,
    make,
    our_logits,
    our_outputs,
    read_folder,
    refusal,
    save,
    their_outputs,
)
from safetensors.torch import load_file

from headway.interop.hugging_face import architecture_for
from headway.interop.hugging_face.model_files import write_model


@pytest.mark.parametrize(
    ("kind", "settings"),
    [
        ("GPT2LMHeadModel", {}),
        ("GPT2LMHeadModel", {"n_inner": 40, "activation_function": "relu"}),
        ("GPT2LMHeadModel", {"tie_word_embeddings": False, "layer_norm_epsilon": 0.1}),
        ("MarianMTModel", {}),
        ("MarianMTModel", {"scale_embedding": True, "activation_function": "swish"}),
        ("MarianMTModel", {"share_encoder_decoder_embeddings": False}),
        (
            "MarianMTModel",
            {"share_encoder_decoder_embeddings": False, "tie_word_embeddings": False},
        ),
        ("PegasusForConditionalGeneration", {"scale_embedding": True}),
        ("BlenderbotForConditionalGeneration", {}),
        ("BartForConditionalGeneration", {}),
        ("BartForConditionalGeneration", {"activation_function": "relu", "scale_embedding": True}),
        ("T5ForConditionalGeneration", {}),
        ("T5ForConditionalGeneration", {"feed_forward_proj": "gated-gelu"}),
        ("BertForPreTraining", {}),
        ("BertForMaskedLM", {"hidden_act": "gelu_new", "layer_norm_eps": 0.1}),
        ("BertModel", {}),
        ("RobertaForMaskedLM", {}),
        ("RobertaModel", {}),
        ("DistilBertForMaskedLM", {}),
        ("DistilBertModel", {"sinusoidal_pos_embds": True}),
    ],
    ids=str,
)
def test_outputs_are_theirs_and_come_back(tmp_path, kind, settings):
    theirs = make(kind, **settings)
    expected = their_outputs(theirs)
    found = read_folder(save(theirs, tmp_path / "theirs"))
    torch.testing.assert_close(our_outputs(found.model, expected), expected, **CLOSE)
    (tmp_path / "again").mkdir()
    pad = theirs.config.pad_token_id
    ids = {"pad": 29 if pad is None else pad, "bos": 29, "eos": 0}
    layout, _ = architecture_for(found.config, found.vocabularies, ids)
    assert layout is found.architecture
    write_model(tmp_path / "again", found.model, layout, found.vocabularies, ids, 32)
    again, report = getattr(transformers, kind).from_pretrained(
        tmp_path / "again", output_loading_info=True
    )
    assert not any(report.values()), report
    torch.testing.assert_close(their_outputs(again.eval()), expected, **CLOSE)


def test_every_weight_that_does_not_fit_is_named_at_once(gpt2, tmp_path):
    tensors = {
        "transformer.wpe.weight": None,
        "transformer.position.weight": torch.zeros(32, 16),
        "transformer.h.0.ln_1.bias": None,
        "transformer.h.2.ln_1.bias": None,
        "transformer.h.1.attn.c_attn.weight": torch.zeros(48, 16),
        "transformer.ln_f.weight": torch.zeros(17),
        "score.weight": torch.zeros(2, 16),
    }
    out = changed(gpt2, tmp_path / "out", tensors)
    assert refusal(out) == (
        f"{out} does not fit a GPT-2 model: missing: transformer.wpe.weight, "
        "transformer.h.{0,2}.ln_1.bias; unexpected: score.weight, transformer.position.weight; "
        "shape (48, 16) instead of (16, 48): transformer.h.1.attn.c_attn.weight; "
        "shape (17,) instead of (16,): transformer.ln_f.weight; give the folder as it was saved"
    )


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_weights_that_are_no_numbers_are_named(marian, tmp_path, value):
    name = "model.encoder.layers.0.fc1.weight"
    tensor = load_file(marian / "model.safetensors")[name]
    tensor[0, 0] = value
    out = changed(marian, tmp_path / "broken", {name: tensor})
    assert f"a Marian model: not a number, or infinite: {name}; give one" in refusal(out)


def test_tied_weights_may_stand_under_any_of_their_names_and_must_be_equal(marian, tmp_path):
    shared = load_file(marian / "model.safetensors")["model.shared.weight"]
    expected = our_logits(read_folder(marian).model)
    names = ("lm_head.weight", "model.decoder.embed_tokens.weight")
    for i, held in enumerate((names[:1], names)):
        tensors = {"model.shared.weight": None, **{name: shared.clone() for name in held}}
        found = read_folder(changed(marian, tmp_path / str(i), tensors))
        torch.testing.assert_close(our_logits(found.model), expected)
    other = changed(marian, tmp_path / "other", {"lm_head.weight": shared + 1})
    assert (
        "a Marian model: tied, but not equal: model.shared.weight and lm_head.weight;"
        in refusal(other)
    )
    none = changed(marian, tmp_path / "none", {"model.shared.weight": None})
    assert "missing: model.shared.weight;" in refusal(none)


def test_half_precision_becomes_float32_and_whole_numbers_are_refused(gpt2, tmp_path):
    tensors = load_file(gpt2 / "model.safetensors")
    half = changed(gpt2, tmp_path / "half", {k: v.half() for k, v in tensors.items()})
    torch.testing.assert_close(
        our_logits(read_folder(half).model),
        our_logits(read_folder(gpt2).model),
        rtol=0,
        atol=0.05,
    )
    name = "transformer.wte.weight"
    whole = changed(gpt2, tmp_path / "whole", {name: torch.ones(30, 16, dtype=torch.int8)})
    assert f"model: {name} hold int8; give it in float32 or float16" in refusal(whole)
    config = {"quantization_config": {"load_in_8bit": True}}
    assert "the weights are quantised" in refusal(changed(gpt2, tmp_path / "q", **config))


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"model_type": "llama"}, "model_type = 'llama'; expected one of roberta, bert, "),
        (
            {"architectures": ["GPT2ForSequenceClassification"]},
            "architectures = ['GPT2ForSequenceClassification']; expected GPT2LMHeadModel or "
            "GPT2Model",
        ),
        ({"architectures": False}, "architectures = False; expected GPT2LMHeadModel or GPT2Model"),
        (
            {"n_layer": "three"},
            'config.json (as [model]): layers = "three": expected a whole number of at least 1',
        ),
        ({"vocab_size": None}, "shape (30, 16) instead of (50257, 16): transformer.wte.weight"),
    ],
)
def test_what_config_json_may_not_say(gpt2, tmp_path, config, message):
    out = changed(gpt2, tmp_path / "out", **config)
    found = refusal(out)
    assert found.startswith(str(out))
    assert message in found


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"vocab_size": 200_000_000_000}, "vocab_size = 200000000000 (at most 16777216 tokens)"),
        ({"vocab_size": 10**30}, "(at most 16777216 tokens)"),
        ({"vocab_size": 16_000_000}, "has more weights than the file, which has"),
        ({"n_layer": 1_000_000}, "has more weights than the file, which has"),
        ({"n_positions": 1_000_000, "n_embd": 1000}, "has more weights than the file"),
        ({"n_inner": 1_000_000, "n_embd": 1_000_000}, "has more weights than the file"),
        ({"n_embd": 1_000_000_008}, "d_model = 1000000008: expected a whole number"),
    ],
    ids=str,
)
def test_sizes_are_checked_before_a_model_is_built(gpt2, tmp_path, config, message):
    assert message in refusal(changed(gpt2, tmp_path / "out", **config))

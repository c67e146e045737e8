"""Folders of Hugging Face: models of its own classes give the same logits here, and back again."""

import json

import pytest
import torch
import transformers
from hf_cases import (
    CLOSE,
    VOCABULARY,
    changed,
    make,
    our_logits,
    our_outputs,
    refusal,
    save,
    their_outputs,
)
from safetensors.torch import load_file

from headway.interop.hugging_face import ARCHITECTURES, architecture_for
from headway.interop.hugging_face.config_map import ConfigReader
from headway.interop.hugging_face.folder import Folder
from headway.interop.hugging_face.model_files import read_model, write_model

KINDS = ["BertModel", "RobertaModel", "DistilBertModel", "GPT2Model", "BartModel", "MarianModel"]
KINDS += ["T5Model", "PegasusModel", "BlenderbotModel"]


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
    found = read_model(Folder(save(theirs, tmp_path / "theirs")))
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


def test_a_folder_saved_without_a_head_has_no_prefix(gpt2, tmp_path):
    bare = transformers.GPT2Model.from_pretrained(gpt2)
    out = save(bare, tmp_path / "bare")
    assert "wte.weight" in load_file(out / "model.safetensors")
    expected = our_logits(read_model(Folder(gpt2)).model)
    torch.testing.assert_close(our_logits(read_model(Folder(out)).model), expected)
    broken = changed(out, tmp_path / "broken", {"ln_f.bias": None})
    assert "missing: ln_f.bias;" in refusal(broken)


@pytest.mark.parametrize(
    ("kind", "bare"),
    [
        ("BartForConditionalGeneration", "BartModel"),
        ("MarianMTModel", "MarianModel"),
        ("T5ForConditionalGeneration", "T5Model"),
    ],
)
def test_the_same_of_models_with_two_sides(tmp_path, kind, bare):
    folder = save(make(kind), tmp_path / "whole")
    out = save(getattr(transformers, bare).from_pretrained(folder), tmp_path / "bare")
    assert any(name.startswith("encoder.") for name in load_file(out / "model.safetensors"))
    whole, found = read_model(Folder(folder)).model, read_model(Folder(out)).model
    if whole.output.bias is not None:
        whole.output.bias.data.zero_()  # it belongs to the head
    torch.testing.assert_close(our_logits(found), our_logits(whole))


def test_masks_that_were_kept_with_the_weights_are_skipped(gpt2, tmp_path):
    masks = {
        "transformer.h.0.attn.bias": torch.ones(1, 1, 32, 32, dtype=torch.uint8),
        "transformer.h.0.attn.masked_bias": torch.tensor(-1e4),
    }
    assert read_model(Folder(changed(gpt2, tmp_path / "out", masks)))


def test_names_of_the_first_files_and_buffers_are_known(tmp_path):
    folder = save(make("BertForPreTraining"), tmp_path / "bert")
    expected = our_logits(read_model(Folder(folder)).model)
    old = {
        name.replace("LayerNorm.weight", "LayerNorm.gamma").replace(
            "LayerNorm.bias", "LayerNorm.beta"
        ): tensor
        for name, tensor in load_file(folder / "model.safetensors").items()
    }
    gone = {name: None for name in load_file(folder / "model.safetensors") if name not in old}
    tied = {"cls.predictions.decoder.weight": old["bert.embeddings.word_embeddings.weight"].clone()}
    buffers = {"bert.embeddings.position_ids": torch.arange(34)[None]}
    out = changed(folder, tmp_path / "old", {**gone, **old, **tied, **buffers})
    torch.testing.assert_close(our_logits(read_model(Folder(out)).model), expected)


def test_a_model_that_reads_has_the_head_that_is_in_the_file(tmp_path):
    folder = save(make("BertForPreTraining"), tmp_path / "bert")
    names = load_file(folder / "model.safetensors")
    pair = {name: None for name in names if "seq_relationship" in name}
    words = {name: None for name in names if "predictions" in name}
    found = read_model(Folder(changed(folder, tmp_path / "masked", pair)))
    assert found.vocabularies.head == "masked"
    found = read_model(Folder(changed(folder, tmp_path / "none", pair | words)))
    assert found.vocabularies.head == "none"
    assert found.config.pooler
    part = changed(folder, tmp_path / "part", {"cls.predictions.transform.dense.bias": None})
    assert "missing: cls.predictions.transform.dense.bias;" in refusal(part)
    without = {"bert.pooler.dense.weight": None}
    assert "missing: bert.pooler.dense.weight;" in refusal(changed(folder, tmp_path / "p", without))


@pytest.mark.parametrize(
    ("config", "message"),
    [
        (
            {"position_embedding_type": "relative_key", "is_decoder": True},
            "config.json: headway has no such BERT model: position_embedding_type = "
            '"relative_key" (positions are added to embeddings), is_decoder = true (an encoder '
            "sees the whole text); import another model",
        ),
        ({"max_position_embeddings": 0}, "max_position_embeddings = 0 (a number of positions abo"),
    ],
)
def test_encoders_that_headway_does_not_have(tmp_path, config, message):
    folder = save(make("BertModel"), tmp_path / "bert")
    assert message in refusal(changed(folder, tmp_path / "out", **config))


def sentences(folder, *kinds, **pooling):
    """A folder with what sentence-transformers lays beside it."""
    modules = [{"type": f"sentence_transformers.models.{kind}", "path": ""} for kind in kinds]
    modules[1]["path"] = "1_Pooling"
    (folder / "modules.json").write_text(json.dumps(modules))
    (folder / "1_Pooling").mkdir(exist_ok=True)
    (folder / "1_Pooling" / "config.json").write_text(json.dumps(pooling))
    return folder


def test_how_sentence_transformers_makes_a_vector(tmp_path):
    folder = save(make("BertModel"), tmp_path / "bert")
    mean, first = {"pooling_mode_mean_tokens": True}, {"pooling_mode_cls_token": True}
    found = read_model(Folder(sentences(folder, "Transformer", "Pooling", **mean)))
    assert (found.config.pooling, found.config.pooler) == ("mean", False)
    assert not found.sentences.normalises
    assert found.notes == (
        "bert.pooler.* is left out: the vector of a text is the mean of all states",
    )
    found = read_model(Folder(sentences(folder, "Transformer", "Pooling", "Normalize", **first)))
    assert (found.config.pooling, found.config.pooler) == ("first", False)
    assert found.sentences.normalises
    several = {**mean, "pooling_mode_max_tokens": True}
    assert refusal(sentences(folder, "Transformer", "Pooling", **several)) == (
        f"{folder}/1_Pooling/config.json: the vector of a text is made by pooling_mode_mean_tokens,"
        " pooling_mode_max_tokens; expected one of pooling_mode_mean_tokens, "
        "pooling_mode_cls_token; import another model"
    )
    assert refusal(sentences(folder, "Transformer", "Pooling", "Dense", **mean)) == (
        f"{folder}/modules.json: the parts are Transformer, Pooling, Dense; expected Transformer, "
        "Pooling and perhaps Normalize; import another model"
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
    expected = our_logits(read_model(Folder(marian)).model)
    names = ("lm_head.weight", "model.decoder.embed_tokens.weight")
    for i, held in enumerate((names[:1], names)):
        tensors = {"model.shared.weight": None, **{name: shared.clone() for name in held}}
        found = read_model(Folder(changed(marian, tmp_path / str(i), tensors)))
        torch.testing.assert_close(our_logits(found.model), expected)
    other = changed(marian, tmp_path / "other", {"lm_head.weight": shared + 1})
    assert (
        "a Marian model: tied, but not equal: model.shared.weight and lm_head.weight;"
        in refusal(other)
    )
    none = changed(marian, tmp_path / "none", {"model.shared.weight": None})
    assert "missing: model.shared.weight;" in refusal(none)


def test_later_t5_has_an_output_layer_of_its_own_and_scales_nothing(tmp_path):
    """However the flags are written: the library's newer versions always say that it is tied."""
    folder = save(make("T5ForConditionalGeneration"), tmp_path / "t5")
    own = {"lm_head.weight": torch.randn(VOCABULARY, 16)}
    first = {"tie_word_embeddings": False, "scale_decoder_outputs": None}
    later = {"tie_word_embeddings": True, "scale_decoder_outputs": False}
    for number, config in enumerate((first, later)):
        out = changed(folder, tmp_path / str(number), own, **config)
        found = read_model(Folder(out))
        assert (found.config.share, found.config.scale_output) == ("inputs", False)
        theirs = transformers.T5ForConditionalGeneration.from_pretrained(out).eval()
        expected = their_outputs(theirs)
        torch.testing.assert_close(our_outputs(found.model, expected), expected, **CLOSE)
    assert "tied, but not equal: shared.weight and lm_head.weight" in refusal(
        changed(folder, tmp_path / "wrong", own)
    )
    found = read_model(Folder(changed(folder, tmp_path / "tied", **later)))
    assert (found.config.share, found.config.scale_output) == ("all", False)


def test_positions_that_a_file_holds_must_be_those_of_the_formula(marian, tmp_path):
    table = make("MarianMTModel").model.encoder.embed_positions.weight.detach()
    name = "model.encoder.embed_positions.weight"
    assert read_model(Folder(changed(marian, tmp_path / "same", {name: table.clone()})))
    other = changed(marian, tmp_path / "other", {name: table + 0.1})
    assert f"not what the formula gives: {name};" in refusal(other)


def test_no_bias_on_the_output_where_the_file_has_none(marian, tmp_path):
    found = read_model(Folder(changed(marian, tmp_path / "out", {"final_logits_bias": None})))
    assert found.config.output_bias is False
    assert read_model(Folder(marian)).config.output_bias is True


def test_half_precision_becomes_float32_and_whole_numbers_are_refused(gpt2, tmp_path):
    tensors = load_file(gpt2 / "model.safetensors")
    half = changed(gpt2, tmp_path / "half", {k: v.half() for k, v in tensors.items()})
    torch.testing.assert_close(
        our_logits(read_model(Folder(half)).model),
        our_logits(read_model(Folder(gpt2)).model),
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
        (
            {"scale_attn_by_inverse_layer_idx": True, "activation_function": "mish"},
            'headway has no such GPT-2 model: activation_function = "mish" (one of relu, gelu, '
            "gelu_pytorch_tanh, gelu_new, gelu_fast, silu, swish), scale_attn_by_inverse_layer_idx "
            "= true (no scale of a layer's own); import another model",
        ),
        ({"n_head": 3}, "n_head = 3 (must divide n_embd = 16)"),
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


def test_sides_of_different_sizes_are_refused(marian, tmp_path):
    out = changed(marian, tmp_path / "out", decoder_ffn_dim=48)
    assert "decoder_ffn_dim = 48 (encoder_ffn_dim = 24, and model.d_ff is one for both)" in refusal(
        out
    )


def test_what_matters_in_training_only_is_noted(gpt2, marian, tmp_path):
    out = changed(gpt2, tmp_path / "gpt2", embd_pdrop=0.0)
    found = read_model(Folder(out))
    assert found.config.dropout == 0.1
    assert found.notes == ("embd_pdrop = 0.0 is 0.1 here: model.dropout is one rate for all",)
    out = changed(marian, tmp_path / "marian", encoder_layerdrop=0.2)
    assert read_model(Folder(out)).notes == (
        "encoder_layerdrop = 0.2 is left out: headway has no such rate",
    )


@pytest.mark.parametrize("kind", KINDS)
def test_defaults_are_those_of_the_library(kind):
    """A saved config.json leaves out what is usual."""
    usual = getattr(transformers, kind).config_class()
    layout = ARCHITECTURES[usual.model_type]
    given = ConfigReader({})
    said = ConfigReader({key: value for key, value in usual.to_dict().items() if value is not None})
    assert layout.read(given) == layout.read(said)
    assert layout.read_vocabularies(given) == layout.read_vocabularies(said)
    assert not given.obstacles.messages

"""Hugging Face folders: loaded by its own classes, they give the logits of the model written."""

import json

import pytest
import torch
import transformers
from export_cases import N_POSITIONS, OTHER_WORDS, WORDS, build, logits_of, sizes_of, some_pairs

from headway.data.collate import pair_batch
from headway.interop.hugging_face import architecture_for
from headway.interop.hugging_face.model_files import write_generation, write_model
from headway.interop.hugging_face.tokenizer_files import write_tokenizers
from headway.models import VocabularySizes
from headway.text import BOS, EOS

CLOSE = {"rtol": 1e-5, "atol": 1e-5}
POST = {"residual": "post"}


def write(folder, model, target=WORDS, source=WORDS):
    sizes = VocabularySizes(source.size, target.size, source is target, head="words")
    layout, _ = architecture_for(model.config, sizes, target.specials)
    folder.mkdir()
    write_model(folder, model, layout, sizes, target.specials, N_POSITIONS)
    write_generation(folder, layout, target.specials, {"num_beams": 3})
    write_tokenizers(folder, layout, model.config, source, target, 20)
    return folder


def load(folder):
    model, report = transformers.AutoModelForSeq2SeqLM.from_pretrained(
        folder, output_loading_info=True
    )
    assert not any(report.values()), report
    return model.eval()


@torch.inference_mode()
def their_logits(model, pairs):
    batch = pair_batch([source for source, _ in pairs], [target for _, target in pairs], BOS)
    return model(
        input_ids=batch["src"],
        attention_mask=batch["src_valid"].long(),
        decoder_input_ids=batch["tgt_in"],
    ).logits[batch["tgt_valid"]]


@pytest.mark.parametrize(
    ("layout", "settings"),
    [
        ("Pegasus", {}),
        ("Pegasus", {"bias": False, "output_bias": True, "activation": "silu"}),
        ("Pegasus", {"d_model": 15, "n_heads": 3, "scale_embeddings": False}),
        ("Blenderbot", {"positions": "learned", "max_positions": 24}),
        ("Blenderbot", {"positions": "none", "activation": "gelu_tanh"}),
        ("Blenderbot", {"position_base": 100.0}),
        ("Marian", POST),
        ("Marian", POST | {"bias": False, "output_bias": True, "activation": "gelu"}),
        ("Marian", POST | {"share": "target"}),
        ("Marian", POST | {"share": "none", "encoder_layers": 1}),
    ],
)
def test_logits_are_those_of_the_run_and_stay_so_when_saved_again(tmp_path, layout, settings):
    model = build(**settings)
    found, obstacles = architecture_for(model.config, sizes_of(), WORDS.specials)
    assert (found.name, obstacles) == (layout, [])
    theirs = load(write(tmp_path / "first", model))
    expected = logits_of(model, some_pairs())
    torch.testing.assert_close(their_logits(theirs, some_pairs()), expected, **CLOSE)
    theirs.save_pretrained(tmp_path / "again")
    again = load(tmp_path / "again")
    torch.testing.assert_close(their_logits(again, some_pairs()), expected, **CLOSE)


@pytest.mark.parametrize("share", ["target", "none"])
def test_vocabularies_apart(tmp_path, share):
    model = build(OTHER_WORDS, **POST, share=share)
    theirs = load(write(tmp_path / "out", model, OTHER_WORDS))
    pairs = some_pairs(OTHER_WORDS)
    torch.testing.assert_close(their_logits(theirs, pairs), logits_of(model, pairs), **CLOSE)
    source = transformers.AutoTokenizer.from_pretrained(tmp_path / "out")
    target = transformers.AutoTokenizer.from_pretrained(tmp_path / "out", subfolder="target")
    assert source("b a")["input_ids"] == [*WORDS.encode("b a"), EOS]
    ids = OTHER_WORDS.encode("m k t")
    assert target.decode([BOS, *ids, EOS], skip_special_tokens=True) == "m k t"


def test_habits_of_the_originals_are_switched_off(tmp_path):
    for name, settings in {"marian": POST, "blenderbot": {"positions": "none"}}.items():
        folder = write(tmp_path / name, build(**settings))
        assert json.loads((folder / "config.json").read_text())["forced_eos_token_id"] is None
        model = load(folder)
        generation = model.generation_config
        assert generation.num_beams == 3
        assert generation.forced_eos_token_id is None
        assert not generation.encoder_no_repeat_ngram_size
        assert generation.decoder_start_token_id == BOS

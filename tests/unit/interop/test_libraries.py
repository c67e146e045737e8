"""Exports loaded with the libraries they are for: what is loaded, and what a failure says."""

import shutil
import sys

import ctranslate2
import pytest
import transformers
from export_cases import N_POSITIONS, WORDS, build
from foreign_folders import make_folder
from transformers.utils import logging

from headway.errors import MissingExtra, RunError
from headway.interop.ctranslate2.convert import write_ctranslate2
from headway.interop.libraries import load_ctranslate2, load_hugging_face


@pytest.fixture(scope="module")
def places(tmp_path_factory):
    """Small models in the formats of both libraries."""
    folder = tmp_path_factory.mktemp("libraries")
    logging.disable_progress_bar()
    make_folder("gpt2", folder / "gpt2")
    (folder / "engine").mkdir()
    write_ctranslate2(folder / "engine", build(), WORDS, WORDS, N_POSITIONS, "float32")
    return folder


def cut(folder, name, out):
    """A copy with the second half of a file missing."""
    shutil.copytree(folder, out)
    content = (out / name).read_bytes()
    (out / name).write_bytes(content[: len(content) // 2])
    return out


def test_a_model_is_loaded_for_inference_with_its_tokenizer(places):
    model, tokenizer = load_hugging_face(places / "gpt2", "AutoModelForCausalLM")
    assert type(model) is transformers.GPT2LMHeadModel
    assert not model.training
    assert tokenizer.decode(tokenizer("the cat")["input_ids"]) == "the cat"


def test_without_transformers_nothing_is_loaded(places, monkeypatch):
    monkeypatch.setitem(sys.modules, "transformers", None)
    assert load_hugging_face(places / "gpt2", "AutoModelForCausalLM") is None


def failure(load, *arguments):
    with pytest.raises(RunError) as caught:
        load(*arguments)
    message = str(caught.value)
    assert "\n" not in message
    return message


def test_a_folder_without_a_model(tmp_path):
    message = failure(load_hugging_face, tmp_path, "AutoModel")
    start = f"transformers {transformers.__version__} cannot load the export ("
    assert message.startswith(f"{start}Unrecognized model in {tmp_path}. ")
    assert message.endswith("); try the newest version of it")


@pytest.mark.parametrize("name", ["config.json", "tokenizer.json", "model.safetensors"])
def test_a_file_that_is_cut_short(places, tmp_path, name):
    folder = cut(places / "gpt2", name, tmp_path / "out")
    message = failure(load_hugging_face, folder, "AutoModelForCausalLM")
    assert message.startswith(f"transformers {transformers.__version__} cannot load the export (")


def test_a_class_that_does_not_fit_the_model(places):
    message = failure(load_hugging_face, places / "gpt2", "AutoModelForSeq2SeqLM")
    assert "Unrecognized configuration class" in message


@pytest.mark.parametrize("shows_bars", [True, False])
def test_the_library_logs_afterwards_as_before(places, tmp_path, shows_bars):
    level, showed_bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    try:
        logging.set_verbosity_info()
        (logging.enable_progress_bar if shows_bars else logging.disable_progress_bar)()
        load_hugging_face(places / "gpt2", "AutoModelForCausalLM")
        assert logging.get_verbosity() == logging.INFO
        assert logging.is_progress_bar_enabled() is shows_bars
        failure(load_hugging_face, tmp_path, "AutoModel")
        assert logging.get_verbosity() == logging.INFO
        assert logging.is_progress_bar_enabled() is shows_bars
    finally:
        logging.set_verbosity(level)
        (logging.enable_progress_bar if showed_bars else logging.disable_progress_bar)()


def test_nothing_is_printed(places, capfd):
    logging.enable_progress_bar()
    try:
        load_hugging_face(places / "gpt2", "AutoModelForCausalLM")
    finally:
        logging.disable_progress_bar()
    assert capfd.readouterr() == ("", "")


def test_the_engine_computes_as_asked(places):
    engine = load_ctranslate2(places / "engine", threads=1)
    assert isinstance(engine, ctranslate2.Translator)
    assert (engine.compute_type, engine.device) == ("float32", "cpu")
    assert load_ctranslate2(places / "engine", "int8", threads=1).compute_type == "int8_float32"


def test_without_the_engine_its_extra_is_named(places, monkeypatch):
    monkeypatch.setitem(sys.modules, "ctranslate2", None)
    with pytest.raises(MissingExtra) as caught:
        load_ctranslate2(places / "engine")
    assert str(caught.value) == (
        "the engine CTranslate2 needs the package 'ctranslate2', which is not installed; "
        "pip install 'headway-attention[ctranslate2]'"
    )


REMEDY = "export the run again"


def test_a_folder_without_a_model_of_the_engine(tmp_path):
    assert failure(load_ctranslate2, tmp_path) == (
        f"{tmp_path} cannot be loaded by CTranslate2 (Unable to open file 'model.bin' in model "
        f"'{tmp_path}'); {REMEDY}"
    )


def test_a_model_of_the_engine_that_is_cut_short(places, tmp_path):
    folder = cut(places / "engine", "model.bin", tmp_path / "out")
    message = failure(load_ctranslate2, folder)
    assert message.startswith(f"{folder} cannot be loaded by CTranslate2 (")
    assert message.endswith(f"); {REMEDY}")

"""Exports: checked before they appear, refused in words, and used with the library's own calls."""

import json
import shutil
import sys
from dataclasses import replace

import pytest
import torch
import transformers
from export_sources import SOURCES

import headway
from headway.cli import main
from headway.errors import ConfigError, RunError
from headway.interop import export as exports
from headway.interop.export import export


@pytest.fixture(autouse=True)
def quiet():
    transformers.utils.logging.disable_progress_bar()


@pytest.mark.parametrize(("run", "layout"), [("pre", "Pegasus"), ("post", "Marian")])
def test_transformers_translates_text_as_headway_does(folder, tmp_path, run, layout):
    ours = headway.load(folder / run)
    done = export(ours, "hf", tmp_path / "out")
    assert done.layout == layout
    assert done.check.difference < 1e-4
    assert (done.check.sentences, done.check.origin) == (18, "the test set")
    model = transformers.AutoModelForSeq2SeqLM.from_pretrained(tmp_path / "out")
    tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path / "out")
    found = model.generate(
        **tokenizer(SOURCES, padding=True, return_tensors="pt"),
        output_scores=True,
        return_dict_in_generate=True,
    )
    texts = tokenizer.batch_decode(found.sequences, skip_special_tokens=True)
    # Our limit follows the input; this one does not.
    translations = ours.translate(SOURCES, max_extra=20)
    assert texts == [translation.text for translation in translations]
    assert len(set(texts)) > 1
    scores = torch.tensor([translation.outputs[0].score for translation in translations])
    torch.testing.assert_close(found.sequences_scores, scores, rtol=0, atol=1e-5)


def test_without_its_data_a_run_is_checked_on_made_up_sequences(folder, tmp_path):
    shutil.copytree(folder / "pre", tmp_path / "run")
    file = tmp_path / "run" / "run.toml"
    file.write_text(file.read_text().replace(str(folder), str(tmp_path / "nowhere")))
    (tmp_path / "run" / "manifest.json").unlink()
    for to in ("hf", "ctranslate2"):
        done = export(headway.load(tmp_path / "run"), to, tmp_path / to)
        assert (done.check.sentences, done.check.origin) == (20, "made-up sequences")
        assert done.check.difference < 1e-4


@pytest.mark.parametrize("to", ["hf", "ctranslate2"])
def test_an_export_that_computes_something_else_does_not_appear(folder, tmp_path, to, monkeypatch):
    name = {"hf": "write_model", "ctranslate2": "write_ctranslate2"}[to]
    write = getattr(exports, name)

    def write_wrongly(out, model, *rest):
        with torch.no_grad():
            model.decoder[0].feed.outer.weight[0] += 1
            write(out, model, *rest)
            model.decoder[0].feed.outer.weight[0] -= 1

    monkeypatch.setattr(exports, name, write_wrongly)
    with pytest.raises(RunError, match="computes something else than the run: the largest diff"):
        export(headway.load(folder / "pre"), to, tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_what_a_format_cannot_express_is_refused_with_all_its_keys(folder, tmp_path):
    out = tmp_path / "out"
    with pytest.raises(ConfigError) as caught:
        export(headway.load(folder / "rotary"), "hf", out)
    assert str(caught.value) == (
        f"{folder}/rotary cannot be expressed in the format 'hf' because of model.gated = true (no "
        'gates), model.positions = "rotary" (positions are added to embeddings); export with '
        '`to="ctranslate2"`, or train a transformer with other settings'
    )
    with pytest.raises(ConfigError) as caught:
        export(headway.load(folder / "values"), "ctranslate2", out)
    assert str(caught.value) == (
        f"{folder}/values cannot be expressed in the format 'ctranslate2' because of model.d_value "
        "= 5 (must be d_head = 8); train a transformer with other settings"
    )
    with pytest.raises(
        ConfigError, match=r'because of model\.family = "recurrent"; train a transf'
    ):
        export(headway.load(folder / "recurrent"), "hf", out)
    with pytest.raises(ConfigError, match="an export takes one run, not an ensemble"):
        export(headway.load(folder / "pre", folder / "post"), "hf", out)
    assert export(headway.load(folder / "rotary"), "ctranslate2", out).check.difference < 1e-4


def searching(translator, **search):
    """The same run, had its run file this [search]."""
    translator.config = replace(translator.config, search=translator.search_config(**search))
    return translator


@pytest.mark.parametrize(
    ("search", "message"),
    [
        ({"method": "exhaustive"}, 'search.method = "exhaustive" (only beam and sample)'),
        (
            {"min_ratio": 0.5, "beam": 1, "stop": "safe"},
            "search.min_ratio = 0.5 (no limit depends on the input), "
            'search.stop = "safe" (a beam of 1 stops at its first end)',
        ),
    ],
)
def test_a_search_that_transformers_does_not_have_is_refused(folder, tmp_path, search, message):
    ours = searching(headway.load(folder / "pre"), **search)
    with pytest.raises(ConfigError) as caught:
        export(ours, "hf", tmp_path / "out")
    assert str(caught.value) == (
        f"transformers cannot search with {message}; take that out of [search] in "
        f"{folder}/pre/run.toml and delete manifest.json there; no weight changes"
    )
    assert export(ours, "ctranslate2", tmp_path / "out").check.difference < 1e-4


def test_minimum_length_and_repetitions_are_as_in_the_run(folder, tmp_path):
    search = {"min_length": 6, "no_repeat": 2, "n_best": 2}
    ours = searching(headway.load(folder / "pre"), **search)
    export(ours, "hf", tmp_path / "out")
    model = transformers.AutoModelForSeq2SeqLM.from_pretrained(tmp_path / "out")
    tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path / "out")
    found = model.generate(
        **tokenizer(SOURCES[:6], padding=True, return_tensors="pt"),
        output_scores=True,
        return_dict_in_generate=True,
    )
    texts = tokenizer.batch_decode(found.sequences, skip_special_tokens=True)
    outputs = [o for t in ours.translate(SOURCES[:6], max_extra=20) for o in t.outputs]
    assert texts == [output.text for output in outputs]
    assert min(len(output.tokens) for output in outputs) == 5, "the end is the sixth"
    scores = torch.tensor([output.score for output in outputs])
    torch.testing.assert_close(found.sequences_scores, scores, rtol=0, atol=1e-5)


def test_sampling_is_as_in_the_run(folder, tmp_path):
    search = {"method": "sample", "temperature": 0.7, "top_k": 5, "top_p": 0.9, "n_best": 3}
    export(searching(headway.load(folder / "pre"), **search), "hf", tmp_path / "out")
    model = transformers.AutoModelForSeq2SeqLM.from_pretrained(tmp_path / "out")
    settings = model.generation_config
    assert (settings.do_sample, settings.num_beams, settings.num_return_sequences) == (True, 1, 3)
    assert (settings.temperature, settings.top_k, settings.top_p) == (0.7, 5, 0.9)
    likeliest = searching(headway.load(folder / "pre"), method="sample", top_k=1)
    export(likeliest, "hf", tmp_path / "cold")
    model = transformers.AutoModelForSeq2SeqLM.from_pretrained(tmp_path / "cold")
    tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path / "cold")
    ids = model.generate(**tokenizer(SOURCES[:6], padding=True, return_tensors="pt"))
    texts = tokenizer.batch_decode(ids, skip_special_tokens=True)
    assert texts == [one.text for one in likeliest.translate(SOURCES[:6], max_extra=20)]


def test_a_place_that_holds_something_is_refused(folder, tmp_path):
    (tmp_path / "file").write_text("mine")
    ours = headway.load(folder / "pre")
    with pytest.raises(RunError, match=r"is not empty \(it holds file\); choose another `out`"):
        export(ours, "hf", tmp_path)
    with pytest.raises(RunError, match="is a file; choose another `out`"):
        export(ours, "hf", tmp_path / "file")
    (tmp_path / "empty").mkdir()
    assert export(ours, "hf", tmp_path / "empty").folder == tmp_path / "empty"


def test_the_command(folder, tmp_path, capsys):
    run, out = str(folder / "post"), str(tmp_path / "out")
    assert main(["export", run, "--to", "ctranslate2", "--quantization", "int8", "--out", out]) == 0
    first, second = capsys.readouterr().out.splitlines()
    assert first == f"{out}: CTranslate2 int8"
    assert second.startswith("largest difference of log probabilities: ")
    assert second.endswith(" (18 sentences of the test set)")
    assert main(["export", run, "--to", "hf", "--out", f"{out}2", "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert (record["out"], record["to"], record["layout"]) == (f"{out}2", "hf", "Marian")
    assert record["check"]["what"] == "logits"


def test_a_check_that_cannot_be_made_is_said(folder, tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "transformers", None)
    out = str(tmp_path / "out")
    assert main(["export", str(folder / "pre"), "--to", "hf", "--out", out]) == 0
    said = capsys.readouterr()
    assert said.out == f"{out}: Pegasus\n"
    assert said.err == (
        "the export was not checked: transformers is not installed; "
        "pip install 'headway-attention[hf]'\n"
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--to", "onnx"], "--to onnx: expected one of hf, ctranslate2"),
        (
            ["--to", "ctranslate2", "--quantization", "int4"],
            "--quantization int4: expected one of float32, int8, int8_float32",
        ),
        (
            ["--to", "hf", "--quantization", "int8"],
            "--quantization int8 goes with --to ctranslate2",
        ),
    ],
)
def test_wrong_words_are_refused(folder, tmp_path, capsys, arguments, message):
    out = tmp_path / "out"
    assert main(["export", str(folder / "pre"), *arguments, "--out", str(out)]) == 2
    assert message in capsys.readouterr().err
    assert not out.exists()


def test_a_damaged_or_foreign_directory_is_said(folder, tmp_path, capsys):
    arguments = ["--to", "hf", "--out", str(tmp_path / "out")]
    assert main(["export", str(tmp_path), *arguments]) == 1
    assert "is not a run directory (it has no headway.json)" in capsys.readouterr().err
    shutil.copytree(folder / "pre", tmp_path / "run")
    file = tmp_path / "run" / "model.safetensors"
    content = bytearray(file.read_bytes())
    content[-1] ^= 255
    file.write_bytes(content)
    assert main(["export", str(tmp_path / "run"), *arguments]) == 1
    assert "is damaged (it does not match its checksum)" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()

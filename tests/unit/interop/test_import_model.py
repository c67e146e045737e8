"""Imported models as runs: they do what transformers does with the same files, and come back."""

import json
import shutil
from dataclasses import replace

import numpy as np
import pytest
import torch
import transformers
from foreign_folders import TEXTS, make_folder

import headway
from headway.cli import main
from headway.data.collate import source_batch
from headway.errors import ConfigError
from headway.inference.embedder import Embedder
from headway.inference.load import require_task
from headway.inference.translator import Translator
from headway.interop.export import export

SEQ2SEQ = ("marian", "bart", "t5")
READERS = ("bert", "roberta", "distilbert", "sentences")
AUTO = {
    "gpt2": "AutoModelForCausalLM",
    **dict.fromkeys(SEQ2SEQ, "AutoModelForSeq2SeqLM"),
    "bert": "AutoModelForPreTraining",
    **dict.fromkeys(("roberta", "distilbert"), "AutoModelForMaskedLM"),
    "sentences": "AutoModel",
}


@pytest.fixture(autouse=True)
def quiet():
    transformers.utils.logging.disable_progress_bar()


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return tmp_path_factory.mktemp("foreign")


@pytest.fixture(scope="module")
def imported(place):
    """Each kind as a folder of theirs and as a run of ours."""
    transformers.utils.logging.disable_progress_bar()
    made = {}
    for name in AUTO:
        folder = make_folder(name, place / name, extra_rows=3)
        headway.import_run(folder, place / f"{name}-run")
        made[name] = folder, place / f"{name}-run"
    return made


def theirs_of(folder, name):
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = getattr(transformers, AUTO[name]).from_pretrained(folder).eval()
    return tokenizer, model


@pytest.mark.parametrize("name", SEQ2SEQ)
def test_translations_are_those_of_generate(imported, name):
    folder, run = imported[name]
    tokenizer, model = theirs_of(folder, name)
    inputs = tokenizer(TEXTS, padding=True, return_tensors="pt", return_token_type_ids=False)
    found = model.generate(
        **inputs,
        num_beams=3,
        max_length=16,
        do_sample=False,
        early_stopping=True,
        output_scores=True,
        return_dict_in_generate=True,
    )
    texts = tokenizer.batch_decode(found.sequences, skip_special_tokens=True)
    ours = headway.load(run).translate(TEXTS, beam=3, max_length=15, max_extra=50)
    unknown = "⟨unk⟩"
    assert [one.text.replace(unknown, "") for one in ours] == texts
    assert len(set(texts)) > 1
    scores = torch.tensor([one.outputs[0].score for one in ours])
    torch.testing.assert_close(found.sequences_scores, scores, rtol=0, atol=1e-4)


def test_scores_of_a_language_model_are_theirs(imported):
    folder, run = imported["gpt2"]
    tokenizer, model = theirs_of(folder, "gpt2")
    ours = headway.load(run)
    for text, scored in zip(TEXTS, ours.score(TEXTS), strict=True):
        end = tokenizer.eos_token_id
        ids = torch.tensor([[end, *tokenizer(text)["input_ids"], end]])
        with torch.inference_mode():
            log_probs = model(ids).logits.log_softmax(-1)[0, :-1]
        expected = log_probs.gather(1, ids[0, 1:, None]).squeeze(1)
        np.testing.assert_allclose(scored.token_log_probs, expected, atol=1e-4)
    found = ours.evaluate(TEXTS)
    assert found.n_unknown == 0
    total = sum(scored.log_prob for scored in ours.score(TEXTS))
    assert found.scores["loss"].value == pytest.approx(-total / found.n_tokens)


@pytest.mark.parametrize("name", READERS)
def test_states_of_texts_and_pairs_are_theirs(imported, name):
    folder, run = imported[name]
    tokenizer, model = theirs_of(folder, name)
    ours = headway.load(run)
    codec = ours.task.codec
    inputs = tokenizer(
        TEXTS, TEXTS[::-1], padding=True, return_tensors="pt", return_token_type_ids=True
    )
    ids = codec.tokenizer.encode_batch(TEXTS)
    rows, segments = zip(
        *[codec.pair(a, b) for a, b in zip(ids, ids[::-1], strict=True)], strict=True
    )
    batch = source_batch(rows, segments)
    valid = batch["src_valid"]
    assert torch.equal(batch["src"][valid], inputs["input_ids"][inputs["attention_mask"].bool()])
    kinds = inputs.pop("token_type_ids")
    if ours.config.model.segments > 1:
        assert torch.equal(batch["segment"][valid], kinds[valid])
        inputs["token_type_ids"] = kinds
    with torch.inference_mode():
        found = model(**inputs, output_hidden_states=True)
        states, _ = ours.model(batch)
        torch.testing.assert_close(states[valid], found.hidden_states[-1][valid], rtol=0, atol=1e-4)
        if name in ("roberta", "distilbert"):
            logits = ours.model.token_logits(batch)
            torch.testing.assert_close(logits[valid], found.logits[valid], rtol=0, atol=1e-4)


def sentence_vectors(tokenizer, model, texts):
    """As sentence-transformers makes them: the mean of all states, of length 1."""
    inputs = tokenizer(texts, padding=True, return_tensors="pt")
    states = model(**inputs).last_hidden_state
    mask = inputs["attention_mask"][:, :, None]
    return torch.nn.functional.normalize((states * mask).sum(1) / mask.sum(1))


def our_vectors(ours, texts):
    assert ours.run.facts["normalised"] is True
    return torch.from_numpy(Embedder(ours).embed(texts))


@torch.inference_mode()
def test_sentence_embeddings_are_those_of_the_layout(imported):
    folder, run = imported["sentences"]
    expected = sentence_vectors(*theirs_of(folder, "sentences"), TEXTS)
    ours = headway.load(run)
    torch.testing.assert_close(our_vectors(ours, TEXTS), expected, rtol=0, atol=1e-4)
    assert (ours.config.model.pooling, ours.config.model.pooler) == ("mean", False)
    assert ours.config.data.max_length == 40
    assert ours.config.pretrain.objective == "none"
    with pytest.raises(ConfigError, match=r"task 'pretrain'; try headway embed"):
        require_task("translate", Translator, ours.run.path)  # there is nothing to evaluate


@torch.inference_mode()
def test_the_real_minilm(minilm, tmp_path):
    done = headway.import_run(minilm, tmp_path / "run")
    assert done.n_parameters == 22_565_376
    assert done.notes == (
        "bert.pooler.* is left out: the vector of a text is the mean of all states",
    )
    texts = ["I sat by the river bank.", "I deposited money in the bank.", "Straße, Кот, 猫!", ""]
    expected = sentence_vectors(*theirs_of(minilm, "sentences"), texts)
    ours = headway.load(tmp_path / "run")
    torch.testing.assert_close(our_vectors(ours, texts), expected, rtol=0, atol=1e-4)
    assert ours.config.data.max_length == 256
    assert export(ours, "hf", tmp_path / "out").check.difference < 1e-4


@pytest.mark.parametrize("name", AUTO)
def test_an_import_is_exported_again_as_what_it_was(imported, tmp_path, name):
    folder, run = imported[name]
    ours = headway.load(run)
    done = export(ours, "hf", tmp_path / "out")
    assert done.check.difference < 1e-4
    (_, before), (tokenizer, after) = theirs_of(folder, name), theirs_of(tmp_path / "out", name)
    assert type(after) is type(before)
    held = after.state_dict()
    for key, tensor in before.state_dict().items():
        # BART has two rows that are never used; of a formula there are as many as one likes.
        is_reserved = "embed_positions" in key or (name == "roberta" and "position" in key)
        places = slice(2, len(tensor)) if is_reserved else slice(None)
        if name != "sentences" or "pooler" not in key:
            torch.testing.assert_close(held[key][places], tensor[places], msg=key)
    codec = ours.task.source if name in SEQ2SEQ else ours.task.codec
    ids = codec.encode_batch(TEXTS[:1])[0].tolist()
    if name == "gpt2":  # goes on with a text
        ids = [codec.bos, *ids[:-1]]
    assert tokenizer(TEXTS[0])["input_ids"] == ids
    headway.import_run(tmp_path / "out", tmp_path / "again")
    again = headway.load(tmp_path / "again")
    longest = ours.config.model.max_positions
    assert replace(again.config.model, max_positions=longest) == ours.config.model
    assert again.run.facts.get("normalised") == ours.run.facts.get("normalised")
    assert again.config.pretrain == ours.config.pretrain


def test_what_bart_writes_begins_with_its_begin_mark(imported):
    task = headway.load(imported["bart"][1]).task
    ids = task.target.tokenizer.encode("the cat")
    batch = task.pairs(["the cat"], ["the cat"])
    assert batch["src"].tolist() == [[0, *ids, 2]]
    assert batch["tgt_in"].tolist() == [[2, 0, *ids]]
    assert batch["tgt_out"].tolist() == [[0, *ids, 2]]
    assert task.target.decode(batch["tgt_out"][0].tolist()) == "the cat"


def test_a_beginning_that_is_given_follows_the_begin_mark(imported):
    model = headway.load(imported["bart"][1])
    [found] = model.translate([headway.api.TranslationRequest("a dog", prefix="the cat ")], beam=2)
    assert found.text.startswith("the cat ")
    assert found.outputs[0].tokens[0] == "<s>"


def test_sentinels_are_control_tokens(imported):
    specials = headway.load(imported["t5"][1]).task.source.tokenizer.specials
    pieces = headway.load(imported["t5"][1]).task.source.tokenizer.pieces
    assert pieces[specials["sentinel_0"]] == "<extra_id_0>"
    assert pieces[specials["sentinel_1"]] == "<extra_id_1>"
    assert specials["bos"] == specials["pad"] == 0


def test_the_search_that_a_folder_asks_for(imported, tmp_path):
    shutil.copytree(imported["marian"][0], tmp_path / "marian")
    asked = {"num_beams": 4, "length_penalty": 0.6, "max_length": 33, "no_repeat_ngram_size": 3}
    (tmp_path / "marian" / "generation_config.json").write_text(json.dumps(asked))
    headway.import_run(tmp_path / "marian", tmp_path / "run")
    search = headway.load(tmp_path / "run").config.search
    assert (search.beam, search.alpha, search.max_length, search.no_repeat) == (4, 0.6, 32, 3)


def test_the_commands(imported, tmp_path, capsys):
    folder, _ = imported["gpt2"]
    out = tmp_path / "run"
    assert main(["import", str(folder), "--out", str(out)]) == 0
    assert capsys.readouterr().out == f"{out}: GPT-2, 12,464 parameters, task language\n"
    assert main(["info", str(out), "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["weights"] == {"rule": "imported", "step": 0}
    assert facts["steps"]["planned"] == 0
    assert facts["facts"]["imported_from"] == str(folder)
    assert facts["facts"]["imported_as"] == "GPT-2"
    assert main(["info", str(out)]) == 0
    (tmp_path / "text.txt").write_text("\n".join(TEXTS), encoding="utf-8")
    assert main(["evaluate", str(out), "--data", str(tmp_path / "text.txt"), "--json"]) == 0
    assert main(["resume", str(out)]) == 1
    assert capsys.readouterr().err.splitlines()[-1] == (
        f"headway: error: {out} was imported and cannot be resumed; train a new run with "
        f"init = '{out}'"
    )
    assert main(["import", str(folder), "--out", str(out)]) == 1
    stderr = capsys.readouterr().err
    assert stderr.endswith("already holds a run; choose another --out\n")  # it cannot be resumed
    other = ["import", str(folder), "--out", str(tmp_path / "other"), "--json"]
    assert main(other) == 0
    assert json.loads(capsys.readouterr().out) == {
        "run": str(tmp_path / "other"),
        "layout": "GPT-2",
        "task": "language",
        "parameters": 12464,
        "notes": [],
    }


def test_an_import_is_the_beginning_of_another_run(imported, tmp_path, monkeypatch):
    monkeypatch.setenv("HEADWAY_CACHE", str(tmp_path / "cache"))
    (tmp_path / "pairs.tsv").write_text("".join(f"{t}\t{t}\n" for t in TEXTS), encoding="utf-8")
    file = tmp_path / "run.toml"
    file.write_text(f'init = "{imported["bart"][1]}"\n[data]\ntrain = "pairs.tsv"\n')
    more = ["data.max_length=60", "data.block=60", "search.max_length=60"]
    more += ["train.steps=2", "train.batch_tokens=64"]
    tuned = headway.train(headway.read_config(file, more), tmp_path / "tuned")
    assert tuned.task.target.bos == 2
    first = headway.load(imported["bart"][1]).config.model
    assert replace(tuned.config.model, preset="auto") == first
    file.write_text("[data]\ntrain = []\n")
    with pytest.raises(headway.errors.ConfigError, match=r"data\.train is an empty list"):
        headway.train(headway.read_config(file), tmp_path / "nothing")


def test_nothing_is_asked_of_a_model_without_a_head(imported, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("HEADWAY_CACHE", str(tmp_path / "cache"))
    (tmp_path / "texts.txt").write_text("\n\n".join(TEXTS), encoding="utf-8")
    run = str(imported["sentences"][1])
    said = (
        'headway: error: pretrain.objective = "none" has no loss and no metrics, as for a model '
        "imported without a head; train another task from it with init, or choose another objective"
    )
    data = ["--data", str(tmp_path / "texts.txt"), "--format", "documents"]
    assert main(["evaluate", run, *data]) == 2
    assert capsys.readouterr().err.splitlines()[-1] == said
    file = tmp_path / "run.toml"
    file.write_text('task = "pretrain"\npretrain.objective = "none"\ndata.train = "texts.txt"\n')
    assert main(["train", str(file), "--out", str(tmp_path / "new")]) == 2
    assert capsys.readouterr().err.splitlines()[-1] == said
    assert not (tmp_path / "new").exists()

"""Models that were trained further elsewhere: as runs they tell what transformers tells."""

import json
from dataclasses import replace

import numpy as np
import pytest
import torch
import transformers
from foreign_folders import HEADS, TEXTS, make_folder

import headway
from headway.cli import main
from headway.errors import ConfigError
from headway.interop.export import export

FAMILIES = ("bert", "roberta", "distilbert")
TASKS = {"labels": "classify", "value": "regress", "tags": "tag", "answer": "answer"}
PAIRS = [*zip(TEXTS, TEXTS[::-1], strict=True)]
CLOSE = {"rtol": 0, "atol": 1e-4}


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return tmp_path_factory.mktemp("heads")


@pytest.fixture(scope="module")
def imported(place):
    """Each family with each head, as a folder of theirs and as a run of ours."""
    transformers.utils.logging.disable_progress_bar()
    made = {}
    for family in FAMILIES:
        for head in HEADS:
            name = f"{family}-{head}"
            folder = make_folder(name, place / name, extra_rows=3)
            headway.import_run(folder, place / f"{name}-run")
            made[name] = folder, place / f"{name}-run"
    return made


@torch.inference_mode()
def their_logits(folder, head, *texts):
    """Those of texts or pairs that are padded to one batch, as the library makes them of text."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    kind = f"AutoModelFor{HEADS[head][0]}"
    model = getattr(transformers, kind).from_pretrained(folder).eval()
    has_segments = getattr(model.config, "type_vocab_size", 0) > 1
    inputs = tokenizer(
        *texts, padding=True, return_tensors="pt", return_token_type_ids=has_segments
    )
    found, valid = model(**inputs), inputs["attention_mask"].bool()
    if head == "answer":
        return torch.stack([found.start_logits, found.end_logits], -1), valid
    return found.logits, valid


@pytest.mark.parametrize("family", FAMILIES)
def test_labels_and_their_probabilities_are_theirs(imported, place, family):
    folder, run = imported[f"{family}-labels"]
    ours = headway.load(run)
    assert ours.config.task == "classify"
    assert ours.labels == ("worse", "same", "better")
    expected = their_logits(folder, "labels", TEXTS)[0].softmax(-1)
    found = [[one.probabilities[label] for label in ours.labels] for one in ours.predict(TEXTS)]
    torch.testing.assert_close(torch.tensor(found), expected, **CLOSE)
    headway.import_run(folder, place / f"{family}-pairs-run", pairs=True)
    ours = headway.load(place / f"{family}-pairs-run")
    expected = their_logits(folder, "labels", *map(list, zip(*PAIRS, strict=True)))[0].softmax(-1)
    found = [[one.probabilities[label] for label in ours.labels] for one in ours.predict(PAIRS)]
    torch.testing.assert_close(torch.tensor(found), expected, **CLOSE)


@pytest.mark.parametrize("family", FAMILIES)
def test_values_are_theirs(imported, family):
    folder, run = imported[f"{family}-value"]
    expected, _ = their_logits(folder, "value", TEXTS)
    np.testing.assert_allclose(headway.load(run).predict(TEXTS), expected[:, 0], atol=1e-4)


@pytest.mark.parametrize("family", FAMILIES)
def test_tags_are_theirs(imported, family):
    folder, run = imported[f"{family}-tags"]
    ours = headway.load(run)
    assert (ours.tags, ours.task.tags.scheme) == (("B-X", "O", "I-X"), "bio")
    logits, valid = their_logits(folder, "tags", TEXTS)
    encoded = ours.task.words.encode_batch(TEXTS)
    found = ours.task.probabilities(ours.model, encoded)
    for row, (words, values) in enumerate(zip(encoded, found, strict=True)):
        told = logits[row][valid[row]].softmax(-1)
        firsts = [i for i in range(1, len(words) - 1) if words[i, 1] != words[i - 1, 1]]
        np.testing.assert_allclose(values, told[firsts], atol=1e-4)
    assert [len(one.tags) for one in ours.predict(TEXTS)] == [len(t.split()) for t in TEXTS]


@pytest.mark.parametrize("family", FAMILIES)
def test_answers_are_theirs(imported, family):
    folder, run = imported[f"{family}-answer"]
    ours = headway.load(run)
    questions, documents = map(list, zip(*PAIRS, strict=True))
    logits, valid = their_logits(folder, "answer", questions, documents)
    asked = ours.task.encode(questions, documents)
    batch, _ = ours.task.tensors(asked, [ours.task.windows_of(one)[0] for one in asked])
    with torch.inference_mode():
        found = ours.model.token_logits(batch)
    torch.testing.assert_close(found[batch["src_valid"]], logits[valid], **CLOSE)
    for answered, text in zip(ours.predict(PAIRS), documents, strict=True):
        assert all(one.text == text[one.start : one.end] for one in answered.candidates)


@pytest.mark.parametrize("head", HEADS)
@pytest.mark.parametrize("family", FAMILIES)
def test_an_import_is_exported_again_as_what_it_was(imported, tmp_path, family, head):
    folder, run = imported[f"{family}-{head}"]
    ours = headway.load(run)
    done = export(ours, "hf", tmp_path / "out")
    assert done.check.difference < 1e-4
    assert done.check.what == ("values" if head == "value" else "logits")
    texts = [*zip(*PAIRS, strict=True)] if head == "answer" else [TEXTS]
    texts = [[*column] for column in texts]
    before, after = (their_logits(place, head, *texts) for place in (folder, tmp_path / "out"))
    torch.testing.assert_close(
        after[0][after[1]] if after[0].dim() > 2 else after[0],
        before[0][before[1]] if before[0].dim() > 2 else before[0],
        **CLOSE,
    )
    said = json.loads((tmp_path / "out" / "config.json").read_text())
    assert (
        said["architectures"] == json.loads((folder / "config.json").read_text())["architectures"]
    )
    assert not (tmp_path / "out" / "modules.json").exists()
    headway.import_run(tmp_path / "out", tmp_path / "again")
    again = headway.load(tmp_path / "again")
    assert again.config.model == replace(ours.config.model, preset=again.config.model.preset)
    assert again.config.task == TASKS[head]
    assert again.task.describe() == ours.task.describe()


@pytest.fixture(scope="module")
def trained(place):
    """Runs of headway's own, as a recipe would make them of a small BERT."""
    rows = {
        "classify": lambda i, a, b: {"text": a, "text2": b, "label": "ab"[i % 2]},
        "regress": lambda i, a, b: {"text": a, "value": 10 + i},
        "tag": lambda i, a, b: {"words": a, "tags": tags(a)},
        "answer": lambda i, a, b: {"question": a, "context": b, "answers": [span(i, b)]},
    }

    def tags(text):  # IOB1, which goes out as BIO
        return " ".join([("O", "I-a", "I-b")[len(word) % 3] for word in text.split()])

    def span(i, text):
        return {"text": text[i : i + 4], "answer_start": i}

    small = ["d_model=16", "n_heads=2", "d_ff=24", "layers=1", "max_positions=80"]
    more = [f"model.{key}" for key in small] + ["model.family=encoder", "model.preset=bert-tiny"]
    more += ["data.max_length=80", "data.block=80", "search.max_length=80", "text.begin=true"]
    more += ["train.steps=3", "train.batch_tokens=64", "text.kind=characters"]
    made = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HEADWAY_CACHE", str(place / "cache"))
        for task, row in rows.items():
            lines = [row(i, *pair) for i, pair in enumerate(PAIRS)]
            file = place / f"{task}.jsonl"
            file.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
            data = f'[data]\ntrain = "{task}.jsonl"\ntest = "{task}.jsonl"\n'
            run_file = place / f"{task}.toml"
            run_file.write_text(f'task = "{task}"\n{data}')
            out = place / f"trained-{task}"
            made[task] = headway.train(headway.read_config(run_file, more), out)
        yield made


def test_runs_of_headways_own_are_loaded_by_the_library(trained, tmp_path):
    for task, ours in trained.items():
        done = export(ours, "hf", tmp_path / task)
        assert (done.layout, done.check.origin) == ("BERT", "the test set")
        assert done.check.difference < 1e-4
    classifier, regressor = trained["classify"], trained["regress"]
    pairs = [*map(list, zip(*PAIRS, strict=True))]
    expected = their_logits(tmp_path / "classify", "labels", *pairs)[0].softmax(-1)
    found = [[one.probabilities[label] for label in "ab"] for one in classifier.predict(PAIRS)]
    torch.testing.assert_close(torch.tensor(found), expected, **CLOSE)
    values, _ = their_logits(tmp_path / "regress", "value", TEXTS)
    assert regressor.task.value.mean == 12
    np.testing.assert_allclose(regressor.predict(TEXTS), values[:, 0], atol=1e-3)
    said = json.loads((tmp_path / "tag" / "config.json").read_text())
    assert trained["tag"].task.tags.scheme == "iob1"
    assert list(said["id2label"].values()) == ["O", "B-a", "I-a", "B-b", "I-b"]


def test_a_vector_of_the_mean_is_refused_with_the_way_out(trained, tmp_path):
    ours = trained["classify"]
    kept = ours.config
    ours.config = replace(kept, model=replace(kept.model, pooling="mean", pooler=False))
    try:
        with pytest.raises(ConfigError) as caught:
            export(ours, "hf", tmp_path / "out")
    finally:
        ours.config = kept
    assert str(caught.value) == (
        f"{ours.run.path} cannot be expressed in the format 'hf' because of model.pooling = "
        '"mean" (labels and values come from the first token through a pooler; train with '
        'model.pooling = "first" and model.pooler = true); train an encoder with other settings'
    )


@pytest.mark.parametrize(
    ("kind", "layout", "settings"),
    [
        ("sentences", "BERT", ["model.pooling=first", "model.pooler=true"]),
        ("distilbert", "DistilBERT", ["model.pooler=true", "model.pooler_activation=relu"]),
    ],
)
def test_a_pooler_that_init_does_not_have_is_new(tmp_path, monkeypatch, kind, layout, settings):
    """So that what was imported can be trained further and exported."""
    monkeypatch.setenv("HEADWAY_CACHE", str(tmp_path / "cache"))
    headway.import_run(make_folder(kind, tmp_path / "theirs"), tmp_path / "run")
    rows = [f"{text}\t{'ab'[i % 2]}\n" for i, text in enumerate(TEXTS)]
    (tmp_path / "rows.tsv").write_text("".join(rows), "utf-8")
    file = tmp_path / "run.toml"
    file.write_text(f'task = "classify"\ninit = "{tmp_path}/run"\ndata.train = "rows.tsv"\n')
    more = ["data.max_length=40", "data.block=40", "search.max_length=40"]
    more += ["train.steps=2", "train.batch_tokens=64"]
    frozen = headway.read_config(file, [*more, *settings, "tune.mode=frozen"])
    with pytest.raises(
        ConfigError, match=r"init has no pooler, and a new one would not be trained; set tune"
    ):
        headway.train(frozen, tmp_path / "frozen")
    tuned = headway.train(headway.read_config(file, [*more, *settings]), tmp_path / "tuned")
    first = json.loads((tmp_path / "tuned" / "log.jsonl").read_text().splitlines()[0])
    assert (
        "the head and the pooler are new; all other weights are those of init"
        in (first["notes"]["Settings"])
    )
    done = export(tuned, "hf", tmp_path / "out")
    assert done.layout == layout
    assert done.check.difference < 1e-4


def test_the_commands(imported, tmp_path, capsys):
    folder, run = imported["roberta-labels"]
    (tmp_path / "rows.tsv").write_text("".join(f"{text}\tsame\n" for text in TEXTS), "utf-8")
    (tmp_path / "texts.txt").write_text("\n".join(TEXTS), "utf-8")
    out = str(tmp_path / "pairs")
    assert main(["import", str(folder), "--out", out, "--pairs"]) == 0
    said = capsys.readouterr().out
    assert said.startswith(f"{out}: RoBERTa, ")
    assert said.endswith("task classify\n")
    assert main(["predict", str(run), str(tmp_path / "texts.txt")]) == 0
    found = [line.split()[0] for line in capsys.readouterr().out.splitlines()]
    assert found == [one.label for one in headway.load(run).predict(TEXTS)]
    data = ["--data", str(tmp_path / "rows.tsv")]
    assert main(["evaluate", str(run), *data, "--json"]) == 0
    assert main(["embed", str(run), str(tmp_path / "texts.txt")]) == 0
    assert main(["info", str(run)]) == 0
    assert main(["view", str(run), TEXTS[0], "--out", str(tmp_path / "page.html")]) == 0
    capsys.readouterr()
    assert main(["export", str(run), "--to", "hf", "--out", str(tmp_path / "hf")]) == 0
    assert capsys.readouterr().out.startswith(f"{tmp_path}/hf: RoBERTa\nlargest difference of log")
    tagger = imported["bert-tags"][0]
    assert main(["import", str(tagger), "--out", str(tmp_path / "no"), "--pairs"]) == 2
    assert capsys.readouterr().err.splitlines()[-1] == (
        f"headway: error: --pairs is for labels and values of two texts, and {tagger} is a model "
        "for task 'tag'; leave it out"
    )
    assert not (tmp_path / "no").exists()

"""Models that were trained further: their heads give the same logits here, and back again."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch
import transformers
from hf_cases import CLOSE, changed, make, read_folder, refusal, save

from headway.interop.hugging_face import architecture_for
from headway.interop.hugging_face.model_files import write_model
from headway.interop.hugging_face.task_heads import HEADS, TaskHead, read_task_head
from headway.models import VocabularySizes

FAMILIES_OF_THEIRS = ("Bert", "Roberta", "DistilBert")
TAGS = ("O", "B-PER", "I-PER")
NAMES = {
    "SequenceClassification": ("worse", "better", "the same"),
    "TokenClassification": TAGS,
    "QuestionAnswering": (),
}
CASES = [
    (f"{family}For{head}", labels)
    for family in FAMILIES_OF_THEIRS
    for head, labels in NAMES.items()
]
CASES += [(f"{family}ForSequenceClassification", ("grade",)) for family in FAMILIES_OF_THEIRS]
RATES = {"DistilBertForSequenceClassification": {"seq_classif_dropout": 0.1}}
TASKS = {"SequenceClassification": "classify", "TokenClassification": "tag"}


def made(kind, labels=(), **settings):
    """A model of the library with names for what it tells."""
    named = {"id2label": dict(enumerate(labels))} if labels else {}
    return make(kind, **named, **settings)


def inputs(segments):
    """Texts of several lengths side by side, each of two parts."""
    draw = torch.Generator().manual_seed(3)
    lengths = torch.tensor([5, 1, 9, 4])
    src = torch.randint(2, 29, (len(lengths), 9), generator=draw)
    valid = torch.arange(9) < lengths[:, None]
    segment = (torch.arange(9) > 2).long().expand_as(src)
    theirs = {"input_ids": src, "attention_mask": valid.long()}
    if segments > 1:
        theirs["token_type_ids"] = segment
    return theirs, {"src": src, "src_valid": valid, "segment": segment}


@torch.inference_mode()
def theirs_of(model):
    """Logits, of tokens only where there are some."""
    given, batch = inputs(getattr(model.config, "type_vocab_size", 1))
    # Padding has its own token in RoBERTa, which counts positions by it.
    pad = model.config.pad_token_id
    given["input_ids"] = batch["src"].where(batch["src_valid"], pad)
    found = model(**given)
    if "logits" not in found:
        return torch.stack([found.start_logits, found.end_logits], -1)[batch["src_valid"]]
    return found.logits[batch["src_valid"]] if found.logits.dim() == 3 else found.logits


@torch.inference_mode()
def ours_of(model, task):
    _, batch = inputs(2)
    if task in ("classify", "regress"):
        return model.logits(batch)
    return model.token_logits(batch)[batch["src_valid"]]


def again(tmp_path, found, pad, auto):
    """The same model, written by us and loaded by the library."""
    ids = {"pad": pad, "bos": 29, "eos": 0}
    layout, obstacles = architecture_for(found.config, found.vocabularies, ids, found.task)
    assert obstacles == []
    out = tmp_path / "again"
    out.mkdir()
    write_model(out, found.model, layout, found.vocabularies, ids, 32, found.task_head)
    loaded, report = getattr(transformers, auto).from_pretrained(out, output_loading_info=True)
    assert not any(report.values()), report
    return layout, loaded.eval()


@pytest.mark.parametrize(("kind", "labels"), CASES, ids=str)
def test_logits_are_theirs_and_come_back(tmp_path, kind, labels):
    theirs = made(kind, labels, **RATES.get(kind, {}))
    expected = theirs_of(theirs)
    found = read_folder(save(theirs, tmp_path / "theirs"))
    head = kind.partition("For")[2]
    usual = "regress" if len(labels) == 1 else TASKS.get(head, "answer")
    assert (found.task, found.task_head.labels) == (usual, tuple(labels))
    assert found.notes == ()
    torch.testing.assert_close(ours_of(found.model, found.task), expected, **CLOSE)
    layout, loaded = again(tmp_path, found, theirs.config.pad_token_id, f"AutoModelFor{head}")
    assert layout is found.architecture
    assert type(loaded) is type(theirs)
    torch.testing.assert_close(theirs_of(loaded), expected, **CLOSE)
    if labels:
        assert loaded.config.id2label == dict(enumerate(labels))
        assert loaded.config.label2id == {label: i for i, label in enumerate(labels)}


def test_values_are_written_as_they_are(tmp_path):
    found = read_folder(save(made("BertForSequenceClassification", "v"), tmp_path / "bert"))
    sizes = VocabularySizes(30, 1, shared=False)
    layout, _ = architecture_for(found.config, sizes, {"pad": 0}, "regress")
    out = tmp_path / "out"
    out.mkdir()
    ids = {"pad": 0, "bos": 29, "eos": 0}
    scaled = TaskHead("regress", ("value",), mean=3.0, deviation=0.5)
    write_model(out, found.model, layout, sizes, ids, 32, scaled)
    loaded = transformers.AutoModelForSequenceClassification.from_pretrained(out).eval()
    assert loaded.config.problem_type == "regression"
    expected = ours_of(found.model, "regress") * 0.5 + 3
    torch.testing.assert_close(theirs_of(loaded), expected, **CLOSE)


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    transformers.utils.logging.disable_progress_bar()
    place = tmp_path_factory.mktemp("heads")
    kinds = {
        "texts": ("BertForSequenceClassification", ("no", "yes")),
        "tokens": ("BertForTokenClassification", TAGS),
        "roberta": ("RobertaForSequenceClassification", ("no", "yes")),
    }
    return {name: save(made(*case), place / name) for name, case in kinds.items()}


@pytest.mark.parametrize(
    ("name", "config", "message"),
    [
        (
            "texts",
            {"id2label": {"0": "no", "2": "yes"}},
            "id2label has the numbers [0, 2]; expected all from 0 on, one for each output of the "
            "model; name those that are missing",
        ),
        (
            "texts",
            {"id2label": {"0": "no"}},
            "id2label names 1 labels and the model has 2 outputs; name each of them there",
        ),
        (
            "tokens",
            {"id2label": None, "label2id": None},
            "id2label names 2 labels and the model has 3 outputs; name each of them there",
        ),
        (
            "texts",
            {"id2label": ["no", "yes"]},
            "id2label = ['no', 'yes']; expected a table of numbers and names such as "
            '{"0": "no", "1": "yes"}; write it so',
        ),
        (
            "texts",
            {"id2label": {"0": "no", "1": "no"}},
            "the name 'no' of output 1 in id2label is also that of 0; each of the labels needs a "
            "name of its own; change it there",
        ),
        ("texts", {"id2label": {"0": "no", "1": " "}}, "the name ' ' of output 1 in id2label is b"),
        (
            "tokens",
            {"id2label": {"0": "O", "1": "B-a b", "2": "I-a b"}},
            "the name 'B-a b' of output 1 in id2label has white space that would be lost; each of "
            "the tags needs a name of its own; change it there",
        ),
        (
            "texts",
            {"problem_type": "multi_label_classification"},
            "problem_type = 'multi_label_classification' with 2 labels; headway has "
            "single_label_classification (classify), regression (regress); import another model",
        ),
        ("texts", {"problem_type": "regression"}, "problem_type = 'regression' with 2 labels; "),
        (
            "texts",
            {"architectures": ["BertForMultipleChoice"]},
            "architectures = ['BertForMultipleChoice']; expected BertForPreTraining or "
            "BertForMaskedLM or BertModel or BertForSequenceClassification or "
            "BertForTokenClassification or BertForQuestionAnswering",
        ),
    ],
)
def test_what_config_json_may_not_say(folders, tmp_path, name, config, message):
    out = changed(folders[name], tmp_path / "out", **config)
    found = refusal(out)
    assert found.startswith(f"{out}/config.json: ")
    assert message in found


def test_a_row_is_enough_to_read_a_head(monkeypatch):
    row = replace(HEADS["classify"], problem_type="multi_label_classification")
    monkeypatch.setitem(HEADS, "sets", row)
    config = {"id2label": {"0": "no", "1": "yes"}}

    def task_of(**more):
        return read_task_head(config | more, "texts", 2, Path("config.json")).task

    assert task_of(problem_type="multi_label_classification") == "sets"
    assert task_of() == task_of(problem_type="single_label_classification") == "classify"


def test_labels_without_names_are_called_as_the_library_does(folders, tmp_path):
    out = changed(folders["texts"], tmp_path / "out", id2label=None, label2id=None)
    assert read_folder(out).task_head == TaskHead("classify", ("LABEL_0", "LABEL_1"))


def test_every_weight_of_a_head_is_accounted_for(folders, tmp_path):
    def said(name, **tensors):
        tensors = {key.replace("_", "."): value for key, value in tensors.items()}
        return refusal(
            changed(folders[name], tmp_path / str(len(list(tmp_path.iterdir()))), tensors)
        )

    assert "does not fit a BertForSequenceClassification: missing: classifier.weight;" in said(
        "texts", classifier_weight=None
    )
    assert "does not fit a BERT model: missing: classifier.bias;" in said(
        "texts", classifier_bias=None
    )
    assert "missing: classifier.dense.weight;" in said("roberta", classifier_dense_weight=None)
    assert "missing: bert.pooler.dense.bias;" in said("texts", bert_pooler_dense_bias=None)
    assert "unexpected: cls.predictions.bias;" in said(
        "tokens", cls_predictions_bias=torch.zeros(30)
    )
    assert "unexpected: classifier.bias, classifier.weight;" in refusal(
        changed(folders["texts"], tmp_path / "bare", architectures=["BertModel"])
    )

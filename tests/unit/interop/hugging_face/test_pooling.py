"""Poolers of encoders: settings, refusals and weights by hand, and poolers that are left out."""

from types import SimpleNamespace

import pytest
import torch
import transformers
from hf_cases import CLOSE, changed, make, read_folder, save

from headway.interop.hugging_face import architecture_for
from headway.interop.hugging_face.config_map import ConfigReader
from headway.interop.hugging_face.model_files import write_model
from headway.interop.hugging_face.pooling import Pooling
from headway.interop.hugging_face.task_heads import TaskHead
from headway.interop.unsupported import UnsupportedSettings
from headway.models import FAMILIES, VocabularySizes
from headway.models.encoder import EncoderConfig

SAME = Pooling("bert.pooler.dense", "bert.pooler.dense")
APART = Pooling("roberta.pooler.dense", "classifier.dense")
NONE = Pooling(None, "pre_classifier", "relu")
FIRST = {"pooling": "first", "pooler": False}
REASON = "labels and values come from the first token through a pooler; train with"


@pytest.mark.parametrize(
    ("pooling", "form", "has_pooler", "sentences", "expected", "note"),
    [
        (SAME, "none", True, None, {**FIRST, "pooler": True}, None),
        (SAME, "masked", False, None, FIRST, None),
        (NONE, "none", False, None, FIRST, None),
        (
            SAME,
            "none",
            True,
            "mean",
            {"pooling": "mean", "pooler": False},
            "bert.pooler.* is left out: the vector of a text is the mean of all states",
        ),
        (
            APART,
            "none",
            True,
            "first",
            FIRST,
            "roberta.pooler.* is left out: the vector of a text is the state of the first token",
        ),
        (SAME, "none", False, "first", FIRST, None),
        (
            SAME,
            "tokens",
            True,
            None,
            FIRST,
            "bert.pooler.* is left out: what is said of tokens does not come from it",
        ),
        (NONE, "spans", False, None, FIRST, None),
        (
            SAME,
            "texts",
            True,
            None,
            {"pooling": "first", "pooler": True, "pooler_activation": "tanh"},
            None,
        ),
        (
            APART,
            "texts",
            True,
            None,
            {"pooling": "first", "pooler": True, "pooler_activation": "tanh"},
            "roberta.pooler.* is left out: classifier.dense.* makes the vector of a text",
        ),
        (
            NONE,
            "texts",
            False,
            None,
            {"pooling": "first", "pooler": True, "pooler_activation": "relu"},
            None,
        ),
    ],
)
def test_settings_of_a_folder(pooling, form, has_pooler, sentences, expected, note):
    names = {f"{pooling.pooler}.weight"} if has_pooler else {"embeddings.weight"}
    reader = ConfigReader({}, frozenset(names), sentences)
    assert pooling.read(reader, form) == expected
    assert reader.notes == ([] if note is None else [note])
    assert reader.ignored_prefixes == ([] if note is None else [note.partition("*")[0]])


@pytest.mark.parametrize(
    ("pooling", "form", "expected"),
    [
        (SAME, "masked", "bert.pooler.dense"),
        (APART, "none", "roberta.pooler.dense"),
        (APART, "texts", "classifier.dense"),
        (NONE, "texts", "pre_classifier"),
        (NONE, "none", None),
        (SAME, "tokens", None),
        (SAME, "spans", None),
    ],
)
def test_names_of_the_weights(pooling, form, expected):
    rows = list(pooling.rows(SimpleNamespace(pooler=True), form))
    ours = ("backbone.pooler.dense.weight", "backbone.pooler.dense.bias")
    theirs = [(f"{expected}.weight",), (f"{expected}.bias",)]
    assert [row.theirs for row in rows] == ([] if expected is None else theirs)
    assert [row.ours for row in rows] == list(ours[: len(rows)])
    assert list(pooling.rows(SimpleNamespace(pooler=False), form)) == []


def check(pooling, form, pooled="first", pooler=True, activation="tanh"):
    model = SimpleNamespace(pooling=pooled, pooler=pooler, pooler_activation=activation)
    unsupported = UnsupportedSettings()
    pooling.check(model, form, unsupported)
    return unsupported.messages


def test_poolers_that_pretrained_models_of_the_library_do_not_have():
    assert check(SAME, "masked") == check(SAME, "masked", "mean", pooler=False) == []
    assert check(NONE, "none") == ["model.pooler = true (no pooler)"]
    assert check(SAME, "none", "mean") == [
        'model.pooling = "mean" (the pooler takes the first token)'
    ]
    assert check(SAME, "none", activation="relu") == ['model.pooler_activation = "relu" (tanh)']


def test_vectors_that_the_library_does_not_compute_labels_from():
    assert check(SAME, "texts") == check(NONE, "texts", activation="relu") == []
    assert check(SAME, "texts", "mean", pooler=False) == [
        f'model.pooling = "mean" ({REASON} model.pooling = "first" and model.pooler = true)'
    ]
    assert check(APART, "texts", "mean") == [
        f'model.pooling = "mean" ({REASON} model.pooling = "first")'
    ]
    assert check(SAME, "texts", pooler=False) == [
        f"model.pooler = false ({REASON} model.pooler = true)"
    ]
    assert check(NONE, "texts", "mean", pooler=False) == [
        f'model.pooling = "mean" ({REASON} model.pooling = "first" and model.pooler = true and '
        'model.pooler_activation = "relu")'
    ]
    assert check(NONE, "texts") == [
        f'model.pooler_activation = "tanh" ({REASON} model.pooler_activation = "relu")'
    ]


@pytest.mark.parametrize("form", ["tokens", "spans"])
def test_heads_without_pooling_refuse_none(form):
    assert check(NONE, form, "mean", activation="relu") == []


@pytest.mark.parametrize("kind", ["BertForTokenClassification", "RobertaForSequenceClassification"])
def test_a_pooler_that_older_versions_saved_changes_nothing(tmp_path, kind):
    folder = save(make(kind), tmp_path / "new")
    name = f"{kind.partition('For')[0].lower()}.pooler.dense"
    more = {f"{name}.weight": torch.ones(16, 16), f"{name}.bias": torch.ones(16)}
    before, after = read_folder(folder), read_folder(changed(folder, tmp_path / "old", more))
    assert (len(before.notes), len(after.notes)) == (0, 1)
    torch.testing.assert_close(after.model.state_dict(), before.model.state_dict())


@pytest.mark.parametrize("settings", [{}, {"pooling": "mean", "pooler": False}], ids=str)
@torch.inference_mode()
def test_tags_do_not_depend_on_pooling(tmp_path, settings):
    small = {"d_model": 16, "n_heads": 2, "d_ff": 24, "layers": 1, "max_positions": 8}
    sizes, ids = VocabularySizes(30, 3, shared=False), {"pad": 0, "bos": 1, "eos": 2}
    config = EncoderConfig(preset="bert-tiny", **small, **settings).resolve(10, sizes)
    model = FAMILIES["encoder"].build(config, sizes).eval()
    architecture, _ = architecture_for(config, sizes, ids, "tag")
    head = TaskHead("tag", ("O", "B-PER", "I-PER"))
    write_model(tmp_path, model, architecture, sizes, ids, 8, head)
    theirs = transformers.AutoModelForTokenClassification.from_pretrained(tmp_path).eval()
    src = torch.tensor([[5, 6, 7]])
    expected = model.token_logits({"src": src, "src_valid": torch.ones_like(src).bool()})
    torch.testing.assert_close(theirs(input_ids=src).logits, expected, **CLOSE)

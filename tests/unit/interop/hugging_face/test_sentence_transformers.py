"""The files of sentence-transformers: read, written and refused."""

import json

import pytest
from hf_cases import changed

from headway.errors import RunError
from headway.interop.hugging_face.folder import Folder
from headway.interop.hugging_face.model_files import read_model
from headway.interop.hugging_face.sentence_transformers import (
    SentenceConfig,
    read_sentence_config,
    write_sentence_config,
)

MEAN, FIRST = {"pooling_mode_mean_tokens": True}, {"pooling_mode_cls_token": True}
PARTS = ("Transformer", "Pooling")


def add_files(folder, parts=PARTS, pooling=MEAN, path="1_Pooling", sizes=None):
    """Adds the files of sentence-transformers to a folder."""
    modules = [{"type": f"sentence_transformers.models.{part}", "path": ""} for part in parts]
    modules[1]["path"] = path
    (folder / "modules.json").write_text(json.dumps(modules))
    (folder / "1_Pooling").mkdir()
    (folder / "1_Pooling" / "config.json").write_text(json.dumps(pooling))
    if sizes is not None:
        (folder / "sentence_bert_config.json").write_text(json.dumps(sizes))
    return Folder(folder)


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "config.json").write_text("{}")
    return tmp_path


def test_other_folders_have_no_such_files(folder):
    assert read_sentence_config(Folder(folder)) is None


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({}, SentenceConfig("mean", normalises=False, max_length=None)),
        (
            {"parts": (*PARTS, "Normalize"), "pooling": FIRST},
            SentenceConfig("first", normalises=True, max_length=None),
        ),
        (
            {"pooling": {**MEAN, "pooling_mode_cls_token": False, "include_prompt": True}},
            SentenceConfig("mean", normalises=False, max_length=None),
        ),
        (
            {"sizes": {"max_seq_length": 40}},
            SentenceConfig("mean", normalises=False, max_length=40),
        ),
        ({"sizes": {"max_seq_length": "40"}}, SentenceConfig("mean", False, None)),
        ({"sizes": {"max_seq_length": True}}, SentenceConfig("mean", False, None)),
        ({"path": None}, SentenceConfig("mean", False, None)),
    ],
    ids=str,
)
def test_how_a_text_becomes_a_vector(folder, files, expected):
    assert read_sentence_config(add_files(folder, **files)) == expected


@pytest.mark.parametrize("normalises", [True, False])
def test_files_that_are_written_come_back(folder, normalises):
    write_sentence_config(folder, max_length=40, width=16, normalises=normalises)
    expected = SentenceConfig("mean", normalises, max_length=40)
    assert read_sentence_config(Folder(folder)) == expected


def test_the_content_of_the_files(tmp_path):
    write_sentence_config(tmp_path, max_length=40, width=16, normalises=True)
    names = ("modules.json", "sentence_bert_config.json", "1_Pooling/config.json")
    modules, sizes, pooling = (json.loads((tmp_path / name).read_text()) for name in names)
    package = "sentence_transformers.models"
    assert modules == [
        {"idx": 0, "name": "0", "path": "", "type": f"{package}.Transformer"},
        {"idx": 1, "name": "1", "path": "1_Pooling", "type": f"{package}.Pooling"},
        {"idx": 2, "name": "2", "path": "2_Normalize", "type": f"{package}.Normalize"},
    ]
    assert sizes == {"max_seq_length": 40, "do_lower_case": False}
    assert pooling == {
        "word_embedding_dimension": 16,
        "pooling_mode_mean_tokens": True,
        "pooling_mode_cls_token": False,
    }


def refusal(folder):
    with pytest.raises(RunError) as caught:
        read_sentence_config(folder)
    return str(caught.value)


@pytest.mark.parametrize(
    ("pooling", "makers"),
    [
        (
            {**MEAN, "pooling_mode_max_tokens": True},
            "pooling_mode_mean_tokens, pooling_mode_max_tokens",
        ),
        ({"pooling_mode_max_tokens": True}, "pooling_mode_max_tokens"),
        ({"pooling_mode_mean_tokens": False}, "nothing"),
    ],
)
def test_poolings_that_headway_does_not_have(folder, pooling, makers):
    assert refusal(add_files(folder, pooling=pooling)) == (
        f"{folder}/1_Pooling/config.json: the vector of a text is made by {makers}; expected one "
        "of pooling_mode_mean_tokens, pooling_mode_cls_token; import another model"
    )


@pytest.mark.parametrize(
    "parts",
    [
        (*PARTS, "Dense"),
        (*PARTS, "Normalize", "Normalize"),
        ("Pooling", "Transformer"),
    ],
)
def test_parts_that_headway_does_not_have(folder, parts):
    assert refusal(add_files(folder, parts)) == (
        f"{folder}/modules.json: the parts are {', '.join(parts)}; expected Transformer, Pooling "
        "and perhaps Normalize; import another model"
    )


@pytest.mark.parametrize("content", ["{}", "[1]"])
def test_a_list_of_modules_that_is_damaged(folder, content):
    (folder / "modules.json").write_text(content)
    assert refusal(Folder(folder)) == (
        f"{folder}/modules.json is damaged (it holds no list of tables); copy it again"
    )


def test_a_model_takes_the_pooling_of_the_files(bert, tmp_path):
    out = changed(bert, tmp_path / "out")
    imported = read_model(add_files(out, (*PARTS, "Normalize"), FIRST))
    assert imported.sentences == SentenceConfig("first", normalises=True, max_length=None)
    assert (imported.config.pooling, imported.config.pooler) == ("first", False)
    assert imported.notes == (
        "bert.pooler.* is left out: the vector of a text is the state of the first token",
    )


@pytest.mark.parametrize("path", ["\n", "../1_Pooling", "/etc", 3, ["1_Pooling"]])
def test_the_pooling_is_in_a_subfolder(folder, path):
    with pytest.raises(RunError, match=r"is damaged \(path = .+ is no subfolder\); copy it again$"):
        read_sentence_config(add_files(folder, path=path))

"""The files of a folder: JSON and safetensors, in one file or several, and what is refused."""

import json
import os
import pickle

import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file

from headway.errors import RunError
from headway.interop.hugging_face.folder import Folder

WEIGHTS, INDEX = "model.safetensors", "model.safetensors.index.json"
TENSORS = {"a": torch.arange(3.0), "b": torch.ones(2, 2), "c": torch.zeros(0, 4)}


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "config.json").write_text('{"n_layer": 2, "num_beams": 4}')
    return tmp_path


def refusal(call, *arguments):
    with pytest.raises(RunError) as caught:
        call(*arguments)
    return str(caught.value)


def test_config_json_is_read_when_the_folder_is_opened(folder):
    assert Folder(str(folder)).config == {"n_layer": 2, "num_beams": 4}
    assert Folder(str(folder)).path == folder


def test_a_path_that_is_no_folder(tmp_path):
    expected = "give a folder with config.json, model.safetensors and tokenizer.json"
    gone, file = tmp_path / "gone", tmp_path / "file"
    file.write_text("x")
    assert refusal(Folder, gone) == f"{gone} does not exist; {expected}"
    assert refusal(Folder, file) == f"{file} is a file; {expected}"
    assert refusal(Folder, tmp_path) == (
        f"{tmp_path} has no config.json; {expected}, as save_pretrained writes it"
    )


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"[]", "it holds no table"),
        (b'"text"', "it holds no table"),
        (
            b"{",
            "Expecting property name enclosed in double quotes: line 1 column 2 (char 1)",
        ),
        (b"\xff", "'utf-8' codec can't decode byte 0xff in position 0: invalid start byte"),
    ],
)
def test_a_config_json_that_is_damaged(tmp_path, content, reason):
    file = tmp_path / "config.json"
    file.write_bytes(content)
    assert refusal(Folder, tmp_path) == (
        f"{file} is damaged ({reason}); copy it from its origin again"
    )


def test_a_json_file_may_be_missing_and_hold_anything(folder):
    (folder / "modules.json").write_text("[1, 2]")
    assert Folder(folder).find_json("modules.json") == [1, 2]
    assert Folder(folder).find_json("other.json") is None
    (folder / "tokenizer.json").mkdir()
    assert refusal(Folder(folder).find_json, "tokenizer.json") == (
        f"{folder}/tokenizer.json cannot be read (Is a directory); check its permissions"
    )


def test_generation_config_json_overrides_config_json(folder):
    assert Folder(folder).generation() == {"n_layer": 2, "num_beams": 4}
    file = folder / "generation_config.json"
    file.write_text('{"num_beams": 1, "top_k": 5}')
    assert Folder(folder).generation() == {"n_layer": 2, "num_beams": 1, "top_k": 5}
    file.write_text("[]")
    with pytest.raises(RunError, match=r"generation_config\.json is damaged \(it holds no table\)"):
        Folder(folder).generation()


def write_shards(folder, places, **files):
    """Writes files of tensors by name, and an index."""
    for name, tensors in files.items():
        save_file(tensors, folder / f"{name}.safetensors")
    (folder / INDEX).write_text(json.dumps({"weight_map": places}))


def test_weights_of_one_file_and_of_several_are_the_same(folder):
    first, second = {"a": TENSORS["a"], "c": TENSORS["c"]}, {"b": TENSORS["b"]}
    places = {"a": "one.safetensors", "c": "one.safetensors", "b": "two.safetensors"}
    write_shards(folder, places, one=first, two=second)
    torch.testing.assert_close(Folder(folder).tensors(), TENSORS)
    save_file({**TENSORS, "a": TENSORS["a"] + 1}, folder / WEIGHTS)
    torch.testing.assert_close(Folder(folder).tensors()["a"], torch.tensor([1.0, 2.0, 3.0]))


def test_the_files_that_transformers_writes_with_an_index(gpt2, tmp_path):
    model = transformers.GPT2LMHeadModel.from_pretrained(gpt2)
    model.save_pretrained(tmp_path, max_shard_size="8KB")
    assert len(list(tmp_path.glob("*.safetensors"))) > 1
    torch.testing.assert_close(Folder(tmp_path).tensors(), load_file(gpt2 / WEIGHTS))


@pytest.mark.parametrize(
    ("places", "reason"),
    [
        (
            {"a": "one.safetensors", "b": "one.safetensors"},
            "one.safetensors lacks b, which the index says otherwise",
        ),
        ({"c": "one.safetensors"}, "one.safetensors has a, which the index says otherwise"),
        ({"a": "../one.safetensors"}, "'../one.safetensors' is no file of this folder"),
        ({"a": "/one.safetensors"}, "'/one.safetensors' is no file of this folder"),
        (["a"], "it has no weight_map"),
        ({"a": 1}, "it has no weight_map"),
    ],
    ids=str,
)
def test_an_index_that_does_not_fit_its_files(folder, places, reason):
    write_shards(folder, places, one={"a": TENSORS["a"]})
    assert refusal(Folder(folder).tensors) == (
        f"{folder / INDEX} is damaged ({reason}); copy it from its origin again"
    )


def test_a_file_that_only_the_index_names(folder):
    write_shards(folder, {"a": "gone.safetensors"})
    assert refusal(Folder(folder).tensors) == (
        f"{folder} has no gone.safetensors, which {INDEX} names; copy it there"
    )


@pytest.mark.parametrize("cut", [0, 5, 100, -1])
def test_a_file_that_is_cut_short(folder, cut):
    file = folder / WEIGHTS
    save_file(TENSORS, file)
    file.write_bytes(file.read_bytes()[:cut])
    message = refusal(Folder(folder).tensors)
    assert message.startswith(f"{file} is damaged (")
    assert message.endswith("); copy it from its origin again")


def test_pickled_weights_are_not_opened(folder):
    assert refusal(Folder(folder).tensors) == f"{folder} has no {WEIGHTS}; copy it there"
    (folder / "pytorch_model.bin").write_bytes(pickle.dumps({}))
    assert refusal(Folder(folder).tensors) == (
        f"{folder} holds its weights as pytorch_model.bin, which headway does not open because "
        "such files can run code; load it with transformers and write it anew with save_pretrained"
    )


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_named_pipe_is_not_waited_for(folder):
    for name, read in {
        "generation_config.json": Folder.generation,
        WEIGHTS: Folder.tensors,
    }.items():
        os.mkfifo(folder / name)
        assert refusal(read, Folder(folder)) == f"{folder / name} is a named pipe; give a file"


def test_a_tensor_of_too_many_dimensions(folder):
    save_file({"a": torch.zeros([1] * 60)}, folder / WEIGHTS)
    message = f"{folder / WEIGHTS} is damaged (a tensor has more than 8 dimensions); copy it from"
    assert refusal(Folder(folder).tensors).startswith(message)

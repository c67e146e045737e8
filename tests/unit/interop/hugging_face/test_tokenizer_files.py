"""Tokenizers of folders: which tokens are special, and the special tokens around texts."""

import json

import pytest
from foreign_folders import bert, gpt2, marian, t5
from tokenizers import Tokenizer, models, processors

from headway.errors import RunError
from headway.interop.hugging_face.bart import MARIAN
from headway.interop.hugging_face.bert import BERT
from headway.interop.hugging_face.folder import Folder
from headway.interop.hugging_face.gpt2 import GPT2
from headway.interop.hugging_face.t5 import T5
from headway.interop.hugging_face.tokenizer_files import frame_of, read_tokenizers
from headway.models import VocabularySizes
from headway.text import SpecialTokenTemplate


def folder_of(path, make, config=None, **files):
    """A folder with a tokenizer, and JSON files by their names."""
    path.mkdir(exist_ok=True)
    tokenizer, names = make()
    tokenizer.save(str(path / "tokenizer.json"))
    settings = {f"{role}_token": token for role, token in names.items()}
    for name, content in {"config": config or {}, "tokenizer_config": settings, **files}.items():
        (path / f"{name}.json").write_text(json.dumps(content))
    return Folder(path), tokenizer


def read(folder, architecture, size=400):
    sizes = VocabularySizes(size, size, shared=True)
    source, target = read_tokenizers(folder, architecture, sizes)
    assert source is target
    return source


@pytest.mark.parametrize(
    ("processor", "frame"),
    [
        (processors.TemplateProcessing("a $A b", "a $A b $B b", [("a", 0), ("b", 1)]), (True, 1)),
        (processors.TemplateProcessing("$A b", "$A b b $B b", [("b", 1)]), (False, 2)),
        (processors.RobertaProcessing(("b", 1), ("a", 0)), (True, 2)),
        (processors.BertProcessing(("b", 1), ("a", 0)), (True, 1)),
        (
            processors.Sequence(
                [processors.ByteLevel(), processors.BertProcessing(("b", 1), ("a", 0))]
            ),
            (True, 1),
        ),
        (processors.ByteLevel(), None),
        (None, None),
    ],
)
def test_special_tokens_that_a_post_processor_puts_around_texts(processor, frame):
    tokenizer = Tokenizer(models.WordLevel({"a": 0, "b": 1}))
    if processor is not None:
        tokenizer.post_processor = processor
    content = json.loads(tokenizer.to_str())["post_processor"]
    assert frame_of(content) == (None if frame is None else SpecialTokenTemplate(*frame))


def test_tokens_have_the_roles_of_the_architecture(tmp_path):
    folder, theirs = folder_of(tmp_path / "bert", bert)
    ours = read(folder, BERT)
    assert {name: ours.pieces[i] for name, i in ours.specials.items()} == {
        "pad": "[PAD]",
        "bos": "[CLS]",
        "eos": "[SEP]",
        "unk": "[UNK]",
        "mask": "[MASK]",
    }
    assert ours.frame == SpecialTokenTemplate(begin=True, between=1)
    assert ours.encode("the cat") == theirs.encode("the cat").ids[1:-1]
    assert ours.size == 400  # a model may have more embeddings than tokens
    folder, _ = folder_of(tmp_path / "gpt2", gpt2)
    ours = read(folder, GPT2)
    assert set(ours.specials.values()) == {0}  # one token for all
    assert ours.frame == SpecialTokenTemplate()
    folder, theirs = folder_of(tmp_path / "t5", t5)
    specials = read(folder, T5).specials
    assert specials["sentinel_1"] == theirs.token_to_id("<extra_id_1>")
    assert specials["bos"] == specials["pad"] == theirs.token_to_id("<pad>")


SPELLED = {"eos_token": "</s>", "pad_token": "<pad>", "unk_token": "<unk>"}
WITHOUT = {"pad_token": "<pad>", "unk_token": "<unk>"}


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"config": {"eos_token_id": 3}, "generation_config": {"eos_token_id": 4}}, 3),
        ({"generation_config": {"eos_token_id": [4, 3]}, "tokenizer_config": SPELLED}, 4),
        ({"tokenizer_config": SPELLED, "special_tokens_map": {"eos_token": "▁the"}}, 0),
        ({"tokenizer_config": WITHOUT, "special_tokens_map": {"eos_token": "▁the"}}, 3),
        ({"tokenizer_config": {**WITHOUT, "eos_token": {"content": "▁the"}}}, 3),
        ({"tokenizer_config": WITHOUT}, 1),
    ],
    ids=["config", "generation", "spelled", "map", "table", "default"],
)
def test_ids_count_before_names_and_names_before_defaults(tmp_path, files, expected):
    folder, theirs = folder_of(tmp_path, marian, **files)
    assert (theirs.token_to_id("</s>"), theirs.token_to_id("▁the")) == (0, 3)
    assert read(folder, T5).specials["eos"] == expected  # T5 has 1 by default


def test_two_vocabularies_have_a_file_each(tmp_path):
    folder, _ = folder_of(tmp_path, marian, {"decoder_start_token_id": 2})
    sizes = VocabularySizes(100, 400, shared=False)
    with pytest.raises(RunError) as caught:
        read_tokenizers(folder, MARIAN, sizes)
    assert str(caught.value) == (
        f"{tmp_path} has no target/tokenizer.json; write it with transformers: "
        f"AutoTokenizer.from_pretrained('{tmp_path}').save_pretrained(...)"
    )
    folder_of(tmp_path / "target", t5)
    source, target = read_tokenizers(folder, MARIAN, sizes)
    assert (source.size, target.size) == (100, 400)
    assert source.pieces[0] == "</s>"
    assert target.pieces[0] == "<pad>"


def test_a_tokenizer_that_is_missing_or_does_not_fit(tmp_path):
    folder, theirs = folder_of(tmp_path, bert)
    n_tokens, file = theirs.get_vocab_size(), tmp_path / "tokenizer.json"
    for content, message in {
        None: f"{file} has {n_tokens} tokens and the model embeddings of 9; give the folder as it "
        "was saved",
        "{": f"{file} is not a tokenizer (Expecting property name enclosed in double quotes: line "
        "1 column 2 (char 1)); expected a tokenizer.json of the library tokenizers",
        "": f"{file} is not a tokenizer (Expecting value: line 1 column 1 (char 0)); expected a "
        "tokenizer.json of the library tokenizers",
    }.items():
        if content is not None:
            file.write_text(content)
        with pytest.raises(RunError) as caught:
            read(folder, BERT, size=9)
        assert str(caught.value) == message
    file.write_text("[]")
    with pytest.raises(RunError, match=r"tokenizer\.json is not a tokenizer \("):
        read(folder, BERT)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("added_tokens",), [[]]),
        (("added_tokens", 0, "content"), 0.5),
        (("added_tokens", 0), {}),
        (("post_processor", "pair"), [None]),
        (("post_processor", "pair"), None),
        (("model", "vocab"), None),
    ],
)
def test_a_tokenizer_whose_parts_are_damaged(tmp_path, path, value):
    folder, _ = folder_of(tmp_path, bert)
    content = part = json.loads((tmp_path / "tokenizer.json").read_text())
    for key in path[:-1]:
        part = part[key]
    part[path[-1]] = value
    (tmp_path / "tokenizer.json").write_text(json.dumps(content))
    with pytest.raises(RunError, match=r"tokenizer\.json is not a tokenizer \("):
        read(folder, BERT)


@pytest.mark.parametrize("content", ["[]", "{", "[" * 100_000, "9" * 5000, "", "\0"])
@pytest.mark.parametrize("name", ["tokenizer_config", "generation_config"])
def test_settings_of_a_tokenizer_that_are_damaged(tmp_path, name, content):
    folder, _ = folder_of(tmp_path, bert)
    (tmp_path / f"{name}.json").write_text(content)
    with pytest.raises(RunError, match=rf"{name}\.json is damaged \(.+\); copy it from its origin"):
        read(folder, BERT)


def test_true_is_no_id(tmp_path):
    folder, theirs = folder_of(
        tmp_path, marian, {"eos_token_id": True, "decoder_start_token_id": 0}
    )
    assert read(folder, MARIAN).specials["eos"] == theirs.token_to_id("</s>")


def test_a_merge_of_a_piece_that_is_a_special_token(tmp_path):
    folder, theirs = folder_of(tmp_path, gpt2)
    left, _ = json.loads(theirs.to_str())["model"]["merges"][0]
    folder, _ = folder_of(tmp_path, gpt2, {"eos_token_id": theirs.token_to_id(left)})
    with pytest.raises(RunError, match=r"out of vocabulary.*; give the tokenizer as it was saved$"):
        read(folder, GPT2)

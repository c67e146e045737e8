"""Tokenizers that headway writes: transformers encodes as headway does."""

import json
from types import SimpleNamespace

import pytest
import transformers

from headway.interop.hugging_face.bart import MARIAN
from headway.interop.hugging_face.bert import BERT
from headway.interop.hugging_face.folder import Folder
from headway.interop.hugging_face.gpt2 import GPT2
from headway.interop.hugging_face.tokenizer_files import read_tokenizers, write_tokenizers
from headway.models import VocabularySizes
from headway.text import SpecialTokenTemplate, TokenizerConfig, train_tokenizer

TEXTS = ["the cat sat", "a  dog,  isn't it?", "Tür < eos > ⟨x⟩", ""]


@pytest.mark.parametrize("kind", ["bpe", "unigram", "wordpiece", "words", "characters", "bytes"])
def test_transformers_encodes_and_decodes_as_headway_does(tmp_path, kind):
    ours = train_tokenizer(TEXTS, TokenizerConfig(kind=kind))
    write_tokenizers(tmp_path, MARIAN, SimpleNamespace(), ours, ours, 20)
    theirs = transformers.AutoTokenizer.from_pretrained(tmp_path)
    bos, eos = ours.specials["bos"], ours.specials["eos"]
    for text in TEXTS:
        ids = ours.encode(text)
        assert theirs(text)["input_ids"] == [*ids, eos]
        assert theirs.decode([bos, *ids, eos], skip_special_tokens=True) == ours.decode(ids)
    spelled = ours.pieces[eos]  # in a text it is text
    assert theirs(spelled)["input_ids"] == [*ours.encode(spelled), eos]
    assert eos not in ours.encode(spelled)
    assert set(theirs(TEXTS, padding=True)) == {"input_ids", "attention_mask"}
    assert (theirs.pad_token_id, theirs.bos_token_id, theirs.eos_token_id) == (0, 1, 2)


@pytest.mark.parametrize(
    ("architecture", "segments", "single", "pair", "kinds"),
    [
        (MARIAN, 0, [4, 2], [4, 2, 5, 2], [0, 0, 1, 1]),
        (BERT, 2, [1, 4, 2], [1, 4, 2, 5, 2], [0, 0, 0, 1, 1]),
        (GPT2, 0, [1, 4], [1, 4, 5], [0, 0, 1]),
    ],
    ids=["source", "encoder", "prompt"],
)
def test_special_tokens_around_texts_and_pairs(
    tmp_path, architecture, segments, single, pair, kinds
):
    frame = SpecialTokenTemplate(begin=True) if architecture is BERT else None
    ours = train_tokenizer(["a a b"], TokenizerConfig(kind="words"), frame=frame)
    model = SimpleNamespace(segments=segments)
    write_tokenizers(tmp_path, architecture, model, ours, ours, 20)
    theirs = transformers.AutoTokenizer.from_pretrained(tmp_path)
    assert theirs("a")["input_ids"] == single
    encoded = theirs("a", "b", return_token_type_ids=True)
    assert (encoded["input_ids"], encoded["token_type_ids"]) == (pair, kinds)
    assert ("token_type_ids" in theirs("a")) == (segments > 1)
    assert theirs.model_max_length == 20


def test_what_is_written_comes_back(tmp_path):
    source = train_tokenizer(["a b"], TokenizerConfig(kind="words"))
    target = train_tokenizer(["c d e"], TokenizerConfig(kind="characters"))
    write_tokenizers(tmp_path, MARIAN, SimpleNamespace(), source, target, 20)
    (tmp_path / "config.json").write_text(json.dumps({"decoder_start_token_id": 1}))
    sizes = VocabularySizes(source.size, target.size, shared=False)
    for ours, again in zip(
        (source, target), read_tokenizers(Folder(tmp_path), MARIAN, sizes), strict=True
    ):
        assert (again.pieces, again.specials) == (ours.pieces, ours.specials)
        assert again.encode("a b c d") == ours.encode("a b c d")

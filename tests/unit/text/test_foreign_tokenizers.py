"""Tokenizers from elsewhere: the same ids as their own library gives, and text stays text."""

import json
from itertools import pairwise

import pytest
import tokenizers
import transformers
from foreign_layouts import BERT, GPT2, LAYOUTS, T5
from varied_lines import LOOKALIKES, varied_lines

from headway.data.codecs.text import TextCodec
from headway.errors import RunError
from headway.text import SpecialTokenTemplate, Tokenizer
from headway.text.detokenize import split_prefix

LINES = varied_lines(1500, lookalikes=False)
TEMPTING = varied_lines(500, lookalikes=True)
PLAIN = {"split_special_tokens": True, "truncation": False, "padding": False}


class Case:
    """One layout: a folder as transformers has it, their tokenizer, and ours."""

    def __init__(self, name, folder):
        layout = LAYOUTS[name]
        self.file = folder / "tokenizer.json"
        layout.make().save(str(self.file))
        names = {f"{role}_token": token for role, token in layout.roles.items() if "_" not in role}
        settings = {"tokenizer_class": layout.peer, **names, **layout.settings}
        (folder / "tokenizer_config.json").write_text(json.dumps(settings))
        self.unknown = layout.roles["unk"]
        self.theirs = getattr(transformers, layout.peer).from_pretrained(folder)
        self.ours = Tokenizer.from_hugging_face(self.file, layout.roles, layout.frame)


@pytest.fixture(scope="module")
def cases(tmp_path_factory):
    return {name: Case(name, tmp_path_factory.mktemp(name)) for name in LAYOUTS}


@pytest.fixture(params=LAYOUTS)
def case(request, cases):
    return cases[request.param]


def their_ids(tokenizer, text):
    return tokenizer(text, add_special_tokens=False, **PLAIN)["input_ids"]


# The ids


def test_ids_are_those_of_transformers(case):
    encoded = case.ours.encode_batch(LINES)
    for line, ids in zip(LINES, encoded, strict=True):
        assert ids == their_ids(case.theirs, line), line
    assert encoded[:50] == [case.ours.encode(line) for line in LINES[:50]]


def test_text_that_spells_a_special_token_is_text(case):
    ours = case.ours
    controls = set(ours.specials.values()) - {ours.specials["unk"]}
    for line in [*LOOKALIKES, *TEMPTING]:
        ids = ours.encode(line)
        assert not controls.intersection(ids), line
        # A unigram model of theirs takes any piece of its vocabulary, even a special token.
        if ours.settings.kind != "unigram":
            assert ids == their_ids(case.theirs, line), line
        if ours.spelling == "bytes":
            assert ours.decode(ids) == line


def test_tokens_of_the_real_minilm(minilm):
    ours = Tokenizer.from_hugging_face(
        minilm / "tokenizer.json", BERT, SpecialTokenTemplate(True, 1)
    )
    theirs = transformers.BertTokenizerFast.from_pretrained(minilm)
    assert ours.size == 30522
    assert ours.specials == {"pad": 0, "bos": 101, "eos": 102, "unk": 100, "mask": 103}
    lines = varied_lines(3000, lookalikes=False) + varied_lines(2000, lookalikes=True)
    for line, ids in zip(lines, ours.encode_batch(lines), strict=True):
        assert ids == their_ids(theirs, line), line
    text = "A huge trout just [MASK] my line, unbelievably!"
    assert " ".join(ours.tokens(ours.encode(text))) == (
        "a huge trout just [ mask ] my line , un ##bel ##ie ##va ##bly !"
    )


def test_pieces_of_a_running_text_are_encoded_as_the_whole(case):
    for line in LINES[:300]:
        spaces = [i for i in range(1, len(line)) if line[i] in " \n"]
        places = [i for i in spaces if not line[i - 1].isspace()]
        pieces = [line[i:j] for i, j in pairwise([0, *places, len(line)])]
        running = [index for ids in case.ours.encode_running(pieces) for index in ids]
        assert running == case.ours.encode(line), line


@pytest.mark.parametrize("name", ["bert", "bert-cased", "t5", "t5-split", "marian"])
def test_words_have_the_ids_that_transformers_gives_them(cases, name):
    case = cases[name]
    for line in LINES[:300]:
        words = line.split()
        expected = case.theirs(words, is_split_into_words=True, add_special_tokens=False, **PLAIN)
        assert case.ours.encode_words(words) == (expected["input_ids"], expected.word_ids())


# The frame


@pytest.mark.parametrize("name", ["bert", "roberta", "bart", "t5"])
def test_framed_texts_are_those_of_transformers(cases, name):
    case = cases[name]
    codec = TextCodec(case.ours, reads=True)
    lines = [line for line in LINES[:300] if case.ours.encode(line)]
    for first, second in pairwise(lines):
        assert codec.encode_batch([first])[0].tolist() == case.theirs(first, **PLAIN)["input_ids"]
        ids, segments = codec.pair(case.ours.encode(first), case.ours.encode(second))
        expected = case.theirs(first, second, **PLAIN)
        assert ids.tolist() == expected["input_ids"]
        if name == "bert":  # the others have no segments
            assert segments.tolist() == expected["token_type_ids"]


# And back


def test_decoding_is_that_of_the_library(case):
    for line in LINES[:400]:
        ids = case.ours.encode(line)
        expected = case.theirs.backend_tokenizer.decode(ids, skip_special_tokens=False)
        assert case.ours.decode(ids, unknown=case.unknown) == expected
    bos, eos, pad = (case.ours.specials[name] for name in ("bos", "eos", "pad"))
    text = "the cat sat"
    assert case.ours.decode([bos, *case.ours.encode(text), eos, pad]) == text


def test_spellings_joined_are_the_text(case):
    spellings = case.ours.spellings()
    for line in LINES[:200]:
        ids = case.ours.encode(line)
        written = b"".join(spellings[index] for index in ids).decode()
        if case.ours.spelling != "wordpiece":  # whose decoder tidies up around signs
            assert written.removeprefix(" " * case.ours.prepends_space) == case.ours.decode(ids)
    words = ["the", "cat", "sat"]
    written = b"".join(spellings[index] for index in case.ours.encode(" ".join(words)))
    assert written.decode().split() == words
    assert spellings[case.ours.specials["eos"]] == b""


def test_tokens_are_readable(cases):
    def readable(name, text):
        tokenizer = cases[name].ours
        ids = tokenizer.specials
        return " ".join(tokenizer.tokens([ids["bos"], *tokenizer.encode(text), ids["eos"]]))

    assert readable("bert", "The cat ﷽") == "[CLS] the cat [UNK] [SEP]"
    assert readable("bert-cased", "mat2") == "[CLS] mat ##2 [SEP]"
    assert readable("roberta", "the cat\n") == "<s> the ▁cat <0x0A> </s>"
    assert readable("gpt2", "the\t☄").startswith("<|endoftext|> the <0x09> ")
    assert readable("t5", "the cat") == "<pad> ▁the ▁cat </s>"
    t5 = cases["t5"].ours
    assert t5.tokens([t5.specials["sentinel_0"], t5.specials["sentinel_3"]]) == [
        "<extra_id_0>",
        "<extra_id_3>",
    ]


@pytest.mark.parametrize("name", ["bart", "gpt2", "t5", "t5-split", "marian"])
@pytest.mark.parametrize("text", ["the cat sa", "the", "the cat ", "the  cat's"])
def test_a_prefix_is_split(cases, name, text):
    case = cases[name]
    tokens, opening = split_prefix(case.ours, text)
    written = b"".join(case.ours.spellings()[token] for token in tokens) + opening
    if case.ours.spelling == "bytes":
        assert written.decode() == text
    else:
        assert written.decode().split() == text.split()
        assert written.decode().endswith(" ") == text.endswith(" ")


# The file


def test_a_saved_tokenizer_is_loaded_again(case, tmp_path):
    case.ours.save(tmp_path / "tokenizer.json")
    again = Tokenizer.load(tmp_path / "tokenizer.json")
    assert again.to_json() == case.ours.to_json()
    assert again.specials == case.ours.specials
    assert (again.frame, again.size) == (case.ours.frame, case.ours.size)
    assert (again.settings, again.spelling) == (case.ours.settings, case.ours.spelling)
    assert again.pieces == case.ours.pieces
    assert again.encode_batch(LINES[:200]) == case.ours.encode_batch(LINES[:200])


def test_the_library_reads_the_file_as_before(case, tmp_path):
    case.ours.save(tmp_path / "tokenizer.json")
    kept = json.loads((tmp_path / "tokenizer.json").read_text())
    kept["model"].pop("headway")
    before = tokenizers.Tokenizer.from_file(str(case.file))
    assert kept == json.loads(before.to_str())
    after = tokenizers.Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    for line in [*LINES[:200], *TEMPTING[:200]]:
        assert after.encode(line).ids == before.encode(line).ids


def test_special_tokens_may_be_named_by_id(cases):
    roles = {"pad": 0, "bos": 0, "eos": 1, "unk": "<unk>"}
    loaded = Tokenizer.from_hugging_face(cases["t5"].file, roles, SpecialTokenTemplate())
    assert loaded.specials == {"pad": 0, "bos": 0, "eos": 1, "unk": 2}


def test_a_model_may_have_more_ids_than_the_file(cases, tmp_path):
    made = Tokenizer.from_hugging_face(cases["t5"].file, T5, SpecialTokenTemplate(), size=928)
    made.save(tmp_path / "tokenizer.json")
    for loaded in (made, Tokenizer.load(tmp_path / "tokenizer.json")):
        assert loaded.size == 928
        assert loaded.tokens([904, 927]) == ["< unused 904 >", "< unused 927 >"]
        assert loaded.decode([904, *loaded.encode("the cat"), 927]) == "the cat"
        assert loaded.spellings()[927] == b""


def test_dropout_in_the_file_is_ignored(cases, tmp_path):
    content = json.loads(cases["gpt2"].file.read_text())
    content["model"]["dropout"] = 0.9
    (tmp_path / "tokenizer.json").write_text(json.dumps(content))
    loaded = Tokenizer.from_hugging_face(tmp_path / "tokenizer.json", GPT2, SpecialTokenTemplate())
    assert loaded.encode_batch(LINES[:50]) == cases["gpt2"].ours.encode_batch(LINES[:50])


def test_old_files_are_read(cases, tmp_path):
    content = json.loads(cases["gpt2"].file.read_text())
    del content["model"]["type"], content["model"]["ignore_merges"]
    content["model"]["merges"] = [" ".join(pair) for pair in content["model"]["merges"]]
    (tmp_path / "tokenizer.json").write_text(json.dumps(content))
    loaded = Tokenizer.from_hugging_face(tmp_path / "tokenizer.json", GPT2, SpecialTokenTemplate())
    assert loaded.to_json() == cases["gpt2"].ours.to_json()


@pytest.mark.parametrize(
    ("text", "roles", "message"),
    [
        ("{}", BERT, r"is not a tokenizer \(.*\); expected a tokenizer.json of the library tokeni"),
        (None, {"pad": "[PAD]"}, "bos, eos, unk; name a token for each of pad, bos, eos, unk$"),
        (None, {**BERT, "mask": "<mask>"}, "there is no token '<mask>' for the role mask$"),
        (None, {**BERT, "mask": 1200}, "there is no token 1200 for the role mask$"),
    ],
)  # fmt: skip
def test_unusable_files_and_roles_are_refused(cases, tmp_path, text, roles, message):
    path = cases["bert"].file
    if text is not None:
        path = tmp_path / "tokenizer.json"
        path.write_text(text)
    with pytest.raises(RunError, match=message):
        Tokenizer.from_hugging_face(path, roles, SpecialTokenTemplate())
    with pytest.raises(RunError, match="cannot read the tokenizer"):
        Tokenizer.from_hugging_face(tmp_path / "nothing.json", roles, SpecialTokenTemplate())


def test_unsupported_spellings_are_refused(tmp_path):
    made = tokenizers.Tokenizer(tokenizers.models.BPE({"a": 0, "b</w>": 1}, []))
    made.decoder = tokenizers.decoders.BPEDecoder()
    made.save(str(tmp_path / "tokenizer.json"))
    roles = dict.fromkeys(("pad", "bos", "eos", "unk"), "a")
    with pytest.raises(RunError, match="in a way that headway does not support") as error:
        Tokenizer.from_hugging_face(tmp_path / "tokenizer.json", roles, SpecialTokenTemplate())
    assert str(error.value) == (
        "the tokenizer spells text in a way that headway does not support (BPE with BPEDecoder); "
        "expected byte-level pieces, ▁ for spaces (Metaspace), or WordPiece with '##'"
    )

"""Encoding, decoding, showing, saving: every kind, any text."""

import json
import subprocess
import sys

import pytest
import tokenizers
from hypothesis import given, settings
from hypothesis import strategies as st

from headway.errors import DataError, RunError
from headway.text import (
    BOS,
    EOS,
    PAD,
    UNK,
    SpecialTokenTemplate,
    Tokenizer,
    TokenizerConfig,
    train_tokenizer,
)
from headway.text.config import Kind

KINDS: tuple[Kind, ...] = ("bpe", "unigram", "wordpiece", "words", "characters", "bytes")
LOSSLESS: tuple[Kind, ...] = ("bpe", "unigram", "bytes")

CONTROL_LOOKALIKES = [
    "</s>", "<s>", "<pad>", "<unk>", "[MASK]", "[PAD]", "< pad >", "< bos >", "< eos >", "< unk >",
    "< mask >", "⟨eos⟩", "pad",
]  # fmt: skip

TEXTS = [
    "the cat sat on the mat .",
    "The cat's mat, the dog's mat; 12 mats in 2021!",
    "Кот сел на коврик",
    "أَهْلًا بالعالم",
    "猫坐在垫子上。猫坐在垫子上。",
    "ein Hund läuft über die Straße",
    *CONTROL_LOOKALIKES,
    " ".join(CONTROL_LOOKALIKES),
] * 5


SIZES = {"bpe": 400, "unigram": 400}


@pytest.fixture(scope="module")
def trained() -> dict[str, Tokenizer]:
    return {
        kind: train_tokenizer(
            TEXTS, TokenizerConfig(kind, SIZES.get(kind)), extra_specials=["mask"]
        )
        for kind in KINDS
    }


HARD_TEXTS = [
    "", " ", "  ", "a", " a", "a ", "  a  b  ", "\n", "\na", "a\r\n\tb\n\n",
    "\x00", "a\x00\x1f\x7fb", "\x85\u2028\u00a0\u3000x", "\ufeffa\ufffd", "\U0010ffff\ufffe",
    "e\u0301\u0301", "\u0301", "\U0001f469\u200d\U0001f467\U0001f1e9\U0001f1ea",
    "日本語テキスト", "مرحبا بالعالم", "Кот сел", "don't l'homme 'quoted' 's ''",
    "x" * 300, "-" * 100, " " * 100, "12345678901", "▁Ġ##a", *CONTROL_LOOKALIKES,
]  # fmt: skip


@pytest.mark.parametrize("kind", LOSSLESS)
@pytest.mark.parametrize("text", HARD_TEXTS)
def test_lossless_tokenizers_reproduce_hard_texts(trained, kind, text):
    ids = trained[kind].encode(text)
    assert trained[kind].decode(ids) == text
    assert all(index > trained[kind].specials["mask"] for index in ids)


@pytest.mark.parametrize("kind", LOSSLESS)
@settings(max_examples=150, deadline=None)
@given(text=st.text(st.characters(exclude_categories=["Cs"])))
def test_lossless_tokenizers_reproduce_any_text(trained, kind, text):
    assert trained[kind].decode(trained[kind].encode(text)) == text


@settings(max_examples=100, deadline=None)
@given(text=st.text(st.sampled_from("ab \n\t'’1.猫\u0301\u00a0<>"), max_size=40))
def test_splitting_loses_nothing_between_character_classes(trained, text):
    assert trained["bpe"].decode(trained["bpe"].encode(text)) == text


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("text", CONTROL_LOOKALIKES)
def test_text_that_looks_like_a_special_token_is_text(trained, kind, text):
    tokenizer = trained[kind]
    for given_text in (text, f"a {text} b", f"cat{text}cat"):
        ids = tokenizer.encode(given_text)
        assert not {PAD, BOS, EOS, tokenizer.specials["mask"]}.intersection(ids)
    assert tokenizer.decode(tokenizer.encode(text)) == text  # it stood in the training text


def test_frequent_lookalikes_become_words_of_their_own(trained):
    (index,) = trained["words"].encode("<pad>")
    assert index > trained["words"].specials["mask"]
    assert trained["words"].tokens([index]) == ["<pad>"]


def test_the_frame_is_stored_in_the_file(tmp_path):
    extra = ("mask", "sentinel_0", "sentinel_1")
    framed = train_tokenizer(
        ["a b"], TokenizerConfig("words"), extra, SpecialTokenTemplate(begin=True)
    )
    framed.save(tmp_path / "t.json")
    again = Tokenizer.load(tmp_path / "t.json")
    assert again.frame == framed.frame == SpecialTokenTemplate(begin=True, between=1)
    assert again.specials == framed.specials
    assert again.specials["sentinel_1"] == 6
    assert again.tokens([4, 5, 7]) == ["⟨mask⟩", "⟨sentinel_0⟩", "a"]
    assert again.to_json() == framed.to_json()
    own = json.loads(framed.to_json())["model"]["headway"]
    assert own["format"] == 2  # which a headway that knows no frame refuses


def test_a_file_without_a_frame_is_unchanged(trained):
    own = json.loads(trained["words"].to_json())["model"]["headway"]
    assert own.keys() == {"format", "settings", "specials"}
    assert (own["format"], own["specials"]) == (1, ["pad", "bos", "eos", "unk", "mask"])


def test_ids_of_special_tokens_are_fixed(trained):
    for tokenizer in trained.values():
        assert tokenizer.specials == {"pad": 0, "bos": 1, "eos": 2, "unk": 3, "mask": 4}
        assert tokenizer.tokens([PAD, BOS, EOS, UNK, 4]) == [
            "⟨pad⟩", "⟨bos⟩", "⟨eos⟩", "⟨unk⟩", "⟨mask⟩",
        ]  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_decode_omits_special_tokens(trained, kind):
    tokenizer = trained[kind]
    ids = tokenizer.encode("the cat")
    assert tokenizer.decode([BOS, *ids[:1], 4, *ids[1:], EOS, PAD, PAD]) == "the cat"
    assert tokenizer.decode([]) == ""


@pytest.mark.parametrize(
    ("kind", "text", "expected"),
    [
        ("words", "the zebra  sat", "the ⟨unk⟩ sat"),
        ("wordpiece", "the ψψ sat", "the ⟨unk⟩ sat"),
        ("characters", "the ψat", "the ⟨unk⟩at"),
    ],
)
def test_unseen_text_is_unknown(trained, kind, text, expected):
    ids = trained[kind].encode(text)
    assert ids.count(UNK) == 1
    assert trained[kind].decode(ids) == expected


def test_words_are_split_at_whitespace_only():
    tokenizer = train_tokenizer(["HH AH0 L-OW1 .\tx,y"], TokenizerConfig(kind="words"))
    ids = tokenizer.encode(" x,y  HH\nL-OW1 ")
    assert tokenizer.tokens(ids) == ["x,y", "HH", "L-OW1"]
    assert tokenizer.decode(ids) == "x,y HH L-OW1"


def test_wordpiece_reproduces_text_up_to_whitespace(trained):
    text = "The cat's  mat, 12 猫坐在垫子上。\n"
    ids = trained["wordpiece"].encode(text)
    assert trained["wordpiece"].decode(ids) == " ".join(text.split())
    assert trained["wordpiece"].tokens(trained["wordpiece"].encode("catcat"))[1].startswith("##")


def test_characters_keep_every_space(trained):
    text = " the  cat "
    assert trained["characters"].decode(trained["characters"].encode(text)) == text
    assert trained["characters"].tokens(trained["characters"].encode("a t")) == ["a", "▁", "t"]


def test_first_word_is_the_same_token_as_inside_a_sentence(trained):
    for kind in ("bpe", "unigram"):
        first = trained[kind].encode("cat")
        assert trained[kind].encode("the cat")[-len(first) :] == first


def test_tokenised_text_takes_one_token_a_word(trained):
    tokenizer = trained["bpe"]
    assert tokenizer.tokens(tokenizer.encode("the mat . the")) == ["▁the", "▁mat", "▁.", "▁the"]


def test_digits_are_spelled(trained):
    assert trained["bpe"].tokens(trained["bpe"].encode("2021")) == ["▁2", "0", "2", "1"]


def test_tokens_show_parts_of_characters_as_bytes(trained):
    tokenizer = trained["bytes"]
    assert tokenizer.tokens(tokenizer.encode("a å\n")) == [
        "a", "▁", "<0xC3>", "<0xA5>", "<0x0A>",
    ]  # fmt: skip
    tokens = trained["bpe"].tokens(trained["bpe"].encode("Кот ሴ"))
    assert tokens[0].startswith("▁К")
    assert tokens[-3:] == ["<0xE1>", "<0x88>", "<0xB4>"]


def test_normalising_and_lower_case_are_applied():
    config = TokenizerConfig(kind="bpe", normalise="nfkc", lowercase=True)
    tokenizer = train_tokenizer(["x"], config)
    assert tokenizer.decode(tokenizer.encode("ÉCOLE ﬁn E\u0301")) == "école fin é"
    nfc = train_tokenizer(["x"], TokenizerConfig(normalise="nfc"))
    assert nfc.decode(nfc.encode("ﬁ E\u0301")) == "ﬁ É"


@pytest.mark.parametrize("kind", KINDS)
def test_batches_equal_singles(trained, kind):
    texts = ["", "the cat", *TEXTS[:6], "zebra"]
    assert trained[kind].encode_batch(iter(texts)) == [trained[kind].encode(t) for t in texts]
    assert trained[kind].encode_batch([]) == []


@pytest.mark.parametrize("kind", ["bpe", "words"])
def test_a_lone_surrogate_is_refused(trained, kind):
    message = (
        r"^text has a lone surrogate \(U\+D800\) at character 3, which is not a character; "
        r"read the text as UTF-8 or remove it$"
    )
    for call in (
        lambda: trained[kind].encode("ab\ud800c"),
        lambda: trained[kind].encode_batch(["fine", "ab\ud800c"]),
        lambda: trained[kind].encode_random("ab\ud800c", 1),
        lambda: train_tokenizer(["ab\ud800c"], TokenizerConfig(kind=kind)),
    ):
        with pytest.raises(DataError, match=message):
            call()


@pytest.mark.parametrize("kind", KINDS)
def test_saved_file_gives_the_same_tokenizer(trained, kind, tmp_path):
    path = tmp_path / "tokenizer.json"
    trained[kind].save(path)
    loaded = Tokenizer.load(path)
    assert loaded.settings == trained[kind].settings
    assert loaded.specials == trained[kind].specials
    assert loaded.size == trained[kind].size
    assert loaded.to_json() == trained[kind].to_json()
    for text in [*HARD_TEXTS, *TEXTS]:
        ids = trained[kind].encode(text)
        assert loaded.encode(text) == ids
        assert loaded.decode(ids) == trained[kind].decode(ids)
        assert loaded.tokens(ids) == trained[kind].tokens(ids)
    assert [entry.name for entry in tmp_path.iterdir()] == ["tokenizer.json"]


@pytest.mark.parametrize("kind", KINDS)
def test_the_library_reads_the_file(trained, kind, tmp_path):
    path = tmp_path / "tokenizer.json"
    trained[kind].save(path)
    library = tokenizers.Tokenizer.from_file(str(path))
    assert library.get_vocab_size() == trained[kind].size
    for text in ["the cat sat", "Кот  сел \n", "猫 </s> <pad>", ""]:
        ids = trained[kind].encode(text)
        assert library.encode(text).ids == ids
        if UNK not in ids:
            assert library.decode([BOS, *ids, EOS]) == trained[kind].decode(ids)


def test_all_settings_are_stored(tmp_path):
    config = TokenizerConfig(kind="words", normalise="nfc", lowercase=True, min_count=2)
    train_tokenizer(["A a b"], config).save(tmp_path / "t.json")
    assert Tokenizer.load(tmp_path / "t.json").settings == config


def test_a_file_keeps_its_own_splitting(trained):
    """If headway ever splits text differently, old files must still encode it as before."""
    content = json.loads(trained["bpe"].to_json())
    content["normalizer"] = None
    content["decoder"] = {"type": "ByteLevel"} | trained_flags(content)
    old = Tokenizer.from_json(json.dumps(content))
    assert old.tokens(old.encode("the cat"))[0] != "▁the"
    assert old.decode(old.encode(" the cat")) == " the cat"


def trained_flags(content: dict) -> dict:
    (byte_level,) = [d for d in content["decoder"]["decoders"] if d["type"] == "ByteLevel"]
    return {key: value for key, value in byte_level.items() if key != "type"}


def damaged(change) -> str:
    content = json.loads(train_tokenizer(["a b"], TokenizerConfig(kind="words")).to_json())
    change(content)
    return json.dumps(content)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", r"the tokenizer .*t\.json is damaged \(.*\); restore it or train again$"),
        (
            "[]",
            r"was not written by headway: it has no model\.headway; give the tokenizer\.json of",
        ),
        (
            tokenizers.Tokenizer(tokenizers.models.BPE()).to_str(),
            r"the tokenizer .*t\.json was not written by headway",
        ),
        (
            damaged(lambda c: c["model"]["headway"].update(format=99)),
            r"has format 99 and this headway reads formats 1 and 2; use the headway that wrote it$",
        ),
        (
            damaged(lambda c: c["model"]["headway"]["settings"].update(colour="red")),
            r"is damaged \(.*colour.*\); restore",
        ),
        (damaged(lambda c: c["model"]["headway"].pop("specials")), r"is damaged \('specials'\)"),
        (damaged(lambda c: c["model"].update(type="Magic")), r"is damaged \(.*\); restore"),
        (
            damaged(lambda c: c["model"]["headway"]["specials"].append("mask")),
            r"is damaged \(there is no token '< mask >' for the role mask\); restore",
        ),
    ],
)
def test_a_foreign_or_damaged_file_is_refused_in_one_line(tmp_path, text, message):
    path = tmp_path / "t.json"
    path.write_text(text)
    with pytest.raises(RunError, match=message) as caught:
        Tokenizer.load(path)
    assert "\n" not in str(caught.value)


def test_a_file_that_cannot_be_read_or_written_is_named(tmp_path, trained):
    with pytest.raises(RunError, match=r"none\.json: No such file .*; restore it or train again"):
        Tokenizer.load(tmp_path / "none.json")
    (tmp_path / "latin.json").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(RunError, match=r"is not UTF-8 text; give the tokenizer\.json of a"):
        Tokenizer.load(tmp_path / "latin.json")
    with pytest.raises(RunError, match=r"cannot write .*no/t\.json: No such file"):
        trained["bpe"].save(tmp_path / "no" / "t.json")


def test_no_torch_is_imported():
    code = "import sys, headway.text; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0

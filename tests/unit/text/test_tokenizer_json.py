"""What a tokenizer.json says, on contents small enough to read."""

import pytest

from headway.errors import RunError
from headway.text.tokenizer_json import (
    numbered_pieces,
    prepends_space,
    special_pieces,
    spelling_of,
    splits_at_spaces,
    without_space,
    working_copy,
)

SPECIAL = {"id": 0, "content": "<s>", "special": True}
ADDED = {"id": 7, "content": "extra", "special": False}


def content(model="BPE", pre=None, decoder=None, normalizer=None, **settings):
    return {
        "truncation": {"max_length": 3},
        "padding": None,
        "post_processor": {"type": "TemplateProcessing"},
        "normalizer": normalizer,
        "pre_tokenizer": pre,
        "decoder": decoder,
        "added_tokens": [SPECIAL, ADDED],
        "model": {"type": model, "vocab": {"<s>": 0, "a": 1}, **settings},
    }


def steps(*parts, key="pretokenizers"):
    return {"type": "Sequence", key: list(parts)}


BYTES = {"type": "ByteLevel", "add_prefix_space": True}
META = {"type": "Metaspace", "prepend_scheme": "always"}
SPLIT = {"type": "WhitespaceSplit"}
PREPEND = {"type": "Prepend", "prepend": " "}


@pytest.mark.parametrize(
    ("file", "spelling"),
    [
        (content(pre=steps(SPLIT, BYTES)), "bytes"),
        (content(decoder=steps(BYTES, key="decoders")), "bytes"),
        (content("Unigram", pre=META), "spaces"),
        (content("WordPiece", continuing_subword_prefix="##"), "wordpiece"),
        (content("WordLevel", pre=SPLIT), "words"),
        (content("WordLevel", decoder={"type": "Fuse"}), "characters"),
    ],
)
def test_spellings(file, spelling):
    assert spelling_of(file) == spelling


def test_a_spelling_that_is_not_supported():
    with pytest.raises(RunError) as caught:
        spelling_of(content("WordPiece", pre=SPLIT, continuing_subword_prefix="@@"))
    assert str(caught.value) == (
        "the tokenizer spells text in a way that headway does not support (WordPiece with "
        "WhitespaceSplit); expected byte-level pieces, ▁ for spaces (Metaspace), or "
        "WordPiece with '##'"
    )
    with pytest.raises(RunError, match=r"\(BPE with no steps\)"):
        spelling_of(content())


def test_pieces_by_id_of_both_forms_of_a_vocabulary():
    assert numbered_pieces(content()) == {0: "<s>", 1: "a", 7: "extra"}
    unigram = content("Unigram")
    unigram["model"]["vocab"] = [["<s>", 0.0], ["b", -1.5]]
    assert numbered_pieces(unigram) == {0: "<s>", 1: "b", 7: "extra"}


def test_special_pieces_are_those_called_special():
    assert special_pieces(content()) == {"<s>"}


def test_the_working_copy_hides_special_tokens_and_drops_template_limits_and_dropout():
    file = content(unk_token="<s>", dropout=0.1)
    copy = working_copy(file, {"<s>"})
    assert copy["model"]["vocab"] == {"< <s> >": 0, "a": 1}
    assert (copy["model"]["unk_token"], copy["model"]["dropout"]) == ("< <s> >", None)
    assert [token["content"] for token in copy["added_tokens"]] == ["< <s> >", "extra"]
    assert [copy[key] for key in ("truncation", "padding", "post_processor")] == [None] * 3
    assert file == content(unk_token="<s>", dropout=0.1)  # the file itself is as it was


def test_a_name_with_a_space_stays():
    file = content("Unigram")
    file["model"]["vocab"] = [["< pad >", 0.0], ["<s>", -1.0]]
    assert working_copy(file, {"< pad >"})["model"]["vocab"] == [["< pad >", 0.0], ["<s>", -1.0]]


@pytest.mark.parametrize(
    ("file", "puts"),
    [
        (content(pre=BYTES), True),
        (content(pre={**BYTES, "add_prefix_space": False}), False),
        (content(pre=steps(SPLIT, META)), True),
        (content(normalizer=PREPEND), True),
        (content(normalizer=steps({"type": "NFC"}, PREPEND, key="normalizers")), True),
        (content(normalizer={"type": "NFC"}), False),
        (content(pre=SPLIT), False),
    ],
)
def test_a_space_before_a_text_and_none_before_its_continuation(file, puts):
    assert prepends_space(file) is puts
    if not splits_at_spaces(file):
        assert not prepends_space(without_space(file))


def test_a_sequence_of_nothing_but_the_space_is_gone():
    file = content(normalizer=steps(PREPEND, key="normalizers"))
    assert without_space(file)["normalizer"] is None


@pytest.mark.parametrize(("pre", "splits"), [(SPLIT, True), (BYTES, False), (None, False)])
def test_where_white_space_only_separates_words(pre, splits):
    file = content(pre=pre)
    assert splits_at_spaces(file) is splits
    if splits:
        assert without_space(file) is file

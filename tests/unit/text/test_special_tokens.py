"""Ids and names of special tokens."""

import pytest

from headway.text import SpecialTokenTemplate, TokenizerConfig, train_tokenizer
from headway.text.special_tokens import (
    BOS,
    EOS,
    PAD,
    SPECIALS,
    UNK,
    UNKNOWN,
    all_specials,
    display_name,
    vocabulary_name,
)


def test_ids_are_indices_in_the_list_of_names():
    assert [SPECIALS[index] for index in (PAD, BOS, EOS, UNK)] == ["pad", "bos", "eos", "unk"]
    assert all_specials([]) == {"pad": PAD, "bos": BOS, "eos": EOS, "unk": UNK}


def test_others_follow_in_order():
    assert list(all_specials(["mask", "sep"]).items())[4:] == [("mask", 4), ("sep", 5)]


@pytest.mark.parametrize("name", ["", "two words", "<mask>", "1st"])
def test_names_that_are_not_plain(name):
    with pytest.raises(ValueError) as caught:
        all_specials([name])
    assert str(caught.value) == (
        f"special token {name!r} is not a plain name; use letters, as in 'mask'"
    )


@pytest.mark.parametrize("extra", [["eos"], ["mask", "mask"]])
def test_names_that_come_twice(extra):
    names = ", ".join([*SPECIALS, *extra])
    with pytest.raises(ValueError, match=f"special tokens {names} are not distinct; name each"):
        all_specials(extra)


def test_names_in_files_have_a_space_and_those_for_people_do_not():
    assert vocabulary_name("mask") == "< mask >"
    assert display_name("mask") == "⟨mask⟩"
    assert UNKNOWN == "⟨unk⟩"


def test_an_encoder_text_has_eos_and_no_bos_by_default():
    assert SpecialTokenTemplate() == SpecialTokenTemplate(begin=False, between=1)
    tokenizer = train_tokenizer(["a"], TokenizerConfig("words"))
    assert tokenizer.frame == SpecialTokenTemplate()
    asked = SpecialTokenTemplate(begin=True, between=2)
    assert train_tokenizer(["a"], TokenizerConfig("words"), [], asked).frame == asked

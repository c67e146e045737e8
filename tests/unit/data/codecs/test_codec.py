"""What every codec of written values says about them."""

import pytest

from headway.data.codecs.codec import WrittenCodec
from headway.data.codecs.labels import LabelCodec


@pytest.mark.parametrize(("text", "is_blank"), [("", True), (" \t", True), ("a", False)])
def test_blank_is_a_text_without_characters(text, is_blank):
    assert WrittenCodec().is_blank(text) is is_blank


def test_amount_is_the_number_of_characters():
    assert WrittenCodec().amount("Кот") == 3


def test_white_space_around_a_text_does_not_make_it_another():
    assert WrittenCodec().identity(" a b ") == "a b"


def test_identity_follows_the_normalisation_of_the_codec():
    class Lower(WrittenCodec):
        def clean(self, text: str) -> str:
            return text.lower()

    assert Lower().identity("A ") == Lower().identity("a")
    assert LabelCodec(["yes", "no"]).identity(" yes") == "yes"

"""What is done to a text before it is cut: nothing, Unicode forms, lower case, a space."""

import pytest

from headway.text import TokenizerConfig
from headway.text.normalize import build_normalizer


@pytest.mark.parametrize(
    ("settings", "text", "normal"),
    [
        ({"normalise": "nfc"}, "a\u0308ﬁ", "äﬁ"),
        ({"normalise": "nfkc"}, "a\u0308ﬁ", "äfi"),
        ({"normalise": "none", "lowercase": True}, "A\u0308ﬁ", "a\u0308ﬁ"),
        ({"normalise": "nfc", "lowercase": True}, "ÄB", "äb"),
        ({"normalise": "nfc"}, "", ""),
    ],
)
def test_texts_by_hand(settings, text, normal):
    normalizer = build_normalizer(TokenizerConfig(kind="words", **settings))
    assert normalizer.normalize_str(text) == normal


@pytest.mark.parametrize("kind", ["bpe", "unigram"])
@pytest.mark.parametrize(("text", "normal"), [("a", " a"), (" a", "  a")])
def test_sub_words_get_a_space_even_before_a_space(kind, text, normal):
    normalizer = build_normalizer(TokenizerConfig(kind=kind, normalise="none"))
    assert normalizer.normalize_str(text) == normal


def test_there_may_be_nothing_to_do():
    assert build_normalizer(TokenizerConfig(kind="words", normalise="none")) is None

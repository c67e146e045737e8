"""Terms as token sequences of every type of tokenizer, in a sentence and at its start."""

import pytest

from headway.data.codecs.text import TextCodec
from headway.errors import DataError
from headway.search.constraints import TextSoFar
from headway.tasks.term_constraints import make_constraints
from headway.text import TokenizerConfig, train_tokenizer

TEXTS = [
    "der Hund rennt am Strand .",
    "die Hunde rennen (schnell) .",
    "ein schwarzer Hund , ein Köter",
    "( Hund )",
    "他喜欢猫吗",
] * 3
KINDS = ["bpe", "unigram", "wordpiece", "words", "characters", "bytes"]


def train_codec(kind, **settings):
    return TextCodec(train_tokenizer(TEXTS, TokenizerConfig(kind=kind, **settings)))


@pytest.fixture(scope="module", params=KINDS)
def codec(request):
    return train_codec(request.param)


@pytest.mark.parametrize("text", ["Hund", "Köter", "schwarzer Hund", "am  Strand ."])
def test_a_writing_adds_the_term_as_words(codec, text):
    constraints = make_constraints(codec, [text], [], "line 1")
    ((term,),) = constraints.required
    clean = " ".join(text.split())
    assert term.text == clean
    assert term.token_sequences
    # At the start of a text and after a word there is a writing that meets the term.
    assert clean in [codec.decode(writing) for writing in term.token_sequences]
    before = codec.tokenizer.encode("der")
    after = [codec.decode([*before, *writing]) for writing in term.token_sequences]
    assert f"der {clean}" in after
    assert set(after) <= {f"der {clean}", f"der{clean}"}
    assert [term.is_in(text) for text in after] == [text == f"der {clean}" for text in after]


@pytest.mark.parametrize("kind", ["bpe", "unigram", "wordpiece", "characters", "bytes"])
def test_a_token_sequence_without_a_space(kind):
    codec = train_codec(kind)
    ((term,),) = make_constraints(codec, ["猫"], [], "line 1").required
    before = codec.tokenizer.encode("喜欢")
    assert "喜欢猫" in [codec.decode([*before, *writing]) for writing in term.token_sequences]


def test_what_a_vocabulary_does_not_know_has_no_writing():
    for kind in ("words", "wordpiece", "characters"):
        constraints = make_constraints(train_codec(kind), ["Qua"], [], "line 1")
        assert constraints.required[0][0].token_sequences == ()
        assert constraints.possible == ()
        assert constraints.unmet("der Hund") == ("Qua",)


def test_a_codec_in_lower_case_meets_terms_in_lower_case():
    codec = train_codec("bpe", lowercase=True)
    ((term,),) = make_constraints(codec, ["Hund"], [], "line 1").required
    assert term.is_in("der hund")
    assert term.text == "Hund"


def test_alternatives_and_forbidden_terms():
    codec = train_codec("bpe")
    constraints = make_constraints(codec, [["Hund", "Köter"], "Strand"], ["Hunde"], "line 1")
    names = [[term.text for term in group] for group in constraints.required]
    assert names == [["Hund", "Köter"], ["Strand"]]
    assert constraints.unmet("ein Köter") == ("Strand",)
    assert constraints.unmet("die Hunde") == ("Hund | Köter", "Strand")
    assert constraints.is_broken("die Hunde", ended=True)
    assert not constraints.is_broken("die Hunde", ended=False)
    assert not constraints.is_broken("der Hund", ended=True)
    assert not make_constraints(codec, [], [], "line 1")


@pytest.mark.parametrize(
    ("require", "forbid", "message"),
    [
        (
            ["Hund"],
            ["Hund"],
            "news.en:7: 'Hund' is required while 'Hund' is forbidden, and no output can do both; "
            "remove one of them",
        ),
        (
            ["Strand", ["schwarzer Hund", "Köter"]],
            ["Hund", "Köter"],
            "news.en:7: 'schwarzer Hund | Köter' is required while 'Hund', 'Köter' is forbidden, "
            "and no output can do both; remove one of them",
        ),
        (
            ["Hund", " "],
            [],
            "news.en:7: an empty term is required or forbidden; give a word or leave it out",
        ),
        (
            [[]],
            [],
            "news.en:7: an empty term is required or forbidden; give a word or leave it out",
        ),
        (
            [],
            [""],
            "news.en:7: an empty term is required or forbidden; give a word or leave it out",
        ),
    ],
)
def test_what_cannot_be_asked_for(require, forbid, message):
    with pytest.raises(DataError) as caught:
        make_constraints(train_codec("words"), require, forbid, "news.en:7")
    assert str(caught.value) == message


def test_what_does_not_clash():
    codec = train_codec("bpe")
    assert make_constraints(codec, ["Hunde"], ["Hund"], "line 1")
    assert make_constraints(codec, [["Hund", "Köter"]], ["Hund"], "line 1")


def test_text_grows_as_it_is_decoded(codec):
    texts = TextSoFar(codec.decode)
    for text in ["die Hunde rennen (schnell) .", "ein Köter , 他喜欢猫吗", " Hund"] * 2:
        ids = tuple(codec.tokenizer.encode(text))
        before = ""
        for n in range(1, len(ids) + 1):
            before = texts.grow(before, ids[:n])
            assert before == codec.decode(ids[:n])

"""Tags as numbers: schemes and their conversion, files, what is said of tags that are wrong."""

from itertools import pairwise, product

import numpy as np
import pytest

from headway.data.codecs.tags import TagCodec, to_bio, to_iob1
from headway.errors import DataError, RunError
from headway.metrics.entities import entities

BIO = ["B-PER I-PER O B-LOC", "O O", "B-LOC B-LOC"]
IOB1 = ["I-PER I-PER O I-LOC", "O O", "I-LOC B-LOC"]


def test_the_scheme_is_found_out():
    assert TagCodec.fit(BIO).scheme == "bio"
    assert TagCodec.fit(IOB1).scheme == "iob1"
    assert TagCodec.fit(["I-X O I-X"]).scheme == "iob1"
    assert TagCodec.fit(["B-X O O B-X"]).scheme == "bio"
    assert TagCodec.fit(["O I-X", "B-X I-X"]).scheme == "bio"  # with a fault
    assert TagCodec.fit(["DT NN VB", "NN"]).scheme == "plain"
    assert TagCodec.fit(["O PER O"]).scheme == "plain"
    assert TagCodec.fit(["E-X S-Y"]).scheme == "plain"  # nothing of BIO about them


@pytest.mark.parametrize("sentences", [BIO, IOB1])
def test_both_are_the_same_inside_and_come_back_as_they_were(sentences):
    codec = TagCodec.fit(sentences)
    assert codec.tags == ("O", "B-LOC", "I-LOC", "B-PER", "I-PER")
    found = codec.encode_batch(sentences)
    assert [numbers.tolist() for numbers in found] == [[3, 4, 0, 1], [0, 0], [1, 1]]
    assert [codec.decode(numbers) for numbers in found] == sentences
    assert codec.column("tags").dtype == "uint16"


def test_plain_tags_are_in_the_order_of_their_names():
    codec = TagCodec.fit(["DT  NN VB ", "NN"])
    assert codec.tags == ("DT", "NN", "VB")
    assert codec.encode_batch([" NN DT"])[0].tolist() == [1, 0]
    assert codec.decode(np.array([1, 0])) == "NN DT"
    assert codec.may_follow().all()
    assert codec.clean("  DT   NN ") == "DT NN"


def test_every_type_has_both_tags():
    codec = TagCodec.fit(["B-X O B-Y"])
    assert codec.tags == ("O", "B-X", "I-X", "B-Y", "I-Y")
    assert codec.complaint("B-X I-X") is None


@pytest.mark.parametrize(
    ("tags", "scheme"),
    [
        (["I-a", "B-a", "O"], "bio"),
        (["B-a", "O"], "bio"),
        (["I-a", "O"], "plain"),
        (["B-a", "I-a", "I-b", "O"], "plain"),
        (["B-a", "I-a", "E-a", "S-a", "O"], "plain"),
        (["NOUN", "VERB"], "plain"),
    ],
)
def test_tags_that_a_model_brings_keep_their_numbers(tags, scheme):
    codec = TagCodec.named(tags)
    assert (list(codec.tags), codec.scheme) == (tags, scheme)
    assert codec.tags_of(range(len(tags))) == tags


def test_conversions_keep_the_entities():
    for n in range(1, 6):
        for tags in product(("O", "B-X", "I-X", "B-Y", "I-Y"), repeat=n):
            bio = to_bio(tags)
            assert entities(bio, "bio") == entities(tags), tags
            assert entities(to_iob1(bio), "iob1") == entities(tags), tags
            assert to_bio(to_iob1(bio)) == bio


def test_what_may_follow_what_is_what_is_well_formed():
    codec = TagCodec.fit(["B-X I-X O B-Y"])
    allowed, start = codec.may_follow(), len(codec)
    for tags in product(codec.tags, repeat=3):
        numbers = [start, *(codec.tags.index(tag) for tag in tags)]
        is_allowed = all(allowed[a, b] for a, b in pairwise(numbers))
        assert is_allowed == (to_bio(tags) == list(tags)), tags


def test_what_is_saved_is_loaded(tmp_path):
    for sentences in (BIO, IOB1, ["DT NN"]):
        codec = TagCodec.fit(sentences)
        codec.save(tmp_path / "tags.json")
        loaded = TagCodec.load(tmp_path / "tags.json")
        assert (loaded.tags, loaded.scheme) == (codec.tags, codec.scheme)
        assert loaded.fingerprint() == codec.fingerprint()
    assert TagCodec.fit(BIO).fingerprint() != TagCodec.fit(IOB1).fingerprint()


@pytest.mark.parametrize(
    "content", ["[]", "{", '{"tags": ["a"]}', '{"tags": [1], "scheme": "bio"}']
)
def test_a_damaged_file_is_an_error(content, tmp_path):
    (tmp_path / "tags.json").write_text(content, "utf-8")
    with pytest.raises(RunError, match=r"tags\.json .*restore it from a copy"):
        TagCodec.load(tmp_path / "tags.json")


def test_complaints():
    codec = TagCodec.fit(IOB1)
    assert codec.complaint("I-LOC O") is None
    assert codec.complaint("O I-LOK O") == (
        "the training data have no tag 'I-LOK'; did you mean 'I-LOC'?"
    )
    assert codec.complaint("O PROTEIN") == (
        "the training data have no tag 'PROTEIN'; expected one of O, B-LOC, I-LOC, B-PER, I-PER"
    )
    assert len(codec.encode_batch(["O I-LOK O"])[0]) == 0
    assert codec.complaint("B-ORG").endswith("expected one of O, B-LOC, I-LOC, B-PER, I-PER")
    assert TagCodec.fit(["DT NN"]).complaint("NNN").endswith("did you mean 'NN'?")


def test_what_cannot_be_learned():
    with pytest.raises(DataError, match="all words of the training data have the tag 'O', and"):
        TagCodec.fit(["O O", "O"])
    with pytest.raises(DataError, match=r"the tag 'E-X' beside B- and I-, which looks like BIOES"):
        TagCodec.fit(["B-X E-X S-X O"])
    with pytest.raises(DataError, match=r"more than 4096 different tags; is another column the"):
        TagCodec.fit(map(str, range(5000)))


def test_a_few_tags_of_no_scheme_among_those_of_entities_are_mistakes():
    many = ["B-PER I-PER O O O"] * 20
    with pytest.raises(DataError) as error:
        TagCodec.fit([*many, "B-PER PER o", "o O E-PER"])
    assert str(error.value) == (
        "3 of 106 words of the training data have a tag other than O, B-... and I-...: 'o' (2), "
        "'PER' (1); fix these tags, or, if the tags are not of entities, rename those with B- and "
        "I-"
    )
    for mistake in ("0", "b-PER", "B_PER", "B-"):
        with pytest.raises(DataError, match=rf"1 of 101 words .*: '{mistake}' \(1\); fix"):
            TagCodec.fit([*many, mistake])


def test_more_than_a_few_tags_of_no_scheme_are_plain_tags():
    assert TagCodec.fit(["B-PER I-PER O O O"] * 19 + ["PER o 0 x y"]).scheme == "plain"
    assert TagCodec.fit(["B-side I-beam"] * 50 + ["roof"]).scheme == "plain"  # no tag is O
    assert TagCodec.fit(["O O O"] * 50 + ["roof"]).scheme == "plain"  # neither B- nor I-

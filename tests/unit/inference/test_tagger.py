"""Taggers in use: words and tags, long sentences, entities, evaluation, inspection."""

import numpy as np
import pytest
from predictor_runs import TAGGED

import headway
from headway.errors import DataError, RunError


@pytest.fixture(scope="module")
def tagger(predictors):
    return headway.load(predictors / "tag")


def test_words_may_be_a_list(tagger):
    assert isinstance(tagger, headway.Tagger)
    one, other = tagger.predict(["Ann  saw it", ["Ann", "saw", "it"]])
    assert one == other
    assert one.tags == ["B-X", "O", "O"]
    assert [(e.type, e.text, e.start, e.end) for e in one.entities] == [("X", "Ann", 0, 1)]
    assert tagger.predict([""])[0].tags == []
    assert tagger.predict([]) == []


def test_a_long_sentence_is_refused_or_cut_into_parts(tagger):
    words = ["Ann", "saw", "Bob"] * 9
    with pytest.raises(DataError) as error:
        tagger.predict([words])
    assert str(error.value) == (
        "sentence 1 has 28 tokens and the model was trained with at most 12; shorten it, or have "
        'it cut into parts (`too_long="cut"`)'
    )
    [cut] = tagger.predict([words], "cut")
    parts = tagger.predict([words[:11], words[11:22], words[22:]])
    assert cut.tags == [tag for part in parts for tag in part.tags]
    assert len(cut.probabilities) == 27


def test_tags_are_evaluated(tagger):
    result = tagger.evaluate([words for words, _ in TAGGED], [tags for _, tags in TAGGED])
    assert result.scores["entity_f1"].value == 100.0
    assert result.outputs == [tags for _, tags in TAGGED]
    assert tagger.evaluate([["it"]], ["O"], ["accuracy"]).scores["accuracy"].value == 100.0
    with pytest.raises(DataError, match=r"^sentence 1: 1 words and 2 tags; expected a tag for eac"):
        tagger.evaluate(["it"], ["O O"])
    with pytest.raises(DataError, match=r"^a:7: the training data have no tag 'B-Z'"):
        tagger.evaluate(["it"], ["B-Z"], places=["a:7"])
    with pytest.raises(DataError, match="1 sentences for 2 lines of tags; expected one for each"):
        tagger.evaluate(["it"], ["O", "O"])


def test_tags_are_seen_with_what_else_they_might_have_been(tagger):
    found = tagger.inspect("Ann  saw it")
    assert (found.kind, found.text) == ("tag", "Ann  saw it")
    assert found.tokens == ["Ann", "saw", "it", "⟨eos⟩"]
    [one] = found.outputs
    [tagged] = tagger.predict(["Ann saw it"])
    assert (one.words, one.output.tokens) == (tagged.words, tagged.tags)
    assert np.exp(one.output.token_log_probs) == pytest.approx(tagged.probabilities)
    assert one.output.log_prob == pytest.approx(sum(np.log(tagged.probabilities)))
    for tag, probability, top in zip(tagged.tags, tagged.probabilities, one.top, strict=True):
        assert dict(top)[tag] == pytest.approx(probability, rel=1e-4)
        assert sum(chance for _, chance in top) == pytest.approx(1, rel=1e-4)
    with pytest.raises(RunError, match="no attention to look at; use a family that attends"):
        found.map()
    with pytest.raises(DataError, match="the text is blank"):
        tagger.inspect(" ")
    with pytest.raises(DataError, match=r"^the text has 14 tokens .* at most 12; shorten it$"):
        tagger.inspect("it " * 13)


def test_parts_of_a_long_sentence_end_at_words(tagger):
    """Eleven words and the end mark fit into 12 tokens."""
    parts = list(tagger._parts(["it"] * 23, "cut", "x"))
    assert [len(part) for part in parts] == [12, 12, 2]


def test_the_probability_of_an_entity_is_that_of_its_weakest_tag(tagger):
    words, tags = ["Ann", "Bob", "sat", "Ann"], ["B-X", "I-X", "O", "B-X"]
    long, short = tagger._entities(words, tags, [0.9, 0.4, 0.1, 0.8])
    assert (long.text, long.start, long.end, long.probability) == ("Ann Bob", 0, 2, 0.4)
    assert (short.text, short.start, short.end, short.probability) == ("Ann", 3, 4, 0.8)


def test_tags_are_public(tagger):
    assert tagger.public_info() == {
        "inputs": ["words"],
        "tags": ["O", "B-X", "I-X"],
        "scheme": "bio",
    }
    assert tagger.describe_label_space() == "3 tags, bio"
    [tagged] = tagger.predict(["Ann sat"])
    assert tagger.format_prediction(tagged) == "B-X O"
    assert tagger.to_dict(tagged)["entities"][0]["text"] == "Ann"


def test_samples_of_a_report_are_tagged_anew_however_long(tagger):
    long = " ".join(["it"] * 20)
    samples = tagger.report_samples([("Ann sat", "O O", "B-X O"), (long, "", "")])
    assert [sample.output for sample in samples] == ["B-X O", " ".join(["O"] * 20)]
    assert samples[0].expected == "B-X O"

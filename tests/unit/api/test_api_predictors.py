"""Taggers, answerers and regressors in use from Python: inputs, cuts, evaluation, new heads."""

import json
from dataclasses import astuple, replace

import numpy as np
import pytest

import headway
from headway import api
from headway.api.answerer import _candidates
from headway.data.codecs import TextConfig
from headway.data.corpora import Corpus, DataConfig
from headway.errors import DataError, RunError
from headway.models.recurrent_encoder import RecurrentEncoderConfig
from headway.studies.judging import Way, judged
from headway.studies.lengths import ByLength
from headway.tasks import AnswerConfig
from headway.tasks.answer import Guess
from headway.training import fit
from headway.training.display import Silent
from headway.training.settings import TrainConfig

TAGGED = [("Ann saw Bob", "B-X O B-X"), ("it sat", "O O"), ("Bob Ann sat", "B-X B-X O")]
ASKED = [("where ?", "it sat in Rome", [("Rome", 10)]), ("where ?", "it sat", [])]
VALUED = [("so good", "2"), ("bad", "-1"), ("good", "1"), ("so bad", "-2")]
METRICS = {"tag": "auto", "answer": "auto", "regress": "mse"}
SMALL = RecurrentEncoderConfig(d_model=16, dropout=0.0)


def config_of(folder, task, corpus, max_length=12, **settings):
    return api.RunConfig(
        data=DataConfig(train=corpus, valid=corpus, root=str(folder), max_length=max_length),
        task=task,
        text=TextConfig(kind="words"),
        model=SMALL,
        # Judged by rank alone, values would stay where their order was right for the first time.
        train=TrainConfig(steps=100, lr=1e-2, batch_tokens=64, metric=METRICS[task]),
        **settings,
    )


class Stopped(Exception):
    """The plug was pulled."""


class Stopping(Silent):
    """Pulls it when the run comes to a step."""

    def __init__(self, step):
        self.step = step

    def update(self, step, total, figures):
        if step == self.step:
            raise Stopped


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A small run of each."""
    folder = tmp_path_factory.mktemp("predictors")
    (folder / "tag.tsv").write_text("".join("\t".join(r) + "\n" for r in TAGGED), "utf-8")
    (folder / "value.tsv").write_text("".join("\t".join(r) + "\n" for r in VALUED), "utf-8")
    lines = [
        {
            "question": question,
            "context": context,
            "answers": [{"text": text, "answer_start": start} for text, start in answers],
        }
        for question, context, answers in ASKED
    ]
    (folder / "answer.jsonl").write_text("".join(json.dumps(n) + "\n" for n in lines), "utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HEADWAY_CACHE", str(folder / "cache"))
        for task, file in (
            ("tag", "tag.tsv"),
            ("answer", "answer.jsonl"),
            ("regress", "value.tsv"),
        ):
            api.train(config_of(folder, task, file), folder / task)
        yield folder


def test_words_may_be_a_list(place):
    tagger = headway.load(place / "tag")
    assert isinstance(tagger, headway.Tagger)
    one, other = tagger.predict(["Ann  saw it", ["Ann", "saw", "it"]])
    assert one == other
    assert one.tags == ["B-X", "O", "O"]
    assert [(e.type, e.text, e.start, e.end) for e in one.entities] == [("X", "Ann", 0, 1)]
    assert tagger.predict([""])[0].tags == []
    assert tagger.predict([]) == []


def test_a_long_sentence_is_refused_or_cut_into_parts(place):
    tagger = headway.load(place / "tag")
    words = ["Ann", "saw", "Bob"] * 9
    with pytest.raises(DataError) as error:
        tagger.predict([words])
    assert str(error.value) == (
        "sentence 1 has 28 tokens and the model was trained with at most 12; shorten it, or have "
        "it cut into parts (--cut)"
    )
    [cut] = tagger.predict([words], "cut")
    parts = tagger.predict([words[:11], words[11:22], words[22:]])
    assert cut.tags == [tag for part in parts for tag in part.tags]
    assert len(cut.probabilities) == 27


def test_tags_are_evaluated(place):
    tagger = headway.load(place / "tag")
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


def test_answers_have_their_places(place):
    answerer = headway.load(place / "answer")
    assert isinstance(answerer, headway.Answerer)
    found, none = answerer.predict([(question, context) for question, context, _ in ASKED])
    assert (found.text, found.start, found.end) == ("Rome", 10, 14)
    assert found.candidates[0].text == "Rome"
    assert found.probability == found.candidates[0].probability
    assert (none.text, none.start, none.end) == ("", None, None)
    assert none.probability == none.none > 0.5
    assert answerer.predict([("where ?", "")])[0].text == ""
    with pytest.raises(DataError, match=r"^question 1: expected a question and a text, got 'where"):
        answerer.predict(["where ?"])


def test_parts_that_differ_by_white_space_alone_are_one():
    guesses = [Guess(2, 6, 0.4), Guess(3, 6, 0.3), Guess(0, 6, 0.2), Guess(2, 7, 0.1)]
    assert [astuple(one) for one in _candidates("in Rome today", guesses)] == [
        ("Rom", 3, 6, 0.4),
        ("in Rom", 0, 6, 0.2),
        ("Rome", 3, 7, 0.1),
    ]


def test_answers_are_evaluated(place):
    answerer = headway.load(place / "answer")
    rome = '[{"text": "Rome", "answer_start": 10}]'
    asked = [(question, context) for question, context, _ in ASKED]
    result = answerer.evaluate(asked, [rome, "[]"])
    assert set(result.scores) == set(answerer.task.metrics)
    assert result.scores["f1"].value == 100.0
    assert result.outputs == ["Rome", ""]
    assert set(answerer.evaluate(asked[:1], [rome]).scores) == {"f1", "exact"}
    with pytest.raises(DataError, match=r"^question 1: the answer 'Rome' is not at character 9 of"):
        answerer.evaluate(asked[:1], [rome.replace("10", "9")])
    with pytest.raises(DataError, match=r"^question 1: 'Rome' are no answers; expected JSON such"):
        answerer.evaluate(asked[:1], ["Rome"])


def test_values(place):
    regressor = headway.load(place / "regress")
    assert isinstance(regressor, headway.Regressor)
    found = regressor.predict([text for text, _ in VALUED])
    assert found == pytest.approx([float(value) for _, value in VALUED], abs=0.5)
    result = regressor.evaluate(*zip(*VALUED, strict=True))
    assert result.scores["spearman"].value == pytest.approx(1.0)
    assert set(result.scores) == {"spearman", "pearson", "mse"}
    with pytest.raises(DataError, match=r"^text 1: the value 'x' is no number"):
        regressor.evaluate(["good"], ["x"])
    with pytest.raises(DataError, match=r"^text 1: got 2 texts, expected a single text, as the tr"):
        regressor.predict([("good", "bad")])


def test_another_task_starts_from_them_with_a_head_of_its_own(place):
    """A tagger from a regressor: its tokenizer and all before the head, and its own tags."""
    settings = config_of(place, "tag", Corpus(file="tag.tsv"))
    settings = replace(settings, init=str(place / "regress"), train=TrainConfig(steps=1, lr=1e-9))
    tagger = api.train(settings, place / "tuned")
    assert tagger.tags == ("O", "B-X", "I-X")
    before, after = (headway.load(place / name).model for name in ("regress", "tuned"))
    assert after.output.weight.shape[0] == 3
    pairs = zip(before.backbone.parameters(), after.backbone.parameters(), strict=True)
    assert all((one - other).abs().max() < 1e-6 for one, other in pairs)


def test_resumed_is_uninterrupted(place, monkeypatch):
    """Windows are drawn anew in every epoch, from nothing but the seed."""
    monkeypatch.setattr(fit, "LOG_SECONDS", 0.0)  # every update is shown
    corpus = Corpus(file="answer.jsonl")
    runs = []
    for name, stop in (("whole", None), ("halves", 4)):
        config = config_of(place, "answer", corpus, max_length=7, answer=AnswerConfig(0.5, 0.5))
        config = replace(config, train=replace(config.train, steps=8, evaluate_every=4))
        out = place / name
        if stop is None:
            api.train(config, out)
        else:
            with pytest.raises(Stopped):
                api.train(config, out, Stopping(stop + 1))
            api.resume(out)
        runs.append(headway.load(out).model.state_dict())
    for name, value in runs[0].items():
        assert (value == runs[1][name]).all(), name


def test_a_comparison_judges_them(place):
    for task, metric, noun in (("tag", "entity_f1", "sentences"), ("regress", "mse", "texts")):
        found = judged(place / task, Way(ByLength((2,))))
        assert (found.metric, found.speed_of) == (metric, noun)
        assert found.lower_is_better == (metric == "mse")
        assert sum(part.n for part in found.by_length) == found.n
    assert judged(place / "answer").score.value == 100.0


# Looking inside


def test_tags_are_seen_with_what_else_they_might_have_been(place):
    tagger = headway.load(place / "tag")
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


def test_answers_are_seen_with_their_places(place):
    answerer = headway.load(place / "answer")
    question, context, _ = ASKED[0]
    found = answerer.inspect((question, context))
    [answered] = answerer.predict([(question, context)])
    best = found.outputs[0]
    assert (best.output.text, best.span) == ("Rome", (10, 14))
    assert [one.output.text for one in found.outputs[:-1]] == [
        one.text for one in answered.candidates
    ]
    assert (found.outputs[-1].output.text, found.outputs[-1].span) == ("⟨none⟩", None)
    assert found.outputs[-1].output.score == answered.none
    assert found.text == f"{question}\t{context}"
    none = answerer.inspect(ASKED[1][:2])
    assert none.outputs[0].output.text == "⟨none⟩"


def test_of_a_long_text_the_window_with_the_answer_is_seen(place):
    answerer = headway.load(place / "answer")
    context = "it sat " * 12 + "in Rome"
    found = answerer.inspect(("where ?", context))
    start, end = next(one.span for one in found.outputs if one.span)
    assert len(found.tokens) == 12
    assert context[start:end].split()[-1] in found.tokens
    with pytest.raises(DataError, match=r"^the text has 7 tokens, and of the 12 .*; shorten it$"):
        answerer.inspect(("it " * 7, context))


def test_a_value_is_seen(place):
    regressor = headway.load(place / "regress")
    found = regressor.inspect("so good")
    [one] = found.outputs
    [value] = regressor.predict(["so good"])
    assert (one.value, one.output.text) == (value, f"{value:.6g}")
    assert found.to_dict()["outputs"][0]["value"] == value
    assert "so" in regressor.view("so good").html

"""All that predict a column: new heads on trained models, exact resuming, comparisons."""

from dataclasses import replace

import pytest
from predictor_runs import config_of

import headway
from headway import api
from headway.compare.by_length import ByLength
from headway.compare.evaluate import ScoringOptions, evaluate_run
from headway.data.config import Corpus
from headway.inference.evaluation import EvaluationOptions
from headway.tasks.answer import AnswerConfig
from headway.training import loop
from headway.training.config import TrainConfig
from headway.training.progress import Silent


class Stopped(Exception):
    """The plug was pulled."""


class Stopping(Silent):
    """Pulls it when the run comes to a step."""

    def __init__(self, step):
        self.step = step

    def update(self, step, total, figures):
        if step == self.step:
            raise Stopped


def test_another_task_starts_from_them_with_a_head_of_its_own(predictors):
    """A tagger from a regressor: its tokenizer and all before the head, and its own tags."""
    settings = config_of(predictors, "tag", Corpus(file="tag.tsv"))
    settings = replace(
        settings, init=str(predictors / "regress"), train=TrainConfig(steps=1, lr=1e-9)
    )
    tagger = api.train(settings, predictors / "tuned")
    assert tagger.tags == ("O", "B-X", "I-X")
    before, after = (headway.load(predictors / name).model for name in ("regress", "tuned"))
    assert after.output.weight.shape[0] == 3
    pairs = zip(before.backbone.parameters(), after.backbone.parameters(), strict=True)
    assert all((one - other).abs().max() < 1e-6 for one, other in pairs)


def test_resumed_is_uninterrupted(predictors, monkeypatch):
    """Windows are drawn anew in every epoch, from nothing but the seed."""
    monkeypatch.setattr(loop, "LOG_SECONDS", 0.0)  # every update is shown
    corpus = Corpus(file="answer.jsonl")
    runs = []
    for name, stop in (("whole", None), ("halves", 4)):
        config = config_of(
            predictors, "answer", corpus, max_length=7, answer=AnswerConfig(0.5, 0.5)
        )
        config = replace(config, train=replace(config.train, steps=8, evaluate_every=4))
        out = predictors / name
        if stop is None:
            api.train(config, out)
        else:
            with pytest.raises(Stopped):
                api.train(config, out, Stopping(stop + 1))
            api.resume(out)
        runs.append(headway.load(out).model.state_dict())
    for name, value in runs[0].items():
        assert (value == runs[1][name]).all(), name


def test_a_comparison_judges_them(predictors):
    for task, metric, noun in (("tag", "entity_f1", "sentences"), ("regress", "mse", "texts")):
        found = evaluate_run(predictors / task, ScoringOptions(ByLength((2,))))
        assert (found.metric, found.speed_of) == (metric, noun)
        assert found.lower_is_better == (metric == "mse")
        assert sum(part.n for part in found.by_length) == found.n
    assert evaluate_run(predictors / "answer").score.value == 100.0


def test_rows_without_an_input_are_left_out(predictors):
    model = headway.load(predictors / "regress")
    row = (predictors / "value.tsv").read_text("utf-8").splitlines()[-1]
    (predictors / "blank.tsv").write_text(f"{row}\n\t7\n\n{row}\n", "utf-8")
    corpora = [Corpus(file="blank.tsv")]
    report = model.evaluate_corpora(corpora, predictors, EvaluationOptions())
    warning = "left out 2 of 4 rows without text (blank.tsv:2, blank.tsv:3)"
    assert warning in report.warnings
    assert report.record["n"] == 2
    assert [bool(output) for output in report.outputs] == [True, False, False, True]
    assert model.time_evaluation(corpora, predictors, "mse", False).notes == (warning,)

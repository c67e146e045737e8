"""The task `answer`: windows, labels, loss, predictions over windows, no answer, validation."""

import json
import math

import numpy as np
import pytest
import torch

from headway.data.codecs.text import TextConfig
from headway.data.config import Corpus, DataConfig
from headway.data.prepare import prepare
from headway.errors import ConfigError, DataError
from headway.models import FAMILIES
from headway.models.ensemble import Ensemble
from headway.run_config import RunConfig
from headway.search import SearchConfig
from headway.tasks import TASKS
from headway.tasks.answer import Answer
from headway.tasks.answer_windows import AnswerWindow
from headway.tasks.config import AnswerConfig

LONG = "a b c d e f Paris g h i j k"
ROWS = [
    ("where ?", "in Paris then", [("Paris", 3)]),
    ("where ?", LONG, [("Paris", 12), ("f Paris", 10), ("Paris", 12)]),
    ("who ?", LONG, []),
]
DATA = DataConfig(train="a.jsonl")


def line(question, context, answers):
    spans = [{"text": text, "answer_start": start} for text, start in answers]
    return {"question": question, "context": context, "answers": spans}


def values(row):
    made = line(*row)
    return made["question"], made["context"], json.dumps(made["answers"])


def made(folder, rows=ROWS, size=9, text=None, **how):
    task = Answer(AnswerConfig(**how), size).fit_codecs(
        lambda: iter(map(values, rows)), text or TextConfig(kind="words")
    )
    lines = "".join(json.dumps(line(*row)) + "\n" for row in rows)
    (folder / "a.jsonl").write_text(lines, "utf-8")
    prepared = prepare(
        [Corpus(file="a.jsonl")],
        task.codecs,
        folder / "s",
        root=folder,
        rules=task,
        max_length=size,
    )
    return task, prepared.store


class Marker(torch.nn.Module):
    """Some tokens have logits to be first and last; the first position has its own logit."""

    def __init__(self, tokens, none=0.0):
        super().__init__()
        self.rows = torch.nn.Parameter(torch.zeros(100, 2))
        for token, logits in tokens.items():
            self.rows.data[token] = torch.tensor(logits)
        self.none = none

    def token_logits(self, batch):
        logits = self.rows[batch["src"]].clone()
        logits[:, 0] = self.none
        return logits


def ids_of(task, *words):
    return [int(task.question.encode_batch([word])[0][0]) for word in words]


def test_codecs_are_saved_and_loaded(tmp_path):
    task, _ = made(tmp_path)
    task.save_codecs(tmp_path)
    loaded = Answer(AnswerConfig(longest=3), 40).load_codecs(tmp_path)
    assert (loaded.max_length, loaded.config.longest, loaded.answers.may_lack) == (40, 3, True)
    for column, codec in task.codecs.items():
        assert loaded.codecs[column].fingerprint() == codec.fingerprint()
    adopted = Answer().adopt_codecs(tmp_path, lambda: iter([values(ROWS[0])]))
    assert not adopted.answers.may_lack
    assert task.describe()["answers_may_lack"]


def test_windows_of_a_long_document(tmp_path):
    task, store = made(tmp_path)
    # 9 tokens: 2 of the question, 2 end marks, 5 of the document
    assert task.windows_of(task.stored(store, 0)) == [AnswerWindow(0, 3)]
    assert task.windows_of(task.stored(store, 1)) == [(0, 5), (3, 8), (6, 11), (7, 12)]
    assert task.sized(store).lengths("window").tolist() == [7, 9, 9]


def test_a_window_with_its_answer(tmp_path):
    task, store = made(tmp_path)
    batch = task.batch(store, np.array([0, 1]))
    where, mark, paris = ids_of(task, "where", "?", "Paris")
    eos = task.codec.eos
    assert batch["src"][0, :6].tolist() == [where, mark, eos, *ids_of(task, "in", "Paris", "then")]
    assert batch["start"].tolist() == batch["end"].tolist() == [4, 6]
    assert batch["src"][1, 6] == paris  # d e f Paris g, the first window that holds it
    assert batch["segment"][0].tolist() == [0, 0, 0, 1, 1, 1, 1, 0, 0]
    allowed = [True, False, False, True, True, True, False, False, False]
    assert batch["allowed"][0].tolist() == allowed
    assert task.batch(store, np.array([2]))["start"].tolist() == [0]


def test_training_draws_windows(tmp_path):
    task, store = made(tmp_path, elsewhere=0.25)
    paris = ids_of(task, "Paris")[0]
    held = elsewhere = 0
    for epoch in range(200):
        batch = task.batch(store, np.array([1]), (1, epoch))
        again = task.batch(store, np.array([1]), (1, epoch))
        assert torch.equal(batch["src"], again["src"])
        position = int(batch["start"][0])
        assert (batch["src"][0, position] == paris) == (position > 0)
        held += position > 0
        elsewhere += position == 0
    assert 25 <= elsewhere <= 75
    drawn = {tuple(task.batch(store, np.array([2]), (1, e))["src"][0].tolist()) for e in range(50)}
    assert len(drawn) == 4  # of a question without an answer all windows
    never, store = made(tmp_path, elsewhere=0.0)
    assert all(never.batch(store, np.array([1]), (1, e))["start"][0] > 0 for e in range(50))


def test_an_answer_that_no_window_holds_is_elsewhere(tmp_path):
    rows = [("where ?", LONG, [("b c d e f Paris", 2)])]
    task, store = made(tmp_path, rows, elsewhere=0.0)
    assert [task.batch(store, np.array([0]), (1, e))["start"][0] for e in range(9)] == [0] * 9


def test_the_loss_is_that_of_both_ends(tmp_path):
    task, store = made(tmp_path)
    paris = ids_of(task, "Paris")[0]
    batch = task.batch(store, np.array([0, 2]))
    objective = task.objective(Marker({paris: [2.0, 1.0]}), 0.1).eval()
    assert objective.counts(batch) == {"loss": 4}
    # 4 positions in the first window, 6 without Paris in the second
    first = math.log(1 + 3 * math.exp(-2)) + math.log(6)
    last = math.log(1 + 3 * math.exp(-1)) + math.log(6)
    assert objective(batch)["loss"].item() == pytest.approx(first + last)
    smoothed = objective.train()(batch)["loss"]
    assert smoothed.item() == pytest.approx(first + last + 0.1 * (2 + 1) * 3 / 4, rel=1e-5)
    smoothed.backward()
    assert torch.isfinite(objective.model.rows.grad).all()


def test_the_best_span_over_all_windows(tmp_path):
    task, store = made(tmp_path)
    f, paris = ids_of(task, "f", "Paris")
    model = Marker({f: [3.0, 0.0], paris: [2.0, 5.0]})
    [guesses] = task.predict(model, [task.stored(store, 1)], 3)
    assert [(guess.start, guess.end) for guess in guesses.best[:2]] == [(10, 17), (12, 17)]
    # in the window d e f Paris g: the first position counts too
    start = math.exp(3) / (math.exp(3) + math.exp(2) + 4)
    assert guesses.best[0].probability == pytest.approx(start * math.exp(5) / (math.exp(5) + 5))
    assert task.answer(guesses).start == 10
    short = Answer(AnswerConfig(longest=1), 9).with_codecs(task.codec, task.answers)
    [guesses] = short.predict(model, [task.stored(store, 1)], 3)
    assert guesses.best[0][:2] == (12, 17)


def test_batches_of_questions_are_as_single_ones(tmp_path):
    task, store = made(tmp_path)
    f, paris = ids_of(task, "f", "Paris")
    models = Ensemble([Marker({f: [1.0, 0.0]}), Marker({paris: [2.0, 5.0]}, none=1.0)])
    questions = [task.stored(store, i) for i in (1, 0, 2, 0)]
    together = task.predict(models, questions)
    for question, guesses in zip(questions, together, strict=True):
        [alone] = task.predict(models, [question])
        assert [guess[:2] for guess in alone.best] == [guess[:2] for guess in guesses.best]
        assert alone.none == pytest.approx(guesses.none)
    assert task.predict(models, []) == []


def test_no_answer(tmp_path):
    task, store = made(tmp_path)
    paris = ids_of(task, "Paris")[0]
    questions = [task.stored(store, i) for i in (1, 2)]
    sure, unsure = Marker({paris: [9.0, 9.0]}, none=4.0), Marker({}, none=4.0)
    [guesses, _] = task.predict(sure, questions)
    # three windows predict no answer, the window with Paris predicts one
    assert guesses.none == pytest.approx(math.exp(4) / (math.exp(9) + math.exp(4) + 4))
    assert task.answer(guesses)[:2] == (12, 17)
    [none, _] = task.predict(unsure, questions)
    assert none.none == pytest.approx(math.exp(4) / (math.exp(4) + 5))
    assert task.answer(none) is None
    always = task.with_codecs(task.codec, type(task.answers)(may_lack=False))
    assert always.answer(none) is not None


def test_a_long_question_leaves_half_of_the_window(tmp_path):
    task, store = made(tmp_path)
    encoded = task.encode(["who ? " * 30], [LONG])[0]
    assert all(stop - start == 4 for start, stop in task.windows_of(encoded))  # 9 - 2 special - 3
    batch, starts = task.tensors([encoded], [AnswerWindow(0, 4)])
    assert batch["src"].shape == (1, 9)
    assert starts == [4]
    rows = [*ROWS, ("who ? " * 3, LONG, [])]
    _, store = made(tmp_path, rows)
    assert len(store) == 3
    assert store.notes["dropped"][0]["reason"] == "twice the question longer than max_length = 9"


def test_a_validation_answers_questions(tmp_path):
    task, store = made(tmp_path)
    paris = ids_of(task, "Paris")[0]
    validator = task.validator(store, DATA, "f1", 500, SearchConfig())
    right = validator(task.objective(Marker({paris: [9.0, 9.0]}, none=4.0), 0.0))
    # Paris is found in both long documents, one of which does not have it as its answer
    assert right.figures["exact"] == pytest.approx(200 / 3)
    assert right.samples[1] == ("where ?", "Paris", "Paris | f Paris")
    none = validator(task.objective(Marker({}, none=9.0), 0.0))
    assert none.figures["f1"] == pytest.approx(100 / 3)
    assert none.samples[2] == ("who ?", "", "")
    assert validator.goodness(right) > validator.goodness(none)
    n = 1 + 4 + 4  # windows, two ends each
    assert sum(len(batch["start"]) for batch in validator.batches()) == n
    even = validator(task.objective(Marker({}), 0.0)).figures["valid_loss"]
    assert even == pytest.approx((math.log(4) + 8 * math.log(6)) / n)


def test_a_validation_answers_a_part_of_many(tmp_path):
    task, store = made(tmp_path)
    validator = task.validator(store, DATA, "f1", 2, SearchConfig())
    assert validator.chosen == [0, 1]


def test_spans_outside_their_documents(tmp_path):
    with pytest.raises(DataError) as error:
        made(tmp_path, [*ROWS, ("where ?", "in Paris", [("Paris", 30)])])
    assert str(error.value) == (
        "a.jsonl:4: the answer 'Paris' at characters 30 to 35 is outside its document, which has "
        "8; count answer_start in characters from 0"
    )


def test_metrics_of_parts(tmp_path):
    task, _ = made(tmp_path)
    outputs, right = ["Paris", "", "x y"], [["paris"], [], []]
    scores = {name: task.judge(name, outputs, right).value for name in task.metrics}
    assert scores == pytest.approx(
        {
            "f1": 200 / 3,
            "exact": 200 / 3,
            "answered_f1": 100.0,
            "answered_exact": 100.0,
            "unanswered_exact": 50.0,
        }
    )
    part = task.judge("unanswered_exact", outputs, right)
    assert part.name == "unanswered exact"
    assert part.signature == "exact|normal:squad|n:2|interval:wilson95|questions:unanswered"
    with pytest.raises(DataError, match="answered_f1 cannot be computed: all questions have no"):
        task.judge("answered_f1", [""], [[]])
    with pytest.raises(ConfigError, match="no metric 'bleu' for task 'answer'"):
        task.judge("bleu", [""], [[]])


def test_dropout_of_merges_is_refused(tmp_path):
    with pytest.raises(ConfigError, match=r"text.dropout = 0.1 has no meaning for task = \"answer"):
        made(tmp_path, text=TextConfig(dropout=0.1))


def test_the_families_that_fit():
    able = {name for name, family in FAMILIES.items() if TASKS["answer"]().fits(family)}
    assert able == {"encoder", "recurrent_encoder", "unilm"}
    config = RunConfig(DATA, task="answer")
    assert (config.model.family, config.answer) == ("encoder", AnswerConfig())
    task = config.make_task()
    assert (task.config, task.max_length) == (config.answer, DATA.max_length)
    with pytest.raises(
        ValueError, match=r'\[answer\] is for task = "answer", and this run file has'
    ):
        RunConfig(DATA, task="tag", answer=AnswerConfig())

"""The base of `classify` and `regress`, with a task of the tests' own."""

import numpy as np
import pytest
import torch

from headway.data.codecs.text import TextConfig
from headway.data.codecs.values import ValueCodec
from headway.data.config import Corpus
from headway.data.prepare import prepare
from headway.errors import ConfigError
from headway.metrics.values import VALUE_METRICS
from headway.models.ensemble import Ensemble
from headway.tasks.base import EncoderObjective
from headway.tasks.sequence_prediction import PredictionValidator, SequencePrediction

ROWS = [("a b", "b", "2"), ("a", "a a", "1"), ("b", "", "4"), ("a a", "b b", "3")]


class Rated(SequencePrediction):
    name = "rated"
    columns = ("text", "text2", "stars")
    metric_table = VALUE_METRICS
    output_codec = ValueCodec
    output_file = "stars.json"
    output_dtype = np.float32

    def outputs_of(self, logits):
        return logits[:, 0].sigmoid()

    def objective(self, model, label_smoothing):
        return Loss(model, label_smoothing)

    def validator(self, store, data, metric, sample, search):
        return Checked(self, store, metric)


class Loss(EncoderObjective):
    def counts(self, batch):
        return {"loss": len(batch["stars"])}

    def sums(self, batch):
        return {"loss": (self.model.bias - batch["stars"]).abs().sum() + self.smoothing}


class Checked(PredictionValidator):
    def __init__(self, task, store, metric):
        super().__init__(task, store, metric)
        self.references = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0][: len(store)]

    def outputs(self, model):
        return [2 * reference for reference in self.references]

    def source(self, index):
        return f"example {index}"

    def text(self, output):
        return f"{output:.1f} stars"


@pytest.fixture
def task():
    return Rated().fit_codecs(lambda: iter(ROWS), TextConfig(kind="words"))


@pytest.fixture
def make_store(task, tmp_path):
    def make(rows):
        lines = (f'{{"text": "{a}", "text2": "{b}", "stars": {c}}}\n' for a, b, c in rows)
        (tmp_path / "a.jsonl").write_text("".join(lines), "utf-8")
        corpus = Corpus(file="a.jsonl")
        return prepare([corpus], task.codecs, tmp_path / "stores", root=tmp_path).store

    return make


def test_the_last_column_is_the_output(task):
    assert task.columns == ("text", "text2", "stars")
    single = Rated().fit_codecs(lambda: iter([("a b", "2"), ("b", "3")]), TextConfig(kind="words"))
    assert single.columns == ("text", "stars")
    assert (single.output.mean, single.vocabularies.target) == (2.5, 1)


def test_codecs_are_in_files_of_their_own(task, tmp_path):
    task.save_codecs(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "stars.json",
        "texts.json",
        "tokenizer.json",
    ]
    loaded = Rated().load_codecs(tmp_path)
    assert loaded.output.mean == task.output.mean == 2.5
    adopted = Rated().adopt_codecs(tmp_path, lambda: iter([("a", "b", "7"), ("b", "a", "9")]))
    assert adopted.codec.fingerprint() == task.codec.fingerprint()
    assert adopted.output.mean == 8.0


def test_a_batch_has_outputs_of_the_declared_type(task, make_store):
    batch = task.batch(make_store(ROWS[:2]), np.array([1, 0]))
    assert batch["stars"].dtype == torch.float32
    scaled = [(1 - 2.5) / task.output.deviation, (2 - 2.5) / task.output.deviation]
    assert batch["stars"].tolist() == pytest.approx(scaled)
    assert batch["src"].shape == batch["segment"].shape


def test_an_unknown_metric_is_named_with_the_known_ones(task):
    message = "no metric 'bleu' for task 'rated'; expected one of spearman, pearson, mse, rmse, mae"
    with pytest.raises(ConfigError, match=message):
        task.judge("bleu", [1.0], [1.0])


def test_an_ensemble_has_the_mean_of_its_members_outputs(task):
    """One sigmoid output: a softmax over it would be 1 for every text."""

    class Sure:
        def __init__(self, logit):
            self.logit = logit

        def logits(self, batch):
            return torch.full((len(batch["src"]), 1), self.logit)

    texts = task.inputs.encode([("a", "b"), ("b", "a")])
    one, other = (task.predict(Sure(logit), texts) for logit in (3.0, -1.0))
    assert one.tolist() == pytest.approx([0.9525741] * 2)
    both = task.predict(Ensemble([Sure(3.0), Sure(-1.0)]), texts)
    assert both.tolist() == pytest.approx(((one + other) / 2).tolist())


def test_smoothing_is_for_training_only(task, make_store):
    store = make_store([("a", "b", "4"), ("b", "a", "1")])
    objective = task.objective(torch.nn.Linear(1, 1), 0.5)
    assert objective.train().smoothing == 0.5
    assert objective.eval().smoothing == 0.0
    assert objective.weights == {"loss": 1.0}
    batch = task.batch(store, np.array([0]))
    with torch.no_grad():
        assert objective.train()(batch)["loss"] == objective.eval()(batch)["loss"] + 0.5


@pytest.mark.parametrize(("n", "rows"), [(2, [0, 1]), (4, [0, 1, 2]), (7, [0, 2, 4])])
def test_a_validation_shows_a_few_examples_from_all_over_the_set(task, make_store, n, rows):
    store = make_store([("a", "b", str(i)) for i in range(n)])
    validation = task.validator(store, None, "mse", 0, None)(
        task.objective(torch.nn.Linear(1, 1), 0.0)
    )
    assert [sample[0] for sample in validation.samples] == [f"example {i}" for i in rows]
    assert validation.samples[0][1:] == ("2.0 stars", "1.0 stars")
    assert validation.figures["mse"] == pytest.approx(np.mean(np.arange(1, n + 1) ** 2.0))
    assert validation.figures["pearson"] == pytest.approx(1.0)
    assert {*validation.figures} == {"valid_loss", *VALUE_METRICS}

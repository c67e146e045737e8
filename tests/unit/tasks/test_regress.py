"""The task `regress`: batches, loss, validation, ensembles."""

import numpy as np
import pytest
import torch

from headway.data.codecs.text import TextConfig
from headway.data.config import Corpus, DataConfig
from headway.data.prepare import prepare
from headway.errors import ConfigError
from headway.metrics.values import VALUE_METRICS
from headway.models import FAMILIES
from headway.models.ensemble import Ensemble
from headway.run_config import RunConfig
from headway.search import SearchConfig
from headway.tasks import TASKS
from headway.tasks.regress import Regress

ROWS = [("a", "1"), ("b b", "3"), ("a a a", "5"), ("b", "7")]
DATA = DataConfig(train="a.tsv")


class ByLength(torch.nn.Module):
    """A text of n tokens is worth n, scaled."""

    def __init__(self, by=1.0):
        super().__init__()
        self.by = torch.nn.Parameter(torch.tensor(by))

    def logits(self, batch):
        return self.by * batch["src_valid"].sum(1, keepdim=True)


@pytest.fixture
def task():
    return Regress().fit_codecs(lambda: iter(ROWS), TextConfig(kind="words"))


@pytest.fixture
def store(task, tmp_path):
    (tmp_path / "a.tsv").write_text("".join(f"{t}\t{v}\n" for t, v in ROWS), "utf-8")
    corpus = Corpus(file="a.tsv")
    assert Regress().columns_of([corpus], tmp_path) == task.columns == ("text", "value")
    return prepare([corpus], task.codecs, tmp_path / "stores", root=tmp_path, rules=task).store


def test_codecs_are_saved_and_loaded(task, tmp_path):
    task.save_codecs(tmp_path)
    loaded = Regress().load_codecs(tmp_path)
    assert (loaded.value.mean, loaded.value.deviation) == (4.0, 5**0.5)
    for column, codec in task.codecs.items():
        assert loaded.codecs[column].fingerprint() == codec.fingerprint()
    assert task.vocabularies.target == 1
    assert task.describe()["value"] == {"mean": 4.0, "deviation": 5**0.5}


def test_the_tokenizer_of_another_run_is_adopted(task, tmp_path):
    task.save_codecs(tmp_path)
    other = Regress().adopt_codecs(tmp_path, lambda: iter([("x", "0"), ("y", "2")]))
    assert other.value.mean == 1.0
    assert other.codecs["text"].fingerprint() == task.codecs["text"].fingerprint()


def test_the_loss_is_the_squared_error_of_scaled_values(task, store):
    batch = task.batch(store, np.arange(4))
    scaled = [(v - 4) / 5**0.5 for v in (1, 3, 5, 7)]
    assert batch["value"].tolist() == pytest.approx(scaled)
    objective = task.objective(ByLength(), 0.0)
    assert objective.counts(batch) == {"loss": 4}
    expected = sum((n - s) ** 2 for n, s in zip((2, 3, 4, 2), scaled, strict=True))
    assert objective(batch)["loss"].item() == pytest.approx(expected, rel=1e-6)
    # the mean of the values, which is 0 when scaled, costs 1 each
    assert task.objective(ByLength(0.0), 0.0)(batch)["loss"].item() == pytest.approx(4)


def test_values_are_scaled_back_and_keep_their_order(task):
    texts = task.inputs.encode(["a a a", "b", "a b"])
    expected = [4 + n * 5**0.5 for n in (4, 2, 3)]
    np.testing.assert_allclose(task.predict(ByLength(), texts), expected, rtol=1e-6)
    assert task.predict(ByLength(), []).shape == (0,)


def test_an_ensemble_has_the_mean_value(task):
    texts = task.inputs.encode(["a a a", "b"])
    both = task.predict(Ensemble([ByLength(), ByLength(3.0)]), texts)
    np.testing.assert_allclose(both, task.predict(ByLength(2.0), texts), rtol=1e-6)


def test_a_validation_compares_values(task, store):
    validator = task.validator(store, DATA, "spearman", 500, SearchConfig())
    validation = validator(task.objective(ByLength(), 0.0))
    # lengths 2, 3, 4, 2 against values 1, 3, 5, 7: ranks 1.5, 3, 4, 1.5, and 1, 2, 3, 4
    assert validation.figures["spearman"] == pytest.approx(0.5 / (4.5 * 5) ** 0.5)
    assert validation.figures.keys() == {"valid_loss", *VALUE_METRICS}
    assert validation.samples[0] == ("a", f"{4 + 2 * 5**0.5:.4g}", "1")
    by_error = task.validator(store, DATA, "mse", 500, SearchConfig())
    worse = by_error(task.objective(ByLength(9.0), 0.0))
    assert by_error.goodness(validation) > by_error.goodness(worse)


def test_metrics_it_does_not_have(task):
    with pytest.raises(ConfigError, match="no metric 'accuracy' for task 'regress'; expected one"):
        task.judge("accuracy", [1.0], [1.0])


def test_the_families_that_fit():
    able = {name for name, family in FAMILIES.items() if TASKS["regress"]().fits(family)}
    assert able == {"encoder", "recurrent_encoder", "unilm"}
    assert RunConfig(DATA, task="regress").model.family == "encoder"

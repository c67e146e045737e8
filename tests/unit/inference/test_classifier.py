"""Classifiers in use: predictions, evaluation, ensembles, runs without scikit-learn."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import headway
from headway import api
from headway.compare.by_length import ByLength
from headway.compare.evaluate import ScoringOptions, evaluate_run
from headway.data.codecs.text import TextConfig
from headway.data.config import DataConfig
from headway.errors import ConfigError, DataError, MissingExtra, RunError
from headway.models.counting.bag_of_words import BagConfig
from headway.models.recurrent_encoder import RecurrentEncoderConfig
from headway.runs import RunDir
from headway.training.config import TrainConfig

GOOD = ["a fine film", "fine and warm", "a warm film", "so fine", "warm , warm , warm"]
BAD = ["a dull film", "dull and cold", "a cold film", "so dull", "cold , cold , cold"]
BLOCKED = """
import sys

class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("sklearn", "scipy"):
            raise ModuleNotFoundError(f"blocked: {name}", name=name)

sys.meta_path.insert(0, Blocked())
import headway
found = headway.load(sys.argv[1]).predict(["a fine film", "so cold"])
print(*(f"{one.label} {one.probability:.6f}" for one in found), sep="\\n")
"""


def config_of(folder, model, **train):
    return api.RunConfig(
        data=DataConfig(train="a.tsv", valid="a.tsv", test="a.tsv", root=str(folder), max_length=6),
        task="classify",
        text=TextConfig(kind="words"),
        model=model,
        train=TrainConfig(**train),
    )


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A bag and a GRU of the same data."""
    folder = tmp_path_factory.mktemp("classifier")
    rows = [*((text, "good") for text in GOOD), *((text, "bad") for text in BAD)]
    (folder / "a.tsv").write_text("".join(f"{t}\t{label}\n" for t, label in rows), "utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HEADWAY_CACHE", str(folder / "cache"))
        api.train(config_of(folder, BagConfig(c=10.0)), folder / "bag")
        gru = RecurrentEncoderConfig(d_model=16, dropout=0.0)
        api.train(config_of(folder, gru, steps=30, lr=1e-2, batch_tokens=64), folder / "gru")
        yield folder


@pytest.fixture(scope="module")
def bag(place):
    return api.load(place / "bag")


@pytest.mark.parametrize("name", ["bag", "gru"])
def test_labels_with_their_probabilities(name, place):
    model = headway.load(place / name)
    assert isinstance(model, headway.Classifier)
    assert model.labels == ("bad", "good")
    found = model.predict(["so cold", "fine film", "dull"])
    assert [one.label for one in found] == ["bad", "good", "bad"]
    for one in found:
        assert one.probability == one.probabilities[one.label] > 0.5
        assert sum(one.probabilities.values()) == pytest.approx(1)
        assert list(one.probabilities) == sorted(one.probabilities, key=lambda n: n != one.label)


def test_a_blank_text_gets_a_label_and_nothing_gets_none(bag):
    assert bag.predict([" "])[0].probability == pytest.approx(0.5, abs=0.2)
    assert bag.predict([]) == []


def test_long_texts_are_refused_or_cut(bag):
    long = "fine " * 4 + "dull " * 9
    with pytest.raises(DataError) as error:
        bag.predict(["fine", long])
    assert str(error.value) == (
        "text 2 has 14 tokens and the model was trained with at most 6; shorten it, or have it cut "
        'off (`too_long="cut"`)'
    )
    with pytest.raises(DataError, match=r"^b:7 has 14 tokens"):
        bag.predict([long], places=["b:7"])
    assert bag.predict([long], "cut") == bag.predict(["fine fine fine fine dull"])


def test_evaluation(bag):
    result = bag.evaluate(["so cold", "fine", "warm"], ["bad", " good ", "bad"])
    assert result.outputs == ["bad", "good", "good"]
    assert result.scores["accuracy"].value == pytest.approx(200 / 3)
    assert result.scores["macro_f1"].low is not None
    assert list(bag.evaluate(["x"], ["bad"], ["accuracy"]).scores) == ["accuracy"]


def test_what_cannot_be_evaluated(bag):
    with pytest.raises(DataError, match=r"^text 2: the training data have no label 'god'; did you"):
        bag.evaluate(["a", "b"], ["bad", "god"])
    with pytest.raises(DataError, match=r"^a:3: the label is empty"):
        bag.evaluate(["a"], [""], places=["a:3"])
    with pytest.raises(DataError, match="2 texts for 1 labels"):
        bag.evaluate(["a", "b"], ["bad"])
    with pytest.raises(ConfigError, match="no metric 'bleu' for task 'classify'"):
        bag.evaluate(["a"], ["bad"], ["bleu"])


def test_an_ensemble_has_the_mean_of_the_probabilities(place):
    texts = ["so cold", "fine film", "so so"]
    one, other, both = (
        api.load(*(place / name for name in names)).predict(texts)
        for names in (["bag"], ["gru"], ["bag", "gru"])
    )
    for a, b, mean in zip(one, other, both, strict=True):
        expected = (a.probabilities["bad"] + b.probabilities["bad"]) / 2
        assert mean.probabilities["bad"] == pytest.approx(expected, abs=1e-6)


def test_the_log_and_the_report_tell_how_it_went(place):
    records = RunDir.open(place / "bag").log.read()
    assert any(record.get("accuracy") == 100.0 for record in records)
    assert "Accuracy" in (place / "gru" / "report.html").read_text("utf-8")
    assert "headway predict" in (place / "bag" / "report.html").read_text("utf-8")


def test_a_run_that_was_counted_is_the_same_again(place, tmp_path):
    again = api.train(config_of(place, BagConfig(c=10.0)), tmp_path / "again")
    assert again.predict(GOOD) == api.load(place / "bag").predict(GOOD)
    assert api.resume(tmp_path / "again").predict(GOOD) == again.predict(GOOD)


def test_a_saved_bag_needs_no_scikit_learn(place, bag):
    source = Path(headway.__file__).parents[1]
    done = subprocess.run(
        [sys.executable, "-c", BLOCKED, str(place / "bag")],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(source), "OMP_NUM_THREADS": "1"},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    expected = [f"{p.label} {p.probability:.6f}" for p in bag.predict(["a fine film", "so cold"])]
    assert done.stdout.splitlines() == expected


def test_without_scikit_learn_nothing_is_begun(place, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn.linear_model", None)
    with pytest.raises(MissingExtra, match=r"pip install 'headway-attention\[sklearn\]'"):
        api.train(config_of(place, BagConfig()), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_damaged_labels_are_an_error(place, tmp_path):
    import shutil

    shutil.copytree(place / "bag", tmp_path / "bag")
    (tmp_path / "bag" / "codecs" / "labels.json").unlink()
    with pytest.raises(RunError, match=r"labels\.json is missing"):
        api.load(tmp_path / "bag")


def test_a_comparison_judges_it(place):
    found = evaluate_run(place / "bag", ScoringOptions(ByLength((2,))))
    assert (found.metric, found.score.value, found.n) == ("accuracy", 100.0, 10)
    assert (found.speed_of, found.lower_is_better) == ("texts", False)
    assert sum(part.n for part in found.by_length) == 10

"""A task from outside: two classes and a row of `TASKS`; the rest asks the classes."""

import json

import pytest
import torch
from torch.nn.functional import binary_cross_entropy_with_logits

from headway import api
from headway.cli import main
from headway.compare.by_length import ByLength
from headway.compare.evaluate import ScoringOptions, evaluate_run
from headway.data.config import Corpus, DataConfig
from headway.errors import ConfigError, RunError
from headway.inference.classifier import Classifier
from headway.metrics.labels import LABEL_METRICS, accuracy
from headway.metrics.metric import Metric
from headway.models.encoder import EncoderConfig
from headway.serve.limits import Limits
from headway.serve.schema import PredictRequest
from headway.serve.validate import RequestValidator
from headway.tasks import TASKS, make_task
from headway.tasks.base import EncoderObjective, Task
from headway.tasks.classify import Classify
from headway.training.config import TrainConfig

ROWS = [("a good day", "yes"), ("a bad day", "no"), ("good", "yes"), ("bad bad", "no")]


class OpinionModel(Classifier):
    """Its runs."""

    digits = 1

    def format_prediction(self, prediction):
        return f"says {prediction.label}"

    def describe_label_space(self):
        return "yes or no"


class Opinion(Classify):
    """A task of its own, if only by name."""

    name = "opinion"
    trained_class = OpinionModel
    metric_table = LABEL_METRICS | {
        "right": Metric("Right labels", accuracy, takes_resamples=False)
    }


class YesNoLoss(EncoderObjective):
    """One output with a sigmoid."""

    def counts(self, batch):
        return {"loss": len(batch["label"])}

    def sums(self, batch):
        logits, labels = self.model.logits(batch)[:, 0].float(), batch["label"].float()
        return {"loss": binary_cross_entropy_with_logits(logits, labels, reduction="sum")}


class YesNo(Opinion):
    """The probability of the second of two labels."""

    name = "yesno"
    needs = frozenset({"read"})
    n_outputs = 1

    def objective(self, model, label_smoothing):
        return YesNoLoss(model)

    def outputs_of(self, logits):
        yes = logits.sigmoid()
        return torch.cat([1 - yes, yes], dim=-1)


@pytest.fixture
def rows_of_tables(monkeypatch):
    for task in (Opinion, YesNo):
        monkeypatch.setitem(TASKS, task.name, task)


@pytest.fixture
def run(tmp_path, monkeypatch, rows_of_tables):
    monkeypatch.setenv("HEADWAY_CACHE", str(tmp_path / "cache"))
    (tmp_path / "a.tsv").write_text("".join(f"{text}\t{label}\n" for text, label in ROWS))
    (tmp_path / "lines.txt").write_text("a good day\n")
    return trained(tmp_path, "run", "opinion")


def trained(folder, name, task, seed=1):
    config = api.RunConfig(
        DataConfig(*[Corpus(file="a.tsv")] * 3, root=str(folder)),
        task=task,
        model=EncoderConfig(d_model=8, d_ff=8, n_heads=2, layers=1),
        train=TrainConfig(steps=2, batch_tokens=64, metric="right"),
        seed=seed,
    )
    api.train(config, folder / name)
    return folder / name


def test_commands(run, capsys):
    assert main(["evaluate", str(run)]) == 0
    printed = capsys.readouterr().out
    assert "4 texts, yes or no; weights: " in printed
    assert main(["evaluate", str(run), "--json", "--metric", "macro_f1"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert (record["n"], record["labels"], list(record["metrics"])) == (
        4,
        ["no", "yes"],
        ["macro_f1"],
    )
    assert main(["evaluate", str(run), "--json", "--metric", "right"]) == 0
    assert list(json.loads(capsys.readouterr().out)["metrics"]) == ["right"]
    assert main(["evaluate", str(run), "--metric", "rigth"]) == 2
    assert 'did you mean "right"?' in capsys.readouterr().err
    assert main(["evaluate", str(run), "--beam", "2"]) == 2
    assert "opinion" in capsys.readouterr().err
    assert main(["predict", str(run), str(run.parent / "lines.txt")]) == 0
    assert capsys.readouterr().out in ("says yes\n", "says no\n")
    assert main(["score", str(run)]) == 2
    assert f"try headway predict {run} or headway evaluate {run}" in capsys.readouterr().err


def test_comparisons(run):
    found = evaluate_run(run, ScoringOptions(ByLength((2,))))
    assert (found.metric, found.lower_is_better, found.n, found.n_of) == (
        "right",
        False,
        4,
        "inputs",
    )
    assert (found.speed_of, found.length_unit) == ("texts", "characters")
    assert sum(part.n for part in found.by_length) == 4


def test_the_server(run):
    validator = RequestValidator("mine", api.load(run), Limits())
    assert validator.verbs == ("predict", "embed", "inspect")
    info = validator.info()
    assert (info["task"], info["inputs"], info["labels"]) == ("opinion", ["text"], ["no", "yes"])
    assert validator.predict(PredictRequest(texts=["good"])).items == ["good"]


def test_an_ensemble_of_two_sigmoid_runs(run):
    runs = [trained(run.parent, f"yesno{seed}", "yesno", seed=seed) for seed in (1, 2)]
    text = ["a good day"]
    one, other = (api.load(path).predict(text)[0].probabilities["yes"] for path in runs)
    assert one != other
    both = api.load(*runs).predict(text)[0].probabilities
    assert both == pytest.approx({"yes": (one + other) / 2, "no": 1 - (one + other) / 2})


def test_the_report_names_its_command(run):
    text = (run / "report.html").read_text("utf-8")
    assert "Right labels" in text
    assert "headway predict" in text
    assert "Use it on lines; without FILE, type." in text


def test_a_task_whose_runs_could_not_be_loaded_is_refused_before_training(monkeypatch):
    class Homeless(Task):
        """Has no class for its runs."""

        name = "homeless"

    monkeypatch.setitem(TASKS, "homeless", Homeless)
    with pytest.raises(ConfigError, match=r"^task 'homeless' has no trained_class.*in Homeless$"):
        make_task("homeless")


def test_a_run_of_a_task_that_is_not_there(run, monkeypatch):
    monkeypatch.delitem(TASKS, "opinion")
    with pytest.raises(
        RunError, match=r'task = "opinion".*expected one of "translate", "language"'
    ):
        api.load(run)


def test_run_files_know_the_tasks_there_are(tmp_path, monkeypatch):
    (tmp_path / "run.toml").write_text('task = "opinion"\ndata.train = "a.tsv"\n')
    with pytest.raises(ConfigError, match=r'task = "opinion"'):
        api.read_config(tmp_path / "run.toml")
    monkeypatch.setitem(TASKS, "opinion", Opinion)
    config = api.read_config(tmp_path / "run.toml")
    assert (type(config.make_task()), config.model.family) == (Opinion, "encoder")


@pytest.mark.parametrize(
    ("command", "line"),
    [("predict", "opinion: label, tab, probability"), ("evaluate", "opinion: accuracy, macro_f1,")],
)
def test_the_help_includes_it(rows_of_tables, capsys, command, line):
    assert main([command, "--help"]) == 0
    assert line in " ".join(capsys.readouterr().out.split())

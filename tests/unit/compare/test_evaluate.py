"""Language models in a comparison: their metric, the size of the set, the speed."""

import math

import pytest

from headway import api
from headway.compare.evaluate import evaluate_run, metric_of
from headway.compare.run import compare
from headway.data.codecs.text import TextConfig
from headway.data.config import Corpus, DataConfig
from headway.models.counting.markov import MarkovConfig
from headway.tasks import TASKS
from headway.training.config import TrainConfig

TEXT = "abab\nbaba\naabb\n\nabba\n"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "book.txt").write_text(TEXT, "utf-8")
    (tmp_path / "odd.txt").write_text("abz\nzab\n", "utf-8")
    monkeypatch.setenv("HEADWAY_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("HEADWAY_DATA", raising=False)
    return tmp_path


def config_of(folder, form, test="book.txt", **train):
    data = DataConfig(
        train=Corpus(file="book.txt", format=form),
        test=Corpus(file=test, format=form),
        root=str(folder),
        block=8,
    )
    return api.RunConfig(
        data=data,
        task="language",
        text=TextConfig(kind="characters"),
        model=MarkovConfig(order=0, smoothing="add-k"),
        train=TrainConfig(**train),
    )


def test_every_task_can_be_compared(tmp_path):
    (tmp_path / "a.tsv").write_text("a\tb\n", encoding="utf-8")
    data = DataConfig(train="a.tsv", test="a.tsv", root=str(tmp_path))
    for name in TASKS:
        config = api.RunConfig(data, task=name)
        assert metric_of(config) in config.make_task().metrics


def test_a_language_model_is_judged_by_what_depends_on_no_tokenizer(folder):
    assert metric_of(config_of(folder, "lines")) == "bits_per_character"
    assert metric_of(config_of(folder, "lines", metric="loss")) == "bits_per_character"
    assert metric_of(config_of(folder, "lines", metric="perplexity")) == "perplexity"


@pytest.mark.parametrize("form", ["lines", "text"])
def test_bits_per_character_by_hand(folder, form):
    """Frequencies with one added to each count, over a text or over the lines of it."""
    api.train(config_of(folder, form), folder / "run")
    result = evaluate_run(folder / "run")
    lines = [line + "." for line in TEXT.splitlines() if line]
    seen = "".join(lines) if form == "lines" else TEXT + "."  # the end mark is the dot
    n_words = 2 + (2 if form == "lines" else 3)  # a, b, the unknown, the end, the line break
    bits = [-math.log2((seen.count(c) + 1) / (len(seen) + n_words)) for c in seen]
    assert result.score.value == pytest.approx(sum(bits) / len(bits), rel=1e-5)
    assert (result.metric, result.lower_is_better) == ("bits_per_character", True)
    assert (result.n, result.n_of) == (len(seen), "characters")
    assert result.speed_of == "scored tokens"
    assert result.speed > 0
    assert result.notes == ()


def test_unknown_characters_are_told(folder):
    api.train(config_of(folder, "lines", "odd.txt"), folder / "run")
    [note] = evaluate_run(folder / "run").notes
    assert note == ("2 of 8 tokens are unknown to its tokenizer, which makes the figure too good")


RUN_FILE = """
task = "language"
data.train = { file = "book.txt", format = "text" }
data.valid = { file = "book.txt", format = "text" }
data.test = { file = "odd.txt", format = "text" }
data.block = 8
text.kind = "characters"
train.batch_tokens = 64
"""
MODELS = {
    "chain": 'model.family = "markov"\n',
    "gru": 'model.family = "recurrent_decoder"\nmodel.d_model = 8\n',
}


def test_counted_and_learned_models_stand_in_one_table(folder, monkeypatch):
    monkeypatch.chdir(folder)
    for name, model in MODELS.items():
        (folder / f"{name}.toml").write_text(RUN_FILE + model, "utf-8")
    comparison = compare(["chain.toml", "gru.toml"], out="out", steps=2)
    assert comparison.failures == []
    record = comparison.to_dict()
    assert (record["metric"], record["lower_is_better"]) == ("bits_per_character", True)
    assert (record["n"], record["n_counts"]) == (9, "characters")
    values = {row.name: row.value for row in comparison.rows}
    assert list(values) == sorted(values, key=values.get)
    [chain] = next(row for row in comparison.rows if row.name == "chain").runs
    assert (chain.speed, chain.parameters is not None) == (None, True)
    assert chain.judged.speed > 0
    text = comparison.text()
    assert "bits per character on the test set (9 characters), less is better" in text
    assert "decode/s: scored tokens per second" in text
    assert "chain: 2 of 9 tokens are unknown to its tokenizer" in text

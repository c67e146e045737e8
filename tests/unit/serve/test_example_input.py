"""The inputs that the live page begins with."""

import shutil

import pytest
from served_runs import LIMITS

from headway import api
from headway.serve.example_input import common_words, example_inputs
from headway.serve.validate import RequestValidator
from headway.text.config import TokenizerConfig
from headway.text.train import train_tokenizer


def first(trained, *samples):
    """The first example of a run with such samples in its last validation."""
    rows = [[source, "output", "reference"] for source in samples]
    records = [{"samples": [["old", "", ""]]}, {"loss": 1.0}, {"samples": rows}, {"step": 9}]
    return next(example_inputs(trained, records))


def test_samples_of_the_last_validation_come_first(trained):
    assert first(trained["mine"], "abca", "b") == ["abca"]
    assert first(trained["pairs"], "so good\tbad") == ["so good", "bad"]
    question, context = first(trained["answers"], "where ?")
    assert question == "where ?"
    assert set(context.split()) <= {"where", "sat", "Rome"}


def test_words_of_the_vocabulary(trained):
    [example] = next(example_inputs(trained["tags"], []))
    assert example == "Ann Bob sat saw"
    [example] = next(example_inputs(trained["mine"], []))
    assert sorted(example) == ["a", "b", "c"]


def test_subwords_that_begin_a_word():
    texts = ["the dog sees the other dog"] * 4
    tokenizer = train_tokenizer(texts, TokenizerConfig(kind="bpe", size=273))
    words = common_words(tokenizer).split()
    assert {"the", "dog"} <= set(words)
    assert len(words) == len(set(words)) <= 4


@pytest.mark.parametrize("log", ["", "[]\n", '{"samples": [["abca", "x", "y"]]}\n'])
def test_every_example_can_be_inspected(runs, tmp_path, log):
    shutil.copytree(runs / "mine", tmp_path / "mine")
    (tmp_path / "mine" / "log.jsonl").write_text(log)
    (tmp_path / "mine" / "manifest.json").unlink()
    validator = RequestValidator("mine", api.load(tmp_path / "mine"), LIMITS)
    [example] = validator.info()["example"]
    assert example == "abca" if "abca" in log else example.strip()


def test_a_sample_that_is_too_long_is_left_out(runs, tmp_path):
    shutil.copytree(runs / "mine", tmp_path / "mine")
    samples = [["abc" * 100, "", ""], [" ", "", ""], ["cab", "", ""]]
    (tmp_path / "mine" / "manifest.json").unlink()
    (tmp_path / "mine" / "log.jsonl").write_text(f'{{"samples": {samples}}}\n'.replace("'", '"'))
    validator = RequestValidator("mine", api.load(tmp_path / "mine"), LIMITS)
    assert validator.info()["example"] == ["cab"]


def test_every_task_has_an_example(validators):
    for name, validator in validators.items():
        assert validator.info()["example"], name

"""The task of text to text: codecs, batches, prediction in order, metrics by name."""

import re

import numpy as np
import pytest
import torch

from headway.data.codecs.text import TextConfig
from headway.errors import ConfigError, RunError
from headway.metrics.text_metrics import TEXT_METRICS
from headway.models import FAMILIES, VocabularySizes
from headway.search import Prefix, SearchConfig
from headway.tasks import TASKS
from headway.tasks.term_constraints import make_constraints
from headway.tasks.translate import Translate
from headway.text import BOS, EOS, PAD, TokenizerConfig


def lines():
    return iter([("a b c", "x y"), ("c b", "y")])


@pytest.mark.parametrize("n", [2, 200])  # in this process, and in several
def test_a_search_that_needs_too_much_memory(task, copier, monkeypatch, n):
    monkeypatch.setattr(copier, "start", lambda batch: torch.empty(1 << 50, dtype=torch.uint8))
    sources = task.source.encode_batch(["a b"] * n)
    with pytest.raises(RunError) as caught:
        task.predict(copier, sources, SearchConfig())
    assert re.fullmatch(
        r"out of memory in a search with \d+ examples of up to 3 tokens; lower search\.beam, .*",
        str(caught.value),
    )


def test_every_task_is_in_the_table_under_its_name():
    assert all(task.name == name for name, task in TASKS.items())
    able = [name for name, family in FAMILIES.items() if Translate().fits(family)]
    assert able == ["transformer", "recurrent", "convolutional", "unilm"]


def test_shared_vocabulary_saves_one_file(tmp_path):
    task = Translate().fit_codecs(lines, TextConfig(kind="words"))
    task.save_codecs(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["tokenizer.json"]
    again = Translate().load_codecs(tmp_path)
    assert again.source.tokenizer is again.target.tokenizer
    assert again.vocabularies == task.vocabularies == VocabularySizes(9, 9, True, "words")


def test_separate_vocabularies_save_two(tmp_path):
    task = Translate().fit_codecs(lines, TextConfig(kind="words", shared=False))
    task.save_codecs(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {
        "source.tokenizer.json",
        "target.tokenizer.json",
    }
    again = Translate().load_codecs(tmp_path)
    assert again.vocabularies == task.vocabularies == VocabularySizes(7, 6, False, "words")
    assert again.target.decode(again.target.encode_batch(["y x"])[0]) == "y x"


def test_each_side_may_have_its_own_kind():
    own = TextConfig(
        source=TokenizerConfig(kind="characters"), target=TokenizerConfig(kind="words")
    )
    task = Translate().fit_codecs(lines, own)
    assert task.codecs["source"].tokenizer.settings.kind == "characters"
    assert task.codecs["target"].tokenizer.settings.kind == "words"


@pytest.mark.parametrize("shared", [True, False])
def test_sources_may_begin_with_a_mark(tmp_path, shared):
    task = Translate().fit_codecs(lines, TextConfig(kind="words", shared=shared, begin=True))
    task.save_codecs(tmp_path)
    for loaded in (task, Translate().load_codecs(tmp_path)):
        batch = loaded.pairs(["c b"], ["y"])
        assert batch["src"][0].tolist() == [BOS, *loaded.source.tokenizer.encode("c b"), EOS]
        assert batch["tgt_in"][0].tolist() == [BOS, *loaded.target.tokenizer.encode("y")]
        assert loaded.source.fingerprint() == task.source.fingerprint()


def test_a_batch_of_a_store(task, store):
    batch = task.batch(store, np.array([1, 0]))
    a, b = (int(ids[0]) for ids in task.source.encode_batch(["a", "b"]))
    assert batch["src"].tolist() == [[a, EOS, PAD], [a, b, EOS]]
    assert batch["src_valid"].tolist() == [[True, True, False], [True] * 3]
    assert batch["tgt_in"].tolist() == [[BOS, a, PAD], [BOS, b, a]]
    assert batch["tgt_out"].tolist() == [[a, EOS, PAD], [b, a, EOS]]
    assert batch["tgt_valid"].tolist() == [[True, True, False], [True] * 3]


def test_pairs_are_the_batch_of_their_texts(task, store):
    encoded = task.pairs(["a", "a b"], ["a", "b a"])
    stored = task.batch(store, np.array([1, 0]))
    assert all(torch.equal(encoded[name], stored[name]) for name in stored)


def test_random_segmentation_depends_on_the_draw_alone(tmp_path):
    from headway.data.config import Corpus
    from headway.data.prepare import prepare

    texts = [("lower newest widest", "newest lower")] * 30
    (tmp_path / "p.tsv").write_text("".join(f"{s}\t{t}\n" for s, t in texts), "utf-8")
    task = Translate().fit_codecs(lambda: iter(texts), TextConfig(size=275, dropout=0.5))
    store = prepare((Corpus(file="p.tsv"),), task.codecs, tmp_path / "stores", root=tmp_path).store
    rows = np.arange(30)
    first = task.batch(store, rows, draw=(1, 0))
    again, other = task.batch(store, rows, draw=(1, 0)), task.batch(store, rows, draw=(1, 1))
    assert torch.equal(first["src"], again["src"])
    assert first["src"].shape != other["src"].shape or not torch.equal(first["src"], other["src"])
    settled = task.batch(store, rows)
    assert (settled["src"] == settled["src"][0]).all()
    for row, valid in zip(first["src"], first["src_valid"], strict=True):
        assert task.source.decode(row[valid].tolist()) == "lower newest widest"
    # Each example of the batch is cut in its own way, and so are its two sides.
    assert len({tuple(row.tolist()) for row in first["src"]}) > 5


@pytest.mark.parametrize("beam", [1, 3])
def test_prediction_keeps_the_order(task, copier, beam):
    texts = ["a", "c b a c b a", "b b", "a c"]
    outputs = task.predict(copier, task.source.encode_batch(texts), SearchConfig(beam=beam))
    assert [task.text(hypotheses[0]) for hypotheses in outputs] == texts
    assert all(hypotheses[0].finished for hypotheses in outputs)


def test_prediction_of_nothing(task, copier):
    assert task.predict(copier, [], SearchConfig()) == []


def test_prediction_gives_as_many_as_asked(task, copier):
    config = SearchConfig(beam=3, n_best=2)
    (outputs,) = task.predict(copier, task.source.encode_batch(["a b"]), config)
    assert len(outputs) == 2
    assert outputs[0].score > outputs[1].score


@pytest.mark.parametrize("beam", [1, 2])
def test_limits_follow_their_sources_through_the_sorting(task, copier, beam):
    texts = ["a", "c b a c b a", "b b"]
    sources = task.source.encode_batch(texts)
    outputs = task.predict(copier, sources, SearchConfig(beam=beam), limits=[1, 4, 3])
    assert [task.text(hypotheses[0]) for hypotheses in outputs] == ["a", "c b a c", "b b"]
    assert [hypotheses[0].finished for hypotheses in outputs] == [False, False, True]


def test_each_method_is_taken(task, copier):
    texts = ["a b", "c a"]
    sources = task.source.encode_batch(texts)
    for settings in ({"method": "sample", "top_k": 1}, {"method": "exhaustive"}):
        outputs = task.predict(copier, sources, SearchConfig(**settings))
        assert [task.text(hypotheses[0]) for hypotheses in outputs] == texts
    assert len(task.predict(copier, sources, SearchConfig(method="sample", n_best=9))[0]) == 9


def test_prefixes_and_terms_follow_their_sources_through_the_sorting(task, copier):
    texts = ["a", "c b a c b a", "b b"]
    sources = task.source.encode_batch(texts)
    prefixes = [Prefix(task.target.tokenizer.encode(text)) for text in ("b", "", "c")]
    terms = [make_constraints(task.target, require, [], "x") for require in ([], [], ["a"])]
    found = task.predict(
        copier, sources, SearchConfig(beam=3), prefixes=prefixes, constraints=terms
    )
    outputs = [task.text(hypotheses[0]) for hypotheses in found]
    assert outputs[0].startswith("b")
    assert outputs[1] == texts[1]
    assert outputs[2].startswith("c")
    assert "a" in outputs[2].split()


def test_a_long_beginning_leaves_room_for_more(task, copier):
    prefix = Prefix(task.target.tokenizer.encode("b " * 40))
    config = SearchConfig(beam=2)
    source = task.source.encode_batch(["a"])
    [[best]] = task.predict(copier, source, config, prefixes=[prefix])
    assert len(best.tokens) >= 40
    [traced], trace = task.trace(copier, source[0], config, prefix)
    assert traced.tokens == best.tokens
    assert len(trace.steps) >= 40


@pytest.mark.parametrize(
    ("method", "option", "message"),
    [
        ("sample", "terms", 'method = "sample" cannot search with required or forbidden terms'),
        ("exhaustive", "prefix", 'method = "exhaustive" cannot search with a prefix'),
    ],
)
def test_what_a_method_cannot_do_is_refused(task, copier, method, option, message):
    source = task.source.encode_batch(["a"])
    arguments = {
        "terms": {"constraints": [make_constraints(task.target, ["b"], [], "x")]},
        "prefix": {"prefixes": [Prefix([5])]},
    }[option]
    with pytest.raises(ConfigError, match=message):
        task.predict(copier, source, SearchConfig(method=method), **arguments)


def test_every_metric_has_its_judge(task):
    outputs, references = ["a b c d e", "x"], ["a b c d e", "y"]
    values = {name: task.judge(name, outputs, references).value for name in task.metrics}
    assert values["exact"] == 50.0
    assert values["ser"] == 50.0
    assert values["wer"] == pytest.approx(100 / 6)
    assert values["cer"] == pytest.approx(100 / 10)
    assert 0 < values["bleu"] < 100
    assert 0 < values["ter"] < 100
    assert set(task.usual_metrics) <= set(task.metrics)


def test_an_unknown_metric_is_refused_in_words(task):
    with pytest.raises(ConfigError) as caught:
        task.judge("blue", ["a"], ["a"])
    assert str(caught.value) == (
        f"no metric 'blue' for task 'translate'; expected one of {', '.join(TEXT_METRICS)}"
        '; did you mean "bleu"?'
    )

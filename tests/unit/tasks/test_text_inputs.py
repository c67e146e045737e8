"""Pairs of texts: storage, encoding as one sequence, counting and truncation."""

import numpy as np
import pytest
import torch

from headway.data.codecs.text import TextConfig
from headway.data.config import Corpus
from headway.data.prepare import prepare
from headway.models import FAMILIES
from headway.search import SearchConfig
from headway.tasks.classify import Classify
from headway.tasks.text_inputs import BOTH

ROWS = [("a b", "b", "same"), ("a", "c c c", "other"), ("b", "b", "same"), ("c", "a", "other")]
WORDS = TextConfig(kind="words")


@pytest.fixture
def folder(tmp_path):
    text = "".join("\t".join(row) + "\n" for row in [("text", "text2", "label"), *ROWS])
    (tmp_path / "a.tsv").write_text(text, "utf-8")
    return tmp_path


def made(folder, config=WORDS, **settings):
    task = Classify().fit_codecs(lambda: iter(ROWS), config)
    corpus = Corpus(file="a.tsv")
    assert Classify().columns_of([corpus], folder) == task.columns == ("text", "text2", "label")
    result = prepare([corpus], task.codecs, folder / "stores", root=folder, rules=task, **settings)
    return task, result


def test_a_pair_is_encoded_as_one_sequence(folder):
    task, result = made(folder)
    a, b, c, eos = (*(task.codec.encode_batch([word])[0][0] for word in "abc"), task.codec.eos)
    batch = task.batch(result.store, np.array([0, 1]))
    assert batch["src"].tolist() == [[a, b, eos, b, eos, 0], [a, eos, c, c, c, eos]]
    assert batch["segment"].tolist() == [[0, 0, 0, 1, 1, 0], [0, 0, 1, 1, 1, 1]]
    assert batch["src_valid"].tolist() == [[True] * 5 + [False], [True] * 6]
    assert batch["label"].tolist() == [1, 0]


def test_texts_have_nothing_of_series(folder):
    inputs = made(folder)[0].inputs
    assert (inputs.numbers, inputs.public_info(), inputs.as_series("a")) == ((), {}, None)
    assert inputs.spans(np.arange(4), None) == []


def test_bos_precedes_a_pair(folder):
    task, result = made(folder, TextConfig(kind="words", begin=True))
    batch = task.batch(result.store, np.array([2]))
    assert batch["src"][0, 0] == task.codec.bos
    assert batch["src"].shape == (1, 5)
    assert task.sizes({"text": 1, "text2": 1}) == {BOTH: 5}


def test_both_together_may_be_too_long(folder):
    task, result = made(folder, max_length=5)
    assert [str(dropped) for dropped in result.dropped] == [
        "dropped 1: text and text2 longer than max_length = 5 (a.tsv:3)"
    ]
    assert task.sized(result.store).lengths(BOTH).tolist() == [5, 4, 4]


def test_pairs_are_saved_and_loaded(folder):
    task, _ = made(folder)
    (folder / "codecs").mkdir()
    task.save_codecs(folder / "codecs")
    loaded = Classify().load_codecs(folder / "codecs")
    assert (loaded.columns, loaded.lengths) == (task.columns, (BOTH,))
    texts = [("a b", "c"), ("b", "")]
    for ids, same in zip(task.inputs.encode(texts), loaded.inputs.encode(texts), strict=True):
        assert ids.tolist() == same.tolist()


def test_encodings_are_those_of_the_store(folder):
    task, result = made(folder)
    encoded = task.inputs.encode([row[:2] for row in ROWS])
    for i, ids in enumerate(encoded):
        assert ids.tolist() == task.inputs.stored(result.store, i).tolist()
        assert task.inputs.to_text(result.store, i) == "\t".join(ROWS[i][:2])


def test_the_longer_side_is_cut_first(folder):
    task, _ = made(folder)
    cut = task.inputs.truncate(("a", "c c c"), 5)
    assert cut[:, 0].tolist() == task.inputs.encode([("a", "c c")])[0][:, 0].tolist()
    cut = task.inputs.truncate(("a a a a", "c c c"), 6)
    assert cut[:, 0].tolist() == task.inputs.encode([("a a", "c c")])[0][:, 0].tolist()


def test_segmentations_are_redrawn_on_both_sides(folder):
    rows = [("abab abba", "baba", "x"), ("ba", "ab", "y")]
    task = Classify().fit_codecs(lambda: iter(rows), TextConfig(dropout=0.5))
    (folder / "b.tsv").write_text("".join("\t".join(row) + "\n" for row in rows), "utf-8")
    corpus = Corpus(file="b.tsv", text=1, text2=2, label=3)
    store = prepare([corpus], task.codecs, folder / "s", root=folder, rules=task).store
    drawn = [task.batch(store, np.array([0]), (1, epoch))["src"] for epoch in (1, 1, 2, 3, 4)]
    assert torch.equal(drawn[0], drawn[1])
    assert len({tuple(batch[0].tolist()) for batch in drawn}) > 1


@pytest.mark.parametrize("family", ["encoder", "recurrent_encoder"])
def test_a_model_reads_pairs(family, folder):
    task, result = made(folder)
    settings = {"d_model": 16}
    if family == "encoder":
        settings |= {"d_ff": 16, "n_heads": 2, "layers": 1, "segments": 2}
    torch.manual_seed(1)
    config = FAMILIES[family].config(**settings).resolve(4, task.vocabularies)
    model = FAMILIES[family].build(config, task.vocabularies).eval()
    validator = task.validator(result.store, None, "accuracy", 0, SearchConfig())
    validation = validator(task.objective(model, 0.0).eval())
    assert validation.samples[0][0] == "a b\tb"
    probabilities = task.predict(model, task.inputs.encode([row[:2] for row in ROWS]))
    alone = [task.predict(model, task.inputs.encode([row[:2]]))[0] for row in ROWS]
    np.testing.assert_allclose(probabilities, alone, atol=1e-6)  # padding does not matter
    turned = task.predict(model, task.inputs.encode([("a", "b"), ("b", "a")]))
    assert abs(turned[0] - turned[1]).max() > 1e-6


def test_tokens_of_both_are_counted_by_a_bag(folder):
    task, result = made(folder)
    examples = list(task.sequences(result.store))
    assert [label for _, label in examples] == [1, 0, 1, 0]
    assert examples[0][0].tolist() == task.inputs.encode([ROWS[0][:2]])[0][:, 0].tolist()

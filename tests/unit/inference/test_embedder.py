"""Vectors of texts and of words: by hand, together and alone, and what is refused."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from headway import api
from headway.data.codecs.text import TextConfig
from headway.data.config import DataConfig
from headway.errors import ConfigError, DataError
from headway.inference.embedder import Neighbour, cosines, nearest, tokens_of, unit
from headway.models.counting.bag_of_words import BagConfig
from headway.models.encoder import EncoderConfig
from headway.models.recurrent_encoder import RecurrentEncoderConfig
from headway.models.unilm import UnilmModelConfig
from headway.runs import RunDir
from headway.training.config import TrainConfig

SMALL = EncoderConfig(d_model=8, d_ff=8, n_heads=2, layers=2, dropout=0.0)
FIRST = replace(SMALL, pooling="first", pooler=True, segments=2)
STEPS = TrainConfig(steps=2, batch_tokens=64)
LINES = ["the bank of the river", "money in the bank", "a river", "a Bank is a bank", "of money"]
RUNS = {
    "labels": ("classify", SMALL, {}),
    "first": ("classify", FIRST, {"begin": True}),
    "last": ("classify", RecurrentEncoderConfig(d_model=8), {}),
    "values": ("regress", SMALL, {}),
    "hidden": ("pretrain", FIRST, {"begin": True}),
    "written": (
        "language",
        UnilmModelConfig(d_model=8, d_ff=8, n_heads=2, layers=2, dropout=0.0),
        {},
    ),
    "pairs": (
        "translate",
        UnilmModelConfig(d_model=8, d_ff=8, n_heads=2, layers=1, dropout=0.0),
        {},
    ),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("embedding")
    (folder / "lines.txt").write_text("\n".join(LINES) + "\n", "utf-8")
    rows = "".join(f"{line}\t{len(line)}\n" for line in LINES * 3)
    (folder / "rows.tsv").write_text(rows, "utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HEADWAY_CACHE", str(folder / "cache"))
        yield folder


def config_of(folder, name, **changes):
    task, model, text = RUNS[name]
    train = "lines.txt" if task in ("pretrain", "language") else "rows.tsv"
    data = DataConfig(train=train, root=str(folder), max_length=20, block=16)
    given = {"model": model, "text": TextConfig(kind="bpe", size=270, **text), **changes}
    return api.RunConfig(data=data, task=task, train=STEPS, **given)


@pytest.fixture(scope="module")
def runs(folder):
    return {name: api.train(config_of(folder, name), folder / name) for name in RUNS}


def states(run, text):
    """What the model makes of one text alone: tokens, states, pooled."""
    [ids] = run.task.codec.encode_batch([text])
    batch = {"src": torch.tensor([ids.tolist()]), "src_valid": torch.ones(1, len(ids)).bool()}
    with torch.inference_mode():
        found, pooled = run.model(batch)
    return ids, found[0].numpy(), pooled[0].numpy()


@pytest.mark.parametrize("name", RUNS)
def test_a_batch_gives_what_singles_give(runs, name):
    for pooling in (None, "mean", "first"):
        embedder = api.Embedder(runs[name], pooling)
        together = embedder.embed(LINES)
        assert together.shape == (5, 8)
        for line, vector in zip(LINES, together, strict=True):
            np.testing.assert_allclose(embedder.embed([line])[0], vector, atol=1e-5)


def test_poolings_are_those_that_are_named(runs):
    for name, usual in {"labels": "mean", "values": "mean", "first": "first"}.items():
        _, found, _ = states(runs[name], LINES[0])
        expected = {"mean": found.mean(0), "first": found[0]}
        for pooling, vector in expected.items():
            [got] = api.Embedder(runs[name], pooling).embed(LINES[:1])
            np.testing.assert_allclose(got, vector, atol=1e-5)
        [got] = api.Embedder(runs[name]).embed(LINES[:1])
        np.testing.assert_allclose(got, expected[usual], atol=1e-5)


def test_a_recurrent_network_has_a_way_of_its_own(runs):
    _, _, pooled = states(runs["last"], LINES[1])
    [got] = api.Embedder(runs["last"]).embed([LINES[1]])
    np.testing.assert_allclose(got, pooled, atol=1e-6)


def test_a_pooler_belongs_to_the_head(runs):
    _, found, pooled = states(runs["first"], LINES[2])
    [got] = api.Embedder(runs["first"]).embed([LINES[2]])
    np.testing.assert_allclose(got, found[0], atol=1e-5)
    assert not np.allclose(pooled, found[0], atol=1e-2)


def test_vectors_get_length_one_if_asked_or_imported_so(runs, folder):
    raw = api.Embedder(runs["labels"]).embed(LINES)
    assert not np.allclose(np.linalg.norm(raw, axis=1), 1, atol=1e-3)
    [asked] = api.Embedder(runs["labels"], normalise=True).embed(LINES[:1])
    np.testing.assert_allclose(asked, raw[0] / np.linalg.norm(raw[0]), atol=1e-6)
    again = api.load(folder / "labels")
    again.run.facts["normalised"] = True
    np.testing.assert_allclose(api.Embedder(again).embed(LINES), unit(raw), atol=1e-6)
    np.testing.assert_allclose(api.Embedder(again, normalise=False).embed(LINES), raw, atol=1e-6)
    assert "normalised" not in RunDir.open(folder / "labels").facts


@pytest.mark.parametrize("name", ["labels", "first"])
def test_a_word_is_the_mean_of_its_tokens_wherever_it_stands(runs, name):
    text, run = "a Bank is a bank", runs[name]
    ids, found, _ = states(run, text)
    shown = run.task.codec.tokenizer.tokens(ids.tolist())
    # "▁a▁Bank▁is▁a▁bank": all tokens between the second and the third space, and after the last.
    joined = "".join(t for t in shown if not t.startswith("⟨"))
    assert joined == "▁a▁Bank▁is▁a▁bank"
    inside, at = [], 0
    for place, token in enumerate(shown):
        if token.startswith("⟨"):
            continue
        start, at = at, at + len(token)
        if (start < 7 and at > 3) or at > 13:
            inside.append(place)
    [got] = api.Embedder(run).embed_word([text], "bank")
    np.testing.assert_allclose(got, found[inside].mean(0), atol=1e-5)


def test_words_of_a_batch_are_those_of_singles(runs):
    embedder = api.Embedder(runs["labels"])
    lines = [LINES[i] for i in (0, 1, 3)]
    together = embedder.embed_word(lines, "BANK")
    for line, vector in zip(lines, together, strict=True):
        np.testing.assert_allclose(embedder.embed_word([line], "bank")[0], vector, atol=1e-5)
    assert cosines(together, together)[0, 1] < 1 - 1e-6  # the same word, other sentences


def test_which_tokens_write_a_word():
    #       0123456789012345678
    text = "bank, banks; a Bank"
    spans = [(0, 2), (2, 4), (4, 5), (5, 10), (10, 12), (12, 14), (14, 19)]
    assert tokens_of("bank", text, spans) == [0, 1, 6]
    assert tokens_of("banks", text, spans) == [3, 4]
    assert tokens_of("a bank", text, spans) == [5, 6]
    assert tokens_of("c++", "a c++ b", [(0, 1), (1, 5), (5, 7)]) == [1]
    assert tokens_of("ban", text, spans) == []


def test_what_is_refused(runs, folder):
    embedder = api.Embedder(runs["labels"])
    with pytest.raises(DataError) as caught:
        embedder.embed_word(LINES, "bank", places=[f"a.txt:{i}" for i in range(1, 6)])
    assert str(caught.value) == (
        "a.txt:3: the word 'bank' does not occur in it; leave the text out, or name another word"
    )
    long = " ".join(["river"] * 20)
    with pytest.raises(DataError, match=r"text 2 has \d+ tokens .* at most 20; shorten it, or"):
        embedder.embed(["a", long])
    with pytest.raises(DataError, match=r"at most 16;"):  # of pre-training what counts is the block
        api.Embedder(runs["hidden"]).embed([long])
    assert embedder.embed([long], "cut").shape == (1, 8)
    with pytest.raises(DataError, match="the word 'bank' does not occur in it"):
        embedder.embed_word([f"{long} bank"], "bank", "cut")
    both = api.load(folder / "labels", folder / "labels")
    with pytest.raises(ConfigError, match="reading texts takes one run, not an ensemble"):
        api.Embedder(both)


def test_a_model_that_does_not_read(folder):
    text = TextConfig(kind="words")
    bag = api.train(config_of(folder, "labels", model=BagConfig(), text=text), folder / "bag")
    with pytest.raises(ConfigError) as caught:
        api.Embedder(bag)
    assert str(caught.value).startswith(
        f"the model of {folder / 'bag'} is of the family 'bag', which gives no states of a text; "
        "take a run of one of recurrent_encoder, encoder, unilm"
    )


def test_no_texts_have_no_vectors(runs):
    assert api.Embedder(runs["labels"]).embed([]).shape == (0, 8)
    assert api.Embedder(runs["labels"]).embed_word([], "bank").shape == (0, 8)
    assert np.isfinite(api.Embedder(runs["labels"]).embed([""])).all()


def test_cosines_and_neighbours_by_hand():
    first = np.array([[3.0, 0.0], [0.0, 0.0]])
    second = np.array([[0.0, 2.0], [1.0, 1.0], [5.0, 0.0], [-1.0, 0.0]])
    half = 0.5**0.5
    np.testing.assert_allclose(cosines(first, second), [[0, half, 1, -1], [0, 0, 0, 0]], atol=1e-12)
    found, nothing = nearest(first, second, top=2)
    assert found == [Neighbour(2, pytest.approx(1.0)), Neighbour(1, pytest.approx(half))]
    assert [one.index for one in nothing] == [0, 1]
    assert len(nearest(first, second, top=9)[0]) == 4

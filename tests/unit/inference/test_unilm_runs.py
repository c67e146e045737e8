"""One network for three tasks: it translates, and from that learns to predict text and labels."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from headway import api
from headway.data.codecs.text import TextConfig
from headway.data.config import DataConfig
from headway.errors import ConfigError
from headway.inspection.attention import attention_maps
from headway.models.unilm import UnilmModelConfig
from headway.runs import RunDir
from headway.search import SearchConfig
from headway.training.config import TrainConfig

SMALL = UnilmModelConfig(d_model=32, d_ff=32, n_heads=2, layers=2, dropout=0.0)
PAIRS = [("one two", "two one"), ("two three", "three two"), ("three one two", "two one three")]
TRAIN = TrainConfig(steps=60, lr=5e-3, batch_tokens=128, choose="last")


def config_of(folder, **given):
    where = {"root": str(folder), "max_length": 10, "block": 10}
    data = DataConfig(train="pairs.tsv", valid="pairs.tsv", **where)
    usual = {"text": TextConfig(kind="words"), "model": SMALL, "train": TRAIN}
    return api.RunConfig(**{"data": data, "search": SearchConfig(max_length=8), **usual, **given})


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("unilm")
    lines = [f"{source}\t{target}\n" for source, target in PAIRS]
    (folder / "pairs.tsv").write_text("".join(lines), "utf-8")
    (folder / "lines.txt").write_text("one two three\nthree two one\n", "utf-8")
    (folder / "labels.tsv").write_text("one two\tup\nthree two\tdown\n", "utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HEADWAY_CACHE", str(folder / "cache"))
        api.train(config_of(folder), folder / "translator")
        yield folder


def begun(folder, task, file, out):
    """A run of another task that begins with the translator."""
    config = config_of(
        folder,
        task=task,
        data=DataConfig(train=file, root=str(folder), max_length=10),
        init=str(folder / "translator"),
        train=replace(TRAIN, steps=2),
    )
    found = api.train(config, folder / out)
    weights, _ = RunDir.open(folder / "translator").load_weights()
    started = RunDir.open(folder / out).load_init()
    assert all(torch.equal(started[name], weights[name]) for name in started)
    assert {name for name in weights if name.startswith("backbone.")} == started.keys()
    return found


def test_it_translates_and_shows_where_it_looks(folder):
    translator = api.load(folder / "translator")
    found = translator.translate([source for source, _ in PAIRS], beam=3)
    assert [one.text for one in found] == [target for _, target in PAIRS]
    attention = translator.attention(*PAIRS[2])
    assert attention.cross().shape == (4, 4)  # with end marks
    assert len(attention.maps) == 6  # source, target and between, in two layers
    within = [attention.maps[f"backbone.layers.0.attention.{k}"] for k in ("cross", "decoder")]
    np.testing.assert_allclose(within[0].sum(-1) + within[1].sum(-1), 1.0, atol=1e-5)
    kinds = [part.kind for part in translator.inspect(PAIRS[0][0]).outputs[0].parts]
    assert kinds == ["cross", "decoder"] * 2


@pytest.mark.parametrize("lengths", [(3, 3), (2, 5), (6, 1)])
def test_a_batch_looks_as_its_pairs_do_alone(folder, lengths):
    model = api.load(folder / "translator").model
    sources, targets = [np.array([4, 5, 2]), np.array([6, 2])], [np.full(n, 4) for n in lengths]
    together = attention_maps([model], sources, targets, bos=1)
    for (maps, crossing), source, target in zip(together, sources, targets, strict=True):
        [(alone, _)] = attention_maps([model], [source], [target], bos=1)
        assert maps.keys() == alone.keys()
        for name, weights in alone.items():
            np.testing.assert_allclose(maps[name], weights, atol=1e-5)
        assert crossing == [[f"backbone.layers.{n}.attention.cross" for n in range(2)]]
        assert maps[crossing[0][0]].shape[1:] == (len(target), len(source))


def test_it_predicts_text_from_what_it_has_learned(folder):
    model = begun(folder, "language", "lines.txt", "writer")
    assert np.isfinite(model.score(["one two"])[0].log_prob)


def test_it_gives_labels_from_what_it_has_learned(folder):
    model = begun(folder, "classify", "labels.tsv", "labels")
    assert {one.label for one in model.predict(["one two", "three two"])} <= {"up", "down"}


def test_settings_that_do_not_fit(folder, tmp_path):
    long = replace(SMALL, positions="learned", max_positions=19)
    with pytest.raises(ValueError, match=r"model\.max_positions = 19 is less than the 20 tokens"):
        config_of(folder, model=long)
    apart = config_of(folder, text=TextConfig(kind="words", shared=False))
    with pytest.raises(
        ConfigError, match=r"one vocabulary for source and target; set text\.shared = true"
    ):
        api.train(apart, tmp_path / "apart")

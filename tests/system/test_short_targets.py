"""Runs whose targets are too short for BLEU keep the weights that are good, not the first ones."""

import pytest

import headway

ENDINGS = (("y", "ies"), ("s", "ses"), ("x", "xes"), ("t", "ts"), ("n", "ns"))


def plural(word):
    return word[:-1] + dict(ENDINGS)[word[-1]]


def words():
    """Made-up words of three or four letters with regular plurals."""
    return [a + b + c + e for a in "bdfg" for b in "aeio" for c in "lr" for e in "ysxtn"]


@pytest.fixture
def data(tmp_path, monkeypatch):
    monkeypatch.setenv("HEADWAY_CACHE", str(tmp_path / "cache"))
    pairs = [f"{word}\t{plural(word)}\n" for word in words()]
    (tmp_path / "train.tsv").write_text("".join(pairs[::2] + pairs[1::4]))
    (tmp_path / "valid.tsv").write_text("".join(pairs[3::4]))
    return tmp_path


def test_plurals(data):
    settings = ["text.kind=characters", "train.steps=300", "train.batch_tokens=512"]
    settings += ["model.d_model=32", "model.d_ff=64", "model.n_heads=2", "model.encoder_layers=1"]
    settings += ["model.decoder_layers=1", "train.accumulate=1", "train.patience=4"]
    (data / "run.toml").write_text('[data]\ntrain = "train.tsv"\nvalid = "valid.tsv"\n')
    config = headway.read_config(data / "run.toml", settings)
    model = headway.train(config, data / "run")
    assert model.config.train.metric == "exact"
    assert int(model.weights_info["step"]) > 100
    inputs = words()[3::4]
    outputs = [translation.text for translation in model.translate(inputs)]
    right = sum(output == plural(word) for word, output in zip(inputs, outputs, strict=True))
    assert right > 0.8 * len(inputs)

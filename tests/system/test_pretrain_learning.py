"""Every kind of pre-training learns in seconds what there is to learn in texts made for it."""

import random

import pytest

from headway import api
from headway.data.codecs.text import TextConfig
from headway.data.config import Corpus, DataConfig
from headway.models.encoder import EncoderConfig
from headway.models.transformer import TransformerConfig
from headway.models.unilm import UnilmModelConfig
from headway.tasks.pretrain.config import CONFIGS
from headway.training.config import TrainConfig

SIZES = {"d_model": 32, "d_ff": 64, "n_heads": 2, "dropout": 0.0}
READER = EncoderConfig(layers=2, segments=2, pooling="first", **SIZES)
WRITER = TransformerConfig(encoder_layers=1, decoder_layers=1, **SIZES)
BOTH = UnilmModelConfig(layers=2, **SIZES)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("HEADWAY_CACHE", str(tmp_path / "cache"))
    return tmp_path


def trained(folder, write, form, block, pretrain, model, train):
    draw = random.Random(0)
    for name, n in (("train", 240), ("valid", 48)):
        (folder / f"{name}.txt").write_text(write(draw, n), "utf-8")
    data = DataConfig(
        train=Corpus(file="train.txt", format=form),
        valid=Corpus(file="valid.txt", format=form),
        root=str(folder),
        block=block,
    )
    config = api.RunConfig(
        data,
        task="pretrain",
        pretrain=pretrain,
        text=TextConfig(kind="words"),
        model=model,
        train=TrainConfig(evaluate_every=1000, batch_tokens=1024, **train),
    )
    found = api.train(config, folder / "run")
    return found.evaluate([data.valid], root=folder)


def topics(draw, n):
    """Documents that each have six words of their own, of twelve kinds."""
    return "\n\n".join(
        "\n".join(
            " ".join(f"t{number % 12}w{draw.randrange(6)}" for _ in range(6)) + " ."
            for _ in range(12)
        )
        for number in range(n)
    )


def counting(draw, n):
    """Lines that count up from anywhere, round and round."""
    starts = [draw.randrange(12) for _ in range(n)]
    return "\n".join(
        " ".join(f"w{(start + i) % 12}" for i in range(draw.randint(8, 16))) for start in starts
    )


def test_words_are_told_from_their_neighbours_and_halves_by_what_they_are_about(folder):
    train = {"steps": 250, "lr": 5e-3}
    found = trained(folder, topics, "documents", 48, CONFIGS["masked_next"](), READER, train)
    # A twelfth of the other documents are about the same: nothing gets above 96%.
    assert found.scores["next_accuracy"].low > 60
    # One of six words and the full stop: 1.9 nats with what is around, 4.1 without.
    assert found.scores["masked_loss"].high < 2.6


@pytest.mark.parametrize(
    ("objective", "model", "expected"),
    [
        ("bart", WRITER, {"token_accuracy": 85}),
        ("t5", WRITER, {"token_accuracy": 75}),
        ("unilm", BOTH, {"token_accuracy": 75, "masked_accuracy": 50}),
    ],
)
def test_what_is_missing_is_counted_up(folder, objective, model, expected):
    pretrain = CONFIGS[objective](**({"sentinels": 4} if objective == "t5" else {}))
    train = {"steps": 250 if objective == "unilm" else 150, "lr": 1e-2}
    found = trained(folder, counting, "lines", 24, pretrain, model, train)
    for name, least in expected.items():
        assert found.scores[name].value > least > 2 * found.floors[name]

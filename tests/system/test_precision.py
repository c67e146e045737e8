"""Training in bfloat16: every family learns, its weights stay in float32, and resuming is exact.

A CPU without bfloat16 arithmetic computes it in software, which is enough to try it.
"""

import random
from dataclasses import replace

import pytest
import torch

from headway import api
from headway.data.codecs.text import TextConfig
from headway.data.config import DataConfig
from headway.models.convolutional import ConvolutionalConfig
from headway.models.recurrent import RecurrentConfig
from headway.models.transformer import TransformerConfig
from headway.runs import RunDir
from headway.training import loop
from headway.training.config import TrainConfig
from headway.training.progress import Silent

STEPS = 24
MODELS = {
    "recurrent": RecurrentConfig(d_model=16),
    "convolutional": ConvolutionalConfig(d_model=16, encoder_layers=2, decoder_layers=2),
    "transformer": TransformerConfig(
        d_model=16, d_ff=32, n_heads=2, encoder_layers=1, decoder_layers=1
    ),
}


class Crash(Exception):
    """Nothing is saved."""


class Crashing(Silent):
    def update(self, step, total, figures):
        if step == STEPS - 3:
            raise Crash


class Notes(Silent):
    def __init__(self):
        self.notes = []

    def note(self, text):
        self.notes.append(text)


@pytest.fixture
def config(tmp_path, monkeypatch):
    """Of a run in bfloat16 on a CPU that says it has it."""
    monkeypatch.setenv("HEADWAY_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(loop, "LOG_SECONDS", 0.0)  # every update in the log
    monkeypatch.setattr(torch.cpu, "_is_avx512_bf16_supported", lambda: True)
    draw = random.Random(0)
    lines = ["".join(draw.choices("abcd", k=draw.randint(1, 6))) for _ in range(100)]
    text = "".join(f"{line}\t{line[::-1]}\n" for line in lines)
    (tmp_path / "pairs.tsv").write_text(text, "utf-8")
    settings = TrainConfig(
        steps=STEPS,
        evaluate_every=STEPS // 2,
        evaluate_sample=4,
        batch_tokens=256,
        accumulate=2,
        lr=1e-2,
        choose="last",
        precision="bf16",
    )
    return api.RunConfig(
        data=DataConfig(train="pairs.tsv", valid="pairs.tsv", root=str(tmp_path)),
        text=TextConfig(kind="characters"),
        train=settings,
        device="cpu",
    )


def losses(out):
    return [record["loss"] for record in RunDir.open(out).log.read() if "loss" in record]


@pytest.mark.parametrize("family", MODELS)
def test_it_learns_and_is_not_float32(config, tmp_path, family):
    config = replace(config, model=MODELS[family])
    api.train(config, tmp_path / "bf16")
    api.train(replace(config, train=replace(config.train, precision="fp32")), tmp_path / "fp32")
    low, full = losses(tmp_path / "bf16"), losses(tmp_path / "fp32")
    assert low[-1] < 0.8 * low[0]
    assert low != full
    assert low[0] == pytest.approx(full[0], rel=0.02)  # 8 bits of mantissa
    tensors, _ = RunDir.open(tmp_path / "bf16").load_weights()
    assert {value.dtype for value in tensors.values()} == {torch.float32}


@pytest.mark.parametrize("family", MODELS)
def test_resumed_is_uninterrupted(config, tmp_path, family):
    config = replace(config, model=MODELS[family])
    api.train(config, tmp_path / "whole")
    with pytest.raises(Crash):
        api.train(config, tmp_path / "killed", Crashing())
    api.resume(tmp_path / "killed")
    ours, theirs = (RunDir.open(tmp_path / name).load_weights()[0] for name in ("killed", "whole"))
    assert ours.keys() == theirs.keys()
    assert all(torch.equal(ours[name], theirs[name]) for name in theirs)
    assert losses(tmp_path / "killed") == losses(tmp_path / "whole")


def test_a_cpu_without_it_says_so_and_computes_in_float32(config, tmp_path, monkeypatch):
    monkeypatch.setattr(torch.cpu, "_is_avx512_bf16_supported", lambda: False)
    config = replace(config, model=MODELS["recurrent"])
    display = Notes()
    api.train(config, tmp_path / "bf16", display)
    assert "this cpu has no bfloat16 arithmetic; computing in fp32" in display.notes
    api.train(replace(config, train=replace(config.train, precision="fp32")), tmp_path / "fp32")
    assert losses(tmp_path / "bf16") == losses(tmp_path / "fp32")

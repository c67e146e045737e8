"""Encoders that give labels: shapes, pooling, order, settings that do not fit."""

import pytest
import torch

from headway.errors import DataError
from headway.models import FAMILIES, EncoderModel, VocabularySizes
from headway.models.encoder import EncoderConfig
from headway.models.recurrent_encoder import RecurrentEncoderConfig

SIZES = VocabularySizes(9, 3, shared=False)
SMALL = {"d_model": 8, "d_ff": 12, "n_heads": 2, "layers": 2, "dropout": 0.0}
CASES = [
    EncoderConfig(**SMALL),
    EncoderConfig(**SMALL, pooling="first"),
    EncoderConfig(**SMALL, pooling="first", positions="learned", max_positions=4),
    EncoderConfig(**SMALL, positions="rotary", residual="post", norm="rms"),
    RecurrentEncoderConfig(d_model=8, dropout=0.0),
    RecurrentEncoderConfig(d_model=8, dropout=0.0, cell="lstm", layers=2, bidirectional=False),
    RecurrentEncoderConfig(d_model=8, dropout=0.0, cell="rnn", pooling="mean"),
]
cases = pytest.mark.parametrize("config", CASES, ids=range(len(CASES)))


def build(config):
    torch.manual_seed(1)
    return FAMILIES[config.family].build(config.resolve(10, SIZES), SIZES).eval()


def batch_of(*texts):
    src = torch.tensor(texts)
    return {"src": src, "src_valid": src != 0}


@cases
def test_a_vector_of_each_text_and_a_logit_of_each_label(config):
    model, batch = build(config), batch_of([4, 5, 6, 2], [4, 2, 0, 0], [2, 0, 0, 0])
    assert isinstance(model, EncoderModel)
    states, pooled = model(batch)
    assert (states.shape, pooled.shape) == ((3, 4, 8), (3, 8))
    assert torch.equal(model.logits(batch), model.output(pooled))
    assert model.logits(batch).shape == (3, 3)
    assert model.logits(batch).isfinite().all()
    assert torch.equal(model.token_logits(batch), model.output(states))
    if config.family == "encoder" and config.pooling == "first":
        assert torch.equal(pooled, states[:, 0])


@cases
def test_backbone_and_head_are_apart(config):
    names = {name.partition(".")[0] for name, _ in build(config).named_parameters()}
    assert names == {"backbone", "output"}


@cases
def test_every_weight_learns(config):
    model = build(config).train()
    model.logits(batch_of([4, 5, 6, 2], [4, 2, 0, 0])).square().sum().backward()
    still = [n for n, p in model.named_parameters() if p.grad is None or not p.grad.any()]
    # In a bidirectional rnn or an attention some biases cancel; no matrix may.
    assert [name for name in still if "bias" not in name] == []


@cases
def test_order_is_told(config):
    model = build(config)
    logits = model.logits(batch_of([4, 5, 6, 2], [6, 5, 4, 2]))
    assert not torch.allclose(logits[0], logits[1], atol=1e-4)


@pytest.mark.parametrize("pooling", ["mean", "first"])
def test_without_positions_order_is_lost(pooling):
    model = build(EncoderConfig(**SMALL, positions="none", pooling=pooling))
    logits = model.logits(batch_of([1, 4, 5, 6, 2], [1, 6, 5, 4, 2]))
    torch.testing.assert_close(logits[0], logits[1])


def test_learned_positions_hold_the_longest_text():
    model = build(CASES[2])
    model.logits(batch_of([4, 5, 6, 2]))
    with pytest.raises(DataError, match="beyond the 4 learned positions"):
        model.logits(batch_of([4, 5, 6, 7, 2]))


def test_settings_that_do_not_fit():
    with pytest.raises(ValueError, match="d_model=7 is odd"):
        RecurrentEncoderConfig(d_model=7)

"""Families learn from vectors in seconds: digits as grids, and a decoder that continues waves."""

import math

import pytest
import torch

from headway.models import VocabularySizes, build_model
from headway.models.encoder import EncoderConfig
from headway.models.family import Vectors
from headway.models.recurrent import RecurrentConfig
from headway.models.recurrent_encoder import RecurrentEncoderConfig
from headway.models.transformer import TransformerConfig
from headway.nn.inputs import VectorInputConfig

DIGITS = VocabularySizes(0, 10, shared=False, vectors=Vectors(1, (8, 8)))
SIZES = {"d_model": 32, "d_ff": 64, "n_heads": 2, "dropout": 0.0}
READERS = {
    "patches": EncoderConfig(**SIZES, layers=2, input=VectorInputConfig(patch=2)),
    "learned, class": EncoderConfig(
        **SIZES,
        layers=2,
        positions="learned",
        pooling="first",
        input=VectorInputConfig(patch=2, class_vector=True),
    ),
    "stem": EncoderConfig(**SIZES, layers=2, input=VectorInputConfig(stem="convolution", stride=2)),
    "all": EncoderConfig(
        **SIZES, layers=1, pooling="all", input=VectorInputConfig(patch=4, stride=2)
    ),
    "recurrent": RecurrentEncoderConfig(d_model=32, input=VectorInputConfig(patch=2)),
}


@pytest.fixture(scope="module")
def digits():
    from sklearn.datasets import load_digits

    images, labels = load_digits(return_X_y=True)
    src = torch.tensor(images, dtype=torch.float32).view(-1, 8, 8, 1) / 8 - 1
    order = torch.randperm(len(src), generator=torch.Generator().manual_seed(3))
    return src[order], torch.tensor(labels)[order]


def some(src, rows):
    return {"src": src[rows], "src_valid": torch.ones(src[rows].shape[:-1], dtype=torch.bool)}


@pytest.mark.parametrize("config", READERS.values(), ids=READERS)
def test_digits_are_read_from_their_pixels(config, digits):
    src, labels = digits
    torch.manual_seed(0)
    model = build_model(config.resolve(1500, DIGITS), DIGITS)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    draw = torch.Generator().manual_seed(1)
    for _ in range(200):
        rows = torch.randint(1400, (64,), generator=draw)
        optimizer.zero_grad()
        logits = model.logits(some(src, rows))
        torch.nn.functional.cross_entropy(logits, labels[rows]).backward()
        optimizer.step()
    with torch.inference_mode():
        found = model.eval().logits(some(src, torch.arange(1400, 1797))).argmax(1)
    assert (found == labels[1400:]).float().mean() > 0.8  # guessing: 0.1


PATCH, READ, WRITTEN = 4, 8, 4
WAVES = VocabularySizes(
    0, PATCH, shared=False, vectors=Vectors(1, (READ * PATCH,)), target_features=PATCH
)
WRITERS = {
    "transformer": TransformerConfig(
        **SIZES, encoder_layers=2, decoder_layers=1, input=VectorInputConfig(patch=PATCH)
    ),
    "recurrent": RecurrentConfig(d_model=32, input=VectorInputConfig(patch=PATCH)),
}


def waves(n, draw):
    """Sines of random periods and phases: what is read, and the patches that continue it."""
    period = 8 + 16 * torch.rand(n, 1, generator=draw)
    phase = 2 * math.pi * torch.rand(n, 1, generator=draw)
    times = torch.arange((READ + WRITTEN) * PATCH)
    x = (2 * math.pi * times / period + phase).sin()
    src, rest = x[:, : READ * PATCH, None], x[:, READ * PATCH :].unflatten(1, (WRITTEN, PATCH))
    last = src[:, -PATCH:, 0][:, None]
    batch = {"src": src, "src_valid": torch.ones(src.shape[:2], dtype=torch.bool)}
    return {**batch, "tgt_in": torch.cat([last, rest[:, :-1]], dim=1)}, rest


@torch.inference_mode()
def continued(model, batch):
    """Patches, each read as the input of the next."""
    state, values, written = model.start(batch), batch["tgt_in"][:, None, :1], []
    for _ in range(WRITTEN):
        found, state = model.step(values, state)  # (B, 1, PATCH)
        written.append(found[:, 0])
        values = found[:, :, None]
    return torch.stack(written, dim=1)


@pytest.mark.parametrize("config", WRITERS.values(), ids=WRITERS)
def test_waves_are_continued_patch_by_patch(config):
    torch.manual_seed(0)
    model = build_model(config.resolve(1000, WAVES), WAVES)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    draw = torch.Generator().manual_seed(1)
    for _ in range(300):
        batch, rest = waves(64, draw)
        optimizer.zero_grad()
        (model.output(model(batch)) - rest).square().mean().backward()
        optimizer.step()
    batch, rest = waves(200, draw)
    found = continued(model.eval(), batch)
    assert (found - rest).square().mean() < 0.1 * rest.square().mean()

"""The recurrent encoder: poolings, padding, settings that do not fit."""

import pytest
import torch

from headway.models import VocabularySizes
from headway.models.recurrent_encoder import (
    RECURRENT_ENCODER,
    RecurrentBackbone,
    RecurrentEncoderConfig,
)

cells = pytest.mark.parametrize("cell", ["rnn", "gru", "lstm"])


def read(src, valid, **settings):
    torch.manual_seed(0)
    config = RecurrentEncoderConfig(d_model=4, **settings)
    batch = {"src": torch.tensor(src), "src_valid": torch.tensor(valid)}
    return RecurrentBackbone(config, VocabularySizes(6, 6, shared=True)).eval()(batch)


@cells
def test_the_last_state_of_one_direction_is_that_of_the_last_word(cell):
    states, vector = read(
        [[3, 4, 5], [3, 0, 0]], [[True] * 3, [True, False, False]], cell=cell, bidirectional=False
    )
    torch.testing.assert_close(vector, torch.stack([states[0, 2], states[1, 0]]))


@cells
def test_in_two_directions_each_ends_at_its_own_end(cell):
    states, vector = read([[3, 4, 5]], [[True] * 3], cell=cell, layers=2)
    torch.testing.assert_close(vector[0], torch.cat([states[0, 2, :2], states[0, 0, 2:]]))


def test_the_mean_is_over_words_alone():
    states, vector = read([[3, 4, 0]], [[True, True, False]], pooling="mean")
    torch.testing.assert_close(vector, states[:, :2].mean(dim=1))


def test_a_text_without_words_has_a_finite_vector():
    for pooling in ("last", "mean"):
        _, vector = read([[0, 0]], [[False, False]], pooling=pooling)
        assert vector.isfinite().all()


def test_an_odd_width_cannot_be_halved():
    with pytest.raises(ValueError) as caught:
        RecurrentEncoderConfig(d_model=5)
    assert str(caught.value) == (
        "d_model=5 is odd and cannot be halved for two directions; try d_model=6, or "
        "bidirectional = false"
    )
    assert RecurrentEncoderConfig(d_model=5, bidirectional=False).d_model == 5


def test_settings_leave_nothing_open_and_the_encoder_is_named():
    config = RecurrentEncoderConfig(d_model=4)
    sizes = VocabularySizes(6, 3, shared=False)
    assert config.resolve(10, sizes) == config
    names = RECURRENT_ENCODER.build(config, sizes).state_dict()
    assert "backbone.embedding" in names
    assert RECURRENT_ENCODER.encoder == ("backbone.",)

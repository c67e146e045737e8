"""Encoders of trained runs: special tokens, length limits, states in batches, refusals."""

import numpy as np
import pytest
import torch
from predictor_runs import VALUED

import headway
from headway.errors import ConfigError, DataError
from headway.inference.text_encoder import TextEncoder, require_encoder

TEXTS = [text for text, _ in VALUED]


@pytest.fixture(scope="module")
def encoder(predictors):
    return TextEncoder(headway.load(predictors / "regress"))


def test_a_text_gets_its_special_tokens(encoder):
    ids = encoder.codec.tokenizer.encode("so good")
    assert encoder.add_special_tokens(ids, "x").tolist() == [*ids, encoder.codec.eos]
    assert encoder.length("so good", "x", "") == 3
    assert encoder.length("", "x", "") == 1


def test_a_text_that_is_too_long_is_refused_or_cut(encoder):
    ids = encoder.codec.tokenizer.encode("so " * 20)
    with pytest.raises(DataError) as error:
        encoder.add_special_tokens(ids, "a.txt:3")
    assert str(error.value) == (
        "a.txt:3 has 21 tokens and the model was trained with at most 12; shorten it, or have it "
        'cut off (`too_long="cut"`)'
    )
    with pytest.raises(DataError, match=r"^field has 21 tokens .* at most 12; send less$"):
        encoder.length("so " * 20, "field", "send less")
    cut = encoder.add_special_tokens(ids, "a.txt:3", "cut")
    assert cut.tolist() == [*ids[:11], encoder.codec.eos], "the end mark stays"
    assert len(encoder.add_special_tokens(ids[:11], "a.txt:3")) == 12, "the limit itself fits"


def test_batches_give_what_single_texts_give(encoder):
    framed = encoder.codec.encode_batch(TEXTS)
    rows = []
    for batch in encoder.read(framed):
        assert batch.states.shape == (len(batch.rows), batch.valid.size(1), encoder.width)
        assert batch.pooled.shape == (len(batch.rows), encoder.width)
        for row, states, pooled, valid in zip(
            batch.rows, batch.states, batch.pooled, batch.valid, strict=True
        ):
            [alone] = encoder.read([framed[row]])
            assert int(valid.sum()) == len(framed[row])
            torch.testing.assert_close(states[valid], alone.states[0], atol=1e-5, rtol=0)
            torch.testing.assert_close(pooled, alone.pooled[0], atol=1e-5, rtol=0)
        rows += batch.rows
    assert sorted(rows) == [0, 1, 2, 3]


def test_nothing_is_computed_for_no_texts(encoder):
    assert list(encoder.read([])) == []


def test_states_need_no_gradient(encoder):
    [batch] = encoder.read([np.array([4, encoder.codec.eos])])
    assert not batch.states.requires_grad


def test_a_family_without_states_of_a_text_is_refused(folder):
    translator = headway.load(folder / "pre")
    with pytest.raises(ConfigError) as error:
        require_encoder(translator)
    assert str(error.value).startswith(
        f"the model of {folder / 'pre'} is of the family 'transformer', which gives no states of "
        "a text; take a run of one of recurrent_encoder, encoder, unilm"
    )


def test_an_ensemble_is_refused(predictors):
    with pytest.raises(ConfigError, match="reading texts takes one run, not an ensemble"):
        TextEncoder(headway.load(predictors / "regress", predictors / "regress"))

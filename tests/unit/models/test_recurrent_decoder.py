"""Recurrent language models: sizes, sharing, and that the state is all they remember."""

import pytest
import torch

from headway.models import FAMILIES, VocabularySizes
from headway.models.recurrent_decoder import RecurrentDecoder, RecurrentDecoderConfig

SIZES = VocabularySizes(11, 11, True)
cells = pytest.mark.parametrize(("cell", "gates"), [("rnn", 1), ("gru", 3), ("lstm", 4)])


def make(**given):
    torch.manual_seed(0)
    small = {"d_model": 8, "dropout": 0.0, **given}
    return RecurrentDecoder(RecurrentDecoderConfig(**small).resolve(1, SIZES), SIZES).eval()


def n_parameters(model):
    return sum(p.numel() for p in model.parameters())


def test_it_has_no_source_and_nothing_to_look_at():
    family = FAMILIES["recurrent_decoder"]
    assert (family.source, family.learns) == ("none", "gradient")
    assert family.abilities == {"step", "score"}


@cells
def test_a_layer_has_a_matrix_for_input_and_state_of_each_gate(cell, gates):
    one, two = make(cell=cell), make(cell=cell, layers=2)
    layer = gates * (2 * 8 * 8 + 2 * 8)
    assert n_parameters(one) == 11 * 8 + 11 + layer
    assert n_parameters(two) == n_parameters(one) + layer


def test_one_matrix_or_two():
    shared, apart = make(), make(share=False)
    assert shared.embedding is shared.output.weight
    assert n_parameters(apart) - n_parameters(shared) == 11 * 8


def test_by_hand_with_one_unit():
    """`h' = tanh(w y + u h)`, and logits `e h` with the embedding e, which is also y."""
    model = make(cell="rnn", d_model=1)
    [layer] = model.decoder.stack
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.zero_()
        layer.weight_ih_l0.fill_(2.0)
        layer.weight_hh_l0.fill_(-1.0)
        model.embedding[:, 0] = torch.arange(11) / 10
    h1 = torch.tanh(torch.tensor(2 * 0.1))  # the begin mark
    h2 = torch.tanh(2 * 0.5 - h1)
    hidden = model({"tgt_in": torch.tensor([[1, 5]])})
    torch.testing.assert_close(hidden, torch.stack([h1, h2]).view(1, 2, 1))
    logits, _ = model.step(torch.tensor([[[1, 5]]]), model.start({"tgt_in": torch.ones(1, 1)}))
    torch.testing.assert_close(logits[0, 0], torch.arange(11) / 10 * h2)


@cells
def test_the_batch_says_only_how_many_rows_there_are(cell, gates):
    model = make(cell=cell, layers=2)
    for batch in ({"tgt_in": torch.ones(3, 1).long()}, {"src": torch.ones(3, 7).long()}):
        logits, _ = model.step(torch.ones(3, 1, 1).long(), model.start(batch))
        assert logits.shape == (3, 1, 11)


@cells
def test_it_reads_its_own_past_and_nothing_else(cell, gates):
    model, tokens = make(cell=cell), torch.tensor([[1, 4, 5], [1, 6, 7]])
    expected = model({"tgt_in": tokens})
    assert torch.equal(model({"src": torch.tensor([[9], [9]]), "tgt_in": tokens}), expected)
    changed = tokens.clone()
    changed[:, 2] = 10
    found = model({"tgt_in": changed})
    torch.testing.assert_close(found[:, :2], expected[:, :2])
    assert not torch.allclose(found[:, 2], expected[:, 2])

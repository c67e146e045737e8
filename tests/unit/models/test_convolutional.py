"""The convolutional family: causality, padding, its cache and its attention."""

import pytest
import torch

from headway.errors import DataError
from headway.models.convolutional import Convolutional, ConvolutionalConfig
from headway.models.family import VocabularySizes
from headway.nn.capture import capture
from headway.nn.positions import NoPositions

SIZES = VocabularySizes(9, 9, True)
KERNELS = [1, 2, 3, 4]


def make(sizes=SIZES, **given):
    settings = {"d_model": 8, "encoder_layers": 2, "decoder_layers": 2, **given}
    torch.manual_seed(0)
    return Convolutional(ConvolutionalConfig(**settings).resolve(1, sizes), sizes)


def batch(lengths, n_target=12):
    width = max(lengths)
    draw = torch.Generator().manual_seed(1)
    shape = (len(lengths), n_target)
    return {
        "src": torch.randint(4, 9, (len(lengths), width), generator=draw),
        "src_valid": torch.arange(width) < torch.tensor(lengths)[:, None],
        "tgt_in": torch.randint(4, 9, shape, generator=draw),
    }


@pytest.mark.parametrize("kernel", KERNELS)
def test_a_later_token_changes_nothing_before_it(kernel):
    model, given = make(kernel=kernel).eval(), batch([3, 5])
    changed = {**given, "tgt_in": given["tgt_in"].clone()}
    changed["tgt_in"][:, 6] = 3
    before, after = model(given), model(changed)
    torch.testing.assert_close(after[:, :6], before[:, :6])
    reach = 2 * (kernel - 1) + 1  # of two layers
    assert ((after - before)[:, 6 : 6 + reach].abs().amax(-1) > 1e-6).all()
    torch.testing.assert_close(after[:, 6 + reach :], before[:, 6 + reach :])


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("cuts", [[12], [1] * 12, [1, 11], [5, 1, 1, 3, 2]], ids=str)
def test_steps_of_any_size_are_the_teacher_forced_pass(kernel, cuts):
    """Also those that are longer than the kernel, and shorter."""
    model, given = make(kernel=kernel).eval(), batch([3, 5])
    expected = model.output(model(given))
    state, end = model.start(given), 0
    for tokens in given["tgt_in"][:, None].split(cuts, dim=2):
        end += tokens.size(2)
        logits, state = model.step(tokens, state)
        torch.testing.assert_close(logits[:, 0], expected[:, end - 1])


@pytest.mark.parametrize("kernel", KERNELS)
def test_a_prefix_is_its_tokens(kernel):
    model, given = make(kernel=kernel).eval(), batch([3, 5])
    expected = model.output(model(given))
    for n in (1, 2, 9):
        state = model.start(given, prefix=given["tgt_in"][:, :n])
        logits, _ = model.step(given["tgt_in"][:, None, n : n + 1], state)
        torch.testing.assert_close(logits[:, 0], expected[:, n])


def test_the_cache_holds_one_window_however_long_the_past_is():
    model, given = make(kernel=3).eval(), batch([3, 5])
    _, state = model.step(given["tgt_in"][:, None], model.start(given))
    assert [tuple(value.shape) for value in state.cache["past"].inputs] == [(2, 1, 2, 8)] * 2
    wider = state.reorder(torch.zeros(2, 5, dtype=torch.long))
    assert wider.memory["key"].shape == wider.memory["value"].shape == (2, 1, 5, 8)


@pytest.mark.parametrize("kernel", KERNELS)
def test_padding_does_not_leak(kernel):
    model, given = make(kernel=kernel).eval(), batch([7, 2, 1])
    together = model(given)
    for row, length in enumerate([7, 2, 1]):
        alone = {name: value[row : row + 1] for name, value in given.items()}
        alone |= {name: alone[name][:, :length] for name in ("src", "src_valid")}
        torch.testing.assert_close(together[row], model(alone)[0])


def test_a_source_of_padding_alone_or_of_no_width_gives_numbers():
    model, given = make().eval(), batch([4, 3])
    given["src_valid"][1] = False
    hidden = model(given)
    assert hidden.isfinite().all()
    nothing = {**given, "src": given["src"][:, :0], "src_valid": given["src_valid"][:, :0]}
    torch.testing.assert_close(model(nothing)[1], hidden[1])


def test_learned_positions_end_where_they_end():
    model = make(positions="learned", max_positions=6).eval()
    assert model(batch([6, 1], n_target=6)).isfinite().all()
    with pytest.raises(DataError, match="position 7 is beyond the 6 learned positions"):
        model(batch([7, 1], n_target=6))
    _, state = model.step(batch([6], 6)["tgt_in"][:, None], model.start(batch([6])))
    with pytest.raises(DataError, match="position 7 is beyond"):
        model.step(torch.tensor([[[4]]]), state)


def test_order_beyond_the_reach_of_the_convolutions_is_told_by_positions():
    """One layer of kernel one sees no neighbour: only positions know the order."""
    model = make(encoder_layers=1, kernel=1).eval()
    given = batch([5])
    key, _, _ = model.encode(given)
    turned, _, _ = model.encode({**given, "src": given["src"].flip(1)})
    assert (turned.flip(2) - key).abs().max() > 1e-2
    model.source_positions = NoPositions()
    key, _, _ = model.encode(given)
    turned, _, _ = model.encode({**given, "src": given["src"].flip(1)})
    torch.testing.assert_close(turned.flip(2), key)


def test_every_layer_has_one_head_over_the_source_and_stepping_records_the_same():
    model, given = make().eval(), batch([5, 1])
    with capture(model) as whole:
        model(given)
    assert set(whole) == {"decoder.0.attention", "decoder.1.attention"}
    for weights in whole.values():
        assert weights.shape == (2, 1, 12, 5)
        assert (weights[1, 0, :, 0] == 1).all()
    with capture(model) as stepped:
        state = model.start(given)
        for t in range(12):
            _, state = model.step(given["tgt_in"][:, None, t : t + 1], state)
    for name, weights in whole.items():
        torch.testing.assert_close(stepped[name], weights)


def test_states_start_with_the_variance_of_embeddings():
    """However many layers there are; without the factors it would double in each.

    Attention that is not quite uniform adds a little in every layer of the decoder. Positions are
    learned ones: sines are alike in all words, so that their mean is no smaller.
    """
    sizes = VocabularySizes(500, 500, True)
    for n in (1, 8):
        layers = {"encoder_layers": n, "decoder_layers": n}
        model = make(sizes, d_model=64, positions="learned", dropout=0.0, **layers)
        src = torch.randint(4, 500, (8, 20))
        given = {"src": src, "src_valid": torch.ones_like(src, dtype=torch.bool), "tgt_in": src}
        key, value, _ = model.encode({**given, "src": src})
        assert key.var().item() == pytest.approx(1.0, abs=0.25)
        assert value.var().item() / 20 == pytest.approx(1.0, abs=0.25)  # for a mean of 20 words
        assert 0.75 < model(given).var().item() < 5


def test_dropout_in_training_only():
    model, given = make(dropout=0.5), batch([3])
    assert not torch.equal(model.train()(given), model(given))
    assert torch.equal(model.eval()(given), model(given))

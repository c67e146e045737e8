"""The decoder-only Transformer: sizes, sharing, positions, and that it looks at nothing else."""

import pytest
import torch

from headway.models import FAMILIES, VocabularySizes
from headway.models.decoder import Decoder, DecoderConfig
from headway.nn.capture import capture

SIZES = VocabularySizes(11, 11, True)


def make(**given):
    torch.manual_seed(0)
    small = {"d_model": 8, "d_ff": 12, "n_heads": 2, "layers": 2, "dropout": 0.0, **given}
    return Decoder(DecoderConfig(**small).resolve(1, SIZES), SIZES).eval()


def test_it_declares_that_it_has_no_source():
    assert FAMILIES["decoder"].source == "none"
    assert FAMILIES["decoder"].learns == "gradient"


def test_one_matrix_or_two():
    shared, apart = make(), make(share=False)
    assert shared.embedding is shared.output.weight
    assert apart.embedding is not apart.output.weight
    more = sum(p.numel() for p in apart.parameters()) - sum(p.numel() for p in shared.parameters())
    assert more == 11 * 8


def test_it_reads_its_own_past_and_nothing_else():
    model, tokens = make(), torch.tensor([[1, 4, 5], [1, 6, 7]])
    expected = model({"tgt_in": tokens})
    assert expected.shape == (2, 3, 8)
    other = {"src": torch.tensor([[9], [9]]), "tgt_in": tokens}
    assert torch.equal(model(other), expected)
    changed = tokens.clone()
    changed[:, 2] = 10
    torch.testing.assert_close(model({"tgt_in": changed})[:, :2], expected[:, :2])
    assert not torch.allclose(model({"tgt_in": changed})[:, 2], expected[:, 2])


def test_the_batch_says_only_how_many_rows_there_are():
    model = make()
    for batch in ({"tgt_in": torch.ones(3, 1).long()}, {"src": torch.ones(3, 7).long()}):
        logits, _ = model.step(torch.ones(3, 1, 1).long(), model.start(batch))
        assert logits.shape == (3, 1, 11)


def test_attention_is_causal():
    model = make()
    with capture(model) as maps:
        model({"tgt_in": torch.tensor([[1, 4, 5, 6]])})
    assert len(maps) == 2
    for weights in maps.values():
        assert weights.shape == (1, 2, 4, 4)
        assert (weights.triu(1) == 0).all()


@pytest.mark.parametrize("positions", ["sinusoidal", "learned", "rotary", "none"])
def test_order_is_told_unless_it_is_not(positions):
    """The last position sees the two before it in either order."""
    # Under a causal mask a second layer sees the order even without positions; one layer does not.
    single = make(positions=positions, layers=1)
    one, other = (single({"tgt_in": torch.tensor([row])})[0, -1] for row in ([4, 5, 6], [5, 4, 6]))
    assert torch.allclose(one, other, atol=1e-5) == (positions == "none")


def test_settings_that_do_not_fit():
    with pytest.raises(ValueError, match="rotary positions rotate pairs; d_head=5 is odd"):
        make(d_model=10)

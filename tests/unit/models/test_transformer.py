"""The Transformer: the parameter counts of the paper, embeddings, positions, norms, dropout."""

import pytest
import torch

from headway.models import FAMILIES, VocabularySizes
from headway.models.transformer import Transformer, TransformerConfig

PAPER = VocabularySizes(37_000, 37_000, True)  # "about 37000 tokens"
SMALL = VocabularySizes(11, 11, True)


def count(preset, **given):
    """Parameters of the paper's model: post-norm, all embeddings shared, no output bias."""
    config = TransformerConfig(preset=preset, residual="post", **given).resolve(1, PAPER)
    with torch.device("meta"):  # shapes without numbers: big is close to a gigabyte
        model = Transformer(config, PAPER)
    return sum(p.numel() for p in model.parameters()) / 1e6


@pytest.mark.parametrize(("preset", "millions"), [("base", 65), ("big", 213)])
def test_counts_agree_with_the_paper(preset, millions):
    """To 3%: the paper rounds and gives its vocabulary as "about 37000".

    No vocabulary meets both figures: 65M would need one of 40,700 and 213M one of 35,800. All
    that does not depend on it is in the next test, where there is no such doubt.
    """
    assert count(preset) == pytest.approx(millions, rel=0.03)


def test_counts_by_formula():
    """Base: 18 attentions, 12 feed-forwards, 30 norms, one embedding."""
    d, f = 512, 2048
    attention = 4 * (d * d + d)
    feed = 2 * d * f + f + d
    assert count("base") == pytest.approx(
        (18 * attention + 12 * feed + 30 * 2 * d + 37_000 * d) / 1e6, abs=1e-9
    )


@pytest.mark.parametrize(
    ("given", "millions"),
    [
        ({"encoder_layers": 2, "decoder_layers": 2}, 36),
        ({"encoder_layers": 4, "decoder_layers": 4}, 50),
        ({"encoder_layers": 8, "decoder_layers": 8}, 80),
        ({"d_head": 16, "d_value": 64}, 58),
        ({"d_head": 32, "d_value": 64}, 60),
        ({"d_ff": 1024}, 53),
        ({"d_ff": 4096}, 90),
    ],
    ids=str,
)
def test_differences_agree_with_the_papers_table_3(given, millions):
    """Rows that leave the embedding alone: the vocabulary falls out. Both figures are rounded."""
    assert count("base", **given) - count("base") == pytest.approx(millions - 65, abs=1.0)


def test_pre_norm_adds_two_norms():
    config = TransformerConfig(preset="base", residual="pre").resolve(1, PAPER)
    with torch.device("meta"):
        n = sum(p.numel() for p in Transformer(config, PAPER).parameters())
    assert n / 1e6 == pytest.approx(count("base") + 4 * 512 / 1e6, abs=1e-9)


def test_parameters_do_not_grow_with_the_input():
    def n(**given):
        config = TransformerConfig(preset="tiny", **given).resolve(1, SMALL)
        return sum(p.numel() for p in Transformer(config, SMALL).parameters())

    assert n() == n(max_positions=10**6) == n(positions="rotary") == n(positions="none")
    assert n(positions="learned", max_positions=50) == n() + 2 * 50 * 128


def small(**given):
    sizes = {"d_model": 8, "d_ff": 12, "n_heads": 2, "encoder_layers": 1, "decoder_layers": 1}
    config = TransformerConfig(**{**sizes, "dropout": 0.0, **given}).resolve(1, SMALL)
    torch.manual_seed(0)
    return FAMILIES["transformer"].build(config, SMALL).eval()


def test_embeddings_are_scaled_by_the_root_of_the_width():
    tokens = torch.tensor([[4, 5]])
    plain = small(positions="none", scale_embeddings=False)
    scaled = small(positions="none")
    for model, factor in ((plain, 1.0), (scaled, 8**0.5)):
        expected = model.target_embedding[tokens] * factor
        torch.testing.assert_close(model._embed(tokens, 0), expected)


def memory(model, src):
    """The memory of sources without padding."""
    return model.encode({"src": src, "src_valid": torch.ones_like(src, dtype=torch.bool)})[0]


def test_without_positions_the_encoder_is_equivariant():
    model, src = small(positions="none"), torch.tensor([[4, 7, 5, 9, 2]])
    order = torch.tensor([3, 0, 4, 1, 2])
    moved, still = memory(model, src[:, order]), memory(model, src)[:, order]
    torch.testing.assert_close(moved, still)
    placed = small()
    difference = memory(placed, src[:, order]) - memory(placed, src)[:, order]
    assert difference.abs().max() > 1e-2


def test_rotary_alone_tells_the_order_without_adding_to_the_embedding():
    model, src = small(positions="rotary"), torch.tensor([[4, 7, 5]])
    turned = memory(model, src.flip(1)) - memory(model, src).flip(1)
    assert turned.abs().max() > 1e-3


def test_post_norm_ends_normalised_and_pre_norm_has_a_last_norm():
    assert isinstance(small(residual="post").decoder_norm, torch.nn.Identity)
    assert isinstance(small(residual="pre").decoder_norm, torch.nn.LayerNorm)


def test_sides_have_learned_positions_of_their_own():
    model = small(positions="learned", max_positions=9)
    assert model.positions.weight is not model.target_positions.weight
    assert model.positions.weight.shape == (9, 8)


def test_dropout_is_everywhere_it_is_set_and_nowhere_in_evaluation():
    batch = {
        "src": torch.tensor([[4, 5, 2]]),
        "src_valid": torch.ones(1, 3, dtype=torch.bool),
        "tgt_in": torch.tensor([[1, 6]]),
    }
    for kind in ("dropout", "attention_dropout", "activation_dropout"):
        model = small(**{kind: 0.5})
        assert torch.equal(model(batch), model(batch))
        model.train()
        torch.manual_seed(0)
        first = model(batch)
        assert not torch.equal(first, model(batch)), kind
        torch.manual_seed(0)
        assert torch.equal(first, model(batch)), kind


def test_what_goes_to_the_output_layer_may_be_scaled():
    plain, scaled = small(), small(scale_output=True)
    scaled.load_state_dict(plain.state_dict())
    src, tgt = torch.tensor([[4, 5, 2]]), torch.tensor([[1, 4]])
    batch = {"src": src, "src_valid": src != 0, "tgt_in": tgt}
    torch.testing.assert_close(scaled(batch), plain(batch) * 8**-0.5)
    logits, _ = scaled.step(tgt[:, None], scaled.start(batch))
    torch.testing.assert_close(logits[0, 0], scaled.output(scaled(batch))[0, -1])

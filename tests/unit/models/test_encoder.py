"""The presets of BERT, with the numbers of weights that its authors and others report."""

import pytest
import torch

from headway.errors import DataError
from headway.models import FAMILIES, VocabularySizes, build_model
from headway.models.encoder import BERT, USUAL, EncoderConfig
from headway.models.family import Vectors
from headway.nn.capture import capture
from headway.nn.inputs import VectorInputConfig
from headway.nn.pooling import all_states, mean_pool

WORDS = 30_522
COUNTS = {  # without heads, and with those it is pre-trained with
    "bert-tiny": (4_385_920, 4_433_468),
    "bert-mini": (11_170_560, 11_267_900),
    "bert-small": (28_763_648, 29_058_876),
    "bert-base": (109_482_240, 110_106_428),
    "bert-large": (335_141_888, 336_226_108),
}
PUBLISHED = {"bert-tiny": 4.4, "bert-mini": 11.3, "bert-small": 29.1, "bert-base": 110.1}
"""Millions, with heads (Turc et al. 2019); of large the paper says 340."""


@pytest.mark.parametrize("preset", COUNTS)
def test_counts_agree_with_the_published_ones(preset):
    sizes = VocabularySizes(WORDS, WORDS, shared=True, head="masked_next")
    config = EncoderConfig(preset=preset).resolve(1, sizes)
    with torch.device("meta"):  # shapes alone
        model = FAMILIES["encoder"].build(config, sizes)
    counts = [sum(p.numel() for p in part.parameters()) for part in (model.backbone, model)]
    assert tuple(counts) == COUNTS[preset]
    if preset in PUBLISHED:
        assert round(counts[1] / 1e6, 1) == PUBLISHED[preset]


def test_a_preset_of_bert_decides_what_is_left_out_and_nothing_else():
    assert {name: getattr(EncoderConfig(), name) for name in USUAL} == USUAL
    bert = EncoderConfig(preset="bert-mini")
    assert {name: getattr(bert, name) for name in BERT} == BERT
    given = EncoderConfig(preset="bert-mini", residual="pre", segments=0, pooler=False, d_ff=10)
    assert (given.residual, given.segments, given.pooler) == ("pre", 0, False)
    assert given.positions == "learned"
    resolved = given.resolve(10**9, VocabularySizes(9, 9, shared=True))
    assert (resolved.d_model, resolved.layers, resolved.d_ff) == (256, 4, 10)


def test_a_second_text_is_told_from_the_first_where_there_are_two_segments():
    sizes = VocabularySizes(9, 3, shared=False)
    src = torch.tensor([[4, 5, 2, 6, 2]])
    batch = {"src": src, "src_valid": src != 0}
    paired = {**batch, "segment": torch.tensor([[0, 0, 0, 1, 1]])}
    for segments, is_told in ((0, False), (1, False), (2, True)):
        given = EncoderConfig(d_model=8, d_ff=8, n_heads=2, layers=1, segments=segments)
        torch.manual_seed(0)
        model = FAMILIES["encoder"].build(given.resolve(1, sizes), sizes).eval()
        assert torch.equal(model.logits(batch), model.logits(paired)) is not is_told


SMALL = {"d_model": 8, "d_ff": 8, "n_heads": 2, "layers": 2}


def of_vectors(size=(12,), **settings):
    sizes = VocabularySizes(0, 3, shared=False, vectors=Vectors(2, size))
    given = {"input": VectorInputConfig(patch=4), **SMALL, **settings}
    torch.manual_seed(0)
    return FAMILIES["encoder"].build(EncoderConfig(**given).resolve(9, sizes), sizes).eval()


def series(n=12, rows=2):
    return {"src": torch.randn(rows, n, 2), "src_valid": torch.ones(rows, n, dtype=torch.bool)}


def test_the_head_reads_what_is_pooled():
    batch = series()
    batch["src_valid"][1, 8:] = False
    valid = torch.tensor([[True] * 3, [True, True, False]])
    vector = VectorInputConfig(patch=4, class_vector=True)
    for settings, pool in (
        ({"pooling": "mean"}, lambda states: mean_pool(states, valid)),
        ({"pooling": "all"}, lambda states: all_states(states, valid)),
        ({"pooling": "first"}, lambda states: states[:, 0]),
        ({"pooling": "first", "input": vector}, lambda states: states[:, 0]),
    ):
        model = of_vectors(**settings)
        states, pooled = model(batch)
        assert states.shape == (2, 4 if "input" in settings else 3, 8)
        torch.testing.assert_close(pooled, pool(states))
        assert pooled.size(1) == model.backbone.width == model.output.weight.size(1)
        expected = pooled @ model.output.weight.T + model.output.bias
        torch.testing.assert_close(model.logits(batch), expected)


def test_pooling_all_needs_inputs_of_one_length():
    for sizes, what in (
        (VocabularySizes(9, 3, shared=False), "tokens"),
        (VocabularySizes(0, 3, shared=False, vectors=Vectors(2, (0,))), "of several lengths"),
    ):
        message = f'pooling = "all" needs vectors of one length, and these are {what}; set pooling'
        with pytest.raises(ValueError, match=message):
            EncoderConfig(pooling="all").resolve(9, sizes)
    with pytest.raises(ValueError, match=r'"all" gives all states to the head, and pooler = true'):
        EncoderConfig(pooling="all", pooler=True)
    model = of_vectors(pooling="all")
    assert torch.equal(model.logits(series(9)).isfinite(), torch.ones(2, 3, dtype=torch.bool))
    with pytest.raises(DataError, match=r"^an input has 4 patches, and this model reads 3; give"):
        model.logits(series(13))


def test_maps_of_vectors_are_of_patches():
    for settings in ({}, {"input": VectorInputConfig(patch=4, stride=2)}):
        model, batch = of_vectors(size=(0,), **settings), series(11)
        with torch.inference_mode(), capture(model) as maps:
            model(batch)
        n_patches = len(model.config.input.spans(11))
        assert [weights.shape for weights in maps.values()] == [(2, 2, n_patches, n_patches)] * 2


def test_a_bert_of_vectors_has_no_segments():
    model = of_vectors(preset="bert-tiny")
    assert model.config.segments == 0
    assert model.logits(series()).shape == (2, 3)
    with pytest.raises(
        ValueError, match=r"^segments = 2 is for pairs of texts, and this task reads"
    ):
        of_vectors(segments=2)


WINDOWS = VocabularySizes(0, 6, False, vectors=Vectors(1, (12,), targets=1, horizon=6))


def test_forecasters_have_a_shortcut_unless_it_is_switched_off():
    assert EncoderConfig().resolve(9, WINDOWS).shortcut is True
    assert EncoderConfig(shortcut=False).resolve(9, WINDOWS).shortcut is False
    assert EncoderConfig().resolve(9, VocabularySizes(9, 6, False)).shortcut is False


@pytest.mark.parametrize(
    "sizes",
    [
        VocabularySizes(9, 6, False),
        VocabularySizes(0, 6, False, vectors=Vectors(1, (12,))),
        VocabularySizes(0, 6, False, vectors=Vectors(99, (512,), targets=99, horizon=6)),
    ],
)
def test_a_shortcut_needs_something_to_forecast_and_not_too_much(sizes):
    with pytest.raises(ValueError, match="shortcut = true is for forecasts with at most 8192"):
        EncoderConfig(shortcut=True).resolve(9, sizes)


def test_the_layers_add_nothing_to_a_shortcut_at_first():
    config = EncoderConfig(d_model=8, d_ff=8, n_heads=2, layers=1).resolve(9, WINDOWS)
    model = build_model(config, WINDOWS).eval()
    batch = {
        "src": torch.randn(3, 12, 1),
        "src_valid": torch.ones(3, 12, dtype=torch.bool),
        "location": torch.zeros(3, 1),
        "scale": torch.ones(3, 1),
    }
    assert torch.equal(model.logits(batch), batch["src"][:, -1:, 0].expand(-1, 6))


def test_a_forecaster_of_several_columns_tells_them_apart():
    sizes = VocabularySizes(0, 6, False, vectors=Vectors(1, (12,), columns=3))
    config = EncoderConfig(**SMALL).resolve(9, sizes)
    assert config.segments == 3
    assert config.resolve(9, sizes) == config, "a resolved run file is read again"
    torch.manual_seed(0)
    model = FAMILIES["encoder"].build(config, sizes).eval()
    batch = {"src": torch.randn(1, 12, 1).expand(3, -1, -1), "segment": torch.arange(3)[:, None]}
    batch["src_valid"] = torch.ones(3, 12, dtype=torch.bool)
    first, second, third = model.logits(batch)
    assert not torch.allclose(first, second)
    assert not torch.allclose(second, third)

"""What the Transformer families share: sizes from presets, settings that do not fit, heads."""

from dataclasses import fields, replace

import pytest
import torch

from headway.config.schema import keys
from headway.models import FAMILIES, VocabularySizes
from headway.models.transformer_layers import PRESETS, LayerSettings
from headway.nn.attention import CrossAttention, SelfAttention
from headway.nn.scores import SCORES, AttentionScore, LowRankSettings, make_score

SIZES = VocabularySizes(11, 11, shared=True)
HEADS = {"transformer": 3, "decoder": 2, "encoder": 2, "unilm": 2}
"""Attentions of the models that `make` makes."""
families = pytest.mark.parametrize("family", HEADS)


def make(family, **given):
    counts = ("encoder_layers", "decoder_layers") if family == "transformer" else ("layers",)
    layers = dict.fromkeys(counts, 1 if family == "transformer" else 2)
    small = {"d_model": 8, "d_ff": 12, "n_heads": 2, "dropout": 0.0, **layers, **given}
    return build(FAMILIES[family].config(**small).resolve(1, SIZES))


def build(config):
    torch.manual_seed(0)
    return FAMILIES[config.family].build(config, SIZES).eval()


def attentions(model):
    return [m for m in model.modules() if isinstance(m, SelfAttention | CrossAttention)]


def test_these_are_the_families_that_inherit_the_settings():
    assert set(HEADS) == {n for n, f in FAMILIES.items() if issubclass(f.config, LayerSettings)}


@families
def test_every_key_is_explained_and_the_family_comes_first(family):
    settings = keys(FAMILIES[family].config)
    assert [key.name for key in settings if not key.doc] == []
    # The preset's docstring speaks of the keys below it.
    assert [key.name for key in settings[:2]] == ["family", "preset"]
    assert settings[0].default == family


@families
@pytest.mark.parametrize(
    ("n_examples", "preset"),
    [(1, "tiny"), (199_999, "tiny"), (200_000, "small"), (2_000_000, "base")],
)
def test_auto_goes_by_the_amount_of_data(family, n_examples, preset):
    resolved = FAMILIES[family].config().resolve(n_examples, SIZES)
    assert resolved.preset == preset
    sizes = PRESETS[preset]
    assert resolved.d_head == resolved.d_value == sizes["d_model"] // sizes["n_heads"]
    for name in ("d_model", "d_ff", "n_heads", "dropout"):
        assert getattr(resolved, name) == sizes[name]
    layers = [value for name, value in vars(resolved).items() if name.endswith("layers")]
    assert layers == [sizes["layers"]] * (2 if family == "transformer" else 1)


@families
def test_no_preset_is_named_where_all_sizes_are_given(family):
    sizes = {"d_model": 60, "d_ff": 60, "n_heads": 3, "dropout": 0.0}
    names = [field.name for field in fields(FAMILIES[family].config)]
    sizes |= dict.fromkeys((name for name in names if name.endswith("layers")), 1)
    assert FAMILIES[family].config(**sizes).resolve(1, SIZES).preset == "auto"


@families
def test_what_is_given_wins_over_the_preset(family):
    given = FAMILIES[family].config(preset="tiny", d_model=60, n_heads=3, dropout=0.0)
    resolved = given.resolve(1, SIZES)
    assert (resolved.d_model, resolved.d_head, resolved.d_value) == (60, 20, 20)
    assert (resolved.d_ff, resolved.dropout) == (256, 0.0)
    assert resolved.resolve(10**9, SIZES) == resolved


@families
def test_head_widths_are_free(family):
    model = make(family, n_heads=5, d_head=7, d_value=3, positions="none")
    assert len(attentions(model)) == HEADS[family]
    for attention in attentions(model):
        assert attention.out.weight.shape == (8, 5 * 3)
        if isinstance(attention, SelfAttention):
            assert attention.qkv.weight.shape == (5 * (7 + 7 + 3), 8)


@families
def test_settings_of_before_there_was_a_width_of_values_make_the_same_model(family):
    resolved = make(family).config
    old, new = build(replace(resolved, d_value=None)), build(resolved)
    assert all(map(torch.equal, old.state_dict().values(), new.state_dict().values()))


@families
def test_heads_that_do_not_divide_are_refused_with_a_remedy(family):
    config = FAMILIES[family].config
    with pytest.raises(ValueError, match="100 is not divisible by n_heads=8; try n_heads=10"):
        config(d_model=100, n_heads=8)
    with pytest.raises(ValueError, match="130 is not divisible by n_heads=4; try n_heads=5"):
        config(preset="tiny", d_model=130).resolve(1, SIZES)
    config(d_model=100, n_heads=8, d_head=12)


@families
def test_groups_of_distances_that_have_no_room_are_refused_with_a_remedy(family):
    config = FAMILIES[family].config
    config(position_buckets=32, position_distance=17)
    with pytest.raises(ValueError) as caught:
        config(position_buckets=32, position_distance=16)
    assert str(caught.value) == (
        "position_distance=16 is too small: with position_buckets=32, the first 16 distances have "
        "a bucket each; try position_distance=128"
    )


@families
def test_relative_positions_are_one_table_for_each_stack(family):
    model = make(family, positions="relative", position_buckets=8, position_distance=9)
    tables = {n: p for n, p in model.named_parameters() if "position_bias" in n}
    assert len(tables) == (2 if family == "transformer" else 1)
    assert all(p.shape == (8, 2) for p in tables.values())


BASIC = (
    'score = "basic" uses the items themselves as keys and values, but heads project them; '
    'use score = "dot"'
)
LOCATION = (
    'score = "location" depends on the position of a key alone, not on its content; '
    'try score = "scaled_dot"'
)


@pytest.mark.parametrize(
    ("family", "score", "complaint"),
    [
        ("transformer", "basic", BASIC),
        ("decoder", "basic", BASIC),
        ("encoder", "basic", BASIC),
        (
            "transformer",
            "location",
            'score = "location" depends on the position of a key alone, which says nothing about '
            'a partial output; try score = "scaled_dot", or model.family = "recurrent"',
        ),
        ("decoder", "location", LOCATION),  # the family "recurrent" is none for their tasks
        ("encoder", "location", LOCATION),
        ("unilm", "location", LOCATION),
    ],
)
def test_scores_without_meaning_in_heads_are_refused(family, score, complaint):
    with pytest.raises(ValueError) as caught:
        FAMILIES[family].config(score=score)
    assert str(caught.value) == complaint


@families
def test_a_model_begins_alike_whether_scores_are_scaled_or_queries(family):
    scaled, dot = make(family), make(family, score="dot")
    for one, other in zip(attentions(scaled), attentions(dot), strict=True):
        torch.manual_seed(0)
        x = torch.randn(2, 3, 8)
        given = (x, *one.project(x)) if isinstance(one, CrossAttention) else (x,)
        torch.testing.assert_close(other(*given), one(*given))


@families
def test_every_attention_has_the_score_that_was_chosen(family):
    plain = sum(p.numel() for p in make(family).parameters())
    for name in (name for name, spec in SCORES.items() if not spec.unfit_in_heads):
        model, made = make(family, score=name), make_score(name, 4, 2)  # two heads of width 4
        n_more = sum(p.numel() for p in made.parameters())
        scores = [m for m in model.modules() if isinstance(m, AttentionScore)]
        assert [type(score) for score in scores] == [type(made)] * HEADS[family]
        assert sum(p.numel() for p in model.parameters()) == plain + HEADS[family] * n_more


@families
def test_settings_of_a_score_reach_every_attention_and_are_resolved(family):
    config = FAMILIES[family].config
    scores = [a.score for a in attentions(make(family, score=LowRankSettings(rank=3)))]
    assert {score.key_weight.shape for score in scores} == {(2, 3, 4)}
    assert config(score="low_rank").resolve(1, SIZES).score == LowRankSettings(rank=16)
    with pytest.raises(ValueError, match=r"^no score 'aditive'; expected one of basic, cosine, "):
        config(score="aditive")

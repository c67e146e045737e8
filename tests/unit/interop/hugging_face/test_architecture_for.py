"""The choice of an architecture for an export, and the settings that no architecture has."""

from types import SimpleNamespace

import pytest
from export_cases import OTHER_WORDS, WORDS, build, sizes_of

from headway.interop.hugging_face import architecture_for
from headway.models.transformer import TransformerConfig


@pytest.mark.parametrize(
    ("settings", "name"),
    [
        ({}, "Pegasus"),
        ({"positions": "learned"}, "Blenderbot"),
        ({"positions": "none"}, "Blenderbot"),
        ({"residual": "post"}, "Marian"),
        ({"residual": "post", "positions": "learned", "embedding_norm": True}, "BART"),
    ],
    ids=str,
)
def test_the_first_architecture_that_can_express_a_model(settings, name):
    architecture, obstacles = architecture_for(build(**settings).config, sizes_of(), WORDS.specials)
    assert (architecture.name, obstacles) == (name, [])


@pytest.mark.parametrize(
    ("settings", "messages"),
    [
        (
            {"positions": "rotary"},
            ['model.positions = "rotary" (positions are added to embeddings)'],
        ),
        ({"norm": "rms"}, ['model.norm = "rms" (only layer normalisation)']),
        ({"norm_eps": 0.1}, ["model.norm_eps = 0.1 (must be 1e-05)"]),
        ({"score": "additive"}, ['model.score = "additive" (only scaled dot products)']),
        (
            {"embedding_norm": True},
            ["model.embedding_norm = true (no norm after the embeddings)"],
        ),
        (
            {"positions": "relative", "scale_output": True},
            [
                "model.scale_output = true (hidden states go as they are to the output layer)",
                'model.positions = "relative" (positions are added to embeddings)',
            ],
        ),
        (
            {"gated": True, "d_value": 5},
            ["model.d_value = 5 (must be d_head = 8)", "model.gated = true (no gates)"],
        ),
        ({"d_head": 6}, ["model.d_head = 6 (must be d_model / n_heads = 8)"]),
        ({"share": "none"}, ['model.share = "none" (one embedding matrix)']),
        (
            {"residual": "post", "positions": "learned"},
            ['model.positions = "learned" (only sinusoidal ones)'],
        ),
        (
            {"residual": "post", "position_base": 100.0},
            ["model.position_base = 100.0 (must be 10000)"],
        ),
    ],
    ids=str,
)
def test_obstacles_are_those_of_the_closest_architecture(settings, messages):
    config = build(**settings).config
    assert architecture_for(config, sizes_of(), WORDS.specials) == (None, messages)


def test_two_vocabularies_need_post_norm():
    sizes = sizes_of(OTHER_WORDS)
    config = TransformerConfig(preset="tiny").resolve(100, sizes)
    assert architecture_for(config, sizes, WORDS.specials) == (
        None,
        [
            'model.share = "target" (one embedding matrix)',
            "text.shared = false (Blenderbot has one vocabulary)",
        ],
    )


def test_a_family_without_an_architecture():
    model = SimpleNamespace(family="recurrent")
    assert architecture_for(model, sizes_of(), {}) == (None, ['model.family = "recurrent"'])

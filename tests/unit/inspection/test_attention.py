"""Where outputs look: means and alignments by hand, and what counts as looking at the input."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from headway.errors import ConfigError, RunError
from headway.inspection.attention import Attention, attention_maps
from headway.models import FAMILIES, VocabularySizes
from headway.text import BOS

FIRST = [[[1.0, 0.0, 0.0], [0.2, 0.8, 0.0], [0.0, 0.0, 1.0]]]  # one head, (T, S) = (3, 3)
SECOND = [
    [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]],
    [[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]],
]


@pytest.fixture
def attention():
    maps = {"one": np.array(FIRST), "two": np.array(SECOND), "self": np.eye(3)[None]}
    return Attention(["a", "b", "⟨eos⟩"], ["x", "y", "⟨eos⟩"], maps, [["one", "two"]])


def test_means_by_hand(attention):
    expected = [[0.5, 0.25, 0.25], [0.6, 0.4, 0.0], [0.0, 0.0, 1.0]]
    np.testing.assert_allclose(attention.cross(), expected)
    np.testing.assert_allclose(attention.cross(0), FIRST[0])
    np.testing.assert_allclose(attention.cross(-1), attention.cross(1))


def test_alignments_leave_out_the_end_marks(attention):
    assert attention.alignment() == [0, 0]
    assert attention.alignment(0) == [0, 1]
    assert attention.alignment(1) == [1, 0], "the end of the input is looked at most, yet no word"


def test_alignments_leave_out_a_begin_mark(attention):
    begun = replace(attention, source=["⟨bos⟩", "b", "⟨eos⟩"], begins=True)
    assert begun.alignment() == [0, 0]


def test_models_of_an_ensemble_count_alike():
    maps = {
        "0.a": np.array([[[0.9, 0.1]]]),
        "1.a": np.array([[[0.1, 0.9]]]),
        "1.b": np.array([[[0.3, 0.7]]]),
    }
    both = Attention(["a", "b"], ["x"], maps, [["0.a"], ["1.a", "1.b"]])
    np.testing.assert_allclose(both.cross(), [[0.55, 0.45]])


def test_an_output_that_says_nothing_aligns_nothing():
    empty = Attention(["a", "⟨eos⟩"], ["⟨eos⟩"], {"one": np.ones((1, 1, 2)) / 2}, [["one"]])
    assert empty.alignment() == []


@pytest.mark.parametrize("crossing", [[], [[]], [["one"], []]])
def test_nothing_to_look_at_is_said_in_words(crossing):
    maps = {"one": np.ones((1, 1, 1))}
    with pytest.raises(
        RunError, match="no attention from output to input to look at; use a family"
    ):
        Attention(["a"], ["x"], maps, crossing).cross()


@pytest.mark.parametrize("layer", [2, -3])
def test_a_layer_that_is_not_there(attention, layer):
    with pytest.raises(ConfigError) as error:
        attention.alignment(layer)
    assert str(error.value) == f"no attention layer {layer}; the model has 2: 0 to 1, or mean"


# Real models


def built(family, **settings):
    sizes = VocabularySizes(9, 9, shared=True)
    torch.manual_seed(0)
    config = FAMILIES[family].config(d_model=8, **settings).resolve(10, sizes)
    return FAMILIES[family].build(config, sizes).eval()


MODELS = {
    "transformer": built("transformer", d_ff=8, n_heads=2, encoder_layers=2, decoder_layers=2),
    "recurrent": built("recurrent"),
    "convolutional": built("convolutional", encoder_layers=2, decoder_layers=2),
}
CROSSING = {
    "transformer": ["decoder.0.cross", "decoder.1.cross"],
    "recurrent": ["decoder.attention"],
    "convolutional": ["decoder.0.attention", "decoder.1.attention"],
}


def ids(*tokens):
    return np.array(tokens)


@pytest.mark.parametrize("family", MODELS)
@pytest.mark.parametrize("target", [(4, 2), (4, 5, 2), (4, 5, 6, 2), (2,)])
def test_what_looks_at_the_input_is_found_also_when_lengths_are_equal(family, target):
    [(maps, crossing)] = attention_maps([MODELS[family]], [ids(5, 6, 2)], [ids(*target)], BOS)
    assert crossing == [CROSSING[family]]
    for name in crossing[0]:
        assert maps[name].shape[1:] == (len(target), 3)
        np.testing.assert_allclose(maps[name].sum(-1), 1.0, atol=1e-5)
    for name in set(maps) - set(crossing[0]):
        n = 3 if name.startswith("encoder") else len(target)
        assert maps[name].shape[1:] == (n, n)


@pytest.mark.parametrize("family", MODELS)
def test_a_batch_looks_as_its_pairs_do_alone(family):
    sources = [ids(5, 6, 7, 2), ids(4, 2), ids(8, 2)]
    targets = [ids(4, 2), ids(5, 6, 7, 2), ids(2)]
    together = attention_maps([MODELS[family]], sources, targets, BOS)
    for (maps, _), source, target in zip(together, sources, targets, strict=True):
        [(alone, _)] = attention_maps([MODELS[family]], [source], [target], BOS)
        assert maps.keys() == alone.keys()
        for name, weights in alone.items():
            np.testing.assert_allclose(maps[name], weights, atol=1e-5)


def test_a_recurrent_model_without_attention_has_nothing_to_look_at():
    model = built("recurrent", attention="none")
    [(maps, crossing)] = attention_maps([model], [ids(5, 2)], [ids(4, 2)], BOS)
    assert maps == {}
    with pytest.raises(RunError) as error:
        Attention(["a"], ["x"], maps, crossing).alignment()
    assert str(error.value) == (
        "this model has no attention from output to input to look at; use a family that attends, "
        "such as transformer, or a recurrent model with attention"
    )


def test_several_models_have_numbers_before_their_names():
    [(maps, crossing)] = attention_maps(list(MODELS.values()), [ids(5, 2)], [ids(4, 2)], BOS)
    assert crossing == [
        ["0.decoder.0.cross", "0.decoder.1.cross"],
        ["1.decoder.attention"],
        ["2.decoder.0.attention", "2.decoder.1.attention"],
    ]
    assert {name for names in crossing for name in names} <= maps.keys()

"""Attention of outputs: pairs in batches and alone, alignments, weights, several models."""

import numpy as np
import pytest
from export_sources import SOURCES

import headway
from headway.inference.output_attention import add_attention, pair_attention
from headway.inference.requests import Segment
from headway.search import Hypothesis, Prefix
from headway.search.constraints import Constraints


@pytest.fixture(scope="module")
def translator(folder):
    return headway.load(folder / "pre")


def encoded(translator, pairs):
    src = translator.task.source.encode_batch([source for source, _ in pairs])
    tgt = translator.task.target.encode_batch([target for _, target in pairs])
    return src, tgt


def test_pairs_of_a_batch_look_as_they_do_alone(translator):
    src, tgt = encoded(translator, [("dog", "cat dog red"), (SOURCES[0], ""), ("one big", "ten")])
    maps = dict(pair_attention(translator.task, translator.model, src, tgt))
    assert sorted(maps) == [0, 1, 2]
    for i, attention in maps.items():
        [(_, alone)] = pair_attention(translator.task, translator.model, [src[i]], [tgt[i]])
        assert attention.source == alone.source
        assert attention.target == alone.target
        assert attention.maps.keys() == alone.maps.keys()
        for name, weights in alone.maps.items():
            np.testing.assert_allclose(attention.maps[name], weights, atol=1e-5)
    assert maps[1].target == ["⟨eos⟩"]
    assert maps[2].source == ["one", "big", "⟨eos⟩"]


def test_an_ensemble_has_the_maps_of_all_its_models(folder, translator):
    both = headway.load(folder / "pre", folder / "recurrent")
    src, tgt = encoded(both, [("dog", "cat")])
    [(_, attention)] = pair_attention(both.task, both.model, src, tgt)
    assert attention.crossing == [
        ["0.decoder.0.cross", "0.decoder.1.cross"],
        ["1.decoder.attention"],
    ]


def hypotheses_of(translator, texts):
    targets = translator.task.target.encode_batch(texts)
    return [Hypothesis(ids[:-1].tolist(), -1.0, -0.5, [], True) for ids in targets]


@pytest.mark.parametrize(
    ("layer", "keep_weights"), [(None, False), (None, True), ("mean", False), (1, True)]
)
def test_outputs_get_what_is_requested(translator, layer, keep_weights):
    src = translator.task.source.encode_batch(["one big dog", "two red"])
    segments = [Segment(row, 0, ids, Prefix(), Constraints()) for row, ids in enumerate(src)]
    hypotheses = [
        hypotheses_of(translator, ["dog big one", "dog"]),
        hypotheses_of(translator, ["red two"]),
    ]
    outputs = [[translator.output(hypothesis) for hypothesis in best] for best in hypotheses]
    attended = add_attention(
        translator.task, translator.model, segments, hypotheses, outputs, layer, keep_weights
    )
    assert [[output.text for output in best] for best in attended] == [
        ["dog big one", "dog"],
        ["red two"],
    ]
    for best, source in zip(attended, ("one big dog", "two red"), strict=True):
        for output in best:
            expected = translator.attention(source, output.text)
            if keep_weights:
                np.testing.assert_allclose(output.attention.cross(), expected.cross(), atol=1e-5)
            else:
                assert output.attention is None
            alignment = None if layer is None else expected.alignment(layer)
            assert output.alignment == alignment

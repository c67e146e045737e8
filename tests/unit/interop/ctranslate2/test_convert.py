"""CTranslate2 folders: loaded by the engine, they give the log probabilities of the model."""

import sys

import ctranslate2
import numpy as np
import pytest
import tokenizers
import torch
from export_cases import N_POSITIONS, OTHER_WORDS, WORDS, build, logits_of, some_pairs

from headway.errors import MissingExtra
from headway.interop.ctranslate2.convert import obstacles, write_ctranslate2
from headway.text import EOS, TokenizerConfig, train_tokenizer


def difference(folder, model, target=WORDS, quantization="float32"):
    """The largest difference of the log probabilities of all tokens."""
    folder.mkdir()
    write_ctranslate2(folder, model, WORDS, target, N_POSITIONS, quantization)
    pairs = some_pairs(target)
    expected = logits_of(model, pairs).log_softmax(-1)
    tokens = torch.from_numpy(np.concatenate([target for _, target in pairs]))
    engine = ctranslate2.Translator(str(folder), intra_threads=1)
    source_pieces, target_pieces = WORDS.pieces, target.pieces
    found = engine.score_batch(
        [[source_pieces[i] for i in source] for source, _ in pairs],
        [[target_pieces[i] for i in target[:-1]] for _, target in pairs],
    )
    scores = torch.tensor([score for result in found for score in result.log_probs])
    return float((scores - expected.gather(1, tokens[:, None]).squeeze(1)).abs().max())


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"residual": "post"},
        {"norm": "rms", "bias": False},
        {"norm": "rms", "residual": "post"},
        {"norm_eps": 0.1},
        {"positions": "learned", "max_positions": 24},
        {"positions": "none"},
        {"positions": "rotary"},
        {"positions": "rotary", "position_base": 100.0, "n_heads": 3, "d_head": 6},
        {"position_base": 100.0, "scale_embeddings": False},
        {"gated": True, "activation": "silu"},
        {"activation": "gelu", "encoder_layers": 1},
        {"activation": "gelu_tanh"},
        {"d_model": 15, "n_heads": 3},
        {"share": "target"},
        {"share": "none", "output_bias": True},
    ],
    ids=str,
)
def test_log_probabilities_are_those_of_the_run(tmp_path, settings):
    model = build(**settings)
    assert obstacles(model.config) == []
    assert difference(tmp_path / "out", model) < 1e-5


def test_vocabularies_apart(tmp_path):
    model = build(OTHER_WORDS)
    assert difference(tmp_path / "out", model, OTHER_WORDS) < 1e-5
    assert (tmp_path / "out" / "target.tokenizer.json").exists()


def test_whole_numbers_are_near_and_leave_the_model_alone(tmp_path):
    model = build(d_model=64, d_ff=64)
    before = {name: value.clone() for name, value in model.state_dict().items()}
    assert 1e-4 < difference(tmp_path / "out", model, quantization="int8") < 2.0
    assert all(torch.equal(before[name], value) for name, value in model.state_dict().items())


def test_values_of_another_width_are_named():
    assert obstacles(build(d_value=5).config) == ["model.d_value = 5 (must be d_head = 8)"]


def test_another_score_is_named():
    assert obstacles(build(score="dot").config) == [
        'model.score = "dot" (only scaled dot products)'
    ]
    assert obstacles(build(score="low_rank").config) == [
        'model.score = {"name": "low_rank", "rank": 16} (only scaled dot products)'
    ]


def test_what_stands_before_or_after_the_layers_is_named():
    given = {"embedding_norm": True, "positions": "relative", "scale_output": True}
    assert obstacles(build(**given).config) == [
        "model.embedding_norm = true (no norm after the embeddings)",
        'model.positions = "relative" (positions are added to embeddings)',
        "model.scale_output = true (hidden states go as they are to the output layer)",
    ]


def test_the_tokenizer_beside_it_gives_what_the_engine_takes(tmp_path):
    tokenizer = train_tokenizer(["the cat sat on the mat"], TokenizerConfig(kind="bpe", size=264))
    write_ctranslate2(tmp_path, build(tokenizer), WORDS, tokenizer, N_POSITIONS, "float32")
    file = tmp_path / "target.tokenizer.json"
    theirs = tokenizers.Tokenizer.from_file(str(file)).encode("the mat")
    assert theirs.ids == [*tokenizer.encode("the mat"), EOS]
    assert [tokenizer.pieces[i] for i in theirs.ids] == theirs.tokens
    assert len(set(tokenizer.pieces)) == tokenizer.size


def test_without_the_package(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "ctranslate2.specs", None)
    with pytest.raises(MissingExtra) as caught:
        write_ctranslate2(tmp_path, build(), WORDS, WORDS, N_POSITIONS, "float32")
    assert str(caught.value) == (
        "writing a CTranslate2 model needs the package 'ctranslate2', which is not installed; "
        "pip install 'headway-attention[ctranslate2]'"
    )

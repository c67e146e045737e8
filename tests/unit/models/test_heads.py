"""Heads of masked words and of pairs: shapes, what is tied, what learns."""

import pytest
import torch
from torch.nn.functional import gelu, layer_norm

from headway.models import FAMILIES, VocabularySizes
from headway.models.encoder import EncoderConfig
from headway.models.heads import MaskedLMModel
from headway.models.recurrent_encoder import RecurrentEncoderConfig

SMALL = {"d_model": 8, "d_ff": 12, "n_heads": 2, "layers": 2, "dropout": 0.0}
CONFIGS = [
    EncoderConfig(**SMALL),
    EncoderConfig(**SMALL, preset="bert-tiny", max_positions=6),
    RecurrentEncoderConfig(d_model=8, dropout=0.0),
]
configs = pytest.mark.parametrize("config", CONFIGS, ids=range(len(CONFIGS)))


def build(config, head):
    sizes = VocabularySizes(9, 9, shared=True, head=head)
    torch.manual_seed(1)
    return FAMILIES[config.family].build(config.resolve(10, sizes), sizes).eval()


def some_batch():
    src = torch.tensor([[4, 5, 2, 6, 2], [4, 2, 7, 2, 0]])
    return {"src": src, "src_valid": src != 0, "segment": torch.tensor([[0, 0, 0, 1, 1]] * 2)}


@configs
def test_a_logit_of_each_word_for_each_token_and_two_for_each_pair(config):
    model, batch = build(config, "masked_next"), some_batch()
    assert isinstance(model, MaskedLMModel)
    states, pooled = model(batch)
    assert (states.shape, pooled.shape) == ((2, 5, 8), (2, 8))
    assert model.token_logits(batch).shape == (2, 5, 9)
    assert model.logits(batch).shape == (2, 2)
    assert torch.equal(model.logits(batch), model.next(pooled))


@configs
def test_the_masked_head_by_its_formula(config):
    model, batch = build(config, "masked"), some_batch()
    with torch.no_grad():
        for parameter in model.masked.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.3)
    states, _ = model(batch)
    dense, norm = model.masked.dense, model.masked.norm
    inner = gelu(states @ dense.weight.T + dense.bias)
    hidden = layer_norm(inner, (8,), norm.weight, norm.bias, norm.eps)
    expected = hidden @ model.backbone.embedding.T + model.masked.output.bias
    torch.testing.assert_close(model.token_logits(batch), expected)


@configs
def test_words_in_and_out_are_one_matrix_and_all_but_the_heads_is_the_backbone(config):
    model = build(config, "masked_next")
    assert model.masked.output.weight is model.backbone.embedding
    heads = [name for name, _ in model.named_parameters() if not name.startswith("backbone.")]
    norm = ["masked.norm.weight", "masked.norm.bias"]
    dense = ["masked.dense.weight", "masked.dense.bias"]
    assert heads == [*dense, *norm, "masked.output.bias", "next.weight", "next.bias"]


@configs
def test_the_backbone_is_that_of_a_model_with_labels(config):
    ours, labels = build(config, "masked_next"), build(config, "linear")
    labels.backbone.load_state_dict(ours.backbone.state_dict())
    for one, other in zip(ours(some_batch()), labels(some_batch()), strict=True):
        assert torch.equal(one, other)


@configs
def test_every_weight_learns(config):
    model, batch = build(config, "masked_next").train(), some_batch()
    states, pooled = model(batch)
    words = model.masked.output.cross_entropy(model.masked(states[0]), batch["src"][0])
    pairs = model.next.cross_entropy(pooled, torch.tensor([0, 1]))
    (words + pairs).backward()
    still = [n for n, p in model.named_parameters() if p.grad is None or not p.grad.any()]
    assert [name for name in still if "bias" not in name] == []


def test_without_its_head_nothing_is_said_about_pairs():
    model = build(CONFIGS[0], "masked")
    assert model.next is None
    with pytest.raises(TypeError, match="no head for pairs; build it with head masked_next"):
        model.logits(some_batch())

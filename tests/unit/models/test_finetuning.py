"""What of a model is trained: everything, what stands behind its encoder, or thin additions."""

import pytest
import torch

from headway.models import FAMILIES, VocabularySizes
from headway.models.convolutional import ConvolutionalConfig
from headway.models.decoder import DecoderConfig
from headway.models.encoder import EncoderConfig
from headway.models.family import Vectors
from headway.models.finetuning import FinetuneConfig, tune
from headway.models.recurrent import RecurrentConfig
from headway.models.recurrent_decoder import RecurrentDecoderConfig
from headway.models.recurrent_encoder import RecurrentEncoderConfig
from headway.models.state_dict import set_weights, weights_of
from headway.models.transformer import TransformerConfig
from headway.nn.inputs import VectorInputConfig
from headway.nn.lora import merged

SIZES = {"d_model": 8, "d_ff": 12, "n_heads": 2, "dropout": 0.0}
SHARED, APART = VocabularySizes(9, 9, shared=True), VocabularySizes(9, 7, shared=False)
PAIR = {"encoder_layers": 2, "decoder_layers": 1}


def build(config, vocabularies=APART):
    torch.manual_seed(1)
    family = FAMILIES[config.family]
    return family.build(config.resolve(10, vocabularies), vocabularies), family


def trained(model):
    return {name for name, p in model.named_parameters() if p.requires_grad}


@pytest.mark.parametrize(
    ("config", "kept"),
    [
        (EncoderConfig(**SIZES, layers=1), {"output"}),
        (RecurrentEncoderConfig(d_model=8), {"output"}),
        (
            TransformerConfig(**SIZES, **PAIR, positions="learned"),
            {"decoder", "decoder_norm", "target_positions", "target_embedding"},
        ),
        (RecurrentConfig(d_model=8), {"decoder", "target_embedding", "output"}),
    ],
    ids=lambda value: getattr(value, "family", ""),
)
def test_frozen_leaves_the_encoder(config, kept):
    model, family = build(config)
    tune(model, family, FinetuneConfig(mode="frozen"))
    assert {name.partition(".")[0] for name in trained(model)} == kept


def test_the_encoder_of_convolutions_is_left():
    model, family = build(ConvolutionalConfig(d_model=8))
    tune(model, family, FinetuneConfig(mode="frozen"))
    assert not any(name.startswith(("source_", "encoder.")) for name in trained(model))
    assert any(name.startswith("decoder.") for name in trained(model))


def test_what_the_decoder_shares_is_trained():
    model, family = build(TransformerConfig(**SIZES, **PAIR), SHARED)
    tune(model, family, FinetuneConfig(mode="frozen"))
    assert model.source_embedding.requires_grad  # it is the target's and the output's too
    assert not any(p.requires_grad for p in model.encoder.parameters())


@pytest.mark.parametrize("config", [DecoderConfig(**SIZES), RecurrentDecoderConfig(d_model=8)])
def test_a_language_model_has_no_encoder(config):
    model, family = build(config)
    with pytest.raises(ValueError, match=r'which has no encoder; set "full" or "lora"'):
        tune(model, family, FinetuneConfig(mode="frozen"))


SERIES = VocabularySizes(0, 4, shared=False, vectors=Vectors(2, (6,)), target_features=3)
READING = {"input": VectorInputConfig(patch=2, class_vector=True)}


@pytest.mark.parametrize(
    ("config", "kept"),
    [
        (EncoderConfig(**SIZES, **READING, layers=1, positions="learned"), {"output"}),
        (RecurrentEncoderConfig(d_model=8, **READING), {"output"}),
        (
            TransformerConfig(**SIZES, **PAIR, **READING, positions="learned"),
            {"decoder", "decoder_norm", "target_positions", "target_embedding", "output"},
        ),
        (RecurrentConfig(d_model=8, **READING), {"decoder", "target_embedding", "output"}),
        (
            ConvolutionalConfig(d_model=8, **READING),
            {"decoder", "target_embedding", "target_in", "target_out", "output"},
        ),
    ],
    ids=lambda value: getattr(value, "family", ""),
)
def test_frozen_leaves_the_input_of_vectors_too(config, kept):
    model, family = build(config, SERIES)
    tune(model, family, FinetuneConfig(mode="frozen"))
    assert {name.partition(".")[0] for name in trained(model)} == kept


def batch():
    src = torch.tensor([[4, 5, 6, 2], [7, 2, 0, 0]])
    return {"src": src, "src_valid": src != 0, "tgt_in": torch.tensor([[1, 5, 4], [1, 6, 6]])}


def vectors():
    draw = torch.Generator().manual_seed(0)
    src, tgt_in = torch.randn(2, 6, 2, generator=draw), torch.randn(2, 3, 3, generator=draw)
    valid = torch.tensor([[True] * 6, [True] * 3 + [False] * 3])
    return {"src": src, "src_valid": valid, "tgt_in": tgt_in}


@torch.no_grad()
def outputs(model):
    given = vectors() if getattr(model.config, "input", None) else batch()
    if hasattr(model, "logits"):
        return model.logits(given)
    return model.output(model(given))


LORA = [
    (EncoderConfig(**SIZES, layers=2), 2),
    (DecoderConfig(**SIZES, layers=2), 2),
    (TransformerConfig(**SIZES, **PAIR), 3),
    (EncoderConfig(**SIZES, **READING, layers=2, pooling="all"), 2),
    (TransformerConfig(**SIZES, **PAIR, **READING), 3),
]


@pytest.mark.parametrize(("config", "n_layers"), LORA, ids=lambda v: getattr(v, "family", ""))
@pytest.mark.parametrize("where", ["attention", "all"])
def test_lora_changes_nothing_at_first_and_merges_into_an_ordinary_model(config, n_layers, where):
    sizes = APART if config.__dict__.get("input") is None else SERIES
    model, family = build(config, sizes)
    before = outputs(model.eval())
    tune(model, family, FinetuneConfig(mode="lora", rank=2, alpha=3.0, where=where))
    torch.testing.assert_close(outputs(model), before)
    learns = {name for name in trained(model) if not name.startswith("output.")}
    assert all(".lora." in name for name in learns)
    assert (len(learns) > 4 * n_layers) == (where == "all" or config.family == "transformer")
    for name, parameter in model.named_parameters():
        if name.endswith(".lora.up"):
            torch.nn.init.normal_(parameter, std=0.3)
    adapted = outputs(model)
    assert not torch.allclose(adapted, before, atol=1e-3)
    plain, _ = build(config, sizes)
    set_weights(plain.eval(), merged(weights_of(model)), "the merged weights")
    torch.testing.assert_close(outputs(plain), adapted, rtol=1e-5, atol=1e-5)


def test_the_head_learns_beside_lora():
    model, family = build(EncoderConfig(**SIZES, layers=1))
    tune(model, family, FinetuneConfig(mode="lora"))
    assert {"output.weight", "output.bias"} <= trained(model)


def test_full_trains_everything():
    model, family = build(EncoderConfig(**SIZES, layers=1))
    tune(model, family, FinetuneConfig())
    assert trained(model) == {name for name, _ in model.named_parameters()}


def test_where_nothing_is_found_it_is_said():
    model, family = build(RecurrentEncoderConfig(d_model=8))
    message = 'no matrix to adapt in model.family = "recurrent_encoder"; set mode = "full" or "fro'
    with pytest.raises(ValueError, match=message):
        tune(model, family, FinetuneConfig(mode="lora"))


def test_a_product_as_wide_as_the_matrices_is_refused():
    model, family = build(EncoderConfig(**SIZES, layers=1))
    width = max(min(p.shape) for p in model.backbone.layers.parameters() if p.dim() == 2)
    with pytest.raises(ValueError, match=rf"^tune\.rank = {width + 1} is larger than {width}, "):
        tune(model, family, FinetuneConfig(mode="lora", rank=width + 1))


def test_settings_without_meaning_are_refused():
    with pytest.raises(ValueError, match=r'rank = 4 has no meaning with mode = "full"'):
        FinetuneConfig(rank=4)

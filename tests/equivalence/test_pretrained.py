"""The models that the world has: ours = Hugging Face's with copied weights, to 1e-4.

Tiny random models, batches of texts of unequal lengths with padding. Nothing is downloaded.
"""

from dataclasses import dataclass, field
from typing import Any

import pytest
import torch
import transformers
from equivalence_cases import EOS, VOCABULARY, equivalence, words

from headway.data.collate import source_batch
from headway.models import FAMILIES, Vocabularies

CLOSE = {"rtol": 1e-4, "atol": 1e-4}
D, F, H, L = 16, 24, 2, 2
PLACES = 40


def randomised(model, std=0.3):
    """Weights away from where they begin, so that a mistake with a gain or a bias shows."""
    torch.manual_seed(3)
    for name, parameter in model.named_parameters():
        is_gain = name.lower().endswith("norm.weight")
        torch.nn.init.normal_(parameter, mean=float(is_gain), std=std)
    model.tie_weights()
    return model.eval()


def built(family, vocabularies, **settings):
    sizes = {"d_model": D, "d_ff": F, "n_heads": H, "dropout": 0.0}
    config = FAMILIES[family].config(**{**sizes, **settings})
    torch.manual_seed(0)
    return FAMILIES[family].build(config.resolve(1, vocabularies), vocabularies).eval()


@torch.no_grad()
def copy_linear(ours, *parts):
    """One or several packed into one."""
    ours.weight.copy_(torch.cat([part.weight for part in parts]))
    if ours.bias is not None:
        ours.bias.copy_(torch.cat([part.bias for part in parts]))


@torch.no_grad()
def copy_norm(ours, theirs):
    ours.weight.copy_(theirs.weight)
    if getattr(ours, "bias", None) is not None:
        ours.bias.copy_(theirs.bias)


def n_weights(model):
    return sum(p.numel() for p in model.parameters())


# Encoders


@dataclass
class Parts:
    """Where an encoder of theirs keeps what ours has."""

    word: Any
    position: torch.Tensor
    norm: Any
    layers: Any
    masked: tuple[Any, Any, Any]  # dense, norm, bias
    segment: Any = None
    pooler: Any = None
    settings: dict = field(default_factory=dict)


@dataclass
class LayerParts:
    attention: tuple[Any, Any, Any]
    out: Any
    attention_norm: Any
    inner: Any
    outer: Any
    feed_norm: Any


def bert_layers(encoder):
    for layer in encoder.layer:
        own = layer.attention.self
        yield LayerParts(
            (own.query, own.key, own.value),
            layer.attention.output.dense,
            layer.attention.output.LayerNorm,
            layer.intermediate.dense,
            layer.output.dense,
            layer.output.LayerNorm,
        )


def bert_sizes():
    return {
        "vocab_size": VOCABULARY,
        "hidden_size": D,
        "num_hidden_layers": L,
        "num_attention_heads": H,
        "intermediate_size": F,
        "hidden_dropout_prob": 0.0,
        "attention_probs_dropout_prob": 0.0,
    }


def tiny_bert():
    config = transformers.BertConfig(**bert_sizes(), max_position_embeddings=PLACES)
    model = randomised(transformers.BertForPreTraining(config))
    body, words_head = model.bert, model.cls.predictions
    return model, Parts(
        body.embeddings.word_embeddings,
        body.embeddings.position_embeddings.weight,
        body.embeddings.LayerNorm,
        bert_layers(body.encoder),
        (words_head.transform.dense, words_head.transform.LayerNorm, words_head.bias),
        body.embeddings.token_type_embeddings,
        body.pooler,
    )


def tiny_roberta():
    """Its first two rows of positions belong to padding, and it has one kind of segment."""
    config = transformers.RobertaConfig(
        **bert_sizes(),
        max_position_embeddings=PLACES + 2,
        type_vocab_size=1,
        pad_token_id=1,
        layer_norm_eps=1e-5,
    )
    model = randomised(transformers.RobertaForMaskedLM(config))
    body, head = model.roberta, model.lm_head
    return model, Parts(
        body.embeddings.word_embeddings,
        body.embeddings.position_embeddings.weight[2:],
        body.embeddings.LayerNorm,
        bert_layers(body.encoder),
        (head.dense, head.layer_norm, head.bias),
        body.embeddings.token_type_embeddings,
        settings={"segments": 1, "pooler": False, "norm_eps": 1e-5},
    )


def distil_layers(body):
    for layer in body.layer:
        attention = layer.attention
        yield LayerParts(
            (attention.q_lin, attention.k_lin, attention.v_lin),
            attention.out_lin,
            layer.sa_layer_norm,
            layer.ffn.lin1,
            layer.ffn.lin2,
            layer.output_layer_norm,
        )


def tiny_distilbert():
    config = transformers.DistilBertConfig(
        vocab_size=VOCABULARY,
        dim=D,
        n_layers=L,
        n_heads=H,
        hidden_dim=F,
        dropout=0.0,
        attention_dropout=0.0,
        max_position_embeddings=PLACES,
    )
    model = randomised(transformers.DistilBertForMaskedLM(config))
    embeddings = model.distilbert.embeddings
    return model, Parts(
        embeddings.word_embeddings,
        embeddings.position_embeddings.weight,
        embeddings.LayerNorm,
        distil_layers(model.distilbert.transformer),
        (model.vocab_transform, model.vocab_layer_norm, model.vocab_projector.bias),
        settings={"segments": 0, "pooler": False},
    )


@torch.no_grad()
def copy_encoder(theirs, ours):
    backbone = ours.backbone
    backbone.embedding.copy_(theirs.word.weight)
    backbone.positions.weight.copy_(theirs.position)
    copy_norm(backbone.embedding_norm, theirs.norm)
    if theirs.segment is not None:
        backbone.segments.copy_(theirs.segment.weight)
    if theirs.pooler is not None:
        copy_linear(backbone.pooler.dense, theirs.pooler.dense)
    for mine, other in zip(backbone.layers, theirs.layers, strict=True):
        copy_linear(mine.attention.qkv, *other.attention)
        copy_linear(mine.attention.out, other.out)
        copy_linear(mine.feed.inner, other.inner)
        copy_linear(mine.feed.outer, other.outer)
        copy_norm(mine.attention_residual.norm, other.attention_norm)
        copy_norm(mine.feed_residual.norm, other.feed_norm)
    dense, norm, bias = theirs.masked
    copy_linear(ours.masked.dense, dense)
    copy_norm(ours.masked.norm, norm)
    ours.masked.output.bias.copy_(bias)


def some_pairs(fill):
    """Pairs of texts of unequal lengths; the padding is what the other side takes for it."""
    pairs = [(words(a, 1 + a), words(b, 20 + b)) for a, b in ((5, 2), (1, 9), (4, 0), (0, 1))]
    texts = [[*one, EOS, *two, EOS] for one, two in pairs]
    batch = source_batch([torch.tensor(text).numpy() for text in texts])
    ends = torch.tensor([len(one) for one, _ in pairs])
    segment = (torch.arange(batch["src"].size(1)) > ends[:, None]).long()
    return {**batch, "src": batch["src"].where(batch["src_valid"], fill), "segment": segment}


def read_by_theirs(model, batch, **more):
    with torch.inference_mode():
        return model(
            batch["src"],
            attention_mask=batch["src_valid"].long(),
            output_hidden_states=True,
            **more,
        )


def encoder_like(theirs, head):
    sizes = Vocabularies(VOCABULARY, VOCABULARY, shared=True, head=head)
    settings = {"preset": "bert-tiny", "layers": L, "max_positions": PLACES, **theirs.settings}
    ours = built("encoder", sizes, **settings)
    copy_encoder(theirs, ours)
    return ours


@torch.inference_mode()
def check_words(ours, found, batch):
    """Hidden states and logits of every word, of all that is no padding."""
    valid = batch["src_valid"]
    states, pooled = ours(batch)
    torch.testing.assert_close(states[valid], found.hidden_states[-1][valid], **CLOSE)
    logits = found.logits if "logits" in found else found.prediction_logits
    torch.testing.assert_close(ours.token_logits(batch)[valid], logits[valid], **CLOSE)
    return pooled


@equivalence("refer", only=lambda case: case.name == "encoder bert")
def test_bert(case):
    model, parts = tiny_bert()
    ours, batch = encoder_like(parts, "masked_next"), some_pairs(fill=0)
    with torch.no_grad():
        ours.next.weight.copy_(model.cls.seq_relationship.weight)
        ours.next.bias.copy_(model.cls.seq_relationship.bias)
    found = read_by_theirs(model, batch, token_type_ids=batch["segment"])
    pooled = check_words(ours, found, batch)
    with torch.inference_mode():
        expected = model.bert.pooler(found.hidden_states[-1])
        torch.testing.assert_close(pooled, expected, **CLOSE)
        torch.testing.assert_close(ours.logits(batch), found.seq_relationship_logits, **CLOSE)
    assert n_weights(ours) == n_weights(model)
    alike = {**batch, "segment": torch.zeros_like(batch["segment"])}
    without = {name: value for name, value in batch.items() if name != "segment"}
    assert torch.equal(ours.logits(alike), ours.logits(without))
    assert not torch.allclose(ours.logits(alike), ours.logits(batch), atol=1e-2)


@pytest.mark.parametrize(("make", "fill"), [(tiny_roberta, 1), (tiny_distilbert, 0)])
@equivalence("refer", only=lambda case: case.name == "encoder bert")
def test_what_came_of_bert(case, make, fill):
    model, parts = make()
    ours, batch = encoder_like(parts, "masked"), some_pairs(fill)
    check_words(ours, read_by_theirs(model, batch), batch)
    unused = 2 * D if make is tiny_roberta else 0  # positions of padding
    assert n_weights(ours) == n_weights(model) - unused

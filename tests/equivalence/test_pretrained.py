"""The models that the world has: ours = Hugging Face's with copied weights, to 1e-4.

Tiny random models, batches of texts of unequal lengths with padding. Nothing is downloaded.
"""

from dataclasses import dataclass, field
from typing import Any

import pytest
import torch
import transformers
from equivalence_cases import EOS, VOCABULARY, equivalence, make_batch, words
from transformers.models.t5.modeling_t5 import T5Attention

from headway.data.collate import source_batch
from headway.models import FAMILIES, VocabularySizes
from headway.nn.positions import bucket

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


def tiny_bert(places=PLACES):
    config = transformers.BertConfig(**bert_sizes(), max_position_embeddings=places)
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
    copy_backbone(theirs, ours.backbone)
    dense, norm, bias = theirs.masked
    copy_linear(ours.masked.dense, dense)
    copy_norm(ours.masked.norm, norm)
    ours.masked.output.bias.copy_(bias)


@torch.no_grad()
def copy_backbone(theirs, backbone):
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
    sizes = VocabularySizes(VOCABULARY, VOCABULARY, shared=True, head=head)
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


@torch.inference_mode()
@equivalence("refer", only=lambda case: case.name == "unilm bert")
def test_bert_under_the_three_masks(case):
    """One network: theirs takes a mask of every pair of tokens, with places and segments."""
    model, parts = tiny_bert(2 * PLACES)
    sizes = VocabularySizes(VOCABULARY, VOCABULARY, shared=True, head="words")
    settings = {**case.settings, "layers": L, "max_positions": 2 * PLACES}
    ours, batch = built("unilm", sizes, **settings), pairs_of_texts()
    copy_backbone(parts, ours.backbone)
    for pattern in ("sequence to sequence", "left to right"):
        if pattern == "left to right":
            batch = {name: value for name, value in batch.items() if not name.startswith("src")}
        states = stream_by_theirs(model.bert, batch)
        valid = batch["tgt_valid"]
        torch.testing.assert_close(ours(batch)[valid], states[valid], **CLOSE)
    read = some_pairs(fill=0)
    found = read_by_theirs(model, read, token_type_ids=read["segment"]).hidden_states[-1]
    valid = read["src_valid"]
    torch.testing.assert_close(ours.backbone(read)[0][valid], found[valid], **CLOSE)


def stream_by_theirs(body, batch):
    """States of the target, one sentence after another, without padding."""
    tgt, rows = batch["tgt_in"], []
    for b in range(tgt.size(0)):
        src = batch["src"][b][batch["src_valid"][b]] if "src" in batch else tgt[b, :0]
        S, T = len(src), tgt.size(1)
        mask = torch.zeros(S + T, S + T, dtype=torch.bool)
        mask[:, :S] = True
        mask[S:, S:] = torch.ones(T, T).tril().bool()
        added = torch.zeros(1, 1, S + T, S + T).masked_fill(~mask, torch.finfo(torch.float32).min)
        found = body(
            torch.cat([src, tgt[b]])[None],
            attention_mask=added,
            token_type_ids=torch.tensor([[0] * S + [1] * T]),
        )
        rows.append(found.last_hidden_state[0, S:])
    return torch.stack(rows)


# Encoder-decoders


def small_bart():
    config = transformers.BartConfig(
        vocab_size=VOCABULARY,
        d_model=D,
        encoder_layers=L,
        decoder_layers=L,
        encoder_attention_heads=H,
        decoder_attention_heads=H,
        encoder_ffn_dim=F,
        decoder_ffn_dim=F,
        max_position_embeddings=PLACES,
        activation_function="gelu",
        dropout=0.0,
    )
    model = randomised(transformers.BartForConditionalGeneration(config))
    model.final_logits_bias.normal_()
    return model


@torch.no_grad()
def copy_bart_attention(mine, theirs):
    parts = (theirs.q_proj, theirs.k_proj, theirs.v_proj)
    if hasattr(mine, "qkv"):
        copy_linear(mine.qkv, *parts)
    else:
        copy_linear(mine.query, parts[0])
        copy_linear(mine.kv, *parts[1:])
    copy_linear(mine.out, theirs.out_proj)


@torch.no_grad()
def copy_bart(theirs, ours):
    """Its first two rows of positions are never used."""
    body = theirs.model
    ours.target_embedding.copy_(body.shared.weight)
    ours.output.bias.copy_(theirs.final_logits_bias[0])
    for positions, norm, side, layers in (
        (ours.positions, ours.source_embedding_norm, body.encoder, ours.encoder),
        (ours.target_positions, ours.target_embedding_norm, body.decoder, ours.decoder),
    ):
        positions.weight.copy_(side.embed_positions.weight[2:])
        copy_norm(norm, side.layernorm_embedding)
        for mine, other in zip(layers, side.layers, strict=True):
            copy_bart_attention(mine.attention, other.self_attn)
            copy_norm(mine.attention_residual.norm, other.self_attn_layer_norm)
            copy_linear(mine.feed.inner, other.fc1)
            copy_linear(mine.feed.outer, other.fc2)
            copy_norm(mine.feed_residual.norm, other.final_layer_norm)
            if hasattr(mine, "cross"):
                copy_bart_attention(mine.cross, other.encoder_attn)
                copy_norm(mine.cross_residual.norm, other.encoder_attn_layer_norm)


def small_t5(is_gated):
    """The first version, or 1.1: gates, and an output layer of its own that takes states as is."""
    config = transformers.T5Config(
        vocab_size=VOCABULARY,
        d_model=D,
        d_kv=6,
        d_ff=F,
        num_layers=L,
        num_decoder_layers=3,
        num_heads=3,
        relative_attention_num_buckets=8,
        relative_attention_max_distance=12,
        dropout_rate=0.0,
        feed_forward_proj="gated-gelu" if is_gated else "relu",
        tie_word_embeddings=not is_gated,
    )
    model = randomised(transformers.T5ForConditionalGeneration(config))
    if is_gated:
        model.lm_head.weight = torch.nn.Parameter(torch.randn(VOCABULARY, D))
    return model


@torch.no_grad()
def copy_t5_feed(mine, layer):
    theirs = layer.DenseReluDense
    if mine.feed.gate is None:
        copy_linear(mine.feed.inner, theirs.wi)
    else:
        copy_linear(mine.feed.gate, theirs.wi_0)
        copy_linear(mine.feed.inner, theirs.wi_1)
    copy_linear(mine.feed.outer, theirs.wo)
    copy_norm(mine.feed_residual.norm, layer.layer_norm)


@torch.no_grad()
def copy_t5(theirs, ours):
    ours.target_embedding.copy_(theirs.shared.weight)
    ours.output.weight.copy_(theirs.lm_head.weight)
    for bias, norm, side, layers in (
        (ours.encoder_position_bias, ours.encoder_norm, theirs.encoder, ours.encoder),
        (ours.decoder_position_bias, ours.decoder_norm, theirs.decoder, ours.decoder),
    ):
        first = side.block[0].layer[0].SelfAttention
        bias.weight.copy_(first.relative_attention_bias.weight)
        copy_norm(norm, side.final_layer_norm)
        for mine, block in zip(layers, side.block, strict=True):
            own, *between, feed = block.layer
            theirs_own = own.SelfAttention
            copy_linear(mine.attention.qkv, theirs_own.q, theirs_own.k, theirs_own.v)
            copy_linear(mine.attention.out, theirs_own.o)
            copy_norm(mine.attention_residual.norm, own.layer_norm)
            for cross in between:
                theirs_cross = cross.EncDecAttention
                copy_linear(mine.cross.query, theirs_cross.q)
                copy_linear(mine.cross.kv, theirs_cross.k, theirs_cross.v)
                copy_linear(mine.cross.out, theirs_cross.o)
                copy_norm(mine.cross_residual.norm, cross.layer_norm)
            copy_t5_feed(mine, feed)


def pairs_of_texts():
    """Of unequal lengths, beyond the largest distance of relative positions."""
    lengths = [(5, 7), (1, 3), (30, 1), (3, 30), (0, 0)]
    return make_batch(
        [words(s, 10 * i) for i, (s, _) in enumerate(lengths)],
        [words(t, 10 * i + 5) for i, (_, t) in enumerate(lengths)],
    )


@torch.inference_mode()
def check_pairs(theirs, ours):
    """Memory, logits of the teacher-forced pass, and of cached steps one by one."""
    batch = pairs_of_texts()
    found = theirs(
        input_ids=batch["src"],
        attention_mask=batch["src_valid"].long(),
        decoder_input_ids=batch["tgt_in"],
    )
    src_valid, valid = batch["src_valid"], batch["tgt_valid"]
    memory, _ = ours.encode({"src": batch["src"], "src_valid": src_valid})
    expected = found.encoder_last_hidden_state
    torch.testing.assert_close(memory[src_valid], expected[src_valid], **CLOSE)
    logits = ours.output(ours(batch))
    torch.testing.assert_close(logits[valid], found.logits[valid], **CLOSE)
    state = ours.start(batch)
    for t in range(valid.size(1)):
        stepped, state = ours.step(batch["tgt_in"][:, None, t : t + 1], state)
        here = valid[:, t]
        torch.testing.assert_close(stepped[here, 0], found.logits[here, t], **CLOSE)


@equivalence("refer", only=lambda case: case.name == "transformer bart")
def test_bart(case):
    theirs = small_bart()
    sizes = VocabularySizes(VOCABULARY, VOCABULARY, shared=True)
    layers = {"encoder_layers": L, "decoder_layers": L, "output_bias": True}
    ours = built("transformer", sizes, **{**case.settings, **layers})
    copy_bart(theirs, ours)
    check_pairs(theirs, ours)
    assert n_weights(ours) == n_weights(theirs) - 4 * D + VOCABULARY  # positions; the output's bias


@equivalence("refer", only=lambda case: case.name in ("transformer t5", "transformer t5 gated"))
def test_t5(case):
    is_gated = case.name.endswith("gated")
    theirs = small_t5(is_gated)
    sizes = VocabularySizes(VOCABULARY, VOCABULARY, shared=True)
    layers = {"encoder_layers": L, "decoder_layers": 3, "n_heads": 3, "d_head": 6}
    groups = {"position_buckets": 8, "position_distance": 12, "norm_eps": 1e-6}
    ours = built("transformer", sizes, **{**case.settings, **layers, **groups})
    copy_t5(theirs, ours)
    check_pairs(theirs, ours)
    assert n_weights(ours) == n_weights(theirs)


@pytest.mark.parametrize("both_ways", [True, False])
@pytest.mark.parametrize(("n", "farthest"), [(32, 128), (8, 12), (16, 20), (64, 100)])
def test_groups_of_distances(n, farthest, both_ways):
    distances = torch.arange(-3 * farthest, 3 * farthest)
    theirs = T5Attention._relative_position_bucket(distances, both_ways, n, farthest)
    assert torch.equal(bucket(distances, n, farthest, both_ways), theirs)


# Decoders


def tiny_gpt2():
    config = transformers.GPT2Config(
        vocab_size=VOCABULARY,
        n_positions=PLACES,
        n_embd=D,
        n_layer=L,
        n_head=H,
        n_inner=F,
        activation_function="gelu_new",
        bos_token_id=1,
        eos_token_id=2,
        resid_pdrop=0.0,
        embd_pdrop=0.0,
        attn_pdrop=0.0,
    )
    return transformers.GPT2LMHeadModel(config)


@torch.no_grad()
def copy_gpt2(theirs, ours):
    """Its layers hold their weights the other way round."""
    body = theirs.transformer
    ours.embedding.copy_(body.wte.weight)
    ours.positions.weight.copy_(body.wpe.weight)
    norms = [(ours.norm, body.ln_f)]
    for layer, block in zip(ours.layers, body.h, strict=True):
        for linear, conv in (
            (layer.attention.qkv, block.attn.c_attn),
            (layer.attention.out, block.attn.c_proj),
            (layer.feed.inner, block.mlp.c_fc),
            (layer.feed.outer, block.mlp.c_proj),
        ):
            linear.weight.copy_(conv.weight.T)
            linear.bias.copy_(conv.bias)
        norms += [(layer.attention_residual.norm, block.ln_1)]
        norms += [(layer.feed_residual.norm, block.ln_2)]
    for norm, other in norms:
        norm.weight.copy_(other.weight)
        norm.bias.copy_(other.bias)


@torch.inference_mode()
@equivalence("refer", only=lambda case: case.name == "decoder gpt-2")
def test_gpt2(case):
    theirs = randomised(tiny_gpt2())
    ours, batch = case.build(), pairs_of_texts()
    copy_gpt2(theirs, ours)
    valid = batch["tgt_valid"]
    expected = theirs(batch["tgt_in"], attention_mask=valid.long()).logits
    torch.testing.assert_close(ours.output(ours(batch))[valid], expected[valid], **CLOSE)
    state = ours.start(batch)
    for t in range(valid.size(1)):
        stepped, state = ours.step(batch["tgt_in"][:, None, t : t + 1], state)
        here = valid[:, t]
        torch.testing.assert_close(stepped[here, 0], expected[here, t], **CLOSE)

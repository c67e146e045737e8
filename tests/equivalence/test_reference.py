"""Whole models equal reference implementations with copied weights: logits to 1e-5.

Post-norm against Hugging Face's Marian, pre-norm against `torch.nn.Transformer`, recurrent models
against the formulas over the cells of `torch.nn`, one sentence and one word at a time, the
convolutional model against `torch.nn.Conv1d` and the formulas of its paper, one sentence at a time.
Nothing is downloaded. The other models of Hugging Face are in `test_pretrained.py`.
"""

import math

import pytest
import torch
from equivalence_cases import VOCABULARY, equivalence, some_batch
from recurrent_reference import language_logits_by_formula, logits_by_formula

from headway.nn.positions import sinusoidal

CLOSE = {"rtol": 1e-5, "atol": 1e-5}
D, F, H, L = 16, 24, 2, 2


def logits_of(model, batch):
    with torch.inference_mode():
        return model.output(model(batch))


def randomised(module, std=0.3):
    torch.manual_seed(3)
    for parameter in module.parameters():
        torch.nn.init.normal_(parameter, std=std)
    return module.eval()


@torch.no_grad()
def copy_linears(pairs):
    for ours, parts in pairs:
        ours.weight.copy_(torch.cat([part.weight for part in parts]))
        ours.bias.copy_(torch.cat([part.bias for part in parts]))


# Marian


def tiny_marian():
    import transformers

    config = transformers.MarianConfig(
        vocab_size=VOCABULARY,
        d_model=D,
        encoder_layers=L,
        decoder_layers=L,
        encoder_attention_heads=H,
        decoder_attention_heads=H,
        encoder_ffn_dim=F,
        decoder_ffn_dim=F,
        activation_function="relu",
        scale_embedding=True,
        share_encoder_decoder_embeddings=True,
        tie_word_embeddings=True,
        max_position_embeddings=32,
        pad_token_id=0,
        # Marian's own models start from the padding token. The start is a token like any other to
        # the network: both sides are given the same one, so headway's begin mark serves.
        decoder_start_token_id=1,
        eos_token_id=2,
        forced_eos_token_id=2,
        dropout=0.0,
    )
    return transformers.MarianMTModel(config)


def to_interleaved():
    """Which channel of Marian each of our channels is.

    Marian has all sines in the first half of the model dimension and all cosines in the second;
    ours alternate, as in the paper. The same order of channels everywhere makes them one model.
    """
    return torch.arange(D).view(2, D // 2).T.flatten()


@torch.no_grad()
def copy_marian(theirs, ours):
    order = to_interleaved()

    def reads(linear):  # from the residual stream
        linear.weight.copy_(linear.weight[:, order])

    def writes(linear):  # into the residual stream
        linear.weight.copy_(linear.weight[order])
        linear.bias.copy_(linear.bias[order])

    def norm(mine, other):
        mine.weight.copy_(other.weight[order])
        mine.bias.copy_(other.bias[order])

    def common(mine, other):
        attention = other.self_attn
        copy_linears(
            [
                (mine.attention.qkv, (attention.q_proj, attention.k_proj, attention.v_proj)),
                (mine.attention.out, (attention.out_proj,)),
                (mine.feed.inner, (other.fc1,)),
                (mine.feed.outer, (other.fc2,)),
            ]
        )
        reads(mine.attention.qkv), writes(mine.attention.out)
        reads(mine.feed.inner), writes(mine.feed.outer)
        norm(mine.attention_residual.norm, other.self_attn_layer_norm)
        norm(mine.feed_residual.norm, other.final_layer_norm)

    for mine, other in zip(ours.encoder, theirs.model.encoder.layers, strict=True):
        common(mine, other)
    for mine, other in zip(ours.decoder, theirs.model.decoder.layers, strict=True):
        common(mine, other)
        attention = other.encoder_attn
        copy_linears(
            [
                (mine.cross.query, (attention.q_proj,)),
                (mine.cross.kv, (attention.k_proj, attention.v_proj)),
                (mine.cross.out, (attention.out_proj,)),
            ]
        )
        reads(mine.cross.query), reads(mine.cross.kv), writes(mine.cross.out)
        norm(mine.cross_residual.norm, other.encoder_attn_layer_norm)
    ours.target_embedding.copy_(theirs.model.shared.weight[:, order])
    ours.output.bias.copy_(theirs.final_logits_bias[0])


def learned_weights(marian):
    """All but the fixed positions, which are parameters in Marian."""
    return (p for n, p in marian.named_parameters() if "embed_positions" not in n)


@equivalence("refer", only=lambda case: case.name == "transformer post-norm")
def test_marian(case):
    theirs = tiny_marian()
    torch.manual_seed(3)
    for parameter in learned_weights(theirs):
        torch.nn.init.normal_(parameter, std=0.3)
    theirs.final_logits_bias.normal_()
    theirs.tie_weights()
    theirs.eval()
    case = type(case)(case.name, case.family, {**case.settings, "output_bias": True})
    ours = case.build()
    copy_marian(theirs, ours)

    codes = theirs.model.encoder.embed_positions.weight[:10][:, to_interleaved()]
    torch.testing.assert_close(codes.detach(), sinusoidal(torch.arange(10), D), **CLOSE)
    batch = some_batch()
    with torch.inference_mode():
        expected = theirs(
            input_ids=batch["src"],
            attention_mask=batch["src_valid"].long(),
            decoder_input_ids=batch["tgt_in"],
        ).logits
    valid = batch["tgt_valid"]
    torch.testing.assert_close(logits_of(ours, batch)[valid], expected[valid], **CLOSE)
    n_theirs = sum(p.numel() for p in learned_weights(theirs)) + VOCABULARY  # and the output bias
    assert sum(p.numel() for p in ours.parameters()) == n_theirs


# torch.nn.Transformer


@torch.no_grad()
def copy_torch(theirs, ours):
    def attention(mine, other):
        mine.qkv.weight.copy_(other.in_proj_weight)
        mine.qkv.bias.copy_(other.in_proj_bias)
        copy_linears([(mine.out, (other.out_proj,))])

    def cross(mine, other):
        mine.query.weight.copy_(other.in_proj_weight[:D])
        mine.query.bias.copy_(other.in_proj_bias[:D])
        mine.kv.weight.copy_(other.in_proj_weight[D:])
        mine.kv.bias.copy_(other.in_proj_bias[D:])
        copy_linears([(mine.out, (other.out_proj,))])

    for mine, other in zip(
        (*ours.encoder, *ours.decoder),
        (*theirs.encoder.layers, *theirs.decoder.layers),
        strict=True,
    ):
        attention(mine.attention, other.self_attn)
        copy_linears([(mine.feed.inner, (other.linear1,)), (mine.feed.outer, (other.linear2,))])
        mine.attention_residual.norm.load_state_dict(other.norm1.state_dict())
        last = other.norm3 if hasattr(other, "norm3") else other.norm2
        mine.feed_residual.norm.load_state_dict(last.state_dict())
    for mine, other in zip(ours.decoder, theirs.decoder.layers, strict=True):
        cross(mine.cross, other.multihead_attn)
        mine.cross_residual.norm.load_state_dict(other.norm2.state_dict())
    ours.encoder_norm.load_state_dict(theirs.encoder.norm.state_dict())
    ours.decoder_norm.load_state_dict(theirs.decoder.norm.state_dict())


@pytest.mark.filterwarnings("ignore:enable_nested_tensor")  # of no use with norm_first
@equivalence("refer", only=lambda case: case.name == "transformer")
def test_torch_transformer(case):
    theirs = randomised(
        torch.nn.Transformer(D, H, L, L, F, 0.0, "relu", batch_first=True, norm_first=True)
    )
    ours, batch = case.build(), some_batch()
    copy_torch(theirs, ours)
    weight = ours.target_embedding.detach()

    def embed(tokens):
        return weight[tokens] * math.sqrt(D) + sinusoidal(torch.arange(tokens.size(1)), D)

    T = batch["tgt_in"].size(1)
    with torch.inference_mode():
        hidden = theirs(
            embed(batch["src"]),
            embed(batch["tgt_in"]),
            tgt_mask=torch.ones(T, T, dtype=torch.bool).triu(1),
            src_key_padding_mask=~batch["src_valid"],
            memory_key_padding_mask=~batch["src_valid"],
        )
    torch.testing.assert_close(logits_of(ours, batch), hidden @ weight.T, **CLOSE)


# Recurrent


@equivalence("refer", only=lambda case: case.family == "recurrent" and case.has_tokens)
def test_recurrent_formulas(case):
    model, batch = case.build(), some_batch()
    found = logits_of(model, batch)
    for row in range(batch["src"].size(0)):
        source = batch["src"][row][batch["src_valid"][row]]
        target = batch["tgt_in"][row][batch["tgt_valid"][row]]
        expected = logits_by_formula(model, source, target)
        torch.testing.assert_close(found[row, : len(target)], expected, **CLOSE)


@equivalence("refer", only=lambda case: case.family == "recurrent_decoder")
def test_recurrent_language_formulas(case):
    model, batch = case.build(), some_batch()
    found = logits_of(model, batch)
    for row, valid in enumerate(batch["tgt_valid"]):
        tokens = batch["tgt_in"][row][valid]
        expected = language_logits_by_formula(model, tokens)
        torch.testing.assert_close(found[row, : len(tokens)], expected, **CLOSE)


# Convolutional


def gated(convolution, x):
    """`torch.nn.Conv1d` with copied weights on x (T, D) between as many zeros as it can use."""
    k = convolution.kernel
    conv = torch.nn.Conv1d(D, 2 * D, k, padding=k - 1)
    conv.weight.copy_(convolution.window.weight.view(2 * D, k, D).transpose(1, 2))
    conv.bias.copy_(convolution.window.bias)
    return torch.nn.functional.glu(conv(x.T), dim=0).T  # (T + k - 1, D)


def embedded(weight, tokens):
    return weight[tokens] * math.sqrt(D) + sinusoidal(torch.arange(len(tokens)), D)


@torch.inference_mode()
def sentence_alone(model, source, target):
    """Logits of one sentence: every sum halved in variance, the context times sqrt(m)."""
    half, (S, T) = math.sqrt(0.5), (len(source), len(target))
    e, g = embedded(model.source_embedding, source), embedded(model.target_embedding, target)
    z = model.source_in(e)
    for layer in model.encoder:
        k = layer.convolution.kernel
        z = (z + gated(layer.convolution, z)[k // 2 : k // 2 + S]) * half
    z = model.source_out(z)
    h = model.target_in(g)
    for layer in model.decoder:
        state = gated(layer.convolution, h)[:T]
        query = (layer.attention.query(state) + g) * half
        weights = torch.softmax(query @ z.T / math.sqrt(D), dim=1)
        context = weights @ (z + e) * half * math.sqrt(S)
        h = (h + (state + layer.attention.out(context)) * half) * half
    return model.target_out(h) @ model.output.weight.T + model.output.bias


@pytest.mark.parametrize("kernel", [1, 2, 3, 4])
@equivalence("refer", only=lambda case: case.name == "convolutional")
def test_torch_convolutions(case, kernel):
    case = type(case)(case.name, case.family, {**case.settings, "kernel": kernel})
    model, batch = case.build(), some_batch()
    found = logits_of(model, batch)
    for row in range(batch["src"].size(0)):
        source = batch["src"][row][batch["src_valid"][row]]
        target = batch["tgt_in"][row][batch["tgt_valid"][row]]
        expected = sentence_alone(model, source, target)
        torch.testing.assert_close(found[row, : len(target)], expected, **CLOSE)

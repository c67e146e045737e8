"""Models that read and give labels: batches, padding, edges, looking, updates, references.

The encoder against `torch.nn.TransformerEncoder`, the recurrent one against the cells of `torch.nn`
one word at a time, the bag against scikit-learn.
"""

import math
from types import SimpleNamespace

import numpy as np
import torch
from equivalence_cases import (
    EOS,
    LABELS,
    VOCABULARY,
    equivalence,
    equivalence_of_heads,
    labelled,
    words,
)

from headway.data.collate import source_batch
from headway.models import FAMILIES
from headway.models.ensemble import Ensemble
from headway.nn.capture import capture
from headway.nn.positions import sinusoidal
from headway.tasks.classify import Classify, LabelLoss
from headway.training.distributed import Processes
from headway.training.update import Updater

CLOSE = {"rtol": 1e-5, "atol": 1e-5}
LR = 0.1
D, F, H = 16, 24, 2


def some_texts(seed=0, lengths=(5, 1, 9, 3, 0, 6)):
    """Texts of unequal lengths, one of them nothing but its end, in two parts and with labels."""
    texts = [[*words(n, seed + 10 * i), EOS] for i, n in enumerate(lengths)]
    batch = source_batch([torch.tensor(text).numpy() for text in texts])
    segment = (torch.arange(batch["src"].size(1)) > 2).long().expand_as(batch["src"])
    return {**batch, "segment": segment, "label": torch.arange(len(texts)) % LABELS}


def rows(batch, start, stop):
    """Some rows, without the columns that are padding for all of them."""
    width = int(batch["src_valid"][start:stop].sum(1).max())
    return {n: v[start:stop, :width] if v.dim() > 1 else v[start:stop] for n, v in batch.items()}


def more_padding(batch):
    """The texts with more columns, filled with words that must not be looked at."""
    filling = torch.full((6, 4), 7)
    return {
        "src": torch.cat([batch["src"].where(batch["src_valid"], 7), filling], dim=1),
        "src_valid": torch.cat([batch["src_valid"], filling != 7], dim=1),
        "segment": torch.cat([batch["segment"], filling % 2], dim=1),
    }


@torch.inference_mode()
def logits_of(model, batch):
    return model.logits(batch)


@equivalence("batch", "classify")
def test_a_batch_is_labelled_as_its_texts_are(case):
    model, batch = case.build(head="linear"), some_texts()
    alone = torch.cat([logits_of(model, rows(batch, i, i + 1)) for i in range(6)])
    torch.testing.assert_close(logits_of(model, batch), alone, **CLOSE)
    assert alone.std(0).min() > 1e-3  # unlike texts, unlike answers


@equivalence("padded", "classify")
def test_padding_changes_no_label(case):
    model, batch = case.build(head="linear"), some_texts()
    found = logits_of(model, more_padding(batch))
    torch.testing.assert_close(found, logits_of(model, batch), **CLOSE)


@equivalence("edges", "classify")
def test_an_empty_text_a_word_and_the_longest_text_are_labelled(case):
    model, batch = case.build(head="linear"), some_texts(lengths=(0, 1, 39))
    found = logits_of(model, batch)
    assert found.shape == (3, LABELS)
    assert found.isfinite().all()
    alone = torch.cat([logits_of(model, rows(batch, i, i + 1)) for i in range(3)])
    torch.testing.assert_close(found, alone, **CLOSE)


@torch.inference_mode()
def read(model, batch):
    """All that a reader gives, of tokens only what is no padding."""
    (states, pooled), valid = model(batch), batch["src_valid"]
    return states[valid], pooled, model.logits(batch), model.token_logits(batch)[valid]


def alone(model, batch):
    """The same, one text after another."""
    singles = [read(model, rows(batch, i, i + 1)) for i in range(batch["src"].size(0))]
    return tuple(torch.cat(part) for part in zip(*singles, strict=True))


@equivalence_of_heads("batch", "read")
def test_a_batch_is_read_as_its_texts_are(case, head):
    model, batch = case.build(head=head), some_texts()
    torch.testing.assert_close(read(model, batch), alone(model, batch), **CLOSE)
    assert read(model, batch)[0].std(0).min() > 1e-3  # unlike tokens, unlike states


@equivalence_of_heads("padded", "read")
def test_padding_changes_no_state(case, head):
    model, batch = case.build(head=head), some_texts()
    wider = more_padding(batch)
    torch.testing.assert_close(read(model, wider), read(model, batch), **CLOSE)


@equivalence_of_heads("edges", "read")
def test_an_empty_text_a_word_and_the_longest_text_are_read(case, head):
    model, batch = case.build(head=head), some_texts(lengths=(0, 1, 39))
    found = read(model, batch)
    assert [len(part) for part in found] == [1 + 2 + 40, 3, 3, 1 + 2 + 40]
    assert all(part.isfinite().all() for part in found)
    torch.testing.assert_close(found, alone(model, batch), **CLOSE)


@equivalence("ensemble", "classify")
def test_an_ensemble_of_one_is_the_model(case):
    model, batch = case.build(head="linear"), some_texts()
    task = Classify()
    task.output = range(LABELS)
    task.inputs = SimpleNamespace(batches=lambda texts, device: [(list(texts), batch)])
    expected = logits_of(model, batch).double().softmax(1).numpy()
    for ensemble in (Ensemble([model]), Ensemble([model, model])):
        np.testing.assert_allclose(task.predict(ensemble, range(6)), expected, atol=1e-6)


@equivalence("fused", "classify", "attend")
def test_looking_changes_nothing(case):
    model, batch = case.build(head="linear"), some_texts()
    fused = logits_of(model, batch)
    with capture(model) as maps:
        eager = logits_of(model, batch)
    torch.testing.assert_close(eager, fused, **CLOSE)
    assert len(maps) == 2
    for weights in maps.values():
        torch.testing.assert_close(weights.sum(-1), torch.ones(weights.shape[:-1]))


def is_trained(case):
    return FAMILIES[case.family].learns == "gradient"


def updater_of(case, dropout=0.0):
    model = case.build(dropout=dropout, head="linear")
    # Plain gradient descent: Adam would blow up rounding where a gradient is almost zero.
    optimizer = torch.optim.SGD(model.parameters(), lr=LR)
    return Updater(LabelLoss(model, 0.1).train(), optimizer, 5, 1.0, Processes(), workers=1)


@equivalence("accum", "classify", only=is_trained)
def test_accumulated_is_the_big_batch(case):
    """Micro-batches of unequal size and length: each text counts once, whatever it came with."""
    big, small = updater_of(case), updater_of(case)
    for update in (1, 2):
        batch = some_texts(update)
        together = big([(0, batch)], update, LR)
        apart = small([(0, rows(batch, 0, 2)), (1, rows(batch, 2, 6))], update, LR)
        assert abs(together.losses["loss"] - apart.losses["loss"]) < 1e-5
        assert abs(together.norm - apart.norm) < 1e-4 * together.norm
    ours, theirs = (dict(one.objective.model.named_parameters()) for one in (small, big))
    for name, value in ours.items():
        torch.testing.assert_close(value, theirs[name], **CLOSE)


# References


@torch.no_grad()
def copy_layers(theirs, backbone):
    for mine, other in zip(backbone.layers, theirs.layers, strict=True):
        mine.attention.qkv.weight.copy_(other.self_attn.in_proj_weight)
        mine.attention.qkv.bias.copy_(other.self_attn.in_proj_bias)
        mine.attention.out.load_state_dict(other.self_attn.out_proj.state_dict())
        mine.feed.inner.load_state_dict(other.linear1.state_dict())
        mine.feed.outer.load_state_dict(other.linear2.state_dict())
        mine.attention_residual.norm.load_state_dict(other.norm1.state_dict())
        mine.feed_residual.norm.load_state_dict(other.norm2.state_dict())


@equivalence("refer", only=lambda case: case.name in ("encoder", "encoder post-norm"))
def test_torch_encoder(case):
    is_pre = case.name == "encoder"
    torch.manual_seed(3)
    layer = torch.nn.TransformerEncoderLayer(
        D, H, F, 0.0, "gelu", batch_first=True, norm_first=is_pre
    )
    norm = torch.nn.LayerNorm(D) if is_pre else None
    theirs = torch.nn.TransformerEncoder(layer, 2, norm, enable_nested_tensor=False)
    for parameter in theirs.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    model, batch = case.build(head="linear"), some_texts()
    backbone = model.backbone
    copy_layers(theirs.eval(), backbone)
    if norm is not None:
        backbone.norm.load_state_dict(theirs.norm.state_dict())
    S = batch["src"].size(1)
    with torch.no_grad():
        places = sinusoidal(torch.arange(S), D) if is_pre else backbone.positions.weight[:S]
        x = backbone.embedding[batch["src"]] * math.sqrt(D) + places
        states = theirs(x, src_key_padding_mask=~batch["src_valid"])
        pooled = torch.stack(
            [row[valid].mean(0) for row, valid in zip(states, batch["src_valid"], strict=True)]
        )
        expected = pooled @ model.output.weight.T + model.output.bias
    torch.testing.assert_close(logits_of(model, batch), expected, rtol=1e-4, atol=1e-4)


CELLS = {"rnn": torch.nn.RNNCell, "gru": torch.nn.GRUCell, "lstm": torch.nn.LSTMCell}


@torch.no_grad()
def read_by_cell(kind, layer, x, suffix=""):
    """The states of one layer in one direction, word by word. Shape: (S, I) -> (S, D)."""
    cell = CELLS[kind](layer.input_size, layer.hidden_size)
    named = dict(layer.named_parameters())
    for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"):
        getattr(cell, name).copy_(named[f"{name}_l0{suffix}"])
    state, states = None, []
    for word in x:
        state = cell(word[None], state)
        states.append(state[0][0] if kind == "lstm" else state[0])
    return torch.stack(states)


@torch.no_grad()
def label_by_cells(model, text):
    """The logits of one text without its padding."""
    c = model.config
    x = model.backbone.embedding[text] * math.sqrt(c.d_model)
    for layer in model.backbone.encoder.layers:
        there = read_by_cell(c.cell, layer, x)
        last, states = there[-1], there
        if c.bidirectional:
            back = read_by_cell(c.cell, layer, x.flip(0), "_reverse")
            last, states = torch.cat([last, back[-1]]), torch.cat([there, back.flip(0)], dim=1)
        x = states
    pooled = x.mean(0) if c.pooling == "mean" else last
    return pooled @ model.output.weight.T + model.output.bias


@equivalence("refer", only=lambda case: case.family == "recurrent_encoder" and case.has_tokens)
def test_torch_cells(case):
    model, batch = case.build(head="linear"), some_texts()
    found = logits_of(model, batch)
    for row, valid in enumerate(batch["src_valid"]):
        expected = label_by_cells(model, batch["src"][row][valid])
        torch.testing.assert_close(found[row], expected, **CLOSE)


@equivalence("refer", only=lambda case: case.family == "bag")
def test_scikit_learn(case):
    from sklearn.feature_extraction import text
    from sklearn.linear_model import LogisticRegression

    model = case.build(head="linear")
    lines = [" ".join(map(str, tokens[:-1])) for tokens, _ in labelled()]
    kind = text.TfidfVectorizer if model.config.weighting == "tfidf" else text.CountVectorizer
    vectors = kind(ngram_range=model.config.ngrams, token_pattern=r"\S+")
    theirs = LogisticRegression(max_iter=1000)
    theirs.fit(vectors.fit_transform(lines), [label for _, label in labelled()])
    order = [number_of(name) for name in vectors.get_feature_names_out()]
    assert sorted(order) == model.ngrams.tolist()
    place = torch.searchsorted(model.ngrams, torch.tensor(order))
    model.weight[place] = torch.from_numpy(theirs.coef_.T).float()  # copied weights
    model.bias = torch.from_numpy(theirs.intercept_).float()
    batch = some_texts(3)
    unseen = [
        " ".join(str(token) for token in row[valid][:-1].tolist())
        for row, valid in zip(batch["src"], batch["src_valid"], strict=True)
    ]
    expected = torch.from_numpy(theirs.predict_proba(vectors.transform(unseen))).float()
    torch.testing.assert_close(logits_of(model, batch).softmax(1), expected, **CLOSE)


def number_of(name):
    """An n-gram's number, its tokens being digits."""
    number = 0
    for token in name.split():
        number = number * VOCABULARY + int(token)
    return number

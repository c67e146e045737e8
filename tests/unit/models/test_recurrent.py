"""Recurrent encoder-decoders: what can be seen, what the bottleneck hides, settings that clash."""

import itertools

import pytest
import torch

from headway.errors import ConfigError
from headway.models.family import VocabularySizes
from headway.models.recurrent import Recurrent, RecurrentConfig
from headway.nn.attend import attend
from headway.nn.capture import capture
from headway.nn.rng import use_generator
from headway.nn.scores import SCORES, LowRankSettings

SIZES = VocabularySizes(9, 9, True)
FORMS = {
    "none": {"attention": "none"},
    "bahdanau": {"attention": "bahdanau"},
    "luong": {"attention": "luong"},
    "feeding": {"attention": "luong", "input_feeding": True},
}
CELLS = ("rnn", "gru", "lstm")
EVERY = [
    {"cell": cell, **form, **({} if form["attention"] == "none" else {"score": score})}
    for cell, form, score in itertools.product(CELLS, FORMS.values(), SCORES)
    if form["attention"] != "none" or score == "dot"
]
attending = pytest.mark.parametrize("form", ["bahdanau", "luong", "feeding"])
forms = pytest.mark.parametrize("form", list(FORMS))


def make(**given):
    torch.manual_seed(0)
    return Recurrent(RecurrentConfig(**{"d_model": 8, **given}).resolve(1, SIZES), SIZES)


def batch(valid):
    valid = torch.tensor(valid)
    tokens = torch.arange(4, 4 + valid.size(1)).expand(valid.shape)
    return {"src": tokens, "src_valid": valid, "tgt_in": torch.tensor([[1, 4, 5]] * len(valid))}


USUAL = [[True, True, True], [True, True, False]]


def stepped(model, given):
    state, logits = model.start(given), []
    for t in range(given["tgt_in"].size(1)):
        found, state = model.step(given["tgt_in"][:, None, t : t + 1], state)
        logits.append(found[:, 0])
    return torch.stack(logits, dim=1)


@pytest.mark.parametrize("given", EVERY, ids=lambda given: " ".join(map(str, given.values())))
def test_every_cell_in_every_form_with_every_score(given):
    """It has a gradient for every parameter, steps as it is taught, and attends to all it sees."""
    for more in ({}, {"layers": 2, "bidirectional": False}):
        model, pairs = make(dropout=0.0, max_positions=3, **given, **more), batch(USUAL)
        hidden = model(pairs)
        assert hidden.shape == (2, 3, 8)
        model.output.cross_entropy(hidden.flatten(0, 1), pairs["tgt_in"].flatten()).backward()
        dead = [n for n, p in model.named_parameters() if p.grad is None or not p.grad.any()]
        assert dead == []
        with torch.inference_mode(), capture(model.eval()) as maps:
            torch.testing.assert_close(stepped(model, pairs), model.output(hidden.detach()))
        if given["attention"] != "none":
            (weights,) = maps.values()
            assert weights.shape == (2, 1, 3, 3)
            torch.testing.assert_close(weights.sum(-1), torch.ones(2, 1, 3))
            assert (weights[1, ..., 2] == 0).all()


@attending
def test_its_attention_has_one_head_over_the_source(form):
    model = make(**FORMS[form]).eval()
    with capture(model) as maps:
        model(batch([[True, True, True], [True, False, False]]))
    assert list(maps) == ["decoder.attention"]
    (weights,) = maps.values()
    assert weights.shape == (2, 1, 3, 3)
    assert (weights[1, 0, :, 0] == 1).all()


@attending
def test_stepping_records_the_same_attention(form):
    model, given = make(**FORMS[form]).eval(), batch(USUAL)
    with capture(model) as whole:
        model(given)
    with capture(model) as walked:
        stepped(model, given)
    torch.testing.assert_close(walked["decoder.attention"], whole["decoder.attention"])


def test_bahdanau_attends_before_the_word_and_luong_after_it():
    """The first weights of Bahdanau's form cannot depend on the first word; Luong's do."""
    for form, depends in (("bahdanau", False), ("luong", True), ("feeding", True)):
        model, given, first = make(score="dot", **FORMS[form]).eval(), batch(USUAL), []
        for word in (1, 7):
            given["tgt_in"] = torch.tensor([[word, 4, 5]] * 2)
            with capture(model) as maps:
                model(given)
            first.append(maps["decoder.attention"][:, :, 0])
        assert (not torch.equal(*first)) is depends


def test_what_was_attended_is_fed_to_the_next_step_only_when_asked():
    """Without feeding, states do not depend on how attention is combined."""
    for feeding in (False, True):
        model, given, second = make(input_feeding=feeding).eval(), batch(USUAL), []
        for _ in range(2):
            with capture(model) as maps:
                model(given)
            second.append(maps["decoder.attention"][:, :, 1])
            torch.nn.init.normal_(model.decoder.combine.weight)
        assert (not torch.equal(*second)) is feeding


def test_without_attention_there_is_nothing_to_look_at():
    model = make(attention="none").eval()
    with capture(model) as maps:
        model(batch(USUAL))
    assert maps == {}
    assert model.start(batch(USUAL)).memory == {}


def test_the_bottleneck_is_one_vector():
    """Whatever the source, nothing of it but the encoder's last state reaches the decoder."""
    model = make(attention="none", cell="lstm", layers=2).eval()
    long = batch([[True] * 5])
    memory, carry = model.encode(long)
    assert memory == {}
    assert carry.shape == (1, 1, 2 * 2, 8)  # two layers of two parts


@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("cell", CELLS)
def test_the_last_state_is_that_of_the_last_word_not_of_the_padding(cell, bidirectional):
    model = make(cell=cell, bidirectional=bidirectional, layers=2).eval()
    long = batch([[True, True, False, False]])
    short = {name: value[:, :2] for name, value in long.items()}
    carries = [model.encode(b)[1] for b in (long, short)]
    torch.testing.assert_close(*carries)


def test_only_an_encoder_of_two_directions_sees_what_follows():
    given = batch([[True, True, True]])
    other = {**given, "src": torch.tensor([[4, 5, 8]])}
    for bidirectional in (False, True):
        model = make(bidirectional=bidirectional, score="dot").eval()
        first = [model.encode(b)[0]["values"][:, :, 0] for b in (given, other)]
        assert (not torch.equal(*first)) is bidirectional
        assert first[0].shape == (1, 1, 8)


@pytest.mark.parametrize("score", ["additive", "concat", "general"])
def test_the_source_side_of_a_score_is_computed_once(score, monkeypatch):
    model, calls = make(score=score, attention="bahdanau").eval(), []
    kind = type(model.decoder.attention.score)
    prepare = kind.prepare
    monkeypatch.setattr(kind, "prepare", lambda *given: calls.append(1) or prepare(*given))
    given = batch(USUAL)
    model(given)
    assert len(calls) == 1
    stepped(model, given)
    assert len(calls) == 2


@attending
def test_beams_share_the_memory(form):
    model, given = make(**FORMS[form]).eval(), batch(USUAL)
    state = model.start(given)
    before = dict(state.memory)
    tokens = torch.tensor([[[4], [5], [6]], [[7], [8], [4]]])
    _, state = model.step(tokens, state.reorder(torch.zeros(2, 3, dtype=torch.long)))
    assert all(state.memory[name] is tensor for name, tensor in before.items())
    assert state.cache["carry"].value.shape[:2] == (2, 3)


@pytest.mark.parametrize(("form", "calls"), [("luong", 1), ("bahdanau", 3), ("feeding", 3)])
def test_attention_is_called_as_often_as_the_form_demands(form, calls, monkeypatch):
    count = []
    monkeypatch.setattr(
        "headway.nn.recurrent.attend", lambda *a, **k: count.append(1) or attend(*a, **k)
    )
    make(**FORMS[form]).eval()(batch(USUAL))
    assert len(count) == calls


@forms
def test_dropout_in_training_only(form):
    for layers in (1, 2):
        model, given = make(dropout=0.5, layers=layers, **FORMS[form]), batch([[True, True, True]])
        assert not torch.equal(model.train()(given), model(given))
        assert torch.equal(model.eval()(given), model(given))


@forms
def test_between_layers_something_is_dropped(form):
    """With dropout of embeddings and outputs taken away, there is still some."""
    model, given = make(dropout=0.5, layers=2, **FORMS[form]).train(), batch(USUAL)
    model.dropout.rate = model.encoder.dropout.rate = 0.0
    assert not torch.equal(model(given), model(given))
    model.decoder.stack.dropout.rate = 0.0
    assert torch.equal(model(given), model(given))


@forms
def test_nothing_is_drawn_from_the_default_generator(form):
    """Threads could not share it: micro-batches would have to be taken in turn."""
    model, given = make(dropout=0.5, layers=2, **FORMS[form]).train(), batch(USUAL)
    before, draws = torch.get_rng_state(), torch.Generator().manual_seed(3)
    with use_generator(draws):
        first, second = model(given), model(given)
    assert torch.equal(torch.get_rng_state(), before)
    assert not torch.equal(first, second)
    with use_generator(draws.manual_seed(3)):
        assert torch.equal(model(given), first)


@forms
@pytest.mark.parametrize("cell", CELLS)
def test_bfloat16(form, cell):
    if cell == "lstm" and form in ("none", "luong"):
        # A whole LSTM in bfloat16 is a kernel that a CPU without that arithmetic does not have.
        pytest.skip("the loops stand for it")
    model, given = make(cell=cell, dropout=0.0, layers=2, **FORMS[form]), batch(USUAL)
    with torch.autocast("cpu", torch.bfloat16):
        hidden = model(given)
        hidden.float().square().sum().backward()
    torch.testing.assert_close(hidden.float(), model(given), rtol=0.1, atol=0.1)


# Settings


@pytest.mark.parametrize(
    ("attention", "score"), [("bahdanau", "additive"), ("luong", "general"), ("none", "auto")]
)
def test_the_usual_score_of_each_form(attention, score):
    resolved = RecurrentConfig(attention=attention).resolve(1, SIZES)
    assert resolved.score == score
    assert resolved.resolve(1, SIZES) == resolved


@attending
def test_settings_of_a_score_reach_the_attention(form):
    model = make(**FORMS[form], score=LowRankSettings(rank=3))
    assert model.decoder.attention.score.key_weight.shape == (1, 3, 8)
    assert RecurrentConfig(score="low_rank").resolve(1, SIZES).score == LowRankSettings(rank=16)


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        (
            {"d_model": 25},
            "d_model=25 is odd and cannot be halved for two directions; try d_model=26, or "
            "bidirectional = false",
        ),
        (
            {"attention": "bahdanau", "input_feeding": True},
            'input_feeding needs attention = "luong", and attention is "bahdanau"; '
            "leave one of them out",
        ),
        (
            {"attention": "none", "score": "dot"},
            'score = "dot" has nothing to score with attention = "none"; leave it out, or set '
            'attention = "bahdanau" or "luong"',
        ),
    ],
)
def test_settings_that_clash(given, complaint):
    with pytest.raises(ValueError) as caught:
        RecurrentConfig(**given)
    assert str(caught.value) == complaint


def test_an_odd_width_will_do_in_one_direction():
    assert make(d_model=7, bidirectional=False)(batch(USUAL)).shape == (2, 3, 7)


def read(tmp_path, *overrides):
    from headway.run_config import read_config

    (tmp_path / "run.toml").write_text(
        '[data]\ntrain = "pairs.tsv"\n[model]\nfamily = "recurrent"\n'
    )
    return read_config(tmp_path / "run.toml", overrides)


@pytest.mark.parametrize(
    ("override", "message"),
    [
        (
            "model.score=aditive",
            'command line: model.score = "aditive": expected one of "auto", '
            + ", ".join(f'"{name}"' for name in SCORES)
            + ' or a table; did you mean "additive"?',
        ),
        (
            "model.bidirectional_decoder=true",
            "command line: unknown key model.bidirectional_decoder; did you mean "
            "model.bidirectional?",
        ),
        (
            "model.decoder_bidirectional=true",
            "command line: unknown key model.decoder_bidirectional; did you mean "
            "model.bidirectional?",
        ),
        (
            "model.cell=GRU",
            'command line: model.cell = "GRU": expected one of "rnn", "gru", "lstm"; did you mean '
            '"gru"?',
        ),
        (
            "model.n_heads=2",
            'command line: unknown key model.n_heads for model.family = "recurrent"; it belongs to '
            '"transformer", "decoder", "encoder", "unilm"',
        ),
    ],
)
def test_mistakes_in_the_run_file(tmp_path, override, message):
    with pytest.raises(ConfigError) as caught:
        read(tmp_path, override)
    assert str(caught.value) == message


def test_location_must_know_the_longest_source(tmp_path):
    place = ("model.score=location", "model.max_positions=50")
    with pytest.raises(ConfigError) as caught:
        read(tmp_path, *place, "data.max_length=60")
    assert str(caught.value).endswith(
        "model.max_positions = 50 is less than the 60 tokens that data.max_length allows and "
        'model.score = "location" needs; raise it to 60 or lower data.max_length'
    )
    assert read(tmp_path, *place, "data.max_length=50").model.max_positions == 50
    assert read(tmp_path, "model.max_positions=50", "data.max_length=60")  # other scores need none

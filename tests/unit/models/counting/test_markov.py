"""Counting models: the worked examples, distributions, stepping, saving, refusals."""

import re

import numpy as np
import pytest
import torch
from counting_texts import CHECKS, LOGS, ORDERS, Text, as_batch, random_sequences
from hypothesis import given
from hypothesis import strategies as st
from safetensors.torch import load, save

from headway import config as configs
from headway.models import VocabularySizes
from headway.models.counting.markov import MARKOV, MarkovConfig, MarkovModel, count
from headway.search import SearchConfig, beam, score_targets
from headway.text import BOS, EOS, PAD

SIZE = 9
SIZES = VocabularySizes(SIZE, SIZE, True)
SMOOTHINGS = ("none", "add-k", "kneser-ney")
KINDS = [
    *({"order": order} for order in range(5)),
    {"order": 2, "skips": True},
    {"order": 2, "skips": 2},
    {"order": 2, "skips": True, "selective": True, "min_gain": 0.02},
]
every_kind = pytest.mark.parametrize("kind", KINDS, ids=str)
every_smoothing = pytest.mark.parametrize("smoothing", SMOOTHINGS)


def make(kind, smoothing, seed=0, n=40):
    sequences = random_sequences(seed, n, SIZE)
    return count(MarkovConfig(smoothing=smoothing, **kind), SIZES, sequences), sequences


# Worked examples


def test_first_order_by_proportion():
    text = Text(ORDERS)
    following = text.after(text.count(order=1), "show me my")
    assert following == pytest.approx({"directories": 0.2, "files": 0.3, "photos": 0.5})


def test_second_order_knows_what_ran():
    text = Text(CHECKS)
    first, second = text.count(order=1), text.count(order=2)
    for checked, down in ("battery", 1.0), ("program", 0.0):
        sentence = f"check whether the {checked} ran"
        assert text.after(first, sentence) == pytest.approx({"down": 0.4, "please": 0.6})
        assert text.after(second, sentence) == {"down" if down else "please": 1.0}


@pytest.mark.parametrize("copies", [1, 7])
def test_skips_vote_and_the_mask_decides(copies):
    text = Text(LOGS * copies)
    everyone, selective = (text.count(order=2, skips=True, selective=s) for s in (False, True))
    for checked, right, wrong in ("battery", "down", "please"), ("program", "please", "down"):
        sentence = f"check the {checked} log and find out whether it ran"
        # Of nine earlier words eight vote half and half, one is certain.
        expected = {right: (8 * 0.5 + 1) / 9, wrong: 8 * 0.5 / 9}
        assert text.after(everyone, sentence) == pytest.approx(expected)
        assert text.after(selective, sentence) == {right: 1.0}
    ran = text.ids("ran")[0]
    newest, earlier = selective.pair_words()
    informed = earlier[selective.pair_votes() & (newest == ran)].tolist()
    assert sorted(informed) == sorted(text.ids("battery program"))


# Distributions


@given(
    st.lists(st.lists(st.integers(3, SIZE - 1), max_size=8), min_size=1, max_size=8),
    st.sampled_from(KINDS),
    st.sampled_from(SMOOTHINGS),
    st.lists(st.integers(0, SIZE - 1), max_size=9),
)
def test_probabilities_sum_to_one_in_any_context(sentences, kind, smoothing, context):
    sequences = [np.array([*s, EOS]) for s in sentences] + [np.array([3, 4, 5, EOS])]
    model = count(MarkovConfig(smoothing=smoothing, **kind), SIZES, sequences)
    tokens = torch.tensor([[[BOS, *context]]])
    log_probs, _ = model.step(tokens, model.start({"x": torch.zeros(1)}))
    assert log_probs.shape == (1, 1, SIZE)
    assert log_probs.exp().sum().item() == pytest.approx(1, abs=1e-6)
    assert (log_probs[..., [PAD, BOS]] == -torch.inf).all()
    if smoothing != "none":
        assert (log_probs[..., EOS:] > -torch.inf).all()


def test_without_smoothing_an_unseen_context_is_answered_by_a_shorter_one():
    text = Text(CHECKS)
    model = text.count(order=2)
    probs = model.probs(torch.tensor([text.ids("please ran"), text.ids("ran check")]))
    down, please = text.ids("down please")
    assert probs[0, [down, please]].tolist() == pytest.approx([0.4, 0.6])
    assert probs[1, text.ids("whether")].tolist() == [1.0]
    nowhere = model.probs(torch.tensor([[3, 3]]))  # the unknown was never seen
    assert nowhere[0, please].item() == pytest.approx(10 / sum(len(s) for s in text.sequences))


def test_add_k_by_hand():
    text = Text(ORDERS)
    model = text.count(order=1, smoothing="add-k", k=0.5)
    following = text.after(model, "show me my")
    n_words = len(text.words) - 2
    assert following["photos"] == pytest.approx((5 + 0.5) / (10 + 0.5 * n_words))
    assert following["⟨unk⟩"] == pytest.approx(0.5 / (10 + 0.5 * n_words))
    unseen = model.probs(torch.tensor([[3]]))[0, 2:]
    torch.testing.assert_close(unseen, torch.full_like(unseen, 1 / n_words))


def test_the_unigram_is_the_frequency_of_words():
    text = Text(ORDERS)
    following = text.after(text.count(order=0), "show")
    assert following["⟨eos⟩"] == pytest.approx(1 / 6)
    assert following["photos"] == pytest.approx(5 / 60)


def test_sequences_do_not_reach_into_each_other():
    text = Text(["a b", "c d"])
    model = text.count(order=2)
    assert text.after(model, "") == pytest.approx({"a": 0.5, "c": 0.5})
    assert text.after(model, "c") == {"d": 1.0}


def test_a_word_that_stands_twice_votes_once():
    text = Text(["a a b q x", "b q x", "a c q y"])
    model = text.count(order=2, skips=True)
    # a voted for x and for y, b for x alone
    assert text.after(model, "a a b q") == pytest.approx({"x": 0.75, "y": 0.25})
    assert text.after(model, "b q") == {"x": 1.0}


def test_skips_end_at_their_distance():
    text = Text(["a b q x", "c b q y"])
    near, far = text.count(order=2, skips=1), text.count(order=2, skips=2)
    assert text.after(near, "a b q") == pytest.approx({"x": 0.5, "y": 0.5})
    assert text.after(far, "a b q") == pytest.approx({"x": 0.75, "y": 0.25})


def test_where_nobody_votes_the_first_order_answers():
    text = Text(LOGS)
    model = text.count(order=2, skips=True)
    # Nothing stands before "it" here, and "please" never stood before "ran".
    assert text.after(model, "ran") == text.after(model, "please ran")
    assert text.after(model, "ran") == pytest.approx({"down": 0.5, "please": 0.5})


# Stepping and scoring


@every_smoothing
@every_kind
def test_steps_give_the_log_probs_of_the_whole(kind, smoothing):
    model, sequences = make(kind, smoothing)
    inputs, targets = as_batch([*sequences[:5], *random_sequences(7, 5, SIZE)])
    whole = model.log_probs(inputs, targets)
    stepped = score_targets(model, {"x": inputs}, targets, targets != PAD, bos=BOS, normalise=False)
    torch.testing.assert_close(stepped, whole)
    assert (whole[targets == PAD] == 0).all()
    normalised = score_targets(model, {"x": inputs}, targets, targets != PAD, bos=BOS)
    torch.testing.assert_close(normalised, whole)


@every_kind
def test_a_batch_is_its_rows(kind):
    model, sequences = make(kind, "kneser-ney")
    inputs, targets = as_batch(sequences[:7])
    whole = model.log_probs(inputs, targets)
    for row, sequence in enumerate(sequences[:7]):
        n = len(sequence)
        alone = model.log_probs(inputs[row : row + 1, :n], targets[row : row + 1, :n])
        torch.testing.assert_close(whole[row : row + 1, :n], alone)


@every_kind
def test_several_tokens_at_once_or_as_a_prefix(kind):
    model, _ = make(kind, "kneser-ney")
    tokens = torch.tensor([[BOS, 4, 3, 5, 3], [BOS, 3, 3, 3, 6]])
    batch = {"x": tokens}
    at_once, _ = model.step(tokens[:, None], model.start(batch))
    state = model.start(batch, tokens[:, :3])
    behind_prefix, _ = model.step(tokens[:, None, 3:], state)
    state = model.start(batch)
    for t in range(5):
        one_by_one, state = model.step(tokens[:, None, t : t + 1], state)
    torch.testing.assert_close(behind_prefix, at_once)
    torch.testing.assert_close(one_by_one, at_once)


@every_kind
def test_a_state_is_reordered_and_thinned_out(kind):
    model, _ = make(kind, "kneser-ney")
    state = model.start({"x": torch.zeros(3, 1)}, torch.tensor([[BOS, 4], [BOS, 5], [BOS, 3]]))
    state = state.reorder(torch.zeros(3, 2, dtype=torch.int64))
    _, state = model.step(torch.tensor([[[4], [5]], [[6], [7]], [[3], [3]]]), state)
    state = state.keep(torch.tensor([1])).reorder(torch.tensor([[1, 0, 1]]))
    found, _ = model.step(torch.tensor([[[3], [4], [5]]]), state)
    for hypothesis, words in zip(found[0], ([5, 7, 3], [5, 6, 4], [5, 7, 5]), strict=True):
        alone, _ = model.step(torch.tensor([[[BOS, *words]]]), model.start({"x": torch.zeros(1)}))
        torch.testing.assert_close(hypothesis, alone[0, 0])


def test_the_beam_finds_the_most_frequent_sentence():
    text = Text(ORDERS)
    limits = torch.tensor([10])
    [[best]] = beam(
        text.count(order=2),
        {"x": torch.zeros(1)},
        bos=BOS,
        eos=EOS,
        config=SearchConfig(beam=3, alpha=0.0),
        limits=limits,
    )
    assert " ".join(text.words[token] for token in best.tokens) == "show me my photos please"
    assert best.score == pytest.approx(np.log(0.5))


def test_long_texts_are_looked_up_in_parts(monkeypatch):
    model, sequences = make({"order": 2, "skips": True}, "kneser-ney")
    inputs, targets = as_batch(sequences[:9])
    whole = model.log_probs(inputs, targets)
    monkeypatch.setattr("headway.models.counting.markov._CHUNK", 1)
    torch.testing.assert_close(model.log_probs(inputs, targets), whole)


def test_no_sequences_and_no_tokens():
    model, _ = make({"order": 2}, "kneser-ney")
    for shape in ((0, 4), (3, 0)):
        nothing = torch.zeros(shape, dtype=torch.int64)
        assert model.log_probs(nothing, nothing).shape == shape
    state = model.start({"x": torch.zeros(0, 1)})
    log_probs, _ = model.step(torch.zeros(0, 1, 1, dtype=torch.int64), state)
    assert log_probs.shape == (0, 1, SIZE)


# Saving


@every_smoothing
@every_kind
def test_saved_tensors_load_into_an_empty_model(kind, smoothing):
    model, sequences = make(kind, smoothing)
    inputs, targets = as_batch(sequences)
    saved = load(save(model.state_dict()))
    empty = MARKOV.build(model.config, SIZES)
    empty.load_state_dict(saved)
    assert torch.equal(empty.log_probs(inputs, targets), model.log_probs(inputs, targets))
    assert list(model.parameters()) == []
    empty.load_state_dict(make(kind, smoothing, seed=1)[0].state_dict())  # and into a full one
    other = make(kind, smoothing, seed=1)[0]
    assert torch.equal(empty.log_probs(inputs, targets), other.log_probs(inputs, targets))


def test_tensors_of_another_model_are_refused():
    saved = make({"order": 2}, "none")[0].state_dict()
    with pytest.raises(RuntimeError, match="Unexpected key"):
        MarkovModel(MarkovConfig(order=1), SIZES).load_state_dict(saved)
    with pytest.raises(RuntimeError, match="Missing key"):
        MarkovModel(MarkovConfig(order=3), SIZES).load_state_dict(saved)


def test_counting_twice_gives_the_same():
    one, other = (make({"order": 3}, "kneser-ney")[0].state_dict() for _ in range(2))
    assert all(torch.equal(one[name], other[name]) for name in one)


# Settings and refusals


def test_the_family():
    assert MARKOV.learns == "counting"
    assert MARKOV.count is count
    assert MARKOV.name == MARKOV.config().family == "markov"
    assert MARKOV.config().resolve(10, SIZES) == MARKOV.config()


def test_skips_in_a_run_file():
    for written, read in (True, True), (5, 5), (False, False):
        config = configs.parse({"skips": written}, MarkovConfig, "run.toml")
        assert config.skips is read if isinstance(read, bool) else config.skips == read


def refused(message):
    return pytest.raises(ValueError, match=f"^{re.escape(message)}$")


def test_an_order_larger_than_the_longest_sequence():
    text = Text(["a b", "c"])
    assert text.after(text.count(order=3), "a b") == {"⟨eos⟩": 1.0}
    with refused(
        "model.order = 4 needs a sequence of at least 4 tokens, the end token included, and the "
        "longest of the training data has 3; set model.order to 3 or less"
    ):
        text.count(order=4)


def test_settings_that_do_not_go_together():
    with refused(
        "model.skips is for the second order and model.order is 3; set model.order = 2 or "
        "model.skips = false"
    ):
        MarkovConfig(order=3, skips=True).resolve(1, SIZES)
    with refused(
        "model.selective chooses among the votes of earlier words, which exist only with "
        "skips; set model.skips = true or model.selective = false"
    ):
        Text(LOGS).count(order=2, selective=True)


def test_a_model_that_has_not_counted():
    with refused("this markov model is empty; make it with count(), or load the tensors of one"):
        MarkovModel(MarkovConfig(), SIZES).start({"x": torch.zeros(1)})


def test_a_model_without_skips_has_no_pairs():
    with refused("this model has no pairs, because it has no skips; set model.skips = true"):
        make({"order": 2}, "none")[0].pair_words()


def test_an_empty_batch():
    with refused("the batch is empty; add a tensor with one row per sequence"):
        make({"order": 1}, "none")[0].start({})


def test_an_absurd_order_is_refused_before_anything_is_made():
    """A table for each order would take for ever."""
    with pytest.raises(ValueError, match=r"model\.order = 99999999 needs a sequence of at least"):
        count(MarkovConfig(order=99_999_999), VocabularySizes(9, 9, True), [np.array([4, 5, 2])])

"""The worked example: "he hit me with a pie", a beam of two over a table of log probabilities."""

import pytest
import torch
from worked_table import PIE

from headway.search import SearchConfig, beam, greedy
from headway.teaching.table_model import TableModel

BATCH = {"rows": torch.zeros(1)}
LIMITS = torch.tensor([10])


class Watched(TableModel):
    """Records the prefix of every hypothesis that it continues."""

    def __init__(self, table):
        super().__init__(table)
        self.seen = []

    def start(self, batch, prefix=None):
        self.paths = {1: ""}  # node number -> words
        return super().start(batch, prefix)

    def step(self, tokens, state):
        before = state.cache["node"].value[0].tolist()
        logits, state = super().step(tokens, state)
        after = state.cache["node"].value[0].tolist()
        words = [self.words[token] for token in tokens[0, :, 0].tolist()]
        for old, new, word in zip(before, after, words, strict=True):
            self.paths[new] = "" if word == "START" else f"{self.paths[old]} {word}".strip()
        self.seen.append({self.paths[node] for node in after if node != 0})
        return logits, state


def search(k, alpha, n_best=1, stop="finished"):
    model = Watched(PIE)
    config = SearchConfig(beam=k, alpha=alpha, n_best=n_best, stop=stop)
    [hyps] = beam(model, BATCH, bos=0, eos=1, config=config, limits=LIMITS.clone(), normalise=False)
    return model, hyps


def test_every_step_keeps_these_two():
    model, _ = search(k=2, alpha=0.0)
    assert model.seen == [
        {""},
        {"he", "i"},  # -0.7, -0.9
        {"i was", "he hit"},  # -1.6, -1.7; "i got" -1.8 is pruned
        {"he hit me", "he hit a"},  # -2.5, -2.8; "i was hit" -2.9 is pruned
        {"he hit me with", "he hit a pie"},  # -3.3, -3.3; "he hit a tart" -3.8 is pruned
        {"he hit me with a"},  # -3.9; "he hit me with one" -4.9 is kept too, a dead end
        {"he hit me with a pie", "he hit me with a tart"},  # -4.2, -4.8
    ]


def test_without_normalisation_the_beam_misses_the_argmax():
    model, [hyp] = search(k=2, alpha=0.0)
    assert model.decode(hyp.tokens) == "he hit a pie"
    assert hyp.finished
    assert hyp.log_prob == hyp.score == pytest.approx(-3.4)
    assert hyp.token_log_probs == pytest.approx([-0.7, -1.0, -1.1, -0.5, -0.1])


def test_a_wider_beam_finds_the_argmax():
    model, [hyp] = search(k=3, alpha=0.0)
    assert model.decode(hyp.tokens) == "i was hit"
    assert hyp.log_prob == pytest.approx(-3.0)


def test_normalised_by_length_the_long_sentence_wins():
    model, hyps = search(k=2, alpha=1.0, n_best=2)
    assert [model.decode(hyp.tokens) for hyp in hyps] == ["he hit me with a pie", "he hit a pie"]
    assert [hyp.log_prob for hyp in hyps] == pytest.approx([-4.3, -3.4])
    assert [hyp.score for hyp in hyps] == pytest.approx([-4.3 / 7, -3.4 / 5])
    assert round(hyps[0].score, 2) == -0.61


def test_the_safe_stop_stops_when_nothing_better_can_come():
    model, [hyp] = search(k=2, alpha=0.0, stop="safe")
    assert model.decode(hyp.tokens) == "he hit a pie"
    assert len(model.seen) == 5  # "he hit me with a" has -3.9 already, below -3.4
    _, [hyp] = search(k=2, alpha=1.0, stop="safe")
    assert model.decode(hyp.tokens) == "he hit me with a pie"


def test_greedy_takes_the_likeliest_word():
    model = TableModel(PIE)
    [hyp] = greedy(model, BATCH, bos=0, eos=1, limits=LIMITS, normalise=False)
    assert model.decode(hyp.tokens) == "he hit me with a pie"
    assert hyp.log_prob == pytest.approx(-4.3)
    assert hyp.score == pytest.approx(-4.3 / 7)

"""The worked example: "he hit me with a pie", a beam of two over a table of log probabilities."""

from pathlib import Path

import pytest
import torch
from worked_table import PIE

from headway.models.table import TableModel
from headway.search import SearchConfig, Tracer, beam, forced, greedy
from headway.view.search_tree import search_tree

PICTURE = Path(__file__).parents[3] / "docs" / "images" / "beam.svg"

BATCH = {"rows": torch.zeros(1)}
LIMITS = torch.tensor([10])


class Watched(TableModel):
    """Notes the prefix of every hypothesis it is asked to continue."""

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
    [found] = beam(
        model, BATCH, bos=0, eos=1, config=config, limits=LIMITS.clone(), normalise=False
    )
    return model, found


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
    model, [found] = search(k=2, alpha=0.0)
    assert model.decode(found.tokens) == "he hit a pie"
    assert found.finished
    assert found.log_prob == found.score == pytest.approx(-3.4)
    assert found.token_log_probs == pytest.approx([-0.7, -1.0, -1.1, -0.5, -0.1])


def test_a_wider_beam_finds_the_argmax():
    model, [found] = search(k=3, alpha=0.0)
    assert model.decode(found.tokens) == "i was hit"
    assert found.log_prob == pytest.approx(-3.0)


def test_normalised_by_length_the_long_sentence_wins():
    model, found = search(k=2, alpha=1.0, n_best=2)
    assert [model.decode(one.tokens) for one in found] == ["he hit me with a pie", "he hit a pie"]
    assert [one.log_prob for one in found] == pytest.approx([-4.3, -3.4])
    assert [one.score for one in found] == pytest.approx([-4.3 / 7, -3.4 / 5])
    assert round(found[0].score, 2) == -0.61


def test_the_safe_stop_stops_when_nothing_better_can_come():
    model, [found] = search(k=2, alpha=0.0, stop="safe")
    assert model.decode(found.tokens) == "he hit a pie"
    assert len(model.seen) == 5  # "he hit me with a" has -3.9 already, below -3.4
    _, [found] = search(k=2, alpha=1.0, stop="safe")
    assert model.decode(found.tokens) == "he hit me with a pie"


def traced(alpha, k=2):
    model, config = TableModel(PIE), SearchConfig(beam=k, alpha=alpha)
    tracer = Tracer(1, 1, config)
    beam(
        model,
        BATCH,
        bos=0,
        eos=1,
        config=config,
        limits=LIMITS.clone(),
        normalise=False,
        tracer=tracer,
    )
    return model, tracer.traces()[0]


def told(model, trace):
    """Every candidate in words: log probability, fate, text."""
    return [
        [
            (round(one.log_prob, 4), one.fate, model.decode(trace.path(step, index)))
            for index, one in enumerate(candidates)
        ]
        for step, candidates in enumerate(trace.steps)
    ]


def test_the_trace_tells_every_candidate_and_its_fate():
    model, trace = traced(alpha=0.0)
    steps = told(model, trace)
    assert steps[1] == [
        (-1.6, "kept", "i was"),
        (-1.7, "kept", "he hit"),
        (-1.8, "pruned", "i got"),
        (-2.9, "pruned", "he struck"),
    ]
    assert (-2.9, "pruned", "i was hit") in steps[2]
    assert steps[4][0] == (-3.4, "ended", "he hit a pie END")
    assert [step[0][2] for step in steps[5:]] == [
        "he hit me with a pie",
        "he hit me with a pie END",
    ]
    assert len(steps) == 7


def test_the_trace_has_scores_before_and_after_normalisation():
    model, trace = traced(alpha=1.0)
    ends = [trace.steps[step][index] for step, index in trace.finished()]
    assert [one.score for one in ends] == pytest.approx([-4.3 / 7, -3.4 / 5, -4.9 / 7])
    assert [one.log_prob for one in ends] == pytest.approx([-4.3, -3.4, -4.9])
    assert model.decode(trace.path(*trace.finished()[0])) == "he hit me with a pie END"
    plain = trace.to_dict()
    assert plain["beam"] == 2
    assert plain["steps"][0] == {
        "parent": [0, 0],
        "token": model.encode("he i"),
        "log_prob": [-0.7, -0.9],
        "token_log_prob": [-0.7, -0.9],
        "score": [-0.7, -0.9],
        "fate": ["kept", "kept"],
    }


def test_the_picture_in_the_docs_is_this_search():
    model, trace = traced(alpha=1.0)
    words = [[model.words[one.token] for one in step] for step in trace.steps]
    drawn = search_tree(trace.to_dict(), words, "Beam search with two hypotheses")
    assert PICTURE.read_text(encoding="utf-8") == drawn


def test_greedy_takes_the_likeliest_word():
    model = TableModel(PIE)
    [found] = greedy(model, BATCH, bos=0, eos=1, limits=LIMITS, normalise=False)
    assert model.decode(found.tokens) == "he hit me with a pie"
    assert found.log_prob == pytest.approx(-4.3)
    assert found.score == pytest.approx(-4.3 / 7)


def test_forced_scores_of_the_pruned_sentence():
    model = TableModel(PIE)
    targets = torch.tensor([model.encode("i was hit END"), model.encode("he struck he END")])
    scores = forced(model, {"rows": torch.zeros(2)}, targets, targets >= 0, bos=0, normalise=False)
    assert scores[0].tolist() == pytest.approx([-0.9, -0.7, -1.3, -0.1])
    assert scores[1, :2].tolist() == pytest.approx([-0.7, -2.2])
    assert (scores[1, 2:] == -torch.inf).all()

"""What a beam search did, worked on the example table: fates, scores, paths, plain data."""

from pathlib import Path

import pytest
import torch
from worked_table import PIE

from headway.search import SearchConfig, Tracer, beam
from headway.search.candidates import Candidates
from headway.teaching.search_tree import search_tree
from headway.teaching.table_model import TableModel

INF = float("inf")
PICTURE = Path(__file__).parents[3] / "docs" / "images" / "beam.svg"

BATCH = {"rows": torch.zeros(1)}

LIMITS = torch.tensor([10])


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


def outline(model, trace):
    """Every candidate in words: log probability, fate, text."""
    return [
        [
            (round(hyp.log_prob, 4), hyp.fate, model.decode(trace.path(step, index)))
            for index, hyp in enumerate(candidates)
        ]
        for step, candidates in enumerate(trace.steps)
    ]


def test_the_trace_has_every_candidate_and_its_fate():
    model, trace = traced(alpha=0.0)
    steps = outline(model, trace)
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
    assert [hyp.score for hyp in ends] == pytest.approx([-4.3 / 7, -3.4 / 5, -4.9 / 7])
    assert [hyp.log_prob for hyp in ends] == pytest.approx([-4.3, -3.4, -4.9])
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
    words = [[model.words[hyp.token] for hyp in step] for step in trace.steps]
    drawn = search_tree(trace.to_dict(), words, "Beam search with two hypotheses")
    assert PICTURE.read_text(encoding="utf-8") == drawn


def candidates(*rows):
    """Candidates of one sentence: parent, token, log probability and that of the token."""
    parent, token, log_prob, token_log_prob = map(list, zip(*rows, strict=True))
    return Candidates(
        parent=torch.tensor([parent]),
        token=torch.tensor([token]),
        log_prob=torch.tensor([log_prob]),
        token_log_prob=torch.tensor([token_log_prob]),
    )


def test_fates_by_hand():
    """An end below the beam is pruned, and so is a third word; the impossible is left out."""
    tracer = Tracer(2, eos=1, config=SearchConfig(beam=2, alpha=1.0))
    rows = [(0, 5, -1.0, -1.0), (0, 1, -2.0, -2.0), (0, 6, -3.0, -3.0), (0, 1, -4.0, -4.0)]
    rows += [(0, 7, -5.0, -5.0), (0, 8, -INF, -INF)]
    tracer.record(torch.tensor([1]), candidates(*rows), n_tokens=0)
    first, second = tracer.traces()
    assert first.steps == []
    fates = [(candidate.token, candidate.fate) for candidate in second.steps[0]]
    assert fates == [(5, "kept"), (1, "ended"), (6, "kept"), (1, "pruned"), (7, "pruned")]


def test_a_path_follows_the_parents_among_those_kept():
    tracer = Tracer(1, eos=1, config=SearchConfig(beam=2, alpha=1.0))
    row = torch.tensor([0])
    tracer.record(row, candidates((0, 1, -1.0, -1.0), (0, 5, -2.0, -2.0), (0, 6, -3.0, -3.0)), 0)
    tracer.record(row, candidates((1, 7, -4.0, -1.0), (0, 8, -5.0, -3.0)), 1)
    [trace] = tracer.traces()
    assert [trace.path(1, 0), trace.path(1, 1), trace.path(0, 0)] == [[6, 7], [5, 8], [1]]
    assert [candidate.score for candidate in trace.steps[1]] == [-2.0, -2.5]
    assert trace.finished() == [(0, 0)]

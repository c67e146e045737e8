"""Searches over segments: prefixes, terms, draws by request and part, traces."""

from dataclasses import replace

import pytest
from export_sources import SOURCES

import headway
from headway import TranslationRequest
from headway.inference.requests import RequestEncoder
from headway.inference.segment_search import search_segments, trace_segments
from headway.search import SearchConfig

BEAM = SearchConfig(beam=3, n_best=2, max_length=10)
SAMPLE = SearchConfig(method="sample", n_best=4, max_length=10, temperature=2.0, seed=1)


@pytest.fixture(scope="module")
def translator(folder):
    return headway.load(folder / "pre")


@pytest.fixture(scope="module")
def encode(translator):
    """Makes segments of requests."""
    task = translator.task

    def encoded(*requests):
        places = [f"line {number}" for number in range(len(requests))]
        return RequestEncoder(task.source, task.target, 12).cut(requests, places)

    return encoded


def texts(translator, hypotheses):
    return [[translator.task.text(hypothesis) for hypothesis in best] for best in hypotheses]


def test_segments_keep_their_order(translator, encode):
    segments = encode(*(TranslationRequest(source) for source in SOURCES[:4]))
    together = search_segments(translator.task, translator.model, segments, BEAM)
    assert [len(best) for best in together] == [2, 2, 2, 2]
    for segment, best in zip(segments, texts(translator, together), strict=True):
        alone = search_segments(translator.task, translator.model, [segment], BEAM)
        assert texts(translator, alone) == [best]


def test_prefixes_and_terms_belong_to_their_segment(translator, encode):
    segments = encode(
        TranslationRequest(SOURCES[0], prefix="cat "),
        TranslationRequest(SOURCES[0], require=["ten"]),
        TranslationRequest(SOURCES[0], forbid=["dog"]),
        TranslationRequest(SOURCES[0]),
    )
    hypotheses = search_segments(translator.task, translator.model, segments, BEAM)
    begun, required, forbidden, free = (best[0] for best in texts(translator, hypotheses))
    assert begun.startswith("cat ")
    assert "ten" in required.split()
    assert "dog" not in forbidden.split()
    [[alone, _]] = texts(
        translator, search_segments(translator.task, translator.model, segments[3:], BEAM)
    )
    assert free == alone


def test_draws_depend_on_the_number_of_the_request_and_the_part(translator, encode):
    [segment] = encode(TranslationRequest(SOURCES[0]))

    def drawn(segment, first=0):
        found = search_segments(translator.task, translator.model, [segment], SAMPLE, first)
        return texts(translator, found)

    assert drawn(segment) == drawn(segment)
    assert drawn(segment, first=5) == drawn(replace(segment, row=5))
    assert drawn(segment) != drawn(replace(segment, row=5))
    assert drawn(segment) != drawn(replace(segment, part=1))


def test_a_traced_search_finds_the_same(translator, encode):
    segments = encode(TranslationRequest(SOURCES[1]), TranslationRequest(SOURCES[2], prefix="red "))
    plain = search_segments(translator.task, translator.model, segments, BEAM)
    traced, traces = trace_segments(translator.task, translator.model, segments, BEAM)
    assert texts(translator, traced) == texts(translator, plain)
    assert [trace.beam for trace in traces] == [3, 3]
    assert all(trace.steps for trace in traces)


def test_no_segments_have_no_hypotheses(translator):
    assert search_segments(translator.task, translator.model, [], BEAM) == []
    assert trace_segments(translator.task, translator.model, [], BEAM) == ([], [])

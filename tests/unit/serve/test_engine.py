"""Engines answer with the results of the run, as JSON."""

import json
import math
from dataclasses import replace

import pytest
from serve_helpers import KEY, SEARCH, answer, items_of
from served_runs import INPUTS, LIMITS, WORDS

from headway import api
from headway.errors import DataError
from headway.inference.results import ScoredText
from headway.search import SearchConfig
from headway.serve.engine import BatchKey, Engine, TranslationItem


def test_translations_are_those_of_the_run(engines, trained):
    texts = [*WORDS[:4], "", "abc"]
    expected = trained["mine"].translate(texts, beam=3, n_best=2)
    for found, right in zip(answer(engines["mine"], KEY, items_of(*texts)), expected, strict=True):
        assert found["source"] == right.source
        assert [one["text"] for one in found["outputs"]] == [one.text for one in right.outputs]
        for one, output in zip(found["outputs"], right.outputs, strict=True):
            assert one == {
                "text": output.text,
                "log_prob": output.log_prob,
                "score": output.score,
                "tokens": output.tokens,
                "token_log_probs": output.token_log_probs,
                "finished": output.finished,
            }


def test_looking_inside(engines, trained):
    key = replace(KEY, align=True, trace=True, attention="all")
    [found] = answer(engines["mine"], key, items_of("abca"))
    [right] = trained["mine"].translate(["abca"], beam=3, n_best=2, align=True, trace=True)
    assert found["source_tokens"] == right.source_tokens
    assert len(found["trace"]["steps"]) == len(right.trace.steps)
    assert found["trace"]["steps"][0]["text"][0] in {*"abc ", "⟨eos⟩"}
    for one, output in zip(found["outputs"], right.outputs, strict=True):
        assert one["alignment"] == output.alignment
        weights = one["attention"]
        crossing = [weights["maps"][name] for name in weights["crossing"][0]]
        assert len(crossing) == 2  # layers
        for heads in crossing:
            assert len(heads) == 2
            assert len(heads[0]) == len(weights["target"]) == len(output.tokens) + 1
            for row in heads[0]:
                assert len(row) == len(weights["source"]) == 5
                assert sum(row) == pytest.approx(1, abs=1e-3)


def test_the_mean_of_the_attention_is_that_of_the_run(engines, trained):
    [found] = answer(engines["mine"], replace(KEY, attention="mean"), items_of("abca"))
    best = found["outputs"][0]
    expected = trained["mine"].attention("abca", best["text"])
    assert best["attention"]["target"] == expected.target
    for row, right in zip(best["attention"]["mean"], expected.cross(), strict=True):
        assert row == pytest.approx(right.tolist(), abs=1e-4)


def test_an_inspection_is_that_of_the_run_without_its_log(engines, trained):
    key = BatchKey("served as", "inspect", SEARCH, output=1, size=LIMITS.inspection)
    [found] = answer(engines["mine"], key, items_of("abca"))
    right = trained["mine"].inspect("abca", beam=3, n_best=2, outputs=[1]).to_dict()
    assert found.pop("run") == {**right.pop("run"), "name": "served as"}
    assert right.pop("training") is not None
    assert found.pop("training") is None
    assert found == json.loads(json.dumps(right))
    assert found["outputs"][0]["attention"] is None
    assert {part["kind"] for part in found["outputs"][1]["attention"]} == {"decoder", "cross"}


@pytest.mark.parametrize(
    ("name", "kinds"),
    [
        ("lines", ["decoder"]),
        ("labels", []),
        ("pairs", ["encoder"]),
        ("tags", ["encoder"]),
        ("answers", ["encoder"]),
        ("values", ["encoder"]),
        ("hidden", ["encoder"]),
    ],
)
def test_other_tasks_are_looked_at_too(engines, trained, name, kinds):
    given = {"pairs": ("so", "good"), "answers": ("where ?", "it sat in Rome")}.get(name, "it sat")
    key = BatchKey(name, "inspect", size=LIMITS.inspection)
    [found] = answer(engines[name], key, [given])
    right = trained[name].inspect(given).to_dict()
    assert found["outputs"] == json.loads(json.dumps(right["outputs"]))
    outputs = [part for output in found["outputs"] for part in output["attention"]]
    assert [one["kind"] for one in [*found["encoder"], *outputs]] == kinds


def test_an_inspection_keeps_to_its_size(engines):
    key = BatchKey("mine", "inspect", SEARCH, size=12_000)
    [found] = engines["mine"].answer(key, items_of("abca"))
    assert len(found) < 14_000
    assert json.loads(found)["left_out"]


def test_an_output_that_the_search_did_not_find(engines):
    key = BatchKey("mine", "inspect", SEARCH, output=2, size=LIMITS.inspection)
    with pytest.raises(DataError, match="output is 2, and the search found 2, counted from 0"):
        engines["mine"].answer(key, items_of("abca"))


def test_more_attention_than_may_be_sent(engines):
    with pytest.raises(
        DataError, match="attention weights and at most 3 are sent; ask for the mean"
    ):
        engines["mine"].answer(replace(KEY, attention="all", cells=3), items_of("abc"))


def test_terms_and_beginnings(engines):
    items = [
        TranslationItem("texts[0]", api.TranslationRequest("abc", ["bb"])),
        TranslationItem("texts[1]", api.TranslationRequest("abc", prefix="ca")),
        TranslationItem("texts[2]", api.TranslationRequest("abc", ["ß"])),
    ]
    required, begun, impossible = answer(engines["mine"], KEY, items)
    assert "bb" in required["outputs"][0]["text"].split()
    assert "unmet" not in required["outputs"][0]
    assert begun["outputs"][0]["text"].startswith("ca")
    assert impossible["outputs"][0]["unmet"] == ["ß"]


def test_draws_do_not_depend_on_who_else_is_asked(engines):
    key = replace(KEY, search=SearchConfig(method="sample", n_best=2, max_length=24))
    together = answer(engines["mine"], key, items_of(*WORDS[:6]))
    alone = [answer(engines["mine"], key, items_of(word))[0] for word in WORDS[:6]]
    for one, other in zip(together, alone, strict=True):
        assert [o["text"] for o in one["outputs"]] == [o["text"] for o in other["outputs"]]


def test_scores_and_labels_are_those_of_the_run(engines, trained):
    pairs = [("abc", "cba"), ("cab", "x")]
    expected = trained["mine"].score(["abc", "cab"], ["cba", "x"])
    assert answer(engines["mine"], BatchKey("mine", "score"), pairs) == [
        {"log_prob": one.log_prob, "tokens": one.tokens, "token_log_probs": one.token_log_probs}
        for one in expected
    ]
    [text] = answer(engines["lines"], BatchKey("lines", "score"), ["abcabcabcabc"])
    assert text["log_prob"] == trained["lines"].score(["abcabcabcabc"])[0].log_prob
    [label] = answer(engines["labels"], BatchKey("labels", "predict"), ["abab"])
    assert label["label"] == trained["labels"].predict(["abab"])[0].label
    assert list(label["probabilities"]) == sorted(
        ["long", "short"], key=lambda n: n != label["label"]
    )


@pytest.mark.parametrize("name", INPUTS)
def test_what_is_told_of_texts_is_what_the_run_tells(engines, trained, name):
    given = [one if isinstance(one, str) else tuple(one.values()) for one in INPUTS[name]]
    found = answer(engines[name], BatchKey(name, "predict"), given)
    records = [trained[name].to_dict(one) for one in trained[name].predict(given)]
    assert found == json.loads(json.dumps(records))


def test_what_follows_prompts_does_not_depend_on_who_else_is_asked(engines, trained):
    prompts = ["abc", "", "c", "abc"]
    search = trained["lines"].writing_config(n_best=2, max_length=6)
    key, items = BatchKey("lines", "generate", search), list(enumerate(prompts))
    together = answer(engines["lines"], key, items)
    right = trained["lines"].generate(prompts, n_best=2, max_length=6)
    for number, (one, other) in enumerate(zip(together, right, strict=True)):
        [alone] = answer(engines["lines"], key, [items[number]])
        assert alone["outputs"][0]["text"] == one["outputs"][0]["text"]
        assert (one["prompt"], one["unknown"]) == (other.prompt, 0)
        assert [o["text"] for o in one["outputs"]] == [o.text for o in other.outputs]
    assert together[0]["outputs"] != together[3]["outputs"], "each prompt has draws of its own"
    beam = BatchKey("lines", "generate", trained["lines"].writing_config(beam=2, max_length=6))
    [searched] = answer(engines["lines"], beam, [(0, "aß")])
    [right] = trained["lines"].generate(["aß"], beam=2, max_length=6)
    assert searched["outputs"][0]["log_prob"] == pytest.approx(right.outputs[0].log_prob)
    assert searched["unknown"] == 1


def test_gaps_and_vectors_are_those_of_the_run(engines, trained):
    run, texts = trained["hidden"], ["the [MASK] sees the [MASK]", "[MASK] cat"]
    found = answer(engines["hidden"], BatchKey("hidden", "fill", top=2), texts)
    for one, text in zip(found, texts, strict=True):
        right = run.fill(text, top=2)
        assert one["text"] == text
        for gap, fillers in zip(one["gaps"], right.gaps, strict=True):
            assert [(f["token"], f["text"]) for f in gap] == [(f.token, f.text) for f in fillers]
            assert gap[0]["probability"] == pytest.approx(fillers[0].probability, rel=1e-4)
    words = ["the cat", "a dog sees", "it"]
    for options in ({}, {"pooling": "first"}, {"pooling": "mean", "normalise": True}):
        vectors = answer(engines["hidden"], BatchKey("hidden", "embed", **options), words)
        right = api.Embedder(run, **options).embed(words)
        for one, vector in zip(vectors, right, strict=True):
            assert one["vector"] == pytest.approx(vector.tolist(), abs=1e-6)


def test_json_has_no_infinity():
    class Certain:
        scored_inputs = "pairs"

        def score(self, *texts):
            return [ScoredText(-math.inf, ["a", "b"], [-math.inf, -1.0])]

    [scored] = answer(Engine(Certain()), BatchKey("mine", "score"), [("a", "b")])
    assert scored == {"log_prob": None, "tokens": ["a", "b"], "token_log_probs": [None, -1.0]}

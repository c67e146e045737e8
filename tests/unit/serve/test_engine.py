"""Engines answer what the run itself says, in JSON; and so do the places where they compute."""

import asyncio
import json
import math
import os
import signal
from dataclasses import replace

import pytest
from served_runs import INPUTS, LIMITS, WORDS
from starlette.testclient import TestClient

from headway import api
from headway.api.results import Scored
from headway.errors import ConfigError, DataError, HeadwayError
from headway.search import SearchConfig
from headway.serve.desk import Desk
from headway.serve.engine import Ask, Engine, Wish, _scored
from headway.serve.http import make_app
from headway.serve.pool import Failed, InForks, InThread

SEARCH = SearchConfig(beam=3, n_best=2, max_length=24)
ASK = Ask("mine", "translate", SEARCH, cells=10_000)


def wishes(*texts):
    return [Wish(f"texts[{i}]", api.Request(text)) for i, text in enumerate(texts)]


def answer(engine, ask, items):
    return [json.loads(one) for one in engine.answer(ask, items)]


def test_translations_are_those_of_the_run(engines, trained):
    texts = [*WORDS[:4], "", "abc"]
    expected = trained["mine"].translate(texts, beam=3, n_best=2)
    for found, right in zip(answer(engines["mine"], ASK, wishes(*texts)), expected, strict=True):
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
    ask = replace(ASK, align=True, trace=True, attention="all")
    [found] = answer(engines["mine"], ask, wishes("abca"))
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
    [found] = answer(engines["mine"], replace(ASK, attention="mean"), wishes("abca"))
    best = found["outputs"][0]
    expected = trained["mine"].attention("abca", best["text"])
    assert best["attention"]["target"] == expected.target
    for row, right in zip(best["attention"]["mean"], expected.cross(), strict=True):
        assert row == pytest.approx(right.tolist(), abs=1e-4)


def test_an_inspection_is_that_of_the_run_without_its_log(engines, trained):
    ask = Ask("served as", "inspect", SEARCH, output=1, size=LIMITS.inspection)
    [found] = answer(engines["mine"], ask, wishes("abca"))
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
    ask = Ask(name, "inspect", size=LIMITS.inspection)
    [found] = answer(engines[name], ask, [given])
    right = trained[name].inspect(given).to_dict()
    assert found["outputs"] == json.loads(json.dumps(right["outputs"]))
    outputs = [part for output in found["outputs"] for part in output["attention"]]
    assert [one["kind"] for one in [*found["encoder"], *outputs]] == kinds


def test_an_inspection_keeps_to_its_size(engines):
    ask = Ask("mine", "inspect", SEARCH, size=12_000)
    [found] = engines["mine"].answer(ask, wishes("abca"))
    assert len(found) < 14_000
    assert json.loads(found)["left_out"]


def test_an_output_that_the_search_did_not_find(engines):
    ask = Ask("mine", "inspect", SEARCH, output=2, size=LIMITS.inspection)
    with pytest.raises(DataError, match="output is 2, and the search found 2, counted from 0"):
        engines["mine"].answer(ask, wishes("abca"))


def test_more_attention_than_may_be_sent(engines):
    with pytest.raises(
        DataError, match="attention weights and at most 3 are sent; ask for the mean"
    ):
        engines["mine"].answer(replace(ASK, attention="all", cells=3), wishes("abc"))


def test_terms_and_beginnings(engines):
    items = [
        Wish("texts[0]", api.Request("abc", ["bb"])),
        Wish("texts[1]", api.Request("abc", prefix="ca")),
        Wish("texts[2]", api.Request("abc", ["ß"])),
    ]
    required, begun, impossible = answer(engines["mine"], ASK, items)
    assert "bb" in required["outputs"][0]["text"].split()
    assert "unmet" not in required["outputs"][0]
    assert begun["outputs"][0]["text"].startswith("ca")
    assert impossible["outputs"][0]["unmet"] == ["ß"]


def test_draws_do_not_depend_on_who_else_is_asked(engines):
    ask = replace(ASK, search=SearchConfig(method="sample", n_best=2, max_length=24))
    together = answer(engines["mine"], ask, wishes(*WORDS[:6]))
    alone = [answer(engines["mine"], ask, wishes(word))[0] for word in WORDS[:6]]
    for one, other in zip(together, alone, strict=True):
        assert [o["text"] for o in one["outputs"]] == [o["text"] for o in other["outputs"]]


def test_scores_and_labels_are_those_of_the_run(engines, trained):
    pairs = [("abc", "cba"), ("cab", "x")]
    expected = trained["mine"].score(["abc", "cab"], ["cba", "x"])
    assert answer(engines["mine"], Ask("mine", "score"), pairs) == [
        {"log_prob": one.log_prob, "tokens": one.tokens, "token_log_probs": one.token_log_probs}
        for one in expected
    ]
    [text] = answer(engines["lines"], Ask("lines", "score"), ["abcabcabcabc"])
    assert text["log_prob"] == trained["lines"].score(["abcabcabcabc"])[0].log_prob
    [label] = answer(engines["labels"], Ask("labels", "predict"), ["abab"])
    assert label["label"] == trained["labels"].predict(["abab"])[0].label
    assert list(label["probabilities"]) == sorted(
        ["long", "short"], key=lambda n: n != label["label"]
    )


@pytest.mark.parametrize("name", INPUTS)
def test_what_is_told_of_texts_is_what_the_run_tells(engines, trained, name):
    given = [one if isinstance(one, str) else tuple(one.values()) for one in INPUTS[name]]
    found = answer(engines[name], Ask(name, "predict"), given)
    records = [trained[name].record(one) for one in trained[name].predict(given)]
    assert found == json.loads(json.dumps(records))


def test_what_follows_prompts_does_not_depend_on_who_else_is_asked(engines, trained):
    prompts = ["abc", "", "c", "abc"]
    search = trained["lines"].writing_config(n_best=2, max_length=6)
    ask, items = Ask("lines", "generate", search), list(enumerate(prompts))
    together = answer(engines["lines"], ask, items)
    right = trained["lines"].generate(prompts, n_best=2, max_length=6)
    for number, (one, other) in enumerate(zip(together, right, strict=True)):
        [alone] = answer(engines["lines"], ask, [items[number]])
        assert alone["outputs"][0]["text"] == one["outputs"][0]["text"]
        assert (one["prompt"], one["unknown"]) == (other.prompt, 0)
        assert [o["text"] for o in one["outputs"]] == [o.text for o in other.outputs]
    assert together[0]["outputs"] != together[3]["outputs"], "each prompt has draws of its own"
    beam = Ask("lines", "generate", trained["lines"].writing_config(beam=2, max_length=6))
    [searched] = answer(engines["lines"], beam, [(0, "aß")])
    [right] = trained["lines"].generate(["aß"], beam=2, max_length=6)
    assert searched["outputs"][0]["log_prob"] == pytest.approx(right.outputs[0].log_prob)
    assert searched["unknown"] == 1


def test_gaps_and_vectors_are_those_of_the_run(engines, trained):
    run, texts = trained["hidden"], ["the [MASK] sees the [MASK]", "[MASK] cat"]
    found = answer(engines["hidden"], Ask("hidden", "fill", top=2), texts)
    for one, text in zip(found, texts, strict=True):
        right = run.fill(text, top=2)
        assert one["text"] == text
        for gap, fillers in zip(one["gaps"], right.gaps, strict=True):
            assert [(f["token"], f["text"]) for f in gap] == [(f.token, f.text) for f in fillers]
            assert gap[0]["probability"] == pytest.approx(fillers[0].probability, rel=1e-4)
    words = ["the cat", "a dog sees", "it"]
    for options in ({}, {"pooling": "first"}, {"pooling": "mean", "normalise": True}):
        vectors = answer(engines["hidden"], Ask("hidden", "embed", **options), words)
        right = api.Embedder(run, **options).embed(words)
        for one, vector in zip(vectors, right, strict=True):
            assert one["vector"] == pytest.approx(vector.tolist(), abs=1e-6)


def test_json_has_no_infinity():
    scored = _scored(Scored(-math.inf, ["a", "b"], [-math.inf, -1.0]))
    assert scored == {"log_prob": None, "tokens": ["a", "b"], "token_log_probs": [None, -1.0]}


# Places


class Fragile(Engine):
    """Dies, hangs or fails when a text says so."""

    def answer(self, ask, items):
        texts = [item.request.source for item in items]
        if "die" in texts:
            os.kill(os.getpid(), signal.SIGKILL)
        if "hang" in texts:
            signal.pause()
        if "fail" in texts:
            raise ZeroDivisionError("on purpose")
        if "refuse" in texts:
            raise DataError("not this one")
        return [json.dumps(text).encode() for text in texts]


def ask_place(place, *texts):
    return asyncio.run(place.answer(ASK, wishes(*texts)))


@pytest.fixture
def forks(trained):
    place = InForks({"mine": Fragile(trained["mine"])}, workers=1, threads=1, patience=2.0)
    yield place
    place.close()


def test_a_fork_answers_like_the_engine(engines):
    place = InForks(engines, workers=2, threads=1, patience=60.0)
    try:
        found = ask_place(place, *WORDS)
    finally:
        place.close()
    here = engines["mine"].answer(ASK, wishes(*WORDS))
    assert [json.loads(one) for one in found] == [json.loads(one) for one in here]


def test_a_fork_can_be_asked_everything(engines, trained):
    drawn = trained["lines"].writing_config(max_length=4)
    orders = [
        (Ask("lines", "generate", drawn), [(0, "ab"), (1, "")]),
        (Ask("hidden", "fill", top=2), ["the [MASK]"]),
        (Ask("hidden", "embed"), ["the cat", "it"]),
        (Ask("tags", "predict"), ["Ann saw Bob"]),
        (Ask("answers", "predict"), [("where ?", "it sat in Rome")]),
    ]
    place = InForks(engines, workers=1, threads=1, patience=60.0)
    try:
        for ask, items in orders:
            found = asyncio.run(place.answer(ask, items))
            assert len(found) == len(items)
            assert list(json.loads(found[0])) == list(answer(engines[ask.model], ask, items)[0])
    finally:
        place.close()


def test_what_goes_wrong_in_a_fork_is_told(forks, capfd):
    assert ask_place(forks, "a", "b") == [b'"a"', b'"b"']
    with pytest.raises(HeadwayError, match=r"^not this one$"):
        ask_place(forks, "refuse")
    with pytest.raises(Failed, match="ZeroDivisionError: on purpose"):
        ask_place(forks, "fail")
    assert "Traceback" in capfd.readouterr().err
    assert ask_place(forks, "a") == [b'"a"']


@pytest.mark.parametrize(("text", "said"), [("die", "was killed"), ("hang", "did not answer for")])
def test_a_fork_that_is_lost_is_replaced(forks, text, said):
    with pytest.raises(Failed, match=f"a process that computed {said}"):
        ask_place(forks, text)
    assert ask_place(forks, "a") == [b'"a"']


def test_forks_hold_nothing_that_is_open_here(trained):
    read, write = os.pipe()
    place = InForks({"mine": Fragile(trained["mine"])}, workers=2, threads=1, patience=5.0)
    try:
        assert ask_place(place, "a") == [b'"a"']
        os.close(write)
        assert os.read(read, 1) == b""  # nobody else has the other end
    finally:
        os.close(read)
        place.close()


def test_ctranslate2_answers_in_every_fork(trained, runs, monkeypatch):
    monkeypatch.setenv("HEADWAY_CACHE", str(runs / "cache"))
    desk = Desk("mine", trained["mine"], LIMITS, "ctranslate2")
    place = InForks({"mine": Engine(trained["mine"])}, workers=2, threads=1, patience=200.0)
    try:
        app, service = make_app({"mine": desk}, place, LIMITS)
        asyncio.run(service.warm_up())
        with TestClient(app) as client:
            found = client.post("/translate", json={"texts": WORDS[:8]}).json()
            traced = client.post("/translate", json={"texts": ["abc"], "trace": True}).json()
    finally:
        place.close()
    assert (found["engine"], traced["engine"]) == ("ctranslate2", "headway")
    right = trained["mine"].translate(WORDS[:8])
    for one, other in zip(found["results"], right, strict=True):
        assert one["outputs"][0]["score"] == pytest.approx(other.outputs[0].score, abs=1e-3)


def test_a_run_that_cannot_be_computed_is_told_at_the_start(trained, desks):
    class Unable(Engine):
        def answer(self, ask, items):
            raise ConfigError("not with this library")

    place = InForks({"mine": Unable(trained["mine"])}, workers=2, threads=1, patience=20.0)
    try:
        _, service = make_app({"mine": desks["mine"]}, place, LIMITS)
        with pytest.raises(HeadwayError, match="not with this library"):
            asyncio.run(service.warm_up())
    finally:
        place.close()


def test_a_thread_tells_the_same(trained, capfd):
    place = InThread({"mine": Fragile(trained["mine"])})
    assert ask_place(place, "a") == [b'"a"']
    with pytest.raises(Failed, match="ZeroDivisionError: on purpose"):
        ask_place(place, "fail")
    with pytest.raises(HeadwayError, match="not this one"):
        ask_place(place, "refuse")
    place.close()

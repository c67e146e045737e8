"""Requests are checked before they wait: which are refused, with which messages."""

import pytest
from serve_helpers import asking, refusal
from served_runs import INPUTS, LIMITS, WORDS

from headway import api
from headway.search import SearchConfig
from headway.serve.engine import BatchKey, TranslationItem
from headway.serve.limits import Limits
from headway.serve.schema import (
    EmbedRequest,
    FillRequest,
    GenerateRequest,
    InspectRequest,
    PredictRequest,
    ScoreRequest,
)
from headway.serve.validate import RequestValidator


def test_an_order_says_all_that_is_wanted(validators):
    valid = validators["mine"].translate(
        asking(texts=["abc", "bb cc a"], beam=2, n_best=2, align=True)
    )
    assert valid.lengths == [4, 8]  # characters and the end
    assert valid.width == 2
    assert valid.items == [
        TranslationItem("texts[0]", api.TranslationRequest("abc", [], [])),
        TranslationItem("texts[1]", api.TranslationRequest("bb cc a", [], [])),
    ]
    search = SearchConfig(beam=2, n_best=2, max_length=24)
    assert valid.key == BatchKey("mine", "translate", search, align=True, cells=LIMITS.cells)
    assert valid.key == validators["mine"].translate(asking(beam=2, n_best=2, align=True)).key


@pytest.mark.parametrize(
    ("asked", "message", "field"),
    [
        ({"texts": ["a"] * 9}, "texts has 9 entries and at most 8 are allowed", "texts"),
        ({"texts": ["a", "b" * 61]}, "texts[1] has 61 characters and at most 60", "texts[1]"),
        ({"texts": ["a" * 20]}, "texts[0] has 21 tokens and the model was trained", "texts[0]"),
        ({"beam": 7}, "beam is 7 and may be at most 6 here", "beam"),
        ({"max_length": 25}, "max_length is 25 and may be at most 24 here", "max_length"),
        ({"n_best": 4}, "n_best=4 does not fit beam=3", None),
        (
            {"texts": [{"source": "abc", "prefix": "a" * 20}]},
            "the prefix of texts[0] has 20 tokens, which leaves no room",
            "texts[0].prefix",
        ),
        (
            {"texts": [{"source": "abc", "require": ["a"] * 4}]},
            "texts[0] has 4 required terms and at most 3",
            "texts[0]",
        ),
        (
            {"texts": [{"source": "abc", "forbid": list("abcd")}]},
            "texts[0] has 4 forbidden terms and at most 3",
            "texts[0]",
        ),
        (
            {"texts": ["b", {"source": "abc", "require": ["cab"], "forbid": ["cab"]}]},
            "texts[1]: 'cab' is required while 'cab' is forbidden",
            "texts[1]",
        ),
        ({"texts": [{"source": "a", "require": [" "]}]}, "texts[0] has an empty term", "texts[0]"),
        ({"texts": [{"source": "a", "require": [[]]}]}, "texts[0]: an empty term", "texts[0]"),
        ({"glossary": [{"source": "a"}] * 6}, "glossary has 6 entries and at most 5", "glossary"),
        ({"glossary": [{"source": ""}]}, "glossary[0] has an empty term", "glossary[0]"),
        (
            {"glossary": [{"source": "x" * 61}]},
            "glossary[0] has 61 characters and at most 60",
            "glossary[0]",
        ),
    ],
)
def test_too_much_or_impossible(validators, asked, message, field):
    said, where = refusal(validators["mine"].translate, asking(**asked))
    assert said.startswith(message) or f": {message}" in said, said
    assert where == field
    assert "\n" not in said


def test_scores_take_pairs_or_texts_as_the_model_does(validators):
    pairs = ScoreRequest.model_validate({"pairs": [{"source": "abc", "target": "cbaaa"}]})
    assert validators["mine"].score(pairs).items == [("abc", "cbaaa")]
    assert validators["mine"].score(pairs).lengths == [6]
    texts = ScoreRequest(texts=["ab" * 20])  # longer than a window
    assert validators["lines"].score(texts).lengths == [41]
    assert refusal(validators["mine"].score, texts) == (
        "this model scores pairs; send pairs and no texts",
        "pairs",
    )
    assert refusal(validators["lines"].score, pairs)[1] == "texts"
    long = ScoreRequest.model_validate({"pairs": [{"source": "abc", "target": "a" * 30}]})
    assert refusal(validators["mine"].score, long)[1] == "pairs[0].target"


@pytest.mark.parametrize("name", INPUTS)
def test_what_is_predicted_from(validators, name):
    asked = PredictRequest.model_validate({"texts": INPUTS[name]})
    valid = validators[name].predict(asked)
    expected = [one if isinstance(one, str) else tuple(one.values()) for one in INPUTS[name]]
    assert (valid.key, valid.items) == (BatchKey(name, "predict"), expected)
    assert (
        valid.lengths
        == {
            "labels": [4, 5],
            "tags": [4, 2],
            "answers": [6],  # question and text, without marks
            "values": [3, 2],
            "pairs": [5, 3],
        }[name]
    )


@pytest.mark.parametrize(
    ("name", "given", "message", "field"),
    [
        ("labels", "a" * 61, "texts[0] has 61 characters and at most 60", "texts[0]"),
        ("labels", "a" * 20, "texts[0] has 21 tokens and the model was trained", "texts[0]"),
        ("labels", {"text": "a"}, "model 'labels' reads text; send a text", "texts[0]"),
        ("tags", "a " * 20, "texts[0] has 21 tokens and the model was trained", "texts[0]"),
        ("tags", {"text": "a"}, "model 'tags' reads words; send a text", "texts[0]"),
        (
            "pairs",
            "a",
            'model \'pairs\' reads text and text2; send an object {"text": "...", "text2": "..."}',
            "texts[0]",
        ),
        ("pairs", {"text": "a"}, "model 'pairs' reads text and text2; send", "texts[0]"),
        (
            "pairs",
            {"text": "a", "text2": "b", "context": "c"},
            "model 'pairs' reads text and text2; send",
            "texts[0]",
        ),
        (
            "pairs",
            {"text": "a", "text2": "b" * 61},
            "texts[0].text2 has 61 characters and at most 60",
            "texts[0].text2",
        ),
        ("answers", {"text": "a", "text2": "b"}, "model 'answers' reads question and", "texts[0]"),
        (
            "answers",
            {"question": "a " * 11, "context": "b"},
            "texts[0] has 11 tokens, and of the 20 that the model reads at once half are for the "
            "text; shorten it",
            "texts[0]",
        ),
    ],
)
def test_what_nothing_can_be_told_of(validators, name, given, message, field):
    asked = PredictRequest.model_validate({"texts": [given]})
    said, where = refusal(validators[name].predict, asked)
    assert said.startswith(message), said
    assert where == field
    assert "--" not in said


def prompting(*prompts, **fields):
    return GenerateRequest.model_validate({"prompts": list(prompts), **fields})


def test_an_order_to_go_on_with_prompts(validators):
    valid = validators["lines"].generate(prompting("abc", "", n_best=2, max_length=50, seed=3))
    search = valid.key.search
    assert (search.method, search.temperature, search.seed) == ("sample", 0.8, 3)
    assert valid.items == [(0, "abc"), (1, "")]
    assert (valid.lengths, valid.width, valid.field) == ([53, 50], 2, "prompts[{}]")
    searched = validators["lines"].generate(prompting("abc", beam=3, alpha=0.5, no_repeat=2))
    assert (searched.key.search.method, searched.width) == ("beam", 3)


@pytest.mark.parametrize(
    ("asked", "message", "field"),
    [
        ({"prompts": ["a"] * 9}, "prompts has 9 entries and at most 8 are allowed", "prompts"),
        ({"prompts": ["a", "b" * 61]}, "prompts[1] has 61 characters and at most 60", "prompts[1]"),
        ({"n_best": 7}, "n_best is 7 and may be at most 6 here", "n_best"),
        ({"beam": 7}, "beam is 7 and may be at most 6 here", "beam"),
        ({"max_length": 257}, "max_length is 257 and may be at most 256 here", "max_length"),
        ({"min_length": 10**30}, f"min_length is {10**30} and may be at most 256", "min_length"),
        ({"beam": 2, "top_k": 3}, 'search: top_k=3 has no meaning with method="beam"', None),
    ],
)
def test_too_much_to_write(validators, asked, message, field):
    said, where = refusal(validators["lines"].generate, prompting(**{"prompts": ["a"], **asked}))
    assert said.startswith(message), said
    assert where == field
    assert "--" not in said


def test_prompts_that_a_model_cannot_look_back_at(trained):
    window = trained["lines"].window
    validator = RequestValidator("lines", trained["lines"], Limits())
    assert validator.generate(prompting("a" * (window - 1), max_length=1)).lengths == [window]
    assert refusal(validator.generate, prompting("", "a" * window)) == (
        f"prompts[1] has {window} tokens and the model can look back at {window - 1} of them at "
        "most; shorten it",
        "prompts[1]",
    )


def test_orders_for_gaps_and_vectors(validators):
    filling = FillRequest(texts=["the [MASK] sees"], top=2)
    assert validators["hidden"].fill(filling).key == BatchKey("hidden", "fill", top=2)
    assert validators["hidden"].fill(filling).lengths == [5]
    assert refusal(validators["hidden"].fill, FillRequest(texts=["a [MASK]", "the cat"])) == (
        "texts[1] has no [MASK]; put it where a word is to be found, as in 'the dog [MASK] the "
        "cat'",
        "texts[1]",
    )
    valid = validators["hidden"].embed(EmbedRequest(texts=["the cat"], pooling="first"))
    assert (valid.key, valid.lengths) == (BatchKey("hidden", "embed", pooling="first"), [4])
    said, field = refusal(validators["hidden"].embed, EmbedRequest(texts=["a " * 16]))
    assert said.endswith("with at most 16; shorten it, or send its sentences one by one")
    assert field == "texts[0]"
    assert refusal(validators["mine"].embed, EmbedRequest(texts=["a"]))[1] == "model"


def looking(text="abc", **fields):
    return InspectRequest.model_validate({"text": text, **fields})


def test_an_order_to_look_at_one_text(validators):
    valid = validators["mine"].inspect(
        looking(beam=2, require=["x"], forbid=["y"], prefix="c", output=1)
    )
    search = SearchConfig(beam=2, n_best=2, max_length=24)  # as many as the beam is wide
    assert valid.key == BatchKey("mine", "inspect", search, output=1, size=LIMITS.inspection)
    assert valid.items == [
        TranslationItem("text", api.TranslationRequest("abc", ["x"], ["y"], "c"))
    ]
    assert (valid.lengths, valid.width, valid.field) == ([4], 2, "text")
    assert validators["mine"].inspect(looking(n_best=1)).key.search.n_best == 1
    for name in ("labels", "lines"):
        valid = validators[name].inspect(looking())
        assert (valid.key.search, valid.items, valid.lengths, valid.width) == (
            None,
            ["abc"],
            [4],
            1,
        )


@pytest.mark.parametrize(
    ("name", "asked", "message", "field"),
    [
        ("mine", {"text": " "}, "the text is blank", "text"),
        ("mine", {"text": "b" * 61}, "text has 61 characters and at most 60", "text"),
        ("mine", {"text": "a" * 20}, "text has 21 tokens and the model was trained", "text"),
        ("mine", {"beam": 7}, "beam is 7 and may be at most 6 here", "beam"),
        ("mine", {"beam": 2, "n_best": 3}, "n_best=3 does not fit beam=2", None),
        ("mine", {"max_length": 25}, "max_length is 25 and may be at most 24 here", "max_length"),
        ("mine", {"output": 3}, "output is 3, and there are 3, counted from 0", "output"),
        ("mine", {"prefix": "a" * 20}, "the prefix of text has 20 tokens, which", "prefix"),
        ("mine", {"prefix": "a" * 61}, "prefix has 61 characters and at most 60", "prefix"),
        ("mine", {"require": list("abcd")}, "text has 4 required terms and at most 3", "text"),
        ("mine", {"require": [" "]}, "text has an empty term", "text"),
        ("mine", {"require": ["b"], "forbid": ["b"]}, "text: 'b' is required while", "text"),
        ("lines", {"output": 1}, "output is for a search, and model 'lines' was", "output"),
        ("lines", {"prefix": "a"}, "prefix is for a search, and model 'lines' was", "prefix"),
        ("labels", {"beam": 2}, "beam is for a search, and model 'labels' was", "beam"),
        ("labels", {"forbid": ["a"]}, "forbid is for a search", "forbid"),
        ("tags", {"text": " "}, "the text is blank", "text"),
        ("hidden", {"text": "a " * 16}, "text has 18 tokens and the model was trained", "text"),
        ("mine", {"text": {"text": "a"}}, "model 'mine' reads text; send a text", "text"),
        ("answers", {}, "model 'answers' reads question and context; send an object", "text"),
    ],
)
def test_what_cannot_be_looked_at(validators, name, asked, message, field):
    said, where = refusal(validators[name].inspect, looking(**asked))
    assert said.startswith(message) or f": {message}" in said, said
    assert where == field
    assert "\n" not in said


def test_a_language_model_is_looked_at_in_one_window(trained):
    window = trained["lines"].window
    validator = RequestValidator("lines", trained["lines"], Limits())
    assert validator.inspect(looking("a" * (window - 1))).lengths == [window]
    said, field = refusal(validator.inspect, looking("a" * window))
    assert (said.startswith(f"text has {window + 1} tokens"), field) == (True, "text")


def test_a_run_is_asked_what_it_was_trained_for(validators):
    said = refusal(validators["labels"].translate, asking())
    assert said == (
        "model 'labels' was trained for task 'classify'; use /predict or /embed or /inspect",
        "model",
    )
    assert refusal(validators["mine"].predict, PredictRequest(texts=["a"]))[0].endswith(
        "use /translate or /score or /inspect"
    )


def test_what_ctranslate2_does_not_know_is_left_to_headway(trained):
    validator = RequestValidator("mine", trained["mine"], LIMITS, "ctranslate2")
    assert validator.translate(asking()).key.library == "ctranslate2"
    assert validator.translate(asking(trace=True)).key.library == "headway"
    prefix = {"source": "abc", "prefix": "c"}
    assert validator.translate(asking(texts=[prefix])).key.library == "headway"


def test_what_a_client_may_know(validators):
    info = validators["mine"].info()
    assert (info["name"], info["task"], info["family"]) == ("mine", "translate", "transformer")
    assert info["verbs"] == ["translate", "score", "inspect"]
    assert info["search"]["beam"] == 3
    assert info["attends"]
    assert validators["labels"].info()["labels"] == ["long", "short"]
    assert validators["lines"].info()["search"]["temperature"] == 0.8
    assert validators["lines"].info()["verbs"] == ["score", "generate", "inspect"]
    assert validators["hidden"].info()["verbs"] == ["fill", "embed", "inspect"]
    assert validators["pairs"].info()["inputs"] == ["text", "text2"]
    assert validators["pairs"].info()["labels"] == ["no", "yes"]
    assert validators["tags"].info()["tags"] == ["O", "B-X", "I-X"]
    assert validators["answers"].info()["answers_may_lack"]
    assert validators["values"].info()["value"]["mean"] == 0.0
    assert (validators["tags"].info()["attends"], validators["labels"].info()["attends"]) == (
        True,
        False,
    )
    assert all(validator.info()["parameters"] > 100 for validator in validators.values())


def test_words_of_the_data_pass(validators):
    assert validators["mine"].translate(asking(texts=WORDS[:8])).lengths == [
        len(word) + 1 for word in WORDS[:8]
    ]

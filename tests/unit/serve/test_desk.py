"""What is refused before it waits, in which words; what passes can be computed."""

from dataclasses import replace

import pytest
from served_runs import INPUTS, LIMITS, WORDS

from headway import api
from headway.errors import ConfigError
from headway.search import SearchConfig
from headway.serve.checks import Refusal
from headway.serve.desk import Desk
from headway.serve.engine import Ask, Wish
from headway.serve.limits import Limits
from headway.serve.schema import (
    EmbedRequest,
    FillRequest,
    GenerateRequest,
    InspectRequest,
    PredictRequest,
    ScoreRequest,
    TranslateRequest,
)


def asking(**fields):
    return TranslateRequest.model_validate({"texts": ["abc"], **fields})


def refusal(call, *arguments):
    with pytest.raises(Refusal) as found:
        call(*arguments)
    return str(found.value), found.value.field


def test_an_order_says_all_that_is_wanted(desks):
    order = desks["mine"].translate(asking(texts=["abc", "bb cc a"], beam=2, n_best=2, align=True))
    assert order.lengths == [4, 8]  # characters and the end
    assert order.width == 2
    assert order.items == [
        Wish("texts[0]", api.Request("abc", [], [])),
        Wish("texts[1]", api.Request("bb cc a", [], [])),
    ]
    search = SearchConfig(beam=2, n_best=2, max_length=24)
    assert order.ask == Ask("mine", "translate", search, align=True, cells=LIMITS.cells)
    assert order.ask == desks["mine"].translate(asking(beam=2, n_best=2, align=True)).ask


@pytest.mark.parametrize(
    ("asked", "message", "field"),
    [
        ({"texts": ["a"] * 9}, "texts has 9 entries and at most 8 may be given", "texts"),
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
def test_too_much_or_impossible(desks, asked, message, field):
    said, where = refusal(desks["mine"].translate, asking(**asked))
    assert said.startswith(message) or f": {message}" in said, said
    assert where == field
    assert "\n" not in said


def test_a_glossary_holds_for_the_texts_its_terms_occur_in(desks):
    glossary = [{"source": "abc", "require": ["x", "y"]}, {"source": "bca", "forbid": ["z"]}]
    order = desks["mine"].translate(asking(texts=["abc", "bca"], glossary=glossary))
    assert [wish.request for wish in order.items] == [
        api.Request("abc", [("x", "y")], []),
        api.Request("bca", [], ["z"]),
    ]


def test_scores_take_pairs_or_texts_as_the_model_does(desks):
    pairs = ScoreRequest.model_validate({"pairs": [{"source": "abc", "target": "cbaaa"}]})
    assert desks["mine"].score(pairs).items == [("abc", "cbaaa")]
    assert desks["mine"].score(pairs).lengths == [6]
    texts = ScoreRequest(texts=["ab" * 20])  # longer than a window
    assert desks["lines"].score(texts).lengths == [41]
    assert refusal(desks["mine"].score, texts) == (
        "this model scores pairs; give pairs and no texts",
        "pairs",
    )
    assert refusal(desks["lines"].score, pairs)[1] == "texts"
    long = ScoreRequest.model_validate({"pairs": [{"source": "abc", "target": "a" * 30}]})
    assert refusal(desks["mine"].score, long)[1] == "pairs[0].target"


@pytest.mark.parametrize("name", INPUTS)
def test_what_is_predicted_from(desks, name):
    asked = PredictRequest.model_validate({"texts": INPUTS[name]})
    order = desks[name].predict(asked)
    expected = [one if isinstance(one, str) else tuple(one.values()) for one in INPUTS[name]]
    assert (order.ask, order.items) == (Ask(name, "predict"), expected)
    assert (
        order.lengths
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
        ("labels", {"text": "a"}, "model 'labels' reads text; give a text", "texts[0]"),
        ("tags", "a " * 20, "texts[0] has 21 tokens and the model was trained", "texts[0]"),
        ("tags", {"text": "a"}, "model 'tags' reads words; give a text", "texts[0]"),
        (
            "pairs",
            "a",
            'model \'pairs\' reads text and text2; give an object {"text": "...", "text2": "..."}',
            "texts[0]",
        ),
        ("pairs", {"text": "a"}, "model 'pairs' reads text and text2; give", "texts[0]"),
        (
            "pairs",
            {"text": "a", "text2": "b", "context": "c"},
            "model 'pairs' reads text and text2; give",
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
def test_what_nothing_can_be_told_of(desks, name, given, message, field):
    asked = PredictRequest.model_validate({"texts": [given]})
    said, where = refusal(desks[name].predict, asked)
    assert said.startswith(message), said
    assert where == field
    assert "--" not in said


def prompting(*prompts, **fields):
    return GenerateRequest.model_validate({"prompts": list(prompts), **fields})


def test_an_order_to_go_on_with_prompts(desks):
    order = desks["lines"].generate(prompting("abc", "", n_best=2, max_length=50, seed=3))
    search = order.ask.search
    assert (search.method, search.temperature, search.seed) == ("sample", 0.8, 3)
    assert order.items == [(0, "abc"), (1, "")]
    assert (order.lengths, order.width, order.field) == ([53, 50], 2, "prompts[{}]")
    searched = desks["lines"].generate(prompting("abc", beam=3, alpha=0.5, no_repeat=2))
    assert (searched.ask.search.method, searched.width) == ("beam", 3)


@pytest.mark.parametrize(
    ("asked", "message", "field"),
    [
        ({"prompts": ["a"] * 9}, "prompts has 9 entries and at most 8 may be given", "prompts"),
        ({"prompts": ["a", "b" * 61]}, "prompts[1] has 61 characters and at most 60", "prompts[1]"),
        ({"n_best": 7}, "n_best is 7 and may be at most 6 here", "n_best"),
        ({"beam": 7}, "beam is 7 and may be at most 6 here", "beam"),
        ({"max_length": 257}, "max_length is 257 and may be at most 256 here", "max_length"),
        ({"min_length": 10**30}, f"min_length is {10**30} and may be at most 256", "min_length"),
        ({"beam": 2, "top_k": 3}, 'search: top_k=3 has no meaning with method="beam"', None),
    ],
)
def test_too_much_to_write(desks, asked, message, field):
    said, where = refusal(desks["lines"].generate, prompting(**{"prompts": ["a"], **asked}))
    assert said.startswith(message), said
    assert where == field
    assert "--" not in said


def test_prompts_that_a_model_cannot_look_back_at(trained):
    window = trained["lines"].window
    desk = Desk("lines", trained["lines"], Limits())
    assert desk.generate(prompting("a" * (window - 1), max_length=1)).lengths == [window]
    assert refusal(desk.generate, prompting("", "a" * window)) == (
        f"prompts[1] has {window} tokens and the model can look back at {window - 1} of them at "
        "most; shorten it",
        "prompts[1]",
    )


def test_orders_for_gaps_and_vectors(desks):
    filling = FillRequest(texts=["the [MASK] sees"], top=2)
    assert desks["hidden"].fill(filling).ask == Ask("hidden", "fill", top=2)
    assert desks["hidden"].fill(filling).lengths == [5]
    assert refusal(desks["hidden"].fill, FillRequest(texts=["a [MASK]", "the cat"])) == (
        "texts[1] has no [MASK]; put it where a word is to be found, as in 'the dog [MASK] the "
        "cat'",
        "texts[1]",
    )
    order = desks["hidden"].embed(EmbedRequest(texts=["the cat"], pooling="first"))
    assert (order.ask, order.lengths) == (Ask("hidden", "embed", pooling="first"), [4])
    said, field = refusal(desks["hidden"].embed, EmbedRequest(texts=["a " * 16]))
    assert said.endswith("with at most 16; shorten it, or give its sentences one by one")
    assert field == "texts[0]"
    assert refusal(desks["mine"].embed, EmbedRequest(texts=["a"]))[1] == "model"


def looking(text="abc", **fields):
    return InspectRequest.model_validate({"text": text, **fields})


def test_an_order_to_look_at_one_text(desks):
    order = desks["mine"].inspect(
        looking(beam=2, require=["x"], forbid=["y"], prefix="c", output=1)
    )
    search = SearchConfig(beam=2, n_best=2, max_length=24)  # as many as the beam is wide
    assert order.ask == Ask("mine", "inspect", search, output=1, size=LIMITS.inspection)
    assert order.items == [Wish("text", api.Request("abc", ["x"], ["y"], "c"))]
    assert (order.lengths, order.width, order.field) == ([4], 2, "text")
    assert desks["mine"].inspect(looking(n_best=1)).ask.search.n_best == 1
    for name in ("labels", "lines"):
        order = desks[name].inspect(looking())
        assert (order.ask.search, order.items, order.lengths, order.width) == (
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
        ("mine", {"text": {"text": "a"}}, "model 'mine' reads text; give a text", "text"),
        ("answers", {}, "model 'answers' reads question and context; give an object", "text"),
    ],
)
def test_what_cannot_be_looked_at(desks, name, asked, message, field):
    said, where = refusal(desks[name].inspect, looking(**asked))
    assert said.startswith(message) or f": {message}" in said, said
    assert where == field
    assert "\n" not in said


def test_a_language_model_is_looked_at_in_one_window(trained):
    window = trained["lines"].window
    desk = Desk("lines", trained["lines"], Limits())
    assert desk.inspect(looking("a" * (window - 1))).lengths == [window]
    said, field = refusal(desk.inspect, looking("a" * window))
    assert (said.startswith(f"text has {window + 1} tokens"), field) == (True, "text")


def test_a_run_is_asked_what_it_was_trained_for(desks):
    said = refusal(desks["labels"].translate, asking())
    assert said == (
        "model 'labels' was trained for task 'classify'; ask /predict or /embed or /inspect",
        "model",
    )
    assert refusal(desks["mine"].predict, PredictRequest(texts=["a"]))[0].endswith(
        "ask /translate or /score or /inspect"
    )


def test_what_ctranslate2_does_not_know_is_left_to_headway(trained):
    desk = Desk("mine", trained["mine"], LIMITS, "ctranslate2")
    assert desk.translate(asking()).ask.library == "ctranslate2"
    assert desk.translate(asking(trace=True)).ask.library == "headway"
    prefix = {"source": "abc", "prefix": "c"}
    assert desk.translate(asking(texts=[prefix])).ask.library == "headway"


@pytest.mark.parametrize("method", ["sample", "exhaustive"])
def test_other_methods_than_beam_search(trained, method):
    run = trained["mine"]
    changed = replace(run.config, search=SearchConfig(method=method, max_length=24))
    other = api.Translator(run.run, changed, run.task, run.model, run.rule)
    desk = Desk("mine", other, LIMITS)
    assert desk.translate(asking()).ask.search.method == method
    message = f"this run searches by {method}, which"
    assert refusal(desk.translate, asking(trace=True)) == (f"{message} has no trace", "trace")
    required = asking(texts=[{"source": "abc", "require": ["b"]}])
    assert refusal(desk.translate, required) == (f"{message} knows no terms", "texts[0]")
    begun = asking(texts=[{"source": "abc", "prefix": "c"}])
    if method == "sample":
        assert desk.translate(begun).width == 1
    else:
        assert refusal(desk.translate, begun) == (f"{message} knows no beginnings", "texts[0]")


def test_what_a_client_may_know(desks):
    info = desks["mine"].info()
    assert (info["name"], info["task"], info["family"]) == ("mine", "translate", "transformer")
    assert info["verbs"] == ["translate", "score", "inspect"]
    assert info["search"]["beam"] == 3
    assert info["attends"]
    assert desks["labels"].info()["labels"] == ["long", "short"]
    assert desks["lines"].info()["search"]["temperature"] == 0.8
    assert desks["lines"].info()["verbs"] == ["score", "generate", "inspect"]
    assert desks["hidden"].info()["verbs"] == ["fill", "embed", "inspect"]
    assert desks["pairs"].info()["inputs"] == ["text", "text2"]
    assert desks["pairs"].info()["labels"] == ["no", "yes"]
    assert desks["tags"].info()["tags"] == ["O", "B-X", "I-X"]
    assert desks["answers"].info()["answers_may_lack"]
    assert desks["values"].info()["value"]["mean"] == 0.0
    assert (desks["tags"].info()["attends"], desks["labels"].info()["attends"]) == (True, False)
    assert all(desk.info()["parameters"] > 100 for desk in desks.values())


def test_limits_fit_together():
    with pytest.raises(ConfigError, match="limit beam = 0: expected a number above 0"):
        Limits(beam=0)
    with pytest.raises(ConfigError, match="5 texts may wait but a request may have 8"):
        Limits(texts=8, queue=5)


def test_words_of_the_data_pass(desks):
    assert desks["mine"].translate(asking(texts=WORDS[:8])).lengths == [
        len(word) + 1 for word in WORDS[:8]
    ]

"""Glossaries and constraints of translation requests."""

from dataclasses import replace

import pytest
from serve_helpers import asking, refusal
from served_runs import LIMITS

from headway import api
from headway.search import SearchConfig
from headway.serve.validate import RequestValidator


def test_a_glossary_holds_for_the_texts_its_terms_occur_in(validators):
    glossary = [{"source": "abc", "require": ["x", "y"]}, {"source": "bca", "forbid": ["z"]}]
    valid = validators["mine"].translate(asking(texts=["abc", "bca"], glossary=glossary))
    assert [item.request for item in valid.items] == [
        api.TranslationRequest("abc", [("x", "y")], []),
        api.TranslationRequest("bca", [], ["z"]),
    ]


@pytest.mark.parametrize("method", ["sample", "exhaustive"])
def test_other_methods_than_beam_search(trained, method):
    run = trained["mine"]
    changed = replace(run.config, search=SearchConfig(method=method, max_length=24))
    other = api.Translator(run.run, changed, run.task, run.model, run.weights_info)
    validator = RequestValidator("mine", other, LIMITS)
    assert validator.translate(asking()).key.search.method == method
    message = f"this run searches by {method}, which"
    assert refusal(validator.translate, asking(trace=True)) == (f"{message} has no trace", "trace")
    required = asking(texts=[{"source": "abc", "require": ["b"]}])
    assert refusal(validator.translate, required) == (f"{message} supports no terms", "texts[0]")
    begun = asking(texts=[{"source": "abc", "prefix": "c"}])
    if method == "sample":
        assert validator.translate(begun).width == 1
    else:
        assert refusal(validator.translate, begun) == (
            f"{message} supports no prefixes",
            "texts[0]",
        )

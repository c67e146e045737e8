"""Responses fit their OpenAPI description, which is made from the docstrings of the results."""

import asyncio
import dataclasses
from collections import Counter
from dataclasses import dataclass

import httpx2
import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from schema_requests import SchemaRequests
from schemathesis import GenerationMode
from schemathesis.checks import load_all_checks
from schemathesis.specs.openapi.checks import positive_data_acceptance
from serve_helpers import COMPUTE_PATHS
from served_runs import LIMITS
from starlette.testclient import TestClient

from headway.inference.classifier import Classifier
from headway.inference.tagger import Entity
from headway.serve.schema import (
    HypothesisResponse,
    TranslationResponse,
    attribute_descriptions,
    dataclasses_in,
    predictions,
)
from headway.tasks import TASKS
from headway.tasks.classify import Classify

PATHS = [*COMPUTE_PATHS, "/models", "/training", "/health", "/metrics"]
ASKED = {
    "/predict": "answers",
    "/generate": "lines",
    "/fill": "hidden",
    "/embed": "hidden",
    "/forecast": "plain",
}
"""Which model is asked, where it is not the one that translates."""
TOKEN = "open-sesame"
TOKENS = st.sampled_from([TOKEN, TOKEN, TOKEN, "close", None])
"""Tokens that clients send: most of them the right one."""
EXCLUDED = [positive_data_acceptance]
"""What fits the description may still be too much, or name a model that is not served."""


def bearer(token):
    return {} if token is None else {"Authorization": f"Bearer {token}"}


def check_answers(app, path, number, token=None):
    """Makes so many requests to a path, half of them wrong, and checks each answer.

    Args:
        token: that of the server, if it has one.

    Returns:
        The number of answers by status.
    """
    load_all_checks()
    schema = schemathesis.openapi.from_asgi("/openapi.json", app, headers=bearer(token))
    [operation] = [found.ok() for found in schema.get_all_operations() if found.ok().path == path]
    modes = [GenerationMode.POSITIVE]
    if operation.method.upper() == "POST":
        modes.append(GenerationMode.NEGATIVE)
    cases = st.one_of(*(operation.as_strategy(generation_mode=mode) for mode in modes))
    codes = Counter()

    @settings(max_examples=number, deadline=None, suppress_health_check=list(HealthCheck))
    @given(case=cases, sent=TOKENS)
    def check(case, sent):
        response = case.call(headers=bearer(sent))
        codes[response.status_code] += 1
        is_refused = token is not None and sent != token and path != "/health"
        assert (response.status_code == 401) == is_refused
        case.validate_response(response, excluded_checks=EXCLUDED)

    check()
    return codes


def test_descriptions_are_those_of_the_docstrings():
    assert attribute_descriptions(Entity) == {
        "probability": "The smallest probability among its tags."
    }
    inherited = attribute_descriptions(HypothesisResponse)
    assert inherited["finished"] == "False if the length limit cut the output off."
    assert inherited["attention"] == "Weights of a forced pass over the output, if requested."


def test_every_dataclass_of_a_response_is_described(client):
    components = client.get("/openapi.json").json()["components"]["schemas"]
    results = dataclasses_in(predictions()) | dataclasses_in(TranslationResponse)
    names = {"Entity", "AnswerCandidate", "ValueResponse", "HypothesisResponse"}
    assert {result.__name__ for result in results} >= names
    for result in results:
        component = components[result.__name__]
        assert result.__doc__.startswith(component["description"][:20])
        for name, text in attribute_descriptions(result).items():
            assert component["properties"][name]["description"] == text


def test_the_results_of_a_new_task_are_described(monkeypatch, make):
    @dataclass(frozen=True)
    class Mood:
        """The mood of a text.

        Attributes:
            mood: in one word.
        """

        mood: str

    moody = type("Moody", (Classifier,), {"response": Mood})
    monkeypatch.setitem(TASKS, "mood", type("MoodTask", (Classify,), {"trained_class": moody}))
    with TestClient(make(only=["mine"])[0]) as client:
        components = client.get("/openapi.json").json()["components"]["schemas"]
    results = components["Predictions"]["properties"]["results"]["items"]["anyOf"]
    assert {"$ref": "#/components/schemas/Mood"} in results
    assert components["Mood"]["description"] == "The mood of a text."
    assert components["Mood"]["properties"]["mood"]["description"] == "In one word."


@pytest.mark.parametrize("path", PATHS)
def test_answers_are_as_described(path, make):
    only = [ASKED.get(path, "mine")]
    codes = check_answers(make(only=only)[0], path, 20 if path in COMPUTE_PATHS else 2).keys()
    assert codes <= {200, 400, 422}
    assert codes == {200} or 422 in codes


def test_answers_with_a_token_are_as_described(make):
    codes = check_answers(make(token=TOKEN, only=["mine"])[0], "/translate", 30, TOKEN).keys()
    assert {401, 422} <= codes <= {200, 400, 401, 422}


@pytest.mark.slow
@pytest.mark.parametrize("path", COMPUTE_PATHS)
def test_thousands_of_answers_are_as_described(path, make):
    assert check_answers(make()[0], path, 1500).keys() <= {200, 400, 422}


MODELS = {
    "/translate": ["mine"],
    "/translate/stream": ["mine"],
    "/score": ["mine", "lines"],
    "/predict": ["labels", "tags", "answers", "values", "pairs"],
    "/generate": ["lines"],
    "/fill": ["hidden"],
    "/embed": ["mine", "hidden", "labels"],
    "/forecast": ["plain"],
    "/inspect": [
        "plain",
        "mine",
        "labels",
        "lines",
        "tags",
        "answers",
        "values",
        "pairs",
        "hidden",
    ],
}
TOGETHER = 16


async def ask_at_random(app, number, token, seed):
    """Makes so many requests, several at a time, and checks each answer.

    Returns:
        The number of answers by status.
    """
    codes = Counter()
    transport = httpx2.ASGITransport(app)
    async with httpx2.AsyncClient(transport=transport, base_url="http://here") as client:
        openapi = (await client.get("/openapi.json", headers=bearer(token))).json()
        requests = SchemaRequests(openapi, MODELS, seed)

        async def ask():
            path = requests.chance.choice(requests.paths)
            body, is_allowed = requests.body(path)
            sent = requests.chance.choice([token] * 8 + ["close", None])
            headers = {"content-type": "application/json", **bearer(sent)}
            response = await client.post(path, content=body, headers=headers, timeout=300)
            codes[response.status_code] += 1
            if token is not None and sent != token:
                assert response.status_code == 401
            requests.check(path, is_allowed, response.status_code, response.content)

        for _ in range(0, number, TOGETHER):
            await asyncio.gather(*(ask() for _ in range(TOGETHER)))
    return codes


def ask_at_random_with(make, number, token, seed=0):
    app, _ = make(dataclasses.replace(LIMITS, queue=1000, seconds=600), token)
    return asyncio.run(ask_at_random(app, number, token, seed))


@pytest.mark.parametrize("token", [None, TOKEN], ids=["open", "token"])
def test_answers_to_random_requests_are_as_described(make, token):
    codes = ask_at_random_with(make, 160, token).keys()
    assert {200, 400, 422} <= codes <= {200, 400, 401, 422}


@pytest.mark.slow
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("token", [None, TOKEN], ids=["open", "token"])
def test_answers_to_50_000_random_requests_are_as_described(make, token, capsys):
    codes = ask_at_random_with(make, 25_000, token, seed=1)
    with capsys.disabled():
        print(f"\n{codes.total()} answers by status: {dict(codes)}")
    assert codes.total() >= 25_000
    assert codes.keys() <= {200, 400, 401, 422}

"""What runs are asked, through the public interface alone, and how answers are compared."""

import json
import math
from collections.abc import Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import headway
from headway.cli import main

EXPECTED = "expected.json"
CLOSE = 1e-4
"""Machines differ in the last digits; relative, and absolute for what is below 1."""
AFTER_RESUMING = 0.05
"""The same behind some hundred updates, each of which adds to the differences."""
SHOWN = 4
"""Numbers of a vector that are kept."""
WRITTEN = 1
"""Tokens that follow a prompt: what comes later is seldom clear."""


def ask(model: Any, what: str, given: Mapping[str, Any]) -> Any:
    """The answer of a loaded run, as plain data."""
    return ASKED[what](model, **given)


def command(*arguments: str | Path) -> str:
    """What a command prints.

    Raises:
        AssertionError: it failed.
    """
    out, errors = StringIO(), StringIO()
    with redirect_stdout(out), redirect_stderr(errors):
        code = main([str(argument) for argument in arguments])
    assert code == 0, f"headway {' '.join(map(str, arguments))}: {errors.getvalue()}"
    return out.getvalue()


def figures(run: Path, arguments: Sequence[str]) -> dict[str, float]:
    """The metrics that `headway evaluate` finds."""
    found = json.loads(command("evaluate", run, *arguments, "--json"))
    return {name: score["value"] for name, score in found["metrics"].items()}


def differences(found: Any, expected: Any, close: float, where: str = "") -> list[str]:
    """Where an answer is another one. Of a table only the keys that are expected are compared."""
    if isinstance(expected, dict):
        return [
            line
            for key, value in expected.items()
            for line in differences(found.get(key), value, close, f"{where}.{key}")
        ]
    if isinstance(expected, list):
        if not isinstance(found, list) or len(found) != len(expected):
            return [f"{where}: {found} instead of {expected}"]
        return [
            line
            for number, (one, other) in enumerate(zip(found, expected, strict=True))
            for line in differences(one, other, close, f"{where}[{number}]")
        ]
    if isinstance(expected, float) and isinstance(found, float | int):
        is_near = math.isclose(found, expected, rel_tol=close, abs_tol=close)
        is_same = is_near or found == expected
        return [] if is_same else [f"{where}: {found} instead of {expected}"]
    return [] if found == expected else [f"{where}: {found!r} instead of {expected!r}"]


def _score(model: Any, **given: list[str]) -> list[dict[str, Any]]:
    return [
        {"log_prob": found.log_prob, "tokens": len(found.tokens)} for found in model.score(**given)
    ]


def _translate(model: Any, texts: list[str]) -> list[str]:
    return [found.text for found in model.translate(texts, beam=1)]


def _attention(model: Any, source: str, target: str) -> dict[str, Any]:
    weights = model.attention(source, target).cross()
    return {
        "shape": [int(n) for n in weights.shape],
        "first": [float(weight) for weight in weights[0]],
    }


def _generate(model: Any, prompts: list[str]) -> list[str]:
    return [found.text for found in model.generate(prompts, beam=1, max_length=WRITTEN)]


def _predict(model: Any, inputs: list[Any]) -> list[Any]:
    given = [tuple(one) if isinstance(one, list) else one for one in inputs]
    found = model.predict(given)
    if isinstance(model, headway.Regressor):
        return [float(value) for value in found]
    fields = next(names for kind, names in PREDICTED.items() if isinstance(model, kind))
    return [{name: getattr(one, name) for name in fields} for one in found]


def _fill(model: Any, text: str) -> list[dict[str, float]]:
    gaps = model.fill(text, top=20).gaps
    return [{filler.token: filler.probability for filler in gap} for gap in gaps]


def _embed(model: Any, texts: list[str]) -> list[list[float]]:
    vectors = headway.Embedder(model).embed(texts)
    return [[float(number) for number in vector[:SHOWN]] for vector in vectors]


ASKED = {
    "score": _score,
    "translate": _translate,
    "attention": _attention,
    "generate": _generate,
    "predict": _predict,
    "fill": _fill,
    "embed": _embed,
}
PREDICTED = {
    headway.Classifier: ("label", "probability", "probabilities"),
    headway.Tagger: ("words", "tags", "probabilities"),
    headway.Answerer: ("text", "start", "end", "probability", "none"),
}

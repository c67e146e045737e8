"""Random requests that an OpenAPI description allows, and damaged ones; checks of their answers.

Much faster than schemathesis, which draws and shrinks with more care.
"""

import json
import random
from collections.abc import Mapping, Sequence
from typing import Any

import jsonschema_rs

TEXTS = ["abc", "abab", "the [MASK] sees", "", " ", "a\0b", "é", "\u202e", "😀" * 3, "a" * 70, "\t"]
NUMBERS = [0, 1, -1, 2.5, 10**9, 2**63, -(10**30), 1e300, 1e-300]
COLUMNS = ["load", "sun"]
"""Names of any fields of an object."""
OTHERS = [None, True, False, [], {}, [[]], {"a": 1}, [None], "abc", "\ud800", *NUMBERS]
BROKEN = [
    b"",
    b"{",
    b'{"texts": [',
    b"\xff",
    b'{"texts": ["\xff"]}',
    b"nonsense",
    b"\0",
    b"[" * 999,
]


class SchemaRequests:
    """Makes bodies for the paths of a server.

    Args:
        openapi: the description of the server.
        models: their names by path; others are named sometimes.
    """

    def __init__(
        self, openapi: Mapping[str, Any], models: Mapping[str, Sequence[str]], seed: int
    ) -> None:
        self.openapi, self.models = openapi, models
        self.chance = random.Random(seed)
        self.paths = [path for path, methods in openapi["paths"].items() if "post" in methods]
        self._validators: dict[str, Any] = {}

    def body(self, path: str) -> tuple[bytes, bool]:
        """A random body, and whether the description allows it."""
        kind = self.chance.random()
        if kind < 0.05:
            return self.chance.choice(BROKEN), False
        schema = self._request(path)
        value = self._value(schema)
        if self.chance.random() < 0.8:
            value["model"] = self.chance.choice(self.models[path])
        if kind < 0.5:
            value = self._damaged(value)
        return json.dumps(value).encode(), self._is_valid(schema, value)

    def check(self, path: str, is_allowed: bool, status: int, content: bytes) -> None:
        """Whether the description of a path has such an answer."""
        responses = self.openapi["paths"][path]["post"]["responses"]
        assert str(status) in responses, f"{path}: {status} is not described"
        assert is_allowed or status != 200, f"{path}: accepts what its description forbids"
        assert status != 400 or not is_allowed, f"{path}: does not read what it should"
        [(media, described)] = responses[str(status)]["content"].items()
        if media == "application/json":
            answer = json.loads(content)
            assert self._is_valid(described["schema"], answer), f"{path}: {status} {answer}"

    def _request(self, path: str) -> Mapping[str, Any]:
        content = self.openapi["paths"][path]["post"]["requestBody"]["content"]
        schema: Mapping[str, Any] = content["application/json"]["schema"]
        return schema

    def _is_valid(self, schema: Mapping[str, Any], value: Any) -> bool:
        key = json.dumps(schema)
        if key not in self._validators:
            whole = {**schema, "components": self.openapi["components"]}
            self._validators[key] = jsonschema_rs.validator_for(whole)
        try:
            valid: bool = self._validators[key].is_valid(value)
        except ValueError:  # a lone surrogate is no text
            return False
        return valid

    def _value(self, schema: Mapping[str, Any]) -> Any:
        """A value of a schema."""
        chance = self.chance
        if "$ref" in schema:
            return self._value(self.openapi["components"]["schemas"][schema["$ref"].split("/")[-1]])
        if "anyOf" in schema:
            return self._value(chance.choice(schema["anyOf"]))
        if "enum" in schema:
            return chance.choice(schema["enum"])
        if "const" in schema:
            return schema["const"]
        low = schema.get("minimum", schema.get("exclusiveMinimum", 0))
        match schema["type"]:
            case "object":
                if isinstance(schema.get("additionalProperties"), dict):
                    names = chance.sample(COLUMNS, chance.randint(0, len(COLUMNS)))
                    return {name: self._value(schema["additionalProperties"]) for name in names}
                required = schema.get("required", [])
                names = [n for n in schema["properties"] if n in required or chance.random() < 0.2]
                return {name: self._value(schema["properties"][name]) for name in names}
            case "array":
                number = chance.randint(schema.get("minItems", 0), 3)
                return [self._value(schema["items"]) for _ in range(number)]
            case "string":
                return chance.choice(TEXTS)
            case "integer":
                return min(low + chance.randint(0, 6), schema.get("maximum", 10**9))
            case "number":
                return min(low + chance.choice([0.1, 0.5, 1, 2]), schema.get("maximum", 10**9))
            case "boolean":
                return chance.random() < 0.5
        return None

    def _damaged(self, value: Any) -> Any:
        """The value with another value, a missing field or an unknown one somewhere inside."""
        chance = self.chance
        if not isinstance(value, list | dict) or not value or chance.random() < 0.2:
            return chance.choice(OTHERS)
        keys: list[Any] = list(value) if isinstance(value, dict) else list(range(len(value)))
        key = chance.choice(keys)
        kind = chance.randrange(4)
        if kind == 0 and isinstance(value, dict):
            value[chance.choice(["bean", "", "text", "texts", "\ud800", "a" * 90])] = 1
        elif kind == 1:
            del value[key]
        else:
            value[key] = self._damaged(value[key])
        return value

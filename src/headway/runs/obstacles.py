"""Settings that the other side has no place for, each under its name and with the reason."""

import json
from typing import Any


class Obstacles:
    """Collects settings that stand in the way of an export or an import."""

    def __init__(self) -> None:
        self.found: list[str] = []

    def add(self, key: str, value: Any, reason: str) -> None:
        self.found.append(f"{key} = {json.dumps(value)} ({reason})")

    def check_embeddings(self, config: Any) -> None:
        """The layouts that are written add positions to embeddings, and that is all."""
        if config.embedding_norm:
            self.add("model.embedding_norm", True, "no norm after the embeddings")

    def check_score(self, score: str) -> None:
        """No library has another attention score than the usual one."""
        if score != "scaled_dot":
            self.add("model.score", score, "only scaled dot products")

"""Settings that the other side has no place for, each under its name and with the reason."""

import json
from typing import Any


class Obstacles:
    """Collects settings that stand in the way of an export or an import."""

    def __init__(self) -> None:
        self.found: list[str] = []

    def add(self, key: str, value: Any, reason: str) -> None:
        self.found.append(f"{key} = {json.dumps(value)} ({reason})")

    def check_ends(self, config: Any) -> None:
        """What stands before the first and after the last layer."""
        if config.embedding_norm:
            self.add("model.embedding_norm", True, "no norm after the embeddings")
        if config.positions == "relative":
            self.add("model.positions", "relative", "positions are added to embeddings")
        if config.scale_output:
            self.add("model.scale_output", True, "hidden states go as they are to the output layer")

    def check_score(self, score: str) -> None:
        """No library has another attention score than the usual one."""
        if score != "scaled_dot":
            self.add("model.score", score, "only scaled dot products")

"""Collects the settings that keep a model from being exported or imported, for one message."""

import json
from typing import Any


class UnsupportedSettings:
    """Settings that the target cannot express; `messages` has one entry each."""

    def __init__(self) -> None:
        self.messages: list[str] = []

    def add(self, key: str, value: Any, reason: str) -> None:
        """Adds a setting as `key = value (reason)`, the value in JSON."""
        self.messages.append(f"{key} = {json.dumps(value, default=vars)} ({reason})")

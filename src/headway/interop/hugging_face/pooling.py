"""Maps the pooling of an encoder: which vector of a text its label or value is computed from.

transformers applies a dense layer to the first token's state; sentence-transformers takes a mean or
the first state. The files of sentence-transformers are read in `sentence_transformers.py`.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ..unsupported import UnsupportedSettings
from .config_map import ConfigReader
from .task_heads import Form
from .weight_map import WeightRow, reads

DESCRIPTIONS = {"mean": "the mean of all states", "first": "the state of the first token"}


@dataclass(frozen=True)
class Pooling:
    """The pooler of one architecture: a dense layer over the first token's state.

    Attributes:
        pooler: its name in the classes without labels; DistilBERT has none.
        before_labels: its name in the class for labels and values of texts.
        activation: after the layer.
    """

    pooler: str | None
    before_labels: str
    activation: str = "tanh"

    def read(self, reader: ConfigReader, form: Form) -> dict[str, Any]:
        """Our settings."""
        if form in ("tokens", "spans"):
            self._ignore(reader, "what is said of tokens does not come from it")
            return {"pooling": "first", "pooler": False}
        if form == "texts":
            if self.pooler != self.before_labels:
                self._ignore(reader, f"{self.before_labels}.* makes the vector of a text")
            return self._label_settings()
        if reader.pooling is None:
            return {"pooling": "first", "pooler": self._is_present(reader)}
        self._ignore(reader, f"the vector of a text is {DESCRIPTIONS[reader.pooling]}")
        return {"pooling": reader.pooling, "pooler": False}

    def check(self, model: Any, form: Form, obstacles: UnsupportedSettings) -> None:
        """Adds our settings that transformers cannot express to `obstacles`."""
        if form in ("tokens", "spans"):
            return  # such heads use no pooling
        if form == "texts":
            self._check_labels(model, obstacles)
        elif model.pooler and self.pooler is None:
            obstacles.add("model.pooler", True, "no pooler")
        elif model.pooler and model.pooling != "first":
            obstacles.add("model.pooling", model.pooling, "the pooler takes the first token")
        elif model.pooler and model.pooler_activation != self.activation:
            obstacles.add("model.pooler_activation", model.pooler_activation, self.activation)

    def _label_settings(self) -> dict[str, Any]:
        return {"pooling": "first", "pooler": True, "pooler_activation": self.activation}

    def _check_labels(self, model: Any, obstacles: UnsupportedSettings) -> None:
        expected = self._label_settings().items()
        wrong = {name: value for name, value in expected if getattr(model, name) != value}
        if wrong:
            first, *_ = wrong
            remedy = " and ".join(
                f"model.{name} = {json.dumps(value)}" for name, value in wrong.items()
            )
            reason = "labels and values come from the first token through a pooler; train with"
            obstacles.add(f"model.{first}", getattr(model, first), f"{reason} {remedy}")

    def rows(self, model: Any, form: Form) -> Iterator[WeightRow]:
        """The weights of the pooler."""
        theirs = self.before_labels if form == "texts" else self.pooler
        if model.pooler and theirs is not None and form not in ("tokens", "spans"):
            yield from reads(theirs, "backbone.pooler.dense")

    def _is_present(self, reader: ConfigReader) -> bool:
        return self.pooler is not None and reader.has_tensor(f"{self.pooler}.")

    def _ignore(self, reader: ConfigReader, reason: str) -> None:
        if self.pooler is not None and self._is_present(reader):
            prefix = self.pooler.removesuffix("dense")
            reader.ignored_prefixes.append(prefix)
            reader.notes.append(f"{prefix}* is left out: {reason}")

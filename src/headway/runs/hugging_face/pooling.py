"""How a model that reads makes the vector of a text, which labels are told from."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ..obstacles import Obstacles
from .purposes import Form
from .rows import Row, reads
from .settings import Reading

WHICH = {"mean": "the mean of all states", "first": "the state of the first token"}


@dataclass(frozen=True)
class Pooling:
    """What sentence-transformers says, or a layer of the library's own over the first token.

    Attributes:
        pooler: what that layer is called; DistilBERT has none.
        before_labels: the same in a class that gives texts labels or values.
        activation: of that layer.
    """

    pooler: str | None
    before_labels: str
    activation: str = "tanh"

    def read(self, given: Reading, form: Form) -> dict[str, Any]:
        """Settings of ours."""
        if form in ("tokens", "spans"):
            self._leave_out(given, "what is said of tokens does not come from it")
            return {"pooling": "first", "pooler": False}
        if form == "texts":
            if self.pooler != self.before_labels:
                self._leave_out(given, f"{self.before_labels}.* makes the vector of a text")
            return self._of_labels()
        if given.pooling is None:
            return {"pooling": "first", "pooler": self._is_there(given)}
        self._leave_out(given, f"the vector of a text is {WHICH[given.pooling]}")
        return {"pooling": given.pooling, "pooler": False}

    def check(self, model: Any, form: Form, found: Obstacles) -> None:
        """Names the settings of ours that the library has no place for."""
        if form in ("tokens", "spans"):
            return  # which nothing of this matters for
        if form == "texts":
            self._check_labels(model, found)
        elif model.pooler and self.pooler is None:
            found.add("model.pooler", True, "no pooler")
        elif model.pooler and model.pooling != "first":
            found.add("model.pooling", model.pooling, "the pooler takes the first token")
        elif model.pooler and model.pooler_activation != self.activation:
            found.add("model.pooler_activation", model.pooler_activation, self.activation)

    def _of_labels(self) -> dict[str, Any]:
        return {"pooling": "first", "pooler": True, "pooler_activation": self.activation}

    def _check_labels(self, model: Any, found: Obstacles) -> None:
        expected = self._of_labels().items()
        wrong = {name: value for name, value in expected if getattr(model, name) != value}
        if wrong:
            first, *_ = wrong
            remedy = " and ".join(
                f"model.{name} = {json.dumps(value)}" for name, value in wrong.items()
            )
            reason = "labels and values come from the first token through a pooler; train with"
            found.add(f"model.{first}", getattr(model, first), f"{reason} {remedy}")

    def rows(self, model: Any, form: Form) -> Iterator[Row]:
        """The weights of that layer."""
        theirs = self.before_labels if form == "texts" else self.pooler
        if model.pooler and theirs is not None and form not in ("tokens", "spans"):
            yield from reads(theirs, "backbone.pooler.dense")

    def _is_there(self, given: Reading) -> bool:
        return self.pooler is not None and given.holds(f"{self.pooler}.")

    def _leave_out(self, given: Reading, reason: str) -> None:
        if self.pooler is not None and self._is_there(given):
            beginning = self.pooler.removesuffix("dense")
            given.left_out.append(beginning)
            given.notes.append(f"{beginning}* is left out: {reason}")

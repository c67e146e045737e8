"""What a model did with one text, as plain data: outputs, search, attention, positions, training.

`to_dict` is what pages draw and servers send; `packing.py` makes it, no larger than a browser can
take. How the numbers come about is in `close_look.py`.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from ..errors import ConfigError, RunError
from ..view.inspection import inspection_page
from .close_look import Inputs, Kind, Part
from .packing import LIMIT, dumped, pack
from .page import Page
from .results import Output

Place = int | Literal["mean"]
Plain = dict[str, Any]


@dataclass(frozen=True)
class Inspected:
    """One output, with what the model did to write it.

    Attributes:
        top: for each token the likeliest words in its place, with their probabilities.
        parts: attention from the output, to itself and to the input; None if nobody looked.
        inputs: embeddings of what was read before each token, and their position codes.
        words: where an output tells something of each word of the text, these.
        span: of an answer, its first character in the text, and the one after its last.
        value: where the output is a number, this; then it has no probability.
    """

    output: Output
    top: list[list[tuple[str, float]]] = field(default_factory=list, repr=False)
    parts: list[Part] | None = None
    inputs: Inputs | None = field(default=None, repr=False)
    words: list[str] | None = None
    span: tuple[int, int] | None = None
    value: float | None = None


@dataclass(frozen=True)
class Background:
    """What does not depend on the text.

    Attributes:
        run: name, family, parameters and facts of the run.
        positions: how order is told; codes are arrays.
        rows: of the training log.
    """

    run: Plain
    positions: Plain | None = field(default=None, repr=False)
    rows: list[Plain] = field(default_factory=list, repr=False)


@dataclass(frozen=True)
class Map:
    """Attention weights (R, C), with the tokens on the axes."""

    kind: Kind
    weights: np.ndarray
    rows: list[str]
    columns: list[str]


@dataclass(frozen=True)
class Inspection:
    """A text, what a model made of it, and how.

    Attributes:
        kind: the task of the run.
        tokens: of the text, its end included, as a person reads them; None where the text itself is
            the output.
        outputs: best first; of a classifier the labels, of a tagger the tags of the words, of an
            answerer the answers, of a regressor the value, of a language model the text, of a model
            that finds hidden words the text with one in each gap.
        begin: how the place before the first output token is called.
        encoder: attention within the text.
        trace: every step of the search, with the words of its candidates.
    """

    kind: str
    text: str
    tokens: list[str] | None
    outputs: list[Inspected]
    background: Background
    begin: str
    encoder: list[Part] = field(default_factory=list)
    inputs: Inputs | None = field(default=None, repr=False)
    search: Plain | None = None
    trace: Plain | None = field(default=None, repr=False)

    def map(
        self,
        kind: Kind | None = None,
        layer: Place = "mean",
        head: Place = "mean",
        output: int = 0,
    ) -> Map:
        """One attention map.

        Args:
            kind: `cross` if there is such, else what there is.
            layer: one, from 0 or from -1 backwards, or the mean of all.
            head: likewise.

        Raises:
            RunError: the model does not attend in this way.
            ConfigError: there is no such layer, head or output.
        """
        if self.outputs and not -len(self.outputs) <= output < len(self.outputs):
            raise ConfigError(f"no output {output}; there are {len(self.outputs)}, counted from 0")
        chosen_output = self.outputs[output] if self.outputs else None
        parts = [*((chosen_output and chosen_output.parts) or ()), *self.encoder]
        there = {part.kind for part in parts}
        order: list[Kind] = ["cross", "decoder", "encoder"]
        kind = kind or next((one for one in order if one in there), None)
        chosen = [part for part in parts if part.kind == kind]
        if not chosen:
            known = ", ".join(one for one in order if one in there)
            raise RunError(
                f"this model has no {f'{kind} ' if kind else ''}attention to look at; "
                + (f"it has {known}" if known else "use a family that attends, such as transformer")
            )
        # Layers may have different numbers of heads, so heads are chosen in each.
        maps = [_chosen(part.weights, head, "head") for part in _pick(chosen, layer, "layer")]
        target = chosen_output.output.tokens if chosen_output else []
        labels = {
            "encoder": (self.tokens or [], self.tokens or []),
            "decoder": (target, [self.begin, *target[:-1]]),
            "cross": (target, self.tokens or []),
        }
        rows, columns = labels[chosen[0].kind]
        return Map(chosen[0].kind, np.mean(maps, axis=0), rows, columns)

    def to_dict(self, limit: int = LIMIT) -> Plain:
        """Plain data for pages and servers, of about `limit` bytes of JSON at most."""
        return pack(self, limit)

    def to_json(self, limit: int = LIMIT) -> str:
        """`to_dict` as one line."""
        return dumped(self.to_dict(limit))

    def view(self) -> Page:
        """The page, which a notebook shows in its place."""
        return Page(inspection_page(self.to_dict()))


def _pick(items: Sequence[Any], place: Place, what: str) -> Sequence[Any]:
    if place == "mean":
        return items
    if not -len(items) <= place < len(items):
        raise ConfigError(
            f"no {what} {place}; there are {len(items)}: 0 to {len(items) - 1}, or mean"
        )
    return [items[place]]


def _chosen(weights: np.ndarray, head: Place, what: str) -> np.ndarray:
    found: np.ndarray = np.mean(_pick(list(weights), head, what), axis=0)
    return found

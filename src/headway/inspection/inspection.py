"""`Inspection`: outputs, search, attention and positions of one text, as plain data.

`build.py` and `attention.py` compute it, `serialize.py` makes JSON of it for pages and servers.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from ..errors import ConfigError, RunError
from ..view.inspection import inspection_page
from .attention import AttentionTrace, AttentionType, Inputs
from .html_page import Page
from .hypothesis import TextHypothesis
from .serialize import LIMIT, dumped, to_json_tree

if TYPE_CHECKING:
    from .series import ReadSeries

Selection = int | Literal["mean"]
"""One layer or head, from 0 or from -1 backwards, or the mean of all."""
Plain = dict[str, Any]


@dataclass(frozen=True)
class InspectedOutput:
    """One output, with the attention and the alternatives at each of its tokens.

    Attributes:
        top: the likeliest tokens at each position, with their probabilities.
        parts: self-attention of the output and its attention to the input; None without a pass.
        inputs: embeddings of the decoder's input tokens, and their position codes.
        words: the words of the text, if the output has a tag for each.
        span: first character of an answer in the text, and the one after its last.
        value: the number, if the output is one; it has no probability then.
    """

    output: TextHypothesis
    top: list[list[tuple[str, float]]] = field(default_factory=list, repr=False)
    parts: list[AttentionTrace] | None = None
    inputs: Inputs | None = field(default=None, repr=False)
    words: list[str] | None = None
    span: tuple[int, int] | None = None
    value: float | None = None


@dataclass(frozen=True)
class RunSummary:
    """The part of an inspection that does not depend on the text.

    Attributes:
        run: name, family, parameters and facts of the run.
        positions: type and codes of the positions; codes are arrays.
        rows: rows of the training log.
    """

    run: Plain
    positions: Plain | None = field(default=None, repr=False)
    rows: list[Plain] = field(default_factory=list, repr=False)


@dataclass(frozen=True)
class AttentionMap:
    """Attention weights (R, C), with the tokens on the axes."""

    kind: AttentionType
    weights: np.ndarray
    rows: list[str]
    columns: list[str]


@dataclass(frozen=True)
class Inspection:
    """A text or a series, its outputs, and how the model computed them.

    Attributes:
        kind: the task of the run.
        tokens: readable tokens of the text, end token included; None for a language model, whose
            output is the text.
        outputs: outputs, best first: translations, the labels of a classifier, the tags of a
            tagger, the answers of an answerer, the value of a regressor, the text of a language
            model, or the text with each filled mask.
        begin: the readable begin token, before the first output token.
        encoder: attention within the text.
        trace: every step of the search, with the text of its candidates.
        series: the series, if that is what the model reads; its tokens are patches of steps.
    """

    kind: str
    text: str
    tokens: list[str] | None
    outputs: list[InspectedOutput]
    background: RunSummary
    begin: str
    encoder: list[AttentionTrace] = field(default_factory=list)
    inputs: Inputs | None = field(default=None, repr=False)
    search: Plain | None = None
    trace: Plain | None = field(default=None, repr=False)
    series: "ReadSeries | None" = field(default=None, repr=False)

    def map(
        self,
        kind: AttentionType | None = None,
        layer: Selection = "mean",
        head: Selection = "mean",
        output: int = 0,
    ) -> AttentionMap:
        """One attention map.

        Args:
            kind: by default the first of `cross`, `decoder` and `encoder` that the model has.
            layer: a layer, from 0 or from -1 backwards, or the mean of all.
            head: a head, from 0 or from -1 backwards, or the mean of all.

        Raises:
            RunError: the model has no such attention.
            ConfigError: the layer, head or output does not exist.
        """
        if self.outputs and not -len(self.outputs) <= output < len(self.outputs):
            raise ConfigError(f"no output {output}; there are {len(self.outputs)}, counted from 0")
        chosen_output = self.outputs[output] if self.outputs else None
        parts = [*((chosen_output and chosen_output.parts) or ()), *self.encoder]
        order: list[AttentionType] = ["cross", "decoder", "encoder"]
        available = [type_ for type_ in order if any(part.kind == type_ for part in parts)]
        kind = kind or next(iter(available), None)
        chosen = [part for part in parts if part.kind == kind]
        if not chosen:
            known = ", ".join(available)
            raise RunError(
                f"this model has no {f'{kind} ' if kind else ''}attention to look at; "
                + (f"it has {known}" if known else "use a family that attends, such as transformer")
            )
        # Layers may have different numbers of heads, so heads are selected in each.
        maps = [
            np.mean(_select(list(part.weights), head, "head"), axis=0)
            for part in _select(chosen, layer, "layer")
        ]
        target = chosen_output.output.tokens if chosen_output else []
        labels = {
            "encoder": (self.tokens or [], self.tokens or []),
            "decoder": (target, [self.begin, *target[:-1]]),
            "cross": (target, self.tokens or []),
        }
        rows, columns = labels[chosen[0].kind]
        return AttentionMap(chosen[0].kind, np.mean(maps, axis=0), rows, columns)

    def to_dict(self, limit: int = LIMIT) -> Plain:
        """Plain data for pages and servers, of about `limit` bytes of JSON at most."""
        return to_json_tree(self, limit)

    def to_json(self, limit: int = LIMIT) -> str:
        """`to_dict` as one line."""
        return dumped(self.to_dict(limit))

    def view(self) -> Page:
        """The page of the inspection, which a notebook shows."""
        return Page(inspection_page(self.to_dict()))


def _select(items: Sequence[Any], selection: Selection, noun: str) -> Sequence[Any]:
    """The selected layer or head, or all of them for a mean."""
    if selection == "mean":
        return items
    if not -len(items) <= selection < len(items):
        raise ConfigError(
            f"no {noun} {selection}; there are {len(items)}: 0 to {len(items) - 1}, or mean"
        )
    return [items[selection]]

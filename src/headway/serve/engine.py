"""A loaded run that answers batches: from what is asked to finished JSON. No HTTP, no waiting.

Everything that an answer shows is made here, where the run computes: the server passes bytes on.
"""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

import numpy as np

from ..api import (
    Attention,
    Embedder,
    LanguageModel,
    Output,
    Request,
    Scored,
    Translation,
    Translator,
)
from ..api.embedding import Pooling
from ..api.filling import Gaps
from ..api.inspection import Inspection
from ..api.results import trace_in_words
from ..api.trained import Trained
from ..api.translator import Engine as Library
from ..errors import DataError
from ..search import SearchConfig

Verb = Literal["translate", "score", "predict", "generate", "fill", "embed", "inspect"]
Depth = Literal["mean", "all"]
Records = list[dict[str, Any]]
DIGITS = 5  # of attention weights


@dataclass(frozen=True)
class Ask:
    """What is wanted of a text; texts of which the same is wanted may share a batch.

    Attributes:
        search: the whole of the settings, nothing left to the run.
        library: what computes.
        attention: which weights to show.
        cells: how many of them at most.
        output: of an inspection, the one that is looked at.
        size: of an inspection, bytes at most.
        top: words for each gap.
        pooling: how a vector is made; None is as the run does it.
        normalise: whether vectors get length 1; None likewise.
    """

    model: str
    verb: Verb
    search: SearchConfig | None = None
    library: Library = "headway"
    align: bool = False
    trace: bool = False
    attention: Depth | None = None
    cells: int = 0
    output: int = 0
    size: int = 0
    top: int = 0
    pooling: Pooling | None = None
    normalise: bool | None = None


@dataclass(frozen=True)
class Wish:
    """One text to translate or to look at.

    Attributes:
        place: what messages call it, such as `texts[3]`.
    """

    place: str
    request: Request


class Engine:
    """Answers what is asked of one run.

    Args:
        compute_type: of CTranslate2, where an `Ask` wants that library.
    """

    def __init__(self, trained: Trained, compute_type: Any = "default") -> None:
        self.trained: Any = trained
        self.compute_type = compute_type

    def answer(self, ask: Ask, items: Sequence[Any]) -> list[bytes]:
        """A JSON object for each item.

        Args:
            items: `Wish` to translate, or to inspect what translates; pairs of texts to score;
                numbers and prompts to generate; else texts, or what the run predicts from.

        Raises:
            HeadwayError: for one of them something cannot be done.
        """
        verbs: Mapping[Verb, Callable[[Ask, Sequence[Any]], Records]] = {
            "translate": self._translate,
            "score": self._score,
            "predict": self._predict,
            "generate": self._generate,
            "fill": self._fill,
            "embed": self._embed,
            "inspect": self._inspect,
        }
        found = verbs[ask.verb](ask, items)
        return [json.dumps(one, ensure_ascii=False, allow_nan=False).encode() for one in found]

    def _translate(self, ask: Ask, items: Sequence[Wish]) -> Records:
        return [self._translation(ask, one) for one in self._translations(ask, items)]

    def _score(self, ask: Ask, items: Sequence[Any]) -> Records:
        given = [items] if isinstance(self.trained, LanguageModel) else zip(*items, strict=True)
        return [_scored(one) for one in self.trained.score(*given)]

    def _predict(self, ask: Ask, items: Sequence[Any]) -> Records:
        return [self.trained.record(one) for one in self.trained.predict(items)]

    def _generate(self, ask: Ask, items: Sequence[tuple[int, str]]) -> Records:
        numbers, prompts = zip(*items, strict=True)
        places = [f"prompts[{number}]" for number in numbers]
        return [
            {
                "prompt": one.prompt,
                "outputs": [_output(ask, output) for output in one.outputs],
                "unknown": one.n_unknown,
            }
            for one in self.trained.writer(ask.search).write(prompts, places, numbers)
        ]

    def _fill(self, ask: Ask, items: Sequence[str]) -> Records:
        return [asdict(one) for one in Gaps(self.trained).fill(items, ask.top)]

    def _embed(self, ask: Ask, items: Sequence[str]) -> Records:
        embedder = Embedder(self.trained, ask.pooling, ask.normalise)
        return [{"vector": vector} for vector in embedder.embed(items).tolist()]

    def _inspect(self, ask: Ask, items: Sequence[Any]) -> Records:
        return [self._inspection(ask, one) for one in items]

    def _translations(self, ask: Ask, items: Sequence[Wish]) -> list[Translation]:
        if ask.search is not None and ask.search.method == "sample":
            # Draws depend on a text's number: each is number 0, whoever is in the batch with it.
            return [one for item in items for one in self._translated(ask, [item])]
        return self._translated(ask, items)

    def _translated(self, ask: Ask, items: Sequence[Wish]) -> list[Translation]:
        is_foreign = ask.library != "headway"
        found: list[Translation] = self.trained.translate(
            [item.request for item in items],
            places=[item.place for item in items],
            align=ask.align,
            attend=ask.attention is not None,
            trace=ask.trace,
            engine=ask.library,
            compute_type=self.compute_type if is_foreign else "default",
            **(asdict(ask.search) if ask.search is not None else {}),
        )
        return found

    def _translation(self, ask: Ask, translation: Translation) -> dict[str, Any]:
        record: dict[str, Any] = {"source": translation.source}
        record["outputs"] = [_output(ask, output) for output in translation.outputs]
        if translation.source_tokens is not None:
            record["source_tokens"] = translation.source_tokens
        if translation.trace is not None:
            target = self.trained.task.target.tokenizer
            record["trace"] = trace_in_words(translation.trace, target)
        return record

    def _inspection(self, ask: Ask, item: Any) -> dict[str, Any]:
        """What the page draws, with the attention of one output; the log is asked for apart."""
        is_searched = isinstance(self.trained, Translator)
        found = self._searched(ask, item) if is_searched else self.trained.inspect(item)
        background = found.background
        run = {**background.run, "name": ask.model}
        return replace(found, background=replace(background, run=run, rows=[])).to_dict(ask.size)

    def _searched(self, ask: Ask, wish: Wish) -> Inspection:
        assert ask.search is not None
        search = asdict(ask.search)
        found: Inspection = self.trained.inspect(wish.request, outputs=[ask.output], **search)
        if ask.output >= len(found.outputs):
            raise DataError(
                f"output is {ask.output}, and the search found {len(found.outputs)}, counted from 0"
            )
        return found


def _output(ask: Ask, output: Output) -> dict[str, Any]:
    record: dict[str, Any] = {
        "text": output.text,
        **_probabilities(output.log_prob, output.tokens, output.token_log_probs),
        "score": _finite(output.score),
        "finished": output.finished,
    }
    optional: Mapping[str, Any] = {
        "alignment": output.alignment,
        "unmet": output.unmet or None,
        "proven": output.proven,
        "attention": None if output.attention is None else _attention(ask, output.attention),
    }
    return record | {name: value for name, value in optional.items() if value is not None}


def _scored(scored: Scored) -> dict[str, Any]:
    return _probabilities(scored.log_prob, scored.tokens, scored.token_log_probs)


def _probabilities(log_prob: float, tokens: list[str], each: list[float]) -> dict[str, Any]:
    return {
        "log_prob": _finite(log_prob),
        "tokens": tokens,
        "token_log_probs": [_finite(value) for value in each],
    }


def _finite(value: float) -> float | None:
    """The number, or None where JSON has none for it."""
    return value if math.isfinite(value) else None


def _attention(ask: Ask, attention: Attention) -> dict[str, Any]:
    """The weights as lists.

    Raises:
        DataError: there are too many of them.
    """
    record: dict[str, Any] = {"source": attention.source, "target": attention.target}
    maps = attention.maps if ask.attention == "all" else {"mean": attention.cross()}
    n_cells = sum(weights.size for weights in maps.values())
    if n_cells > ask.cells:
        raise DataError(
            f"the output has {n_cells} attention weights and at most {ask.cells} are sent; ask for "
            "the mean, or shorten the text"
        )
    lists = {
        name: np.round(weights.astype(np.float64), DIGITS).tolist()
        for name, weights in maps.items()
    }
    if ask.attention == "all":
        return record | {"maps": lists, "crossing": attention.crossing}
    return record | lists

"""What search costs: beams held against the model's true best outputs, over a whole test set.

A wrong output is the model's error when its best output is wrong too, and the search's when the
best output was right and the beam missed it. Where the best output could not be proven, that is
said and nothing is claimed. Printing is left to the command line.
"""

import math
import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from statistics import fmean, median
from typing import Any, Literal, get_args

import torch

from ..data.collate import pad
from ..errors import ConfigError, DataError
from ..inference.translator import Translator
from ..inspection.hypothesis import TextHypothesis
from ..parallel import decode_batches, map_batches, n_processes
from ..search import METHODS, SETTINGS, ExhaustiveResult, SearchConfig, exhaustive

BEAMS = (1, 2, 5, 10)
CLOSE = 1e-4  # scores as near as this belong to equally good outputs
WIDTH = 16  # an exhaustive search takes about as much room as so wide a beam
FIGURES = ("beam", "found", "missed", "open", "score lost", "most", "log p lost")
BLAMES = ("right", "lucky", "model's", "search's", "unclear")

Progress = Callable[[int, int], None]
Blame = Literal["right", "lucky", "model", "search", "unclear"]


@dataclass(frozen=True)
class SearchedSentence:
    """One source and all that was found for it.

    Attributes:
        references: right answers; empty if none are known.
        best: the argmax if `proven`, else the best output that any of the searches found.
        bound: no finished output scores above it.
        n_nodes: beginnings of outputs that the exhaustive search expanded.
        outputs: of each beam.
    """

    source: str
    references: list[str]
    best: TextHypothesis
    proven: bool
    bound: float
    n_nodes: int
    outputs: dict[int, TextHypothesis]

    def found(self, beam: int) -> bool | None:
        """Whether a beam found the argmax; None if it has the best known, which is not proven."""
        output = self.outputs[beam]
        if output.text != self.best.text and self.lost(beam) > CLOSE:
            return False
        if self.best.finished and not output.finished:
            return False
        return True if self.proven else None

    def lost(self, beam: int) -> float:
        """How far a beam's score is below the best known; an unfinished output ends for free."""
        return max(0.0, self.best.score - self.outputs[beam].score)

    def blame(self, beam: int) -> Blame:
        """Whose a beam's error is, if it is one; `lucky` is right and missed a wrong argmax."""
        is_right = self.outputs[beam].text in self.references
        if not self.proven:
            return "right" if is_right else "unclear"
        if self.best.text in self.references:
            return "right" if is_right else "search"
        return "lucky" if is_right else "model"


@dataclass(frozen=True)
class Blames:
    """How many outputs are right, and whose errors the others are.

    Attributes:
        lucky: right because the search missed the argmax, which is wrong.
        model: wrong, as the argmax is.
        search: wrong, while the argmax is right.
        unclear: wrong, and the argmax is not proven.
    """

    right: int
    lucky: int
    model: int
    search: int
    unclear: int


@dataclass(frozen=True)
class BeamFigures:
    """How one beam did.

    Attributes:
        found: inputs where its output is the argmax, proven.
        missed: inputs where a better output is known, or where its own was cut off by the limit.
        open: inputs where no better output is known, nor proven not to exist.
        score_lost: mean over all inputs of the score below the best known.
        score_lost_most: the largest of these.
        log_prob_lost: mean of the log probability below that of the best known; with length
            normalisation the better score may have less probability, and this may be negative.
        blames: None without references.
    """

    beam: int
    found: int
    missed: int
    open: int
    score_lost: float
    score_lost_most: float
    log_prob_lost: float
    blames: Blames | None


@dataclass(frozen=True)
class SearchReport:
    """Beams against the argmax.

    Attributes:
        max_nodes: the budget of the exhaustive search for each input.
        blank: inputs left out because nothing is in them.
        argmax_right: proven argmaxes that are right; None without references.
    """

    alpha: float
    max_nodes: int
    blank: int
    sentences: list[SearchedSentence]
    beams: list[BeamFigures]
    argmax_right: int | None

    @property
    def proven(self) -> int:
        """Inputs whose argmax is known."""
        return sum(one.proven for one in self.sentences)

    def to_dict(self) -> dict[str, Any]:
        """The form scripts read."""
        is_judged = self.argmax_right is not None
        return {
            "n": len(self.sentences),
            "blank": self.blank,
            "alpha": self.alpha,
            "max_nodes": self.max_nodes,
            "proven": self.proven,
            "argmax_right": self.argmax_right,
            "beams": [asdict(figures) for figures in self.beams],
            "sentences": [_record(one, is_judged) for one in self.sentences],
        }

    def text(self) -> str:
        """A table for a terminal."""
        rows = list(self._rows())
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = ["  ".join(map(str.rjust, row, widths)) for row in rows]
        return "\n".join([self.summary(), "", *lines, "", *self._legend()])

    def markdown(self) -> str:
        """The same for a page."""
        head, *rows = self._rows()
        rule = ["---:"] * len(head)
        lines = [f"| {' | '.join(row)} |" for row in [head, rule, *rows]]
        return "\n".join([self.summary(), "", *lines, "", *self._legend()])

    def summary(self) -> str:
        """What was done, in a sentence."""
        nodes = median(one.n_nodes for one in self.sentences)
        left_out = f" ({self.blank:,} blank ones left out)" if self.blank else ""
        return (
            f"{len(self.sentences):,} inputs{left_out}, alpha {self.alpha:g}: the argmax is proven "
            f"for {self.proven:,} ({self.proven / len(self.sentences):.1%}), "
            f"in {nodes:,.0f} nodes (median), at most {self.max_nodes:,}"
        )

    def _rows(self) -> Iterator[list[str]]:
        yield [*FIGURES, *(BLAMES if self.argmax_right is not None else ())]
        for row in self.beams:
            yield [
                *(f"{n:,}" for n in (row.beam, row.found, row.missed, row.open)),
                *(
                    f"{round(x, 4) + 0.0:.4f}"
                    for x in (row.score_lost, row.score_lost_most, row.log_prob_lost)
                ),
                *(f"{n:,}" for n in (asdict(row.blames).values() if row.blames else ())),
            ]
        if self.argmax_right is not None:
            known, right = self.proven, self.argmax_right
            unknown = len(self.sentences) - known
            blames = (f"{n:,}" for n in (right, 0, known - right, 0, unknown))
            yield ["argmax", f"{known:,}", "0", f"{unknown:,}", *["0.0000"] * 3, *blames]

    def _legend(self) -> Iterator[str]:
        yield "found: the output is the argmax; open: it is the best known, which is not proven."
        yield "score lost: mean below the best known, and the most for one input."
        if self.argmax_right is not None:
            yield "Wrong outputs are the model's errors where the argmax is wrong too, the search's"
            yield "where the argmax is right, unclear where it is not proven. Lucky ones are right"
            yield "because the search missed the argmax, which is wrong."


def search_report(
    translator: Translator,
    sources: Sequence[str],
    references: Sequence[Sequence[str]] | None = None,
    *,
    beams: Sequence[int] = BEAMS,
    places: Sequence[str] | None = None,
    progress: Progress | None = None,
    **search: Any,
) -> SearchReport:
    """Searches every source with each beam and exhaustively, and counts.

    All searches have the run's alpha and length limits unless others are given. Its other settings
    (minimum length, repeats, sampling) are left off, so that all look at the same outputs.

    Args:
        references: right answers of each source.
        places: what messages call each source, such as `news.en:7`.
        progress: told how many sources of how many are done.
        search: settings in place of the run's: `alpha`; `max_length`, which tightens the bounds
            unless alpha is 0; `max_nodes`, the budget of the exhaustive search for each source.

    Raises:
        DataError: there is nothing to search, a source is too long, or references are missing.
        ConfigError: a setting does not fit.
    """
    shown = _searchable(sources, references)
    _check_beams(beams)
    # The methods are compared on what all of them obey.
    plain = {name: one.default for name, one in SETTINGS.items() if one.methods != METHODS}
    plain["n_best"] = 1
    config = translator.search_config(**{**plain, **search, "method": "exhaustive"})
    plain |= {name: value for name, value in search.items() if SETTINGS[name].methods == METHODS}
    texts = [sources[i] for i in shown]
    named = [places[i] if places else f"line {i + 1}" for i in shown]
    outputs = {k: _outputs(translator, texts, named, k, plain) for k in beams}
    results = _exhaust(translator, texts, config, progress)
    answers = [[] if references is None else list(references[i]) for i in shown]
    found = [{k: outputs[k][n] for k in beams} for n in range(len(shown))]
    sentences = [
        _sentence(translator, *one) for one in zip(texts, answers, results, found, strict=True)
    ]
    return _counted(sentences, config, beams, len(sources) - len(shown), references is not None)


def _searchable(sources: Sequence[str], references: Sequence[Sequence[str]] | None) -> list[int]:
    """The sources that hold something, by number."""
    if references is not None and len(references) != len(sources):
        raise DataError(
            f"{len(sources)} sources but {len(references)} lists of references; "
            "one list for each source is expected"
        )
    shown = [i for i, source in enumerate(sources) if source.strip()]
    if not shown:
        raise DataError(f"nothing to search: got {len(sources)} sources, all of them blank")
    return shown


def _counted(
    sentences: list[SearchedSentence],
    config: SearchConfig,
    beams: Sequence[int],
    blank: int,
    is_judged: bool,
) -> SearchReport:
    return SearchReport(
        alpha=config.alpha,
        max_nodes=config.max_nodes,
        blank=blank,
        sentences=sentences,
        beams=[_figures(sentences, k, is_judged) for k in beams],
        argmax_right=_argmax_right(sentences) if is_judged else None,
    )


def _check_beams(beams: Sequence[int]) -> None:
    if not beams or any(k < 1 for k in beams) or len(set(beams)) < len(beams):
        raise ConfigError(
            f"beams {', '.join(map(str, beams)) or 'are none'}: expected different whole numbers "
            "of at least 1, such as 1, 2, 5, 10"
        )


def _outputs(
    translator: Translator,
    sources: Sequence[str],
    places: Sequence[str],
    beam: int,
    search: dict[str, Any],
) -> list[TextHypothesis]:
    """The best output of each source by a beam."""
    settings = {**search, "method": "beam", "beam": beam}
    found = translator.translate(sources, places=places, **settings)
    return [translation.outputs[0] for translation in found]


def _exhaust(
    translator: Translator,
    sources: Sequence[str],
    config: SearchConfig,
    progress: Progress | None,
) -> list[ExhaustiveResult]:
    """The best output of each source there is."""
    encoded = translator.task.source.encode_batch(list(sources))
    device = next(translator.model.parameters()).device
    target = translator.task.target
    done = 0

    def work(rows: list[int]) -> list[ExhaustiveResult]:
        nonlocal done
        src, valid = (
            torch.from_numpy(array).to(device) for array in pad([encoded[i] for i in rows])
        )
        batch = {"src": src, "src_valid": valid}
        found = exhaustive(translator.model, batch, bos=target.bos, eos=target.eos, config=config)
        done += len(rows)
        if progress is not None and os.getpid() == this:  # the others are about as far
            progress(min(done * processes, len(sources)), len(sources))
        return found

    this, processes = os.getpid(), n_processes(len(sources), device)
    lengths = [len(ids) for ids in encoded]
    return map_batches(work, list(decode_batches(lengths, WIDTH, processes)), processes)


def _sentence(
    translator: Translator,
    source: str,
    references: list[str],
    result: ExhaustiveResult,
    outputs: dict[int, TextHypothesis],
) -> SearchedSentence:
    best = translator.output(result.best)
    if not result.proven:
        best = max([best, *outputs.values()], key=lambda one: (one.finished, one.score))
    bound = max(result.bound, best.score) if best.finished else result.bound
    return SearchedSentence(source, references, best, result.proven, bound, result.n_nodes, outputs)


def _figures(sentences: Sequence[SearchedSentence], beam: int, is_judged: bool) -> BeamFigures:
    found = Counter(one.found(beam) for one in sentences)
    blames = Counter(one.blame(beam) for one in sentences)
    lost = [one.lost(beam) for one in sentences]
    return BeamFigures(
        beam=beam,
        found=found[True],
        missed=found[False],
        open=found[None],
        score_lost=fmean(lost),
        score_lost_most=max(lost),
        log_prob_lost=fmean(one.best.log_prob - one.outputs[beam].log_prob for one in sentences),
        blames=Blames(**{name: blames[name] for name in get_args(Blame)}) if is_judged else None,
    )


def _argmax_right(sentences: Sequence[SearchedSentence]) -> int:
    return sum(one.proven and one.best.text in one.references for one in sentences)


def _record(one: SearchedSentence, is_judged: bool) -> dict[str, Any]:
    """A sentence as scripts read it."""
    return {
        "source": one.source,
        **({"references": one.references} if is_judged else {}),
        "best": _figures_of(one.best),
        "proven": one.proven,
        "bound": one.bound if math.isfinite(one.bound) else None,  # JSON has no infinity
        "nodes": one.n_nodes,
        "beams": [
            {
                "beam": beam,
                **_figures_of(output),
                "found": one.found(beam),
                **({"blame": one.blame(beam)} if is_judged else {}),
            }
            for beam, output in one.outputs.items()
        ],
    }


def _figures_of(output: TextHypothesis) -> dict[str, Any]:
    return {"text": output.text, "log_prob": output.log_prob, "score": output.score}

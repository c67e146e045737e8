"""The search report: beam search compared with the model's true best outputs on a test set.

A wrong output is a model error if the model's best output is wrong too, and a search error if the
best output is right and the beam missed it. If the best output is not proven, the cause is unclear.
The command line prints the report.
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
CLOSE = 1e-4  # outputs with scores this close are equally good
WIDTH = 16  # an exhaustive search needs about as much memory as a beam of this width
FIGURES = ("beam", "found", "missed", "open", "score lost", "most", "log p lost")
BLAMES = ("right", "lucky", "model's", "search's", "unclear")

Progress = Callable[[int, int], None]
Blame = Literal["right", "lucky", "model", "search", "unclear"]


@dataclass(frozen=True)
class SearchedSentence:
    """A source and the outputs of all searches.

    Attributes:
        references: correct outputs; empty if unknown.
        best: the argmax if `proven`, otherwise the best output of all searches.
        bound: upper bound of the scores of finished outputs.
        n_nodes: number of prefixes that the exhaustive search expanded.
        outputs: the output of each beam.
    """

    source: str
    references: list[str]
    best: TextHypothesis
    proven: bool
    bound: float
    n_nodes: int
    outputs: dict[int, TextHypothesis]

    def found(self, beam: int) -> bool | None:
        """Whether a beam found the argmax; None if its output is the best known but not proven."""
        output = self.outputs[beam]
        if output.text != self.best.text and self.lost(beam) > CLOSE:
            return False
        if self.best.finished and not output.finished:
            return False
        return True if self.proven else None

    def lost(self, beam: int) -> float:
        """The best known score minus that of a beam; an unfinished output has no cost of EOS."""
        return max(0.0, self.best.score - self.outputs[beam].score)

    def blame(self, beam: int) -> Blame:
        """The cause of a beam's error; a `lucky` output is right, but missed a wrong argmax."""
        is_right = self.outputs[beam].text in self.references
        if not self.proven:
            return "right" if is_right else "unclear"
        if self.best.text in self.references:
            return "right" if is_right else "search"
        return "lucky" if is_right else "model"


@dataclass(frozen=True)
class Blames:
    """The number of right outputs, and of errors by their cause.

    Attributes:
        lucky: right because the search missed the argmax, which is wrong.
        model: wrong, like the argmax.
        search: wrong, although the argmax is right.
        unclear: wrong, and the argmax is not proven.
    """

    right: int
    lucky: int
    model: int
    search: int
    unclear: int


@dataclass(frozen=True)
class BeamFigures:
    """The results of one beam over all inputs.

    Attributes:
        found: number of inputs whose output is the proven argmax.
        missed: inputs with a better known output, or whose output was cut off by the limit.
        open: inputs without a better known output, but also without a proof.
        score_lost: mean difference to the best known score.
        score_lost_most: the largest difference.
        log_prob_lost: mean difference to the log probability of the best known output; it may be
            negative, because with length normalisation a better score may be less probable.
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
    """The results of all beams, compared with the argmax.

    Attributes:
        max_nodes: the budget of the exhaustive search for each input.
        blank: number of blank inputs, which are left out.
        argmax_right: number of proven argmaxes that are right; None without references.
    """

    alpha: float
    max_nodes: int
    blank: int
    sentences: list[SearchedSentence]
    beams: list[BeamFigures]
    argmax_right: int | None

    @property
    def proven(self) -> int:
        """The number of inputs whose argmax is proven."""
        return sum(sentence.proven for sentence in self.sentences)

    def to_dict(self) -> dict[str, Any]:
        """The report as plain data."""
        has_references = self.argmax_right is not None
        return {
            "n": len(self.sentences),
            "blank": self.blank,
            "alpha": self.alpha,
            "max_nodes": self.max_nodes,
            "proven": self.proven,
            "argmax_right": self.argmax_right,
            "beams": [asdict(figures) for figures in self.beams],
            "sentences": [_record(sentence, has_references) for sentence in self.sentences],
        }

    def text(self) -> str:
        """A table for a terminal."""
        rows = list(self._rows())
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = ["  ".join(map(str.rjust, row, widths)) for row in rows]
        return "\n".join([self.summary(), "", *lines, "", *self._legend()])

    def markdown(self) -> str:
        """A table for a page."""
        head, *rows = self._rows()
        rule = ["---:"] * len(head)
        lines = [f"| {' | '.join(row)} |" for row in [head, rule, *rows]]
        return "\n".join([self.summary(), "", *lines, "", *self._legend()])

    def summary(self) -> str:
        """The number of proven inputs and the cost of the proofs, in one sentence."""
        nodes = median(sentence.n_nodes for sentence in self.sentences)
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
        yield "found: the output is the argmax; open: it is the best known output, but not proven."
        yield "score lost: difference to the best known score, mean and largest (most)."
        if self.argmax_right is not None:
            yield "Wrong outputs are the model's errors if the argmax is wrong too, the search's"
            yield "if the argmax is right, and unclear if it is not proven. Lucky outputs are right"
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
    """Searches every source with each beam and exhaustively, and compares the outputs.

    All searches use the run's alpha and length limits, unless `search` has others. Other settings
    (minimum length, repeats, sampling) are off, so that all searches consider the same outputs.

    Args:
        references: the correct outputs of each source.
        places: names of the sources in messages, such as `news.en:7`.
        progress: called with the number of finished sources and of all.
        search: settings that replace the run's: `alpha`; `max_length`, which tightens the bounds
            unless alpha is 0; `max_nodes`, the budget of the exhaustive search for each source.

    Raises:
        DataError: there is nothing to search, a source is too long, or references are missing.
        ConfigError: a setting does not fit.
    """
    rows = _searchable(sources, references)
    _check_beams(beams)
    # The methods are compared under the settings that all of them support.
    plain = {name: row.default for name, row in SETTINGS.items() if row.methods != METHODS}
    plain["n_best"] = 1
    config = translator.search_config(**{**plain, **search, "method": "exhaustive"})
    plain |= {name: value for name, value in search.items() if SETTINGS[name].methods == METHODS}
    texts = [sources[i] for i in rows]
    names = [places[i] if places else f"line {i + 1}" for i in rows]
    outputs = {k: _outputs(translator, texts, names, k, plain) for k in beams}
    results = _exhaust(translator, texts, config, progress)
    answers = [[] if references is None else list(references[i]) for i in rows]
    by_beam = [{k: outputs[k][n] for k in beams} for n in range(len(rows))]
    sentences = [
        _sentence(translator, *parts)
        for parts in zip(texts, answers, results, by_beam, strict=True)
    ]
    return _make_report(sentences, config, beams, len(sources) - len(rows), references is not None)


def _searchable(sources: Sequence[str], references: Sequence[Sequence[str]] | None) -> list[int]:
    """The indices of the sources that are not blank."""
    if references is not None and len(references) != len(sources):
        raise DataError(
            f"{len(sources)} sources but {len(references)} lists of references; "
            "one list for each source is expected"
        )
    rows = [i for i, source in enumerate(sources) if source.strip()]
    if not rows:
        raise DataError(f"nothing to search: got {len(sources)} sources, all of them blank")
    return rows


def _make_report(
    sentences: list[SearchedSentence],
    config: SearchConfig,
    beams: Sequence[int],
    blank: int,
    has_references: bool,
) -> SearchReport:
    return SearchReport(
        alpha=config.alpha,
        max_nodes=config.max_nodes,
        blank=blank,
        sentences=sentences,
        beams=[_figures(sentences, k, has_references) for k in beams],
        argmax_right=_argmax_right(sentences) if has_references else None,
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
    names: Sequence[str],
    beam: int,
    search: dict[str, Any],
) -> list[TextHypothesis]:
    """The best output of each source with a beam."""
    settings = {**search, "method": "beam", "beam": beam}
    translations = translator.translate(sources, places=names, **settings)
    return [translation.outputs[0] for translation in translations]


def _exhaust(
    translator: Translator,
    sources: Sequence[str],
    config: SearchConfig,
    progress: Progress | None,
) -> list[ExhaustiveResult]:
    """The result of the exhaustive search for each source."""
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
        results = exhaustive(translator.model, batch, bos=target.bos, eos=target.eos, config=config)
        done += len(rows)
        if progress is not None and os.getpid() == this:  # the other processes are about as far
            progress(min(done * processes, len(sources)), len(sources))
        return results

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
        best = max([best, *outputs.values()], key=lambda output: (output.finished, output.score))
    bound = max(result.bound, best.score) if best.finished else result.bound
    return SearchedSentence(source, references, best, result.proven, bound, result.n_nodes, outputs)


def _figures(sentences: Sequence[SearchedSentence], beam: int, has_references: bool) -> BeamFigures:
    found = Counter(sentence.found(beam) for sentence in sentences)
    blames = Counter(sentence.blame(beam) for sentence in sentences)
    lost = [sentence.lost(beam) for sentence in sentences]
    return BeamFigures(
        beam=beam,
        found=found[True],
        missed=found[False],
        open=found[None],
        score_lost=fmean(lost),
        score_lost_most=max(lost),
        log_prob_lost=fmean(s.best.log_prob - s.outputs[beam].log_prob for s in sentences),
        blames=Blames(**{k: blames[k] for k in get_args(Blame)}) if has_references else None,
    )


def _argmax_right(sentences: Sequence[SearchedSentence]) -> int:
    return sum(s.proven and s.best.text in s.references for s in sentences)


def _record(sentence: SearchedSentence, has_references: bool) -> dict[str, Any]:
    """A sentence as plain data."""
    return {
        "source": sentence.source,
        **({"references": sentence.references} if has_references else {}),
        "best": _output_record(sentence.best),
        "proven": sentence.proven,
        "bound": sentence.bound if math.isfinite(sentence.bound) else None,  # JSON has no infinity
        "nodes": sentence.n_nodes,
        "beams": [
            {
                "beam": beam,
                **_output_record(output),
                "found": sentence.found(beam),
                **({"blame": sentence.blame(beam)} if has_references else {}),
            }
            for beam, output in sentence.outputs.items()
        ],
    }


def _output_record(output: TextHypothesis) -> dict[str, Any]:
    return {"text": output.text, "log_prob": output.log_prob, "score": output.score}

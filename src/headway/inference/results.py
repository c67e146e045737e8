"""Result types of trained models, and the outputs of long texts joined from their segments."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, groupby
from typing import ClassVar

from ..data.codecs.text import TextCodec
from ..inspection.hypothesis import LogProb, TextHypothesis
from ..metrics.output_checks import Flags
from ..metrics.score import Score
from ..search.trace import SearchTrace
from .requests import Segment, TranslationRequest


class Result:
    """The result of one input.

    Attributes:
        error: None; an input that cannot be used has an `InputError` as its result.
    """

    error: ClassVar[str | None] = None


@dataclass(frozen=True)
class Translation(Result):
    """An input and its outputs, best first.

    Attributes:
        source_tokens: readable tokens of the source, which alignments index; None without
            alignments.
        trace: every step of the search; None unless requested.
    """

    source: str
    outputs: list[TextHypothesis]
    source_tokens: list[str] | None = None
    trace: SearchTrace | None = None

    @property
    def text(self) -> str:
        """The best output."""
        return self.outputs[0].text


@dataclass(frozen=True)
class ScoredText(Result):
    """Forced log probabilities of a target text, or of a text under a language model.

    Attributes:
        log_prob: natural logarithm of the probability of the text, with its end token; null in JSON
            where the probability is 0.
        tokens: readable tokens.
        token_log_probs: log probability of each token and of the end token.
    """

    log_prob: LogProb
    tokens: list[str]
    token_log_probs: list[LogProb]


@dataclass(frozen=True)
class Evaluation:
    """Scores by metric, counts of suspicious outputs, and the outputs themselves.

    Attributes:
        unproven: how many outputs an exhaustive search could not prove to be the best.
    """

    scores: dict[str, Score]
    flags: Flags
    outputs: list[str]
    unproven: int = 0


@dataclass(frozen=True)
class OutputEvaluation:
    """Scores by metric, and the outputs they were computed from, as text."""

    scores: dict[str, Score]
    outputs: list[str]


def empty_hypothesis(is_aligned: bool) -> TextHypothesis:
    """The output of a blank line."""
    return TextHypothesis("", 0.0, 0.0, [], [], True, [] if is_aligned else None)


def join_translations(
    requests: Sequence[TranslationRequest],
    segments: Sequence[Segment],
    outputs: Sequence[list[TextHypothesis]],
    traces: Sequence[SearchTrace] | None,
    source: TextCodec,
    aligned: bool,
) -> list[Translation]:
    """One translation for each request, from the outputs of its segments.

    Args:
        outputs: of each segment, best first. A blank request has no segment and an empty output.
        traces: of each segment, if there are some.
        source: decodes the tokens that alignments count.
    """
    numbers = iter(range(len(segments)))
    groups = {row: list(group) for row, group in groupby(numbers, lambda i: segments[i].row)}
    translations = []
    for row, request in enumerate(requests):
        own = groups.get(row, [])
        words = [segments[i].ids[int(source.begins) : -1] for i in own]
        tokens = [source.tokenizer.tokens(ids.tolist()) for ids in words]
        best = join_segments([outputs[i] for i in own], [len(part) for part in tokens])
        if not own:
            best = [empty_hypothesis(aligned)]
        translation = Translation(
            request.source,
            best,
            [token for part in tokens for token in part] if aligned else None,
            traces[own[0]] if traces and own else None,
        )
        translations.append(translation)
    return translations


def join_segments(
    outputs: Sequence[list[TextHypothesis]], widths: Sequence[int]
) -> list[TextHypothesis]:
    """The outputs of a text from the outputs of its segments: the n-th best of each are joined.

    Args:
        widths: number of source tokens of each segment, by which alignments shift.
    """
    if len(outputs) == 1:
        return outputs[0]
    starts = [0, *accumulate(widths)]
    return [_joined(row, starts) for row in zip(*outputs, strict=False)]


def _joined(row: Sequence[TextHypothesis], starts: Sequence[int]) -> TextHypothesis:
    alignment = None
    if all(output.alignment is not None for output in row):
        alignment = [
            start + index
            for start, output in zip(starts, row, strict=False)
            for index in output.alignment or ()
        ]
    return TextHypothesis(
        " ".join(output.text for output in row),
        sum(output.log_prob for output in row),
        sum(output.score for output in row) / len(row),
        [token for output in row for token in output.tokens],
        [value for output in row for value in output.token_log_probs],
        all(output.finished for output in row),
        alignment,
        [term for output in row for term in output.unmet],
        None if None in (proofs := [output.proven for output in row]) else all(proofs),
    )

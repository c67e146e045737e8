"""Answers to questions, scored as by SQuAD: exact match and F1 of words.

Both compare answers in lower case, without punctuation, articles and extra white space, with the
nearest reference (Rajpurkar et al. 2016). A question without an answer has an empty list of
references, and only the empty output is correct for it (Rajpurkar et al. 2018).
"""

import re
import string
from collections import Counter
from collections.abc import Sequence

import numpy as np

from ..errors import DataError
from .interval import SEED, bootstrap, wilson
from .metric import Metric
from .score import Score

# ASCII only, as in SQuAD's own program; a typographic quotation mark is part of its word.
_WITHOUT_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ARTICLES = re.compile(r"\b(a|an|the)\b")

RightAnswers = Sequence[Sequence[str]]
"""The correct answers to each question; none if it has no answer."""


def normal_answer(text: str) -> str:
    """An answer in the form that is compared."""
    plain = text.lower().translate(_WITHOUT_PUNCTUATION)
    return " ".join(_ARTICLES.sub(" ", plain).split())


def exact_answers(outputs: Sequence[str], references: RightAnswers) -> Score:
    """Share of questions whose output is one of the correct answers, in percent."""
    rows = _normal(outputs, references)
    right = sum(output in answers for output, answers in rows)
    low, high = wilson(right, len(rows))
    signature = f"exact|normal:squad|n:{len(rows)}|interval:wilson95"
    return Score("exact", 100 * right / len(rows), 100 * low, 100 * high, signature)


def answer_f1(outputs: Sequence[str], references: RightAnswers, resamples: int = 0) -> Score:
    """Mean F1 of words over questions, in percent, with a bootstrap interval."""
    rows = _normal(outputs, references)
    values = [max(_f1(output, answer) for answer in answers) for output, answers in rows]
    statistics = np.array([[value, 1.0] for value in values])
    signature = f"f1|normal:squad|n:{len(rows)}"
    low = high = None
    if resamples:
        signature += f"|interval:bootstrap95|bs:{resamples}|seed:{SEED}"
        low, high = bootstrap(statistics, lambda sums: float(100 * sums[0] / sums[1]), resamples)
    return Score("F1", 100 * float(np.mean(values)), low, high, signature)


def _normal(outputs: Sequence[str], references: RightAnswers) -> list[tuple[str, list[str]]]:
    """Each output and its correct answers, in the form that is compared.

    Raises:
        DataError: nothing to score, or numbers differ.
    """
    if len(outputs) != len(references):
        raise DataError(
            f"{len(outputs)} answers but {len(references)} lists of references; expected one "
            "list for each"
        )
    if not outputs:
        raise DataError("no answers to score: got 0, expected at least 1; check the input")
    rows = []
    for output, answers in zip(outputs, references, strict=True):
        # An answer of which nothing is left, such as "The", counts as no answer.
        right = [normal for normal in map(normal_answer, answers) if normal]
        rows.append((normal_answer(output), right or [""]))
    return rows


def _f1(output: str, answer: str) -> float:
    """`2 x common words / all words` of two normal answers; an empty one matches only another."""
    predicted, right = output.split(), answer.split()
    if not predicted or not right:
        return float(predicted == right)
    common = (Counter(predicted) & Counter(right)).total()
    return 2 * common / (len(predicted) + len(right))


ANSWER_METRICS = {
    "f1": Metric("F1", answer_f1),
    "exact": Metric("Exact match", exact_answers, takes_resamples=False),
    "answered_f1": Metric("Answered F1", answer_f1),
    "answered_exact": Metric("Answered exact match", exact_answers, takes_resamples=False),
    "unanswered_exact": Metric("Unanswered exact match", exact_answers, takes_resamples=False),
}

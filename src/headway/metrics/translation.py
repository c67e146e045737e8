"""BLEU, chrF and TER of sacrebleu, with its signatures.

sacrebleu computes the sentence statistics once; they are resampled here for the interval, because
sacrebleu returns only the half width and keeps every resample in memory.
"""

from collections.abc import Sequence

import numpy as np
from sacrebleu.metrics import BLEU, CHRF, TER
from sacrebleu.metrics.base import Metric as SacreMetric

from .fitting import bleu_tokenizer
from .interval import RESAMPLES, SEED, bootstrap
from .metric import Metric
from .references import References, alternatives
from .score import Score


def bleu(
    hypotheses: Sequence[str],
    references: References,
    tokenized: bool = False,
    lowercase: bool = False,
    resamples: int = RESAMPLES,
    seed: int = SEED,
) -> Score:
    """Corpus BLEU (Papineni et al. 2002).

    Args:
        tokenized: both sides are already tokenised: spaces separate words. If they are not, the
            tokenizer is sacrebleu's `13a`, or `zh` or `char` for scripts without spaces.
        resamples: size of the bootstrap; 0 omits the interval, for use during training.
    """
    firsts = [row[0] for row in alternatives(hypotheses, references) if row]
    tokenize = "none" if tokenized else bleu_tokenizer(firsts)
    metric = BLEU(lowercase=lowercase, tokenize=tokenize, force=True)
    return _score("BLEU", metric, hypotheses, references, resamples, seed)


def chrf(
    hypotheses: Sequence[str],
    references: References,
    lowercase: bool = False,
    resamples: int = RESAMPLES,
    seed: int = SEED,
) -> Score:
    """chrF2, the F-score of character n-grams up to six (Popović 2015)."""
    return _score("chrF", CHRF(lowercase=lowercase), hypotheses, references, resamples, seed)


def ter(
    hypotheses: Sequence[str],
    references: References,
    lowercase: bool = True,
    resamples: int = RESAMPLES,
    seed: int = SEED,
) -> Score:
    """Translation edit rate (Snover et al. 2006); lower is better.

    Ignores case by default, as Tercom and sacrebleu do. Spaces separate words, so there is no
    parameter `tokenized`.
    """
    return _score("TER", TER(case_sensitive=not lowercase), hypotheses, references, resamples, seed)


def _score(
    name: str,
    metric: SacreMetric,
    hypotheses: Sequence[str],
    references: References,
    resamples: int,
    seed: int,
) -> Score:
    rows = alternatives(hypotheses, references)
    most = max(len(row) for row in rows)
    # sacrebleu expects one stream per reference index, with None if a line has fewer references.
    streams = [[row[i] if i < len(row) else None for row in rows] for i in range(most)]
    statistics = metric._extract_corpus_statistics(list(hypotheses), streams)  # type: ignore[arg-type]
    value = float(metric._aggregate_and_compute(statistics).score)
    low = high = None
    if resamples > 0:
        low, high = bootstrap(
            np.asarray(statistics, dtype=np.float64),
            lambda sums: float(metric._compute_score_from_stats(_plain(sums)).score),
            resamples,
            seed,
        )
        metric.n_bootstrap, metric.seed = resamples, seed
    return Score(name, value, low, high, str(metric.get_signature()))


def _plain(sums: np.ndarray) -> list[int] | list[float]:
    """Column sums in sacrebleu's types: its BLEU prints lengths as integers."""
    return [int(x) if x == int(x) else x for x in sums.tolist()]


TRANSLATION_METRICS = {
    "bleu": Metric("BLEU", bleu, is_usual=True, takes_tokenized=True),
    "chrf": Metric("chrF", chrf, is_usual=True),
    "ter": Metric("TER", ter, lower_is_better=True, is_usual=True),
}

"""The table of metrics that compare output texts with reference texts.

A metric is one row of `TEXT_METRICS`. Tasks with text outputs, the commands, their help and the
reports read this table.
"""

from .error_rate import (
    character_error_rate,
    phoneme_error_rate,
    sequence_error_rate,
    word_error_rate,
)
from .exact import exact_match
from .metric import Metric
from .translation import bleu, chrf, ter

TEXT_METRICS: dict[str, Metric] = {
    "bleu": Metric("BLEU", bleu, is_usual=True, takes_tokenized=True),
    "chrf": Metric("chrF", chrf, is_usual=True),
    "ter": Metric("TER", ter, lower_is_better=True, is_usual=True),
    "exact": Metric("Exact match", exact_match, is_usual=True, takes_resamples=False),
    "wer": Metric("WER", word_error_rate, lower_is_better=True),
    "cer": Metric("CER", character_error_rate, lower_is_better=True),
    "ser": Metric("SER", sequence_error_rate, lower_is_better=True, takes_resamples=False),
    "per": Metric("PER", phoneme_error_rate, lower_is_better=True),
}

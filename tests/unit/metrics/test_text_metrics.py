"""The table of metrics of texts: each row does what it declares."""

import pytest

from headway.metrics.text_metrics import TEXT_METRICS

OUTPUTS, REFERENCES = ["a b c d e", "x y"], ["a b c d e", "y x"]
names = pytest.mark.parametrize("name", list(TEXT_METRICS))


@names
def test_a_perfect_output_is_best(name):
    metric = TEXT_METRICS[name]
    best = 0.0 if metric.lower_is_better else 100.0
    assert metric(REFERENCES, REFERENCES).value == pytest.approx(best)
    worse = metric(OUTPUTS, REFERENCES).value
    assert worse > best if metric.lower_is_better else worse < best


@names
def test_several_references_of_which_the_nearest_counts(name):
    metric = TEXT_METRICS[name]
    best = metric(REFERENCES, REFERENCES).value
    several = [["other words here", item] for item in REFERENCES]
    assert metric(REFERENCES, several).value == pytest.approx(best)


@names
def test_the_interval_and_the_signature(name):
    metric = TEXT_METRICS[name]
    score = metric(OUTPUTS, REFERENCES, resamples=20)
    assert None not in (score.low, score.high)
    assert score.low <= score.value <= score.high
    plain = metric(OUTPUTS, REFERENCES)
    assert (plain.low is None) == metric.takes_resamples
    assert score.signature != plain.signature or not metric.takes_resamples
    signatures = {
        other: TEXT_METRICS[other](OUTPUTS, REFERENCES).signature for other in TEXT_METRICS
    }
    assert len(set(signatures.values())) == len(TEXT_METRICS)


def test_only_bleu_must_know_of_tokenised_texts():
    assert [name for name, metric in TEXT_METRICS.items() if metric.takes_tokenized] == ["bleu"]
    assert "tok:none" in TEXT_METRICS["bleu"](OUTPUTS, REFERENCES, tokenized=True).signature

"""The names of metrics in reports."""

from headway.metrics.names import display_name
from headway.metrics.text_metrics import TEXT_METRICS


def test_names_in_reports():
    assert {name: display_name(name) for name in TEXT_METRICS} == {
        "bleu": "BLEU",
        "chrf": "chrF",
        "ter": "TER",
        "exact": "Exact match",
        "wer": "WER",
        "cer": "CER",
        "ser": "SER",
        "per": "PER",
    }
    assert display_name("macro_f1") == "Macro F1"
    assert display_name("mse") == "MSE"

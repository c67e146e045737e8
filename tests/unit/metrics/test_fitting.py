"""The metric and the tokenizer that fit some references."""

import pytest

from headway.metrics.fitting import SAMPLE, bleu_tokenizer, fitting_metric, is_unspaced
from headway.metrics.translation import bleu

CHINESE = ["他在公园里跑步。", "一个女人在看书。"]
JAPANESE = ["彼は公園で走っています。", "女性が本を読んでいる。"]
THAI = ["ผู้ชายวิ่งในสวนสาธารณะ", "ผู้หญิงกำลังอ่านหนังสือ"]


@pytest.mark.parametrize(
    ("references", "metric"),
    [
        (["a man runs in the park", "a woman reads a book"], "bleu"),
        (["cats", "houses", "children"], "exact"),
        (["turn on lights", "open door"], "exact"),
        (["half past three", "noon"], "exact"),
        (["2021-03-03", "1999-12-31"], "bleu"),  # five tokens: dates are cut at their hyphens
        (["cats", "the dog of my aunt", "the house on the hill"], "bleu"),  # most are long
        (CHINESE, "chrf"),
        (JAPANESE, "chrf"),
        (THAI, "chrf"),
        (["12:30", "7:15"], "exact"),
    ],
)
def test_the_metric_of_some_references(references, metric):
    assert fitting_metric(references) == metric


def test_only_some_of_many_references_are_read():
    assert fitting_metric(["a man runs in the park"] * (10 * SAMPLE)) == "bleu"


@pytest.mark.parametrize(
    ("references", "tokenizer"),
    [(["a man"], "13a"), (CHINESE, "zh"), (JAPANESE, "char"), (THAI, "char"), (["123"], "13a")],
)
def test_the_tokenizer_of_bleu(references, tokenizer):
    assert bleu_tokenizer(references) == tokenizer


def test_quoted_words_of_another_script_do_not_matter():
    assert not is_unspaced(["He said 你好 to everybody in the room"])


def test_bleu_of_chinese_is_not_zero_and_its_signature_says_why():
    score = bleu(["他在公园里走路。", "一个女人在看书。"], CHINESE, resamples=0)
    assert score.value > 50
    assert "tok:zh" in score.signature
    assert "tok:13a" in bleu(["a man"], ["a man"], resamples=0).signature

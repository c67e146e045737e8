"""The presets of BERT, with the numbers of weights that its authors and others report."""

import pytest
import torch

from headway.models import FAMILIES, VocabularySizes
from headway.models.encoder import BERT, USUAL, EncoderConfig

WORDS = 30_522
COUNTS = {  # without heads, and with those it is pre-trained with
    "bert-tiny": (4_385_920, 4_433_468),
    "bert-mini": (11_170_560, 11_267_900),
    "bert-small": (28_763_648, 29_058_876),
    "bert-base": (109_482_240, 110_106_428),
    "bert-large": (335_141_888, 336_226_108),
}
PUBLISHED = {"bert-tiny": 4.4, "bert-mini": 11.3, "bert-small": 29.1, "bert-base": 110.1}
"""Millions, with heads (Turc et al. 2019); of large the paper says 340."""


@pytest.mark.parametrize("preset", COUNTS)
def test_counts_agree_with_the_published_ones(preset):
    sizes = VocabularySizes(WORDS, WORDS, shared=True, head="masked_next")
    config = EncoderConfig(preset=preset).resolve(1, sizes)
    with torch.device("meta"):  # shapes alone
        model = FAMILIES["encoder"].build(config, sizes)
    counts = [sum(p.numel() for p in part.parameters()) for part in (model.backbone, model)]
    assert tuple(counts) == COUNTS[preset]
    if preset in PUBLISHED:
        assert round(counts[1] / 1e6, 1) == PUBLISHED[preset]


def test_a_preset_of_bert_decides_what_is_left_out_and_nothing_else():
    assert {name: getattr(EncoderConfig(), name) for name in USUAL} == USUAL
    bert = EncoderConfig(preset="bert-mini")
    assert {name: getattr(bert, name) for name in BERT} == BERT
    given = EncoderConfig(preset="bert-mini", residual="pre", segments=0, pooler=False, d_ff=10)
    assert (given.residual, given.segments, given.pooler) == ("pre", 0, False)
    assert given.positions == "learned"
    resolved = given.resolve(10**9, VocabularySizes(9, 9, shared=True))
    assert (resolved.d_model, resolved.layers, resolved.d_ff) == (256, 4, 10)


def test_a_second_text_is_told_from_the_first_where_there_are_two_segments():
    sizes = VocabularySizes(9, 3, shared=False)
    src = torch.tensor([[4, 5, 2, 6, 2]])
    batch = {"src": src, "src_valid": src != 0}
    paired = {**batch, "segment": torch.tensor([[0, 0, 0, 1, 1]])}
    for segments, is_told in ((0, False), (1, False), (2, True)):
        given = EncoderConfig(d_model=8, d_ff=8, n_heads=2, layers=1, segments=segments)
        torch.manual_seed(0)
        model = FAMILIES["encoder"].build(given.resolve(1, sizes), sizes).eval()
        assert torch.equal(model.logits(batch), model.logits(paired)) is not is_told

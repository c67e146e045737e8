"""The convolutional family learns a small task in seconds, by looking at the source."""

import torch

from headway.models import FAMILIES, VocabularySizes
from headway.search import SearchConfig, greedy

BOS, EOS = 1, 2
SIZES = VocabularySizes(9, 9, True)
SETTINGS = {"d_model": 32, "encoder_layers": 2, "decoder_layers": 2, "dropout": 0.0}


def reversals(draw, n, longest=5):
    """Words of one to five letters and their letters in reverse order, padded."""
    length = torch.randint(1, longest + 1, (n, 1), generator=draw)
    places = torch.arange(longest + 1)
    valid = places <= length  # the end mark included
    src = torch.randint(4, 9, (n, longest + 1), generator=draw)
    src = torch.where(places < length, src, torch.where(valid, EOS, 0))
    out = src.gather(1, (length - 1 - places).clamp(min=0))
    out = torch.where(places < length, out, torch.where(valid, EOS, 0))
    begin = torch.full((n, 1), BOS)
    tgt_in = torch.cat([begin, out[:, :-1]], dim=1)
    return {
        "src": src, "src_valid": valid, "tgt_in": tgt_in, "tgt_out": out, "tgt_valid": valid
    }  # fmt: skip


def share_right_after_learning(attends):
    """Share of unseen words that greedy search reverses, after a few seconds of learning."""
    torch.manual_seed(0)
    family = FAMILIES["convolutional"]
    model = family.build(family.config(**SETTINGS).resolve(1, SIZES), SIZES)
    if not attends:
        for layer in model.decoder:
            torch.nn.init.zeros_(layer.attention.out.weight)
            layer.attention.requires_grad_(False)
    draw = torch.Generator().manual_seed(2)
    optimizer = torch.optim.Adam([p for p in model.parameters() if p.requires_grad], lr=1e-2)
    for _ in range(200):
        given = reversals(draw, 48)
        valid = given["tgt_valid"]
        optimizer.zero_grad()
        loss = model.output.cross_entropy(model(given)[valid], given["tgt_out"][valid])
        (loss / valid.sum()).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    unseen = reversals(draw, 100)
    config = SearchConfig(beam=1, max_length=8)
    found = greedy(model.eval(), unseen, bos=BOS, eos=EOS, config=config)
    wanted = [
        row[valid][:-1].tolist()
        for row, valid in zip(unseen["tgt_out"], unseen["tgt_valid"], strict=True)
    ]
    return sum(one.tokens == w for one, w in zip(found, wanted, strict=True)) / len(wanted)


def test_it_learns_to_reverse_in_seconds_and_not_without_its_attention():
    assert share_right_after_learning(attends=True) > 0.9
    assert share_right_after_learning(attends=False) < 0.3

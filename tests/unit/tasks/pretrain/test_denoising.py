"""BART and T5: corrupted passages, and their targets."""

import numpy as np
from pretraining_tasks import BLOCK, GREEDY, make_model, make_store, make_task, rows_of, whole_batch

from headway.data.corruption import share_of


def both_sides(task, store):
    batch = whole_batch(task, store, (1, 0))
    return rows_of(batch), rows_of(batch, "tgt_out")


def test_a_text_is_restored_from_its_noise(tmp_path):
    task = make_task("bart", infill=0.0)
    store = make_store(task, tmp_path)
    batch = whole_batch(task, store, (1, 0))
    moved = 0
    sources, targets = rows_of(batch), rows_of(batch, "tgt_out")
    for row, (source, target) in enumerate(zip(sources, targets, strict=True)):
        assert target == [*store["text"][row].tolist(), task.codec.eos]
        assert sorted(source) == sorted(target)  # the same sentences
        moved += source != target
    assert moved > len(store) / 2
    assert (batch["tgt_in"][:, 0] == task.target.bos).all()

    task = make_task("bart", permute=False, delete=0.1, mask=0.1, infill=0.3)
    damaged = whole_batch(task, store, (1, 0))
    for source, target in zip(rows_of(damaged), rows_of(damaged, "tgt_out"), strict=True):
        n = len(target) - 1
        after = n - share_of(n, 0.1)
        hidden = share_of(after, 0.1)
        gone = share_of(after, 0.3)
        kept = [token for token in source if token != task.alphabet.mask]
        assert after - hidden - gone <= len(kept) - 1 <= after - gone
        remaining = iter(target)
        assert all(token in remaining for token in kept)  # in order


def test_spans_are_restored_from_their_sentinels(tmp_path):
    task = make_task("t5", sentinels=4)
    assert task.alphabet.sentinels == (4, 5, 6, 7)
    store = make_store(task, tmp_path)
    batch = whole_batch(task, store, (1, 0))
    sources, targets = rows_of(batch), rows_of(batch, "tgt_out")
    for row, (source, target) in enumerate(zip(sources, targets, strict=True)):
        assert source[-1] == target[-1] == task.codec.eos
        spans, last = {}, None
        for token in target[:-1]:
            if token in task.alphabet.sentinels:
                last = spans.setdefault(token, [])
            else:
                last.append(token)
        whole = [t for token in source[:-1] for t in spans.get(token, [token])]
        assert whole == store["text"][row].tolist()


def test_without_random_noise_the_damage_is_known(tmp_path):
    task = make_task("bart", permute=False, delete=0.0, mask=1.0, infill=0.0)
    store = make_store(task, tmp_path)
    for source, target in zip(*both_sides(task, store), strict=True):
        assert source == [task.alphabet.mask] * (len(target) - 1) + [task.codec.eos]

    task = make_task("t5", rate=1.0, span=BLOCK, sentinels=1)
    [sentinel] = task.alphabet.sentinels
    for source, target in zip(*both_sides(task, make_store(task, tmp_path)), strict=True):
        assert source == [sentinel, task.codec.eos]
        assert target[0] == sentinel


def test_t5_needs_its_sentinels_and_no_mask():
    assert make_task("t5", sentinels=2).extra_specials == ("sentinel_0", "sentinel_1")
    assert make_task("bart").extra_specials == ("mask",)


def test_samples_are_no_longer_than_the_reference(tmp_path):
    task = make_task("bart")
    store = make_store(task, tmp_path)
    batch = task.batch(store, np.arange(3))
    samples = task.samples(make_model(task).eval(), batch, GREEDY)
    for row, (source, output, reference) in enumerate(samples):
        tokens = store["text"][row].tolist()
        assert reference == " ".join([*task.codec.tokenizer.tokens(tokens), "⟨eos⟩"])
        assert source.endswith("⟨eos⟩")
        assert len(output.split()) <= len(tokens) + 1

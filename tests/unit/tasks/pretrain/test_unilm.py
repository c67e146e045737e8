"""UniLM: the three attention patterns, alone and mixed in a batch."""

from collections import Counter

import numpy as np
import pytest
import torch
from pretraining_tasks import GREEDY, make_model, make_store, make_task, rows_of, whole_batch

from headway.data.blocks import SENTENCE
from headway.data.corruption import share_of


@pytest.mark.parametrize("pattern", ["bidirectional", "left_to_right", "sequence"])
def test_one_network_reads_and_writes(pattern, tmp_path):
    shares = dict.fromkeys(["bidirectional", "left_to_right", "sequence"], 0.0)
    task = make_task("unilm", **{**shares, pattern: 1.0})
    store = make_store(task, tmp_path)
    batch = whole_batch(task, store, (1, 0))
    for row, source in enumerate(rows_of(batch)):
        tokens, target = store["text"][row].tolist(), rows_of(batch, "tgt_out")[row]
        whole = rows_of(batch, "words")[row]
        if pattern == "bidirectional":
            assert (whole, target) == ([*tokens, task.codec.eos], [])
            n_asked = share_of(len(tokens), 0.15)
        else:
            assert source == whole
            assert [*source[:-1], *target[:-1]] == tokens
            assert target[-1] == task.codec.eos
            n_asked = 0
        if pattern == "left_to_right":
            assert source == []
        elif pattern == "sequence" and len(tokens) > 1:
            assert source[-1] == task.codec.eos
            assert len(source) > 1
            begins = store[SENTENCE][row]
            assert begins[len(source) - 1] or not begins[1:].any()
        assert batch["is_masked"][row].sum() == n_asked


def test_patterns_are_mixed_and_each_row_is_told_as_alone(tmp_path):
    task = make_task("unilm")
    store = make_store(task, tmp_path)
    model = make_model(task).eval()
    together = {part: [] for part in task.parts}
    alone = {part: [] for part in task.parts}
    counts = Counter()
    with torch.inference_mode():
        for epoch in range(5):
            batch = whole_batch(task, store, (1, epoch))
            outputs, labels = task.output_states(model, batch), task.labels(batch)
            for row in range(len(store)):
                single = task.batch(store, np.array([row]), (1, epoch))
                states = task.output_states(model, single)
                for part in task.parts:
                    there = labels[part][1] == row
                    together[part].append(outputs[part][1][there])
                    alone[part].append(states[part][1])
                pattern = (bool(batch[name][row].any()) for name in ("src_valid", "tgt_valid"))
                counts[tuple(pattern)] += 1
    for part in task.parts:
        assert torch.allclose(torch.cat(together[part]), torch.cat(alone[part]), atol=1e-5)
    n = sum(counts.values())
    for pattern in ((True, False), (False, True), (True, True)):
        assert abs(counts[pattern] / n - 1 / 3) < 0.15


def test_samples_list_masked_words_and_show_written_text(tmp_path):
    for pattern, separator in (("bidirectional", " | "), ("left_to_right", " ")):
        shares = dict.fromkeys(["bidirectional", "left_to_right", "sequence"], 0.0)
        task = make_task("unilm", **{**shares, pattern: 1.0})
        store = make_store(task, tmp_path)
        batch = task.batch(store, np.array([0]))
        [(source, output, reference)] = task.samples(make_model(task).eval(), batch, GREEDY)
        [(targets, _)] = [part for part in task.labels(batch).values() if len(part[0])]
        assert reference == separator.join(task.codec.tokenizer.tokens(targets.tolist()))
        assert len(output.split(separator)) == len(targets)
        assert bool(source) == (pattern == "bidirectional")

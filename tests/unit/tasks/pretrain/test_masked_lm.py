"""Masked words and next sentences: inputs, labels, and where the second halves come from."""

import math
from collections import Counter

import numpy as np
import pytest
import torch
from pretraining_tasks import (
    BLOCK,
    DOCUMENTS,
    GREEDY,
    make_model,
    make_store,
    make_task,
    rows_of,
    whole_batch,
)

from headway.data.blocks import SENTENCE
from headway.data.config import DataConfig
from headway.data.corruption import share_of
from headway.errors import DataError
from headway.tasks.pretrain.masked_lm import FOLLOWS, NO_PAIR, OTHER, pair_labels


def words(task, ids):
    return task.codec.tokenizer.tokens(ids)


def test_masked_tokens_are_labels_and_special_tokens_are_not(tmp_path):
    task = make_task("masked")
    store = make_store(task, tmp_path)
    batch = whole_batch(task, store, (1, 0))
    codec, mask = task.codec, task.alphabet.mask
    [(name, (targets, rows))] = task.labels(batch).items()
    assert name == "masked"
    for row, (seen, whole) in enumerate(zip(rows_of(batch), rows_of(batch, "words"), strict=True)):
        assert whole == [codec.bos, *store["text"][row].tolist(), codec.eos]
        labels = targets[rows == row].tolist()
        assert len(labels) == share_of(len(whole) - 2, 0.15)
        positions = batch["is_masked"][row].nonzero()[:, 0].tolist()
        assert labels == [whole[position] for position in positions]
        assert [i for i, (a, b) in enumerate(zip(seen, whole, strict=True)) if a != b] == [
            position for position in positions if seen[position] != whole[position]
        ]
    assert (batch["src"] == mask).sum() > 0.6 * len(targets)


def test_samples_show_masked_tokens(tmp_path):
    task = make_task("masked")
    store = make_store(task, tmp_path)
    judge = task.validator(store, DataConfig(train="a.txt"), "loss", 10, GREEDY)
    [(source, output, right), *_] = judge(task.objective(make_model(task), 0.0)).samples
    assert source.startswith("⟨bos⟩ ")
    assert source.endswith(" ⟨eos⟩")
    assert len(output.split(" | ")) == len(right.split(" | ")) == 3


def test_half_of_the_pairs_follow_and_the_others_come_from_another_document(tmp_path):
    task = make_task("next")
    counts = Counter()
    for epoch in range(30):
        store = make_store(task, tmp_path, epoch=epoch)
        batch = whole_batch(task, store, (1, epoch))
        for row, label in enumerate(batch["next"].tolist()):
            ids = rows_of(batch)[row]
            segment = batch["segment"][row][: len(ids)].tolist()
            assert segment == sorted(segment)
            names = words(task, ids)
            border = names.index("⟨eos⟩")
            first, second = names[1:border], names[border + 1 : -1]
            assert (names[0], names[-1]) == ("⟨bos⟩", "⟨eos⟩")
            assert segment.count(0) == border + 1
            counts[label] += 1
            if label == NO_PAIR:
                assert (len(first), second) == (1, [])
                continue
            own = {name.split("S")[0] for name in first if name != "."}
            theirs = {name.split("S")[0] for name in second if name != "."}
            if label == FOLLOWS:
                assert words(task, store["text"][row].tolist()) == first + second
                assert own == theirs or not own or not theirs
            else:
                is_last = row + 1 in store.documents
                room = BLOCK - 3 if is_last else store.lengths("text")[row]
                assert len(first) + len(second) <= room
                assert not own & theirs
                assert len(theirs) <= 1
            # A sentence begins with the second one, or no sentence begins in the passage at all.
            if label == FOLLOWS and store[SENTENCE][row][1:].any():
                assert store[SENTENCE][row][len(first)]
    n = counts[FOLLOWS] + counts[OTHER]
    assert abs(counts[FOLLOWS] - n / 2) < 4 * math.sqrt(n) / 2
    assert counts[NO_PAIR] < n / 20


def test_other_documents_are_drawn_evenly(tmp_path):
    task = make_task("next")
    store = make_store(task, tmp_path)
    own_document = np.searchsorted(store.documents, np.arange(len(store)), side="right") - 1
    drawn = Counter()
    for epoch in range(150):
        batch = whole_batch(task, store, (1, epoch))
        for row, label in enumerate(batch["next"].tolist()):
            names = words(task, rows_of(batch)[row])
            second = names[names.index("⟨eos⟩") + 1 : -1]
            if label == OTHER:
                drawn.update({(own_document[row], n.split("S")[0]) for n in second if n != "."})
    blocks = np.diff(store.documents)
    assert not any(drawn[own, f"D{own}"] for own in range(5))
    for own in range(5):
        total = sum(count for (row, _), count in drawn.items() if row == own)
        for other in set(range(5)) - {own}:
            expected = blocks[other] / (blocks.sum() - blocks[own])
            assert drawn[own, f"D{other}"] / total == pytest.approx(expected, abs=0.06)


@pytest.mark.parametrize("form", ["lines", "documents"])
def test_lengths_and_ends_do_not_tell_pairs_apart(tmp_path, form):
    task = make_task("next")
    documents = DOCUMENTS if form == "documents" else ["\n".join(DOCUMENTS)]
    lengths, ends = {FOLLOWS: [], OTHER: []}, {FOLLOWS: [], OTHER: []}
    for epoch in range(100 if form == "documents" else 20):
        store = make_store(task, tmp_path, documents, form, epoch)
        batch = whole_batch(task, store, (1, epoch))
        for ids, label in zip(rows_of(batch), batch["next"].tolist(), strict=True):
            if label != NO_PAIR:
                lengths[label].append(len(ids))
                ends[label].append(words(task, ids)[-2] == ".")
    # The second halves are drawn anew, so that lengths of the whole vary a little more.
    assert np.mean(lengths[OTHER]) == pytest.approx(np.mean(lengths[FOLLOWS]), rel=0.05)
    assert np.mean(ends[OTHER]) == pytest.approx(np.mean(ends[FOLLOWS]), abs=0.06)


def test_one_document_has_no_next_sentences_to_tell_apart(tmp_path):
    task = make_task("masked_next")
    store = make_store(task, tmp_path, DOCUMENTS[:1])
    with pytest.raises(DataError, match="all of the text is one document, and next-sentence"):
        task.check(store)
    make_task("masked").check(store)


def test_everything_masked_is_everything_asked_for(tmp_path):
    task = make_task("masked", rate=1.0, masked=1.0, random=0.0)
    store = make_store(task, tmp_path)
    batch = whole_batch(task, store, (1, 0))
    codec, mask = task.codec, task.alphabet.mask
    targets, rows = task.labels(batch)["masked"]
    for row, source in enumerate(rows_of(batch)):
        tokens = store["text"][row].tolist()
        assert source == [codec.bos, *[mask] * len(tokens), codec.eos]
        assert targets[rows == row].tolist() == tokens


def test_rows_that_are_no_pair_have_no_label():
    labels, rows = pair_labels({"next": torch.tensor([OTHER, NO_PAIR, FOLLOWS])})
    assert labels.tolist() == [OTHER, FOLLOWS]
    assert rows.tolist() == [0, 2]


def test_samples_of_next_sentences_name_the_classes(tmp_path):
    task = make_task("next")
    store = make_store(task, tmp_path)
    batch = whole_batch(task, store)
    samples = task.samples(make_model(task).eval(), batch, GREEDY)
    labels = [label for label in batch["next"].tolist() if label != NO_PAIR]
    names = {FOLLOWS: "follows", OTHER: "another"}
    assert [reference for _, _, reference in samples] == [names[label] for label in labels]
    assert {output for _, output, _ in samples} <= {"follows", "another"}

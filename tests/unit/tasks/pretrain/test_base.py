"""The base of all objectives: batches, parts of the loss, validation, scores, codecs, blocks."""

import math
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
import torch
from pretraining_tasks import (
    BLOCK,
    DOCUMENTS,
    GREEDY,
    TRAINABLE,
    make_model,
    make_store,
    make_task,
    whole_batch,
)

from headway import tasks
from headway.data.config import DataConfig
from headway.errors import ConfigError
from headway.tasks.pretrain.config import CONFIGS


@pytest.mark.parametrize("objective", TRAINABLE)
def test_batches_are_a_function_of_seed_epoch_and_passage(objective, tmp_path):
    task = make_task(objective)
    store = make_store(task, tmp_path)
    batch = whole_batch(task, store, (1, 2))
    order = np.array([3, 0, len(store) - 1])
    some = task.batch(store, order, (1, 2))
    for row, index in enumerate(order.tolist()):
        alone = task.batch(store, np.array([index]), (1, 2))
        for name, [values] in alone.items():
            there = (slice(len(values)),) if values.dim() else ()
            assert torch.equal(values, some[name][row][there])
            assert torch.equal(values, batch[name][index][there])
    for other in ((1, 3), (2, 2)):
        changed = whole_batch(task, store, other)
        assert any(
            changed[name].shape != values.shape or not torch.equal(changed[name], values)
            for name, values in batch.items()
        )
    fixed, again = whole_batch(task, store), whole_batch(task, store)
    assert all(torch.equal(values, again[name]) for name, values in fixed.items())


@pytest.mark.parametrize("objective", TRAINABLE)
def test_nothing_is_longer_than_a_block(objective, tmp_path):
    task = make_task(objective, **({"rate": 0.9} if objective == "t5" else {}))
    store = make_store(task, tmp_path)
    assert store.lengths("text").max() == BLOCK - task.n_special
    for epoch in range(5):
        batch = whole_batch(task, store, (1, epoch))
        assert batch["src"].size(1) <= BLOCK
        assert "tgt_in" not in batch or batch["tgt_in"].size(1) <= BLOCK


@pytest.mark.parametrize("objective", TRAINABLE)
def test_counts_are_known_before_and_parts_add_up_over_batches(objective, tmp_path):
    task = make_task(objective)
    store = make_store(task, tmp_path)
    objective = task.objective(make_model(task), 0.0).eval()
    assert list(objective.weights) == list(task.parts)
    halves = [task.batch(store, half, (1, 0)) for half in np.array_split(np.arange(len(store)), 2)]
    whole = whole_batch(task, store, (1, 0))
    counts = [objective.counts(batch) for batch in (*halves, whole)]
    with torch.inference_mode():
        sums = [objective(batch) for batch in (*halves, whole)]
    for part in task.parts:
        assert counts[0][part] + counts[1][part] == counts[2][part] > 0
        assert (sums[0][part] + sums[1][part]).item() == pytest.approx(
            sums[2][part].item(), rel=1e-4
        )
    valid = [name for name in whole if name.endswith("_valid")]
    assert objective.tokens(whole) == sum(int(whole[name].sum()) for name in valid)


@pytest.mark.parametrize("objective", TRAINABLE)
def test_every_weight_learns(objective, tmp_path):
    task = make_task(objective)
    store = make_store(task, tmp_path)
    loss = task.objective(make_model(task), 0.1).train()
    sum(loss(whole_batch(task, store, (1, 0)), seed=1).values()).backward()
    assert [name for name, p in loss.named_parameters() if p.grad is None] == []


@pytest.mark.parametrize("objective", TRAINABLE)
def test_validation_is_the_loss_and_the_right_answers(objective, tmp_path):
    task = make_task(objective)
    store = make_store(task, tmp_path)
    loss = task.objective(make_model(task), 0.0)
    judge = task.validator(store, DataConfig(train="a.txt"), "loss", 10, GREEDY)
    first, second = judge(loss), judge(loss)
    assert first == second
    batch = whole_batch(task, store)
    loss.eval()
    means = {part: total.item() / loss.counts(batch)[part] for part, total in loss(batch).items()}
    assert first.figures["valid_loss"] == pytest.approx(sum(means.values()), rel=1e-4)
    outputs, labels = task.output_states(loss.model, batch), task.labels(batch)
    for part in task.parts:
        output, states = outputs[part]
        right = (output(states).argmax(-1) == labels[part][0]).double().mean().item()
        assert first.figures[f"{part}_accuracy"] == pytest.approx(100 * right)
        if len(means) > 1:
            assert first.figures[f"valid_{part}_loss"] == pytest.approx(means[part], rel=1e-4)
    assert set(task.validated) - {"loss"} <= first.figures.keys()
    assert len(first.samples) == 3
    assert all(isinstance(text, str) for sample in first.samples for text in sample)


def test_figures_have_intervals_and_floors(tmp_path):
    task = make_task("masked_next")
    store = make_store(task, tmp_path)
    result = task.judge(make_model(task), store, resamples=100)
    assert tuple(result.scores) == task.metrics
    assert "wilson95" in result.scores["next_accuracy"].signature
    assert "bootstrap95" in result.scores["masked_accuracy"].signature
    labels = task.labels(whole_batch(task, store))
    for part in task.parts:
        score = result.scores[f"{part}_accuracy"]
        assert score.low <= score.value <= score.high
        [(_, most)] = Counter(labels[part][0].tolist()).most_common(1)
        expected = 100 * most / len(labels[part][0])
        assert result.floors[f"{part}_accuracy"] == pytest.approx(expected)


def test_passages_without_sense_have_no_answer(tmp_path):
    """One token, and nothing but what the tokenizer does not know."""
    documents = ["D0S0W0", "unknown words only", "D1S0W0 D1S0W1"]
    for objective in TRAINABLE:
        task = make_task(objective)
        store = make_store(task, tmp_path, documents)
        batch = whole_batch(task, store, (1, 0))
        loss = task.objective(make_model(task), 0.0).eval()
        assert all(math.isfinite(value.item()) for value in loss(batch).values())
    task = make_task("masked")
    batch = whole_batch(task, store, (1, 0))
    assert batch["is_masked"].sum(1).tolist() == [1, 0, 1]


def test_codecs_are_saved_and_loaded(tmp_path):
    task = make_task("t5", sentinels=2)
    task.save_codecs(tmp_path)
    loaded = tasks.make_task("pretrain", CONFIGS["t5"](sentinels=2)).load_codecs(tmp_path)
    assert loaded.alphabet.sentinels == (4, 5)
    assert loaded.codecs["text"].fingerprint() == task.codecs["text"].fingerprint()
    with pytest.raises(ConfigError, match="'masked' needs the special token 'mask', which this"):
        tasks.make_task("pretrain").load_codecs(tmp_path)


def test_a_block_has_room_for_text():
    for objective, marks in (("masked", 2), ("masked_next", 3), ("next", 3), ("t5", 2)):
        task = make_task(objective)
        assert task.block(DataConfig(train="a.txt", block=10)) == 10 - marks
    with pytest.raises(ConfigError, match=r"data\.block = 2 has no room for a text: 2 of the tok"):
        make_task("masked").block(DataConfig(train="a.txt", block=2))
    for objective in ("next", "masked_next"):
        with pytest.raises(ConfigError, match=r"data\.block = 4 has no room for two texts: 3 of"):
            make_task(objective).block(DataConfig(train="a.txt", block=4))


def test_lines_and_running_text_are_documents_too(tmp_path):
    task = make_task("masked_next")
    lines = "\n".join(DOCUMENTS).split("\n")
    store = make_store(task, tmp_path, ["\n".join(lines)], file_format="lines")
    assert len(store.documents) == len(lines) + 1
    whole_batch(task, store, (1, 0))
    store = make_store(task, tmp_path, file_format="text")
    assert store.documents.tolist() == [0, len(store)]
    for a, b in pairwise(range(len(store))):
        assert len(store["text"][a]) == BLOCK - 3 >= len(store["text"][b])

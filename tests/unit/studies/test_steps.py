"""Times of updates: turns and rounds by a clock that counts, and the forms of the result."""

import json
from collections import defaultdict
from xml.etree import ElementTree

import pytest
import torch

from headway.models import FAMILIES
from headway.studies import steps
from headway.studies.steps import (
    MODELS,
    StepSizes,
    make_batches,
    make_finding,
    study_steps,
    time_updates,
)
from headway.text.special_tokens import BOS, SPECIALS
from headway.training.progress import Silent

SMALL = StepSizes(lengths=(2, 4), tokens=16, d_model=8, vocabulary=12, rounds=2)


class Clock:
    """Goes on only when someone works."""

    def __init__(self):
        self.now = 0.0
        self.calls = []

    def __call__(self):
        return self.now

    def contestant(self, name, seconds_per_row):
        def work(batches, update, lr):
            rows = sum(batch["src"].size(0) for _, batch in batches)
            self.calls.append((name, update))
            self.now += seconds_per_row * rows

        return work


def test_each_round_times_everyone_and_begins_with_another():
    clock = Clock()
    contestants = {name: clock.contestant(name, cost) for name, cost in (("a", 1), ("b", 10))}
    batches = {length: make_batches(SMALL, length, 2, seed=1) for length in SMALL.lengths}
    times = time_updates(contestants, batches, 2, Silent(), clock)
    # 16 tokens are 8 sequences of 2 and 4 of 4; the warm-up is in no list.
    assert times == {"a": {2: [8, 8], 4: [4, 4]}, "b": {2: [80, 80], 4: [40, 40]}}
    order = defaultdict(list)
    for name, update in clock.calls:
        order[update].append(name)
    assert dict(order) == {1: [*"abab"], 2: [*"baba"], 3: [*"abab"]}


def test_batches_hold_the_same_number_of_words_whatever_their_length():
    for length in (2, 4, 8):
        parts = make_batches(SMALL, length, 2, seed=1)
        assert [index for index, _ in parts] == [0, 1]
        assert sum(int(batch["tgt_valid"].sum()) for _, batch in parts) == SMALL.tokens
    (_, batch), (_, other) = parts
    assert batch["src"].shape == batch["tgt_in"].shape == (1, 8)
    assert (batch["tgt_in"][:, 0] == BOS).all()
    assert torch.equal(batch["tgt_in"][:, 1:], batch["tgt_out"][:, :-1])
    assert batch["tgt_out"].min() >= len(SPECIALS)
    assert not torch.equal(batch["src"], other["src"])


def test_a_length_beyond_the_budget_still_gives_every_worker_a_sequence():
    assert [b["src"].shape for _, b in make_batches(SMALL, 64, 2, 1)] == [(1, 64), (1, 64)]


def test_medians_spread_and_growth():
    times = {"GRU": {2: [0.1, 0.3, 0.2], 4: [0.4, 0.8, 0.5]}}
    finding = make_finding(times, SMALL, {"seed": 1, "threads": 2})
    [table] = finding.tables
    assert table.rows == [
        ["ms per update", "length 2", "length 4", "4 / 2"],
        ["GRU", "200 [100, 300]", "500 [400, 800]", "2.5"],
    ]
    [row] = json.loads(json.dumps(finding.to_dict()))["rows"]
    assert row["median"] == {"2": 0.2, "4": 0.5}
    assert row["seconds"]["4"] == [0.4, 0.8, 0.5]
    assert finding.to_dict()["study"] == "steps"
    assert "GRU, 4: 500 [400, 800]" in ElementTree.fromstring(finding.picture).itertext()
    assert "| GRU | 200 [100, 300] | 500 [400, 800] | 2.5 |" in finding.markdown()


def test_every_model_is_timed_at_every_length(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(steps, "SIZES", SMALL)
    rows = study_steps(1, Silent()).to_dict()["rows"]
    assert [row["name"] for row in rows] == list(MODELS)
    for row in rows:
        assert {n: len(seconds) for n, seconds in row["seconds"].items()} == {"2": 2, "4": 2}
        assert all(second > 0 for seconds in row["seconds"].values() for second in seconds)


def test_models_have_one_layer_on_each_side_and_the_width_asked_for():
    for settings in MODELS.values():
        names = {key for key in settings if key.endswith("layers")}
        assert all(settings[key] == 1 for key in names)
        config = FAMILIES[settings["family"]].config(**settings, d_model=8)
        assert names == {"encoder_layers", "decoder_layers"} or config.layers == 1

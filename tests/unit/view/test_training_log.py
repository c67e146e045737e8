import math

from headway.view.training_log import N_ROWS, training_rows


def test_short_logs_stay_whole_and_keep_what_can_be_drawn():
    log = [
        {"step": 1, "loss": 1 / 3, "note": "x", "done": True, "lr": None},
        {"step": 1, "notes": {"a": ["b"]}},
        {"step": 2, "valid_loss": 0.5, "samples": [["a", "b", "c"]]},
    ]
    assert training_rows(log) == [{"step": 1, "loss": 0.333333}, log[2]]
    assert training_rows([]) == []


def test_thinning_keeps_ends_peaks_troughs_and_what_is_not_finite():
    log = [
        {"step": i, "minutes": i / 9, "loss": math.sin(i / 999), "tokens_per_second": 9.0}
        for i in range(100_000)
    ]
    log[4321]["loss"], log[77_777]["loss"], log[50_000]["loss"] = 99.0, -99.0, math.nan
    log[60_000]["tokens_per_second"], log[60_001]["loss"] = 1.0, math.inf
    rows = training_rows(log)
    steps = [row["step"] for row in rows]
    assert len(rows) <= N_ROWS + 4
    assert steps == sorted(set(steps))
    assert {0, 4321, 50_000, 60_000, 60_001, 77_777, 99_999} <= set(steps)


def test_validations_are_never_left_out():
    log = [{"step": i, "loss": 1.0} for i in range(2000)]
    log[1234] |= {"valid_loss": 0.5}
    assert {"step": 1234, "loss": 1.0, "valid_loss": 0.5} in training_rows(log, most=10)

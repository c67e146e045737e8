"""Training windows whose targets are held-out targets: overlapping, shuffled, scaled, constant."""

import numpy as np
import pytest
from forecast_runs import NAN, array_store, windows_of

from headway.data.window_leaks import n_leaking

DRAW = np.random.default_rng(0)
NOISE = DRAW.normal(size=60).astype(np.float32)


def test_parts_of_one_series_share_no_targets():
    store = array_store(NOISE)
    training = windows_of(store, (8, 4), [(0, 40)])
    assert n_leaking(training, windows_of(store, (8, 4), [(40, 60)])) == 0


def test_overlapping_parts_leak_the_windows_that_they_share():
    """First targets 30 to 36 are in both parts: 7 windows."""
    store = array_store(NOISE)
    training = windows_of(store, (8, 4), [(0, 40)])
    assert n_leaking(training, windows_of(store, (8, 4), [(30, 60)])) == 7


def test_windows_that_only_share_a_step_do_not_leak():
    store = array_store(NOISE)
    training = windows_of(store, (8, 4), [(0, 43)])
    assert n_leaking(training, windows_of(store, (8, 4), [(40, 60)])) == 0


def test_shuffled_overlapping_windows_are_found():
    """The slip: windows are made first, then divided at random."""
    cut = [NOISE[i : i + 12] for i in range(49)]
    order = np.random.default_rng(1).permutation(49)
    training = windows_of(array_store(*(cut[i] for i in order[:40])), (8, 4))
    test = windows_of(array_store(*(cut[i] for i in order[40:])), (8, 4))
    assert n_leaking(training, test) == 0  # no window is in both
    longer = [NOISE[i : i + 16] for i in range(45)]
    order = np.random.default_rng(1).permutation(45)
    training = windows_of(array_store(*(longer[i] for i in order[:36])), (8, 4))
    test = windows_of(array_store(*(longer[i] for i in order[36:])), (8, 4))
    expected = sum(
        bool(set(range(i + 8, i + 13)) & {j + k for j in order[36:] for k in range(8, 13)} & {f})
        for i in order[:36]
        for f in range(i + 8, i + 13)
    )
    assert n_leaking(training, test) == expected > 0


def test_targets_in_another_series_or_channel_leak():
    training = windows_of(array_store(NOISE[:30], NOISE[30:]), (8, 4))
    test = windows_of(array_store(np.stack([DRAW.normal(size=20), NOISE[35:55]], 1)), (8, 4))
    assert n_leaking(training, test) == 9  # first targets 43 to 51


def test_windows_in_which_nothing_changes_do_not_count():
    flat = np.concatenate([np.zeros(20), [1.0], np.zeros(20)]).astype(np.float32)
    training, test = (windows_of(array_store(flat), (4, 3)) for _ in range(2))
    # Windows with a change are those that have the 1: at the first step of a window nothing changes
    # before it, so first targets are 18, 19 and 20, where a change follows.
    assert n_leaking(training, test) == 3


def test_missing_values_are_compared_too():
    gappy = NOISE.copy()
    gappy[::5] = NAN
    training, test = (windows_of(array_store(values), (8, 4)) for values in (gappy, gappy.copy()))
    assert n_leaking(training, test) == len(training)
    whole = windows_of(array_store(NOISE), (8, 4))
    between = sum(f % 5 == 1 for f in whole.firsts_of(0).tolist())  # horizons without a gap
    assert n_leaking(training, whole) == between == 10


def test_each_channel_of_a_window_counts():
    both = array_store(np.stack([NOISE, NOISE[::-1]], 1))
    mixed, one = windows_of(both, (8, 4), apart=False), windows_of(array_store(NOISE), (8, 4))
    assert n_leaking(mixed, one) == len(one)
    assert n_leaking(mixed, windows_of(both, (8, 4), apart=True)) == 2 * len(one)


def test_strides_are_those_of_each_set():
    store = array_store(NOISE)
    training = windows_of(store, (8, 4, 5), [(0, 60)])
    test = windows_of(store, (8, 4), [(30, 60)])
    assert n_leaking(training, test) == sum(f >= 30 for f in training.firsts_of(0))


@pytest.mark.parametrize("n", [1, 3])
def test_sets_without_a_window(n):
    training = windows_of(array_store(NOISE), (8, 4))
    empty = windows_of(array_store(NOISE[:n]), (8, 4))
    assert n_leaking(training, empty) == n_leaking(empty, training) == 0


def test_hashes_of_long_series_do_not_collide():
    draw = np.random.default_rng(2)
    training = windows_of(array_store(draw.normal(size=50_000)), (8, 4))
    assert n_leaking(training, windows_of(array_store(draw.normal(size=50_000)), (8, 4))) == 0

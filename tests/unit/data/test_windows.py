"""Windows of series: which there are, what they read, and that they are a view."""

import numpy as np
import pytest
from forecast_runs import NAN, array_store, windows_of

from headway.data.config import Corpus
from headway.data.store import Column, Store, StoreWriter
from headway.data.windows import Places, Windows, WindowSize, fill_forward, spans_of


def firsts(windows, series=0):
    return windows.firsts_of(series).tolist()


def places_of(windows):
    """(series, channel, first target step) of every window."""
    found = windows.places(np.arange(len(windows)))
    columns = (found.series, found.channel, found.first)
    return list(zip(*(column.tolist() for column in columns), strict=True))


class TestWhichWindows:
    def test_one_begins_at_each_step_with_a_whole_history_and_horizon(self):
        windows = windows_of(array_store(range(10)), (3, 2))
        assert firsts(windows) == [3, 4, 5, 6, 7, 8]
        assert len(windows) == 6
        assert WindowSize(3, 2).steps == 5

    def test_a_part_has_its_history_before_it(self):
        """Targets lie in the part alone; the history of its first window lies before it."""
        windows = windows_of(array_store(range(20)), (4, 3), [(12, 18)])
        assert firsts(windows) == [12, 13, 14, 15]

    def test_strides_end_at_the_last_window(self):
        windows = windows_of(array_store(range(20)), (3, 2, 4))
        assert firsts(windows) == [6, 10, 14, 18]
        assert windows.places(np.array([3])).first.tolist() == [18]

    @pytest.mark.parametrize(
        ("n", "expected"),
        [(1, []), (2, []), (3, [1]), (4, [2]), (5, [3]), (6, [3, 4])],
    )
    def test_a_short_series_has_its_last_window(self, n, expected):
        """History 3, horizon 2: shorter than both, than the look-back, and long enough."""
        windows = windows_of(array_store(range(n)), (3, 2))
        assert firsts(windows) == expected
        assert windows.is_used.tolist() == [bool(expected)]

    def test_series_of_many_lengths(self):
        windows = windows_of(array_store(range(7), range(1), range(3), range(6)), (3, 2))
        assert windows.is_used.tolist() == [True, False, True, True]
        assert windows.n_of_series.tolist() == [3, 0, 1, 2]
        assert places_of(windows) == [
            (0, 0, 3),
            (0, 0, 4),
            (0, 0, 5),
            (2, 0, 1),
            (3, 0, 3),
            (3, 0, 4),
        ]

    def test_channels_apart_have_windows_of_their_own(self):
        store = array_store([[t, 10 + t] for t in range(6)])
        apart, mixed = (windows_of(store, (3, 2), apart=apart) for apart in (True, False))
        assert places_of(apart) == [(0, 0, 3), (0, 0, 4), (0, 1, 3), (0, 1, 4)]
        assert places_of(mixed) == [(0, 0, 3), (0, 0, 4)]
        assert (apart.n_of_series.tolist(), mixed.n_of_series.tolist()) == ([4], [2])

    def test_no_window_at_all(self):
        windows = windows_of(array_store([1.0]), (3, 2))
        assert len(windows) == 0
        assert windows.lengths("steps").tolist() == []

    @pytest.mark.parametrize("lookback", [1, 5, 40, 500])
    def test_targets_after_others_do_not_depend_on_the_look_back(self, lookback):
        """A later part scores the same targets with any look-back, be it longer than all before."""
        windows = windows_of(array_store(range(60)), (lookback, 5), [(30, 60)])
        assert firsts(windows) == list(range(30, 56))

    def test_select_is_a_view_in_the_order_given(self):
        windows = windows_of(array_store(range(10), range(8)), (3, 2))
        chosen = windows.select(np.array([8, 0, 3]))
        assert places_of(chosen) == [(1, 0, 5), (0, 0, 3), (0, 0, 6)]
        assert places_of(chosen.select(np.array([2, 0]))) == [(0, 0, 6), (1, 0, 5)]
        assert (len(windows), len(chosen)) == (10, 3)

    def test_all_windows_are_as_long_for_batching(self):
        windows = windows_of(array_store(range(10)), (3, 2))
        assert windows.columns == ("steps",)
        assert windows.lengths("steps").tolist() == [3] * 6
        assert windows.lengths("steps", 4).tolist() == [3, 3]
        assert windows.lengths("steps", 1, 4).tolist() == [3, 3, 3]


class TestTake:
    def test_history_and_horizon_of_one_channel(self):
        store = array_store([[t, 10 + t] for t in range(6)])
        windows = windows_of(store, (3, 2))
        values, exists = windows.take(windows.places(np.array([0, 3])))
        assert values[..., 0].tolist() == [[0, 1, 2, 3, 4], [11, 12, 13, 14, 15]]
        assert values.dtype == np.float32
        assert exists.all()
        assert exists.shape == (2, 5)

    def test_all_channels_together(self):
        store = array_store([[t, 10 + t] for t in range(6)])
        windows = windows_of(store, (2, 1), apart=False)
        values, _ = windows.take(windows.places(np.array([1])))
        assert values.tolist() == [[[1, 11], [2, 12], [3, 13]]]

    def test_steps_outside_the_series_are_unknown_and_never_those_of_another(self):
        windows = windows_of(array_store([1, 2, 3], [4, 5, 6]), (4, 2))
        values, exists = windows.take(windows.places(np.array([0, 1])))
        expected = [[NAN, NAN, NAN, 1, 2, 3], [NAN, NAN, NAN, 4, 5, 6]]
        np.testing.assert_array_equal(values[..., 0], expected)
        assert exists.tolist() == [[False, False, False, True, True, True]] * 2

    def test_the_window_after_the_end_has_no_targets(self):
        windows = windows_of(array_store([1, 2, 3], [4]), (2, 2), [(3, 5), (1, 3)])
        values, exists = windows.take(windows.places(np.array([0, 1])))
        np.testing.assert_array_equal(values[..., 0], [[2, 3, NAN, NAN], [NAN, 4, NAN, NAN]])
        assert exists.tolist() == [[True, True, False, False], [False, True, False, False]]

    def test_scales_of_each_series_and_channel(self):
        store = array_store([[t, 10 * t] for t in range(4)], [[t + 100, t] for t in range(4)])
        scales = np.array([[[0, 1], [10, 10]], [[100, 2], [0, 4]]], float)
        apart = windows_of(store, (2, 1), scales=scales)
        values, _ = apart.take(apart.places(np.array([0, 2, 4, 7])))
        assert values[..., 0].tolist() == [
            [0, 1, 2],
            [-1, 0, 1],
            [0, 0.5, 1],
            [0.25, 0.5, 0.75],
        ]
        mixed = windows_of(store, (2, 1), apart=False, scales=scales)
        values, _ = mixed.take(mixed.places(np.array([2])))
        assert values.tolist() == [[[0, 0], [0.5, 0.25], [1, 0.5]]]

    @pytest.mark.parametrize("apart", [True, False])
    @pytest.mark.parametrize("has_scales", [True, False])
    def test_units_undo_both_scales(self, apart, has_scales):
        raw = np.arange(24.0).reshape(2, 6, 2) ** 2
        mean, deviation = np.array([3.0, 50.0]), np.array([2.0, 8.0])
        scales = np.array([[[0, 1], [1, 3]], [[2, 0.5], [-1, 4]]], float) if has_scales else None
        store = array_store(*((raw - mean) / deviation))
        windows = windows_of(store, (2, 1), apart=apart, scales=scales)
        places = windows.places(np.arange(len(windows)))
        values, _ = windows.take(places)
        scale, offset = windows.units(places, mean, deviation)
        back = values * scale[:, None] + offset[:, None]
        for number in range(len(windows)):
            first, s = places.first[number], places.series[number]
            expected = raw[s, first - 2 : first + 1]
            if apart:
                expected = expected[:, places.channel[number], None]
            np.testing.assert_allclose(back[number], expected, rtol=1e-5)

    def test_covariates_may_go_on_after_the_target(self):
        store = array_store([1, 2, 3])
        known = array_store([[10, 1], [20, 2], [30, 3], [40, 4]], name="known")
        store._columns["known"] = known["known"]
        windows = windows_of(store, (2, 2), [(3, 5)])
        places = windows.places(np.array([0]))
        found = windows.covariates("known", places, 2)
        np.testing.assert_array_equal(found, [[[20, 2], [30, 3], [40, 4], [NAN, NAN]]])
        assert windows.covariates("known", places, 0).tolist() == [[[20, 2], [30, 3]]]
        assert windows.n_steps(np.array([0])).tolist() == [3]

    def test_a_store_on_disk_reads_as_one_in_memory(self, tmp_path):
        draw = np.random.default_rng(0)
        arrays = [draw.normal(size=(n, 3)).astype(np.float32) for n in (30, 2, 17)]
        with StoreWriter(tmp_path / "s", [Column("target", "float32", (3,))]) as writer:
            writer.append({"target": arrays})
        for apart in (True, False):
            spans = [(0, 30), (0, 2), (5, 17)]
            pair = [
                Windows(store, "target", np.array(spans), WindowSize(6, 4), apart, 6)
                for store in (Store(tmp_path / "s"), array_store(*arrays))
            ]
            assert len(pair[0]) == len(pair[1]) > 0
            every = np.arange(len(pair[0]))
            for ours, theirs in zip(*(w.take(w.places(every)) for w in pair), strict=True):
                np.testing.assert_array_equal(ours, theirs)


def test_what_is_taken_is_of_the_size_of_the_batch():
    """A million windows are a few numbers per series until some of them are taken."""
    n = 1_000_000
    windows = windows_of(array_store(np.zeros(n)), (512, 96))
    assert len(windows) == n - 512 - 96 + 1
    held = [value for value in vars(windows).values() if isinstance(value, np.ndarray)]
    assert sum(array.nbytes for array in held) < 100
    values, _ = windows.take(windows.places(np.array([0, len(windows) - 1])))
    assert values.shape == (2, 608, 1)


def test_places_are_plain_arrays():
    windows = windows_of(array_store(range(9)), (3, 2))
    found = windows.places([1, 4])
    assert isinstance(found, Places)
    assert found.first.tolist() == [4, 7]


class TestSpans:
    def test_parts_without_the_steps_that_are_history(self):
        lengths = np.array([10, 10, 4])
        found = spans_of([(0, 8), (0, 8), (2, 9)], [0, 3, 0], lengths)
        assert found.tolist() == [[0, 8], [3, 8], [2, 4]]

    def test_a_part_that_is_all_history_has_no_window(self):
        spans = spans_of([(0, 4)], [6], np.array([9]))
        windows = windows_of(array_store(range(9)), (2, 2), spans.tolist())
        assert len(windows) == 0

    def test_no_series(self):
        assert spans_of([], [], np.empty(0, int)).shape == (0, 2)
        assert Corpus().part is None


class TestFillForward:
    def test_gaps_repeat_the_value_before(self):
        values = np.array([[[1.0], [NAN], [NAN], [4.0], [NAN]]])
        filled, is_filled = fill_forward(values)
        assert filled[0, :, 0].tolist() == [1, 1, 1, 4, 4]
        assert is_filled.all()

    def test_before_the_first_value_it_is_zero_and_said(self):
        values = np.array([[[NAN, 1.0], [NAN, NAN], [3.0, NAN]]])
        filled, is_filled = fill_forward(values)
        assert filled.tolist() == [[[0, 1], [0, 1], [3, 1]]]
        assert is_filled.tolist() == [[[False, True], [False, True], [True, True]]]

    def test_no_value_at_all(self):
        filled, is_filled = fill_forward(np.full((2, 3, 1), NAN, np.float32))
        assert not filled.any()
        assert not is_filled.any()
        assert filled.dtype == np.float32

    def test_rows_do_not_fill_each_other(self):
        values = np.array([[[1.0], [2.0]], [[NAN], [5.0]]])
        filled, _ = fill_forward(values)
        assert filled[..., 0].tolist() == [[1, 2], [0, 5]]

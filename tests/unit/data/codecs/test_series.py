"""The codec of series: scales of numbers, categories, what is missing, and its file."""

import json

import numpy as np
import pytest
from forecast_runs import NAN, START, series

from headway.data.codecs.series import (
    CategoryColumn,
    Clock,
    ClockCodec,
    NumberColumn,
    SeriesCodec,
    clock_of,
)
from headway.data.frequency import Frequency
from headway.errors import DataError, RunError


def texts(*rows, columns=()):
    array = np.empty((len(rows), len(rows[0])), object)
    array[:] = rows
    return series(array, columns)


class TestNumbers:
    def test_mean_and_deviation_over_all_series(self):
        """1, 2, 3 and 10 have mean 4 and variance 12.5."""
        codec = SeriesCodec.fit([series([1, 2, 3]), series([10])])
        assert codec.mean.tolist() == [4]
        assert codec.deviation == pytest.approx([12.5**0.5])
        encoded = codec.encode(series([4, 10]))
        assert encoded.dtype == np.float64
        assert codec.column("target").dtype == "float64"
        assert encoded[:, 0] == pytest.approx([0, 6 / 12.5**0.5])

    def test_each_column_has_its_own(self):
        codec = SeriesCodec.fit([series([[1, 100], [3, 300]])])
        assert codec.names == ("a", "b")
        assert codec.width == 2
        assert (codec.mean.tolist(), codec.deviation.tolist()) == ([2, 200], [1, 100])
        assert codec.encode(series([[3, 100]])).tolist() == [[1, -1]]

    def test_missing_values_do_not_count_and_stay_missing(self):
        codec = SeriesCodec.fit([series([NAN, 1, NAN, 3])])
        assert (codec.mean.tolist(), codec.deviation.tolist()) == ([2], [1])
        np.testing.assert_array_equal(codec.encode(series([NAN, 3]))[:, 0], [NAN, 1])

    @pytest.mark.parametrize("value", [0.0, 7.0, 0.1, 1e9, -3e-9])
    def test_a_constant_has_nothing_to_scale_by(self, value):
        codec = SeriesCodec.fit([series([value] * 1000)])
        assert codec.deviation.tolist() == [1.0]
        assert codec.encode(series([value]))[0, 0] == pytest.approx(0, abs=1e-6)

    def test_a_column_without_values(self):
        codec = SeriesCodec.fit([series([[NAN, 1], [NAN, 2]])])
        assert (codec.mean[0], codec.deviation[0]) == (0, 1)

    def test_not_standardised(self):
        codec = SeriesCodec.fit([series([5, 9])], standardise=False)
        assert codec.encode(series([5, 9]))[:, 0].tolist() == [5, 9]

    def test_a_small_change_on_a_large_level_survives(self):
        """float32 alone would round steps of 0.001 on a level of a million away."""
        values = 1e6 + 0.001 * np.arange(100)
        codec = SeriesCodec.fit([series(values)])
        back = codec.encode(series(values))[:, 0].astype(float) * codec.deviation + codec.mean
        assert np.abs(back - values).max() < 1e-6

    def test_a_small_series_beside_a_large_one_survives(self):
        small, large = series([0.01, 0.02, 0.03]), series([1e9, 2e9, 4e9])
        codec = SeriesCodec.fit([small, large])
        back = codec.encode(small) * codec.deviation + codec.mean
        np.testing.assert_allclose(back, small.values, rtol=1e-4)

    def test_the_mean_is_that_of_numpy(self):
        draw = np.random.default_rng(0)
        parts = [draw.normal(50, 3, size=n) for n in (1, 7, 300)]
        codec = SeriesCodec.fit(map(series, parts))
        whole = np.concatenate(parts)
        assert codec.mean == pytest.approx([whole.mean()])
        assert codec.deviation == pytest.approx([whole.std()])


class TestCategories:
    def test_a_number_for_each_name(self):
        codec = SeriesCodec.fit([texts(["sun", "1"], ["rain", "3"], columns=("sky", "wind"))])
        assert codec.columns == (CategoryColumn("sky", ("rain", "sun")), NumberColumn("wind", 2, 1))
        assert codec.width == 3
        encoded = codec.encode(texts(["rain", "3"], ["sun", "1"], columns=("sky", "wind")))
        assert encoded.tolist() == [[1, 0, 1], [0, 1, -1]]

    def test_unknown_and_missing_names(self):
        codec = SeriesCodec.fit([texts(["x"], ["y"])])
        encoded = codec.encode(texts(["z"], [None], ["y"]))
        np.testing.assert_array_equal(encoded, [[NAN, NAN], [NAN, NAN], [0, 1]])
        assert codec.n_unknown(texts(["z"], [None], ["y"])) == {"a": 1}
        assert codec.n_unknown(texts(["x"], [None])) == {}

    def test_names_that_look_like_numbers(self):
        """A column of names may have numbers alone in another file."""
        codec = SeriesCodec.fit([texts(["1"], ["x"])])
        np.testing.assert_array_equal(codec.encode(series([1.0, 2.0])), [[1, 0], [NAN, NAN]])

    def test_a_missing_number_among_text(self):
        codec = SeriesCodec.fit([texts(["x", "1"], ["y", None], ["y", "3"])])
        encoded = codec.encode(texts(["x", None]))
        np.testing.assert_array_equal(encoded, [[1, 0, NAN]])

    def test_a_column_of_free_text_is_no_category(self):
        rows = texts(*([f"name {i}"] for i in range(257)), columns=("customer",))
        with pytest.raises(DataError) as caught:
            SeriesCodec.fit([rows])
        assert str(caught.value) == (
            "the column 'customer' has 257 different names, more than 256; it is no category, "
            "leave it out"
        )

    def test_mean_and_deviation_are_of_numbers_alone(self):
        codec = SeriesCodec.fit([texts(["x", "1"], ["y", "3"])])
        assert (codec.mean.tolist(), codec.deviation.tolist()) == ([2], [1])


class TestComplaints:
    def test_other_columns(self):
        codec = SeriesCodec.fit([series([[1, 2]], ("load", "oil"))])
        assert codec.complaint(series([[1, 2]], ("load", "oil"))) is None
        assert codec.complaint(series([1], ("load",))) == (
            "the columns are load; expected load, oil, as in the training data"
        )
        assert codec.encode(series([1], ("load",))).shape == (0, 2)

    def test_many_columns_are_cut(self):
        codec = SeriesCodec.fit([series([range(8)])])
        wide = series(np.zeros((1, 20)), [f"c{i}" for i in range(20)])
        assert codec.complaint(wide) == (
            "the columns are c0, c1, c2, c3, c4, c5, c6, c7, ...; expected a, b, c, d, e, f, g, h, "
            "as in the training data"
        )

    def test_text_in_a_column_of_numbers(self):
        codec = SeriesCodec.fit([series([1.0, 2.0], ("price",))])
        assert codec.complaint(texts(["1"], [None], ["2.5"], columns=("price",))) is None
        assert codec.complaint(texts(["1"], ["sold out"], columns=("price",))) == (
            "column 'price' has 'sold out', and in the training data it has numbers alone; correct "
            "it, or leave the column out"
        )
        assert codec.encode(texts(["1"], ["sold out"], columns=("price",))).shape == (0, 1)

    def test_series_with_different_columns_are_not_fitted(self):
        with pytest.raises(DataError) as caught:
            SeriesCodec.fit([series([1]), series([[1, 2]])])
        assert str(caught.value) == (
            "the columns are a, b; expected a, as in the training data; give all series the same "
            "ones"
        )

    def test_blank_series(self):
        codec = SeriesCodec.fit([series([1])])
        assert codec.is_blank(series(np.empty((0, 1))))
        assert codec.is_blank(series([NAN, NAN]))
        assert not codec.is_blank(series([NAN, 1]))
        assert codec.amount(series([[1, 2], [3, 4]])) == 4
        assert codec.identity(series([1], name="x")) != codec.identity(series([2], name="x"))
        assert codec.identity(series([1], name="x")) == codec.identity(
            series([1], name="y", start=0)
        )


class TestFile:
    def test_what_is_saved_is_loaded(self, tmp_path):
        codec = SeriesCodec.fit([texts(["ä", "1.5"], ["b", "2"], columns=("sky", "wind"))])
        codec.save(tmp_path / "c.json")
        loaded = SeriesCodec.load(tmp_path / "c.json")
        assert loaded.columns == codec.columns
        assert loaded.fingerprint() == codec.fingerprint()
        assert loaded.fingerprint() != SeriesCodec.fit([series([1])]).fingerprint()

    @pytest.mark.parametrize(
        "content",
        [
            "",
            "{",
            "[1]",
            "[{}]",
            '[{"name": "a", "mean": 1}]',
            '[{"name": "a", "mean": NaN, "deviation": 1}]',
            '[{"name": "a", "mean": 0, "deviation": 0}]',
            '[{"name": "a", "mean": 0, "deviation": Infinity}]',
            '[{"name": "a", "categories": 3}]',
        ],
    )
    def test_a_damaged_file(self, tmp_path, content):
        path = tmp_path / "c.json"
        path.write_text(content)
        with pytest.raises(RunError, match=r"cannot be read .*; restore it from a copy$"):
            SeriesCodec.load(path)
        path.unlink()
        with pytest.raises(RunError):
            SeriesCodec.load(path)

    def test_decoding_shows_the_last_values(self):
        codec = SeriesCodec.fit([series([0, 2])])
        assert codec.decode(codec.encode(series([1, 3]))) == "1, 3"
        assert codec.decode(codec.encode(series(range(12)))) == "... 4, 5, 6, 7, 8, 9, 10, 11"


class TestClock:
    @pytest.mark.parametrize(
        ("start", "frequency"),
        [(START, "h"), (START, "15min"), (START, "M"), (0, "step"), (-5, "step"), (1700, "Y")],
    )
    def test_it_comes_back(self, start, frequency):
        one = series([1, 2], name="Zürich", start=start, frequency=Frequency.parse(frequency))
        [stored] = ClockCodec().encode_batch([one])
        assert stored.dtype == np.uint8
        clock = clock_of(stored)
        assert clock == Clock("Zürich", str(start), frequency, 0)
        assert clock.first_time == start
        assert json.loads(ClockCodec().decode(stored))["name"] == "Zürich"

    def test_history_is_kept(self):
        [stored] = ClockCodec().encode_batch([series([1, 2, 3], history=2)])
        assert clock_of(stored).history == 2
        assert ClockCodec().column("clock").dtype == "uint8"
        assert not ClockCodec().is_blank(series([NAN]))

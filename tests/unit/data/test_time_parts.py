"""Parts in time: shares, steps and dates, the published borders of ETT, and what is refused."""

import numpy as np
import pytest

from headway.data.codecs.series import Clock
from headway.data.config import Corpus, DataConfig
from headway.data.time_parts import divide_in_time, steps_of
from headway.errors import ConfigError, DataError

HOURS = Clock("a", "2016-07-01T00:00:00", "h", 0)
NUMBERED = Clock("a", "5", "step", 0)
ONE = DataConfig(train="a.csv")


def parts(split=None, horizon=24, lengths=(1000,), data=ONE):
    """The part of each set."""
    divided = divide_in_time(data, split, horizon, lengths)
    sets = (divided.data.train, divided.data.valid, divided.data.test)
    return [corpora[0].part if isinstance(corpora, list) else corpora for corpora in sets]


def message(split, data=ONE, lengths=(1000,)):
    with pytest.raises(ConfigError) as caught:
        divide_in_time(data, split, 24, lengths)
    return str(caught.value)


class TestDivide:
    def test_shares_by_default(self):
        assert parts() == [(0.0, 0.7), (0.7, 0.8), (0.8, 1.0)]

    def test_short_series_keep_their_last_horizons(self):
        """A tenth of 400 steps is shorter than two horizons of 24."""
        assert parts(lengths=(400,)) == [(0.0, -48), (-48, -24), (-24, 1.0)]
        assert parts(lengths=(480,))[1] == (0.7, 0.8)
        assert parts(lengths=(10, 400, 4000))[2] == (-24, 1.0)  # by the median

    def test_test_data_of_their_own_leave_their_share_to_validation(self):
        data = DataConfig(train="a.csv", test="b.csv")
        assert parts(data=data) == [(0.0, 0.7), (0.7, 1.0), "b.csv"]
        assert parts(data=data, lengths=(100,)) == [(0.0, -24), (-24, 1.0), "b.csv"]
        assert parts([0.5, 0.25, 0.25], data=data) == [(0.0, 0.5), (0.5, 0.75), "b.csv"]

    def test_steps(self):
        assert parts([8640, 2880, 2880], lengths=[17420]) == [
            (0, 8640),
            (8640, 11520),
            (11520, 14400),
        ]

    def test_dates(self):
        split = ["2017-07-01", "2017-11-01"]
        assert parts(split) == [(0.0, split[0]), tuple(split), (split[1], 1.0)]

    def test_shares_without_the_end(self):
        assert parts([0.5, 0.2, 0.1]) == [(0.0, 0.5), (0.5, 0.7), (0.7, 0.8)]

    def test_every_corpus_gets_its_part_and_only_training_its_weight(self):
        data = DataConfig(train=[Corpus(file="a.csv", weight=2.0), Corpus(file="b.csv")])
        divided = divide_in_time(data, None, 24, [1000])
        assert [(c.part, c.weight) for c in divided.data.train] == [((0, 0.7), 2), ((0, 0.7), 1)]
        assert [(c.file, c.part, c.weight) for c in divided.data.test] == [
            ("a.csv", (0.8, 1.0), 1.0),
            ("b.csv", (0.8, 1.0), 1.0),
        ]

    def test_validation_data_of_their_own_are_left_alone(self):
        assert divide_in_time(DataConfig(train="a.csv", valid="b.csv"), None, 24, []) is None
        assert divide_in_time(DataConfig(train="a.csv", valid=[]), None, 24, []) is None

    def test_lengths_are_read_only_for_the_default(self):
        def read():
            raise AssertionError("read")
            yield

        assert divide_in_time(ONE, [0.5, 0.2, 0.3], 24, read()) is not None

    @pytest.mark.parametrize(
        ("split", "shown"),
        [
            (None, "training 0% to 70%, validation 70% to 80%, test 80% to 100%"),
            (
                [8640, 2880, 2880],
                "training 0% to step 8640, validation step 8640 to step 11520, "
                "test step 11520 to step 14400",
            ),
            (
                ["2017-07-01", "2017-11-01"],
                "training 0% to 2017-07-01, validation 2017-07-01 to 2017-11-01, "
                "test 2017-11-01 to 100%",
            ),
        ],
    )
    def test_the_run_says_where_it_cut(self, split, shown):
        line = divide_in_time(ONE, split, 24, [20_000]).line
        assert line == f"no data.valid: the series are cut in time: {shown}"

    def test_the_run_says_which_horizons_it_kept(self):
        line = divide_in_time(ONE, None, 24, [100]).line
        assert line.endswith(
            "training 0% to the last 48 steps, validation the last 48 steps to the last 24 steps, "
            "test the last 24 steps to 100%"
        )


class TestRefused:
    @pytest.mark.parametrize(
        "split",
        [[], [0.7], [0.7, 0.3], [0.7, 0.1, 0.1, 0.1], [0.7, 0, 0.3], [-1, 5, 5], ["2017-01-01"]],
        ids=str,
    )
    def test_what_is_no_split(self, split):
        assert message(split) == (
            f"forecast.split = {split}: expected three sizes (training, validation, test) such as "
            "[0.7, 0.1, 0.2] or [8640, 2880, 2880], or the dates at which validation and test "
            'begin, such as ["2013-01-01", "2014-01-01"]'
        )

    def test_dates_and_numbers_together(self):
        assert "expected three sizes" in message(["2017-01-01", 100])

    def test_shares_of_more_than_all(self):
        found = message([0.8, 0.2, 0.1])
        assert found.startswith("forecast.split adds up to 1.1; expected three sizes")

    def test_more_steps_than_there_are(self):
        assert message([8640, 2880, 2880], lengths=(700, 1000)) == (
            "forecast.split adds up to 14400 steps, and the longest series has 1000; lower the "
            "sizes, or give shares such as [0.7, 0.1, 0.2]"
        )

    def test_dates_in_the_wrong_order(self):
        assert message(["2018-01-01", "2017-01-01"]) == (
            "forecast.split = ['2018-01-01', '2017-01-01']: the test must begin after the "
            "validation; write the earlier date first"
        )

    @pytest.mark.parametrize("text", ["2017-13-01", "soon", "12"])
    def test_a_date_that_is_none(self, text):
        found = message([text, "2018-01-01"])
        assert found.startswith("forecast.split: ")
        assert text in found

    def test_a_date_for_the_test_beside_test_data(self):
        data = DataConfig(train="a.csv", test="b.csv")
        assert message(["2017-01-01", "2018-01-01"], data) == (
            "forecast.split names the beginning of the test, and data.test is set; leave one of "
            "them out"
        )

    def test_a_training_part_without_validation_data(self):
        data = DataConfig(train=Corpus(file="a.csv", part=(0.0, 0.5)))
        assert message(None, data) == (
            "data.train has a part, and data.valid is missing; set it to the steps after that "
            "part, or to [] for no validation"
        )


class TestSteps:
    @pytest.mark.parametrize(
        ("part", "expected"),
        [
            (None, (0, 100)),
            ((0.0, 1.0), (0, 100)),
            ((0.7, 0.8), (70, 80)),
            ((10, 30), (10, 30)),
            ((-48, -24), (52, 76)),
            ((-24, 1.0), (76, 100)),
            ((-24, 0), (76, 100)),
            ((0.0, -24), (0, 76)),
            ((50, 500), (50, 100)),
            ((-500, 0.5), (0, 50)),
        ],
        ids=str,
    )
    def test_shares_and_steps(self, part, expected):
        assert steps_of(part, 100, HOURS) == expected

    def test_shares_of_neighbours_meet_at_every_length(self):
        for length in range(1, 300):
            ends = [steps_of(p, length, HOURS) for p in parts()]
            assert ends[0][1] == ends[1][0]
            assert ends[1][1] == ends[2][0]
            assert ends[2][1] == length

    def test_the_borders_of_ett(self):
        """12, 4 and 4 months of 30 days of 24 hours; the last 3,020 of 17,420 hours are unused."""
        hours = [steps_of(p, 17420, HOURS) for p in parts([8640, 2880, 2880], lengths=[17420])]
        assert hours == [(0, 8640), (8640, 11520), (11520, 14400)]
        minutes = [steps_of(p, 69680, HOURS) for p in parts([34560, 11520, 11520], lengths=[69680])]
        assert minutes == [(0, 34560), (34560, 46080), (46080, 57600)]

    def test_dates(self):
        part = ("2016-07-02", "2016-07-03 12:00")
        assert steps_of(part, 100, HOURS) == (24, 60)
        assert steps_of(("2016-06-01", "2017-01-01"), 100, HOURS) == (0, 100)
        assert steps_of(("2016-07-01 00:30", 1.0), 100, HOURS) == (1, 100)

    def test_dates_of_months(self):
        clock = Clock("", "2020-01-01T00:00:00", "M", 0)
        assert steps_of((0.0, "2020-03-15"), 12, clock) == (0, 3)

    def test_dates_of_numbered_steps(self):
        assert steps_of((0.5, 1.0), 10, NUMBERED) == (5, 10)
        with pytest.raises(DataError) as caught:
            steps_of(("2017-01-01", 1.0), 10, NUMBERED)
        assert str(caught.value) == (
            "part: '2017-01-01' is a date, and the steps of series 'a' have numbers; give a share "
            "such as 0.8, or a number of steps"
        )

    @pytest.mark.parametrize("text", ["tomorrow", "12", "2017-02-30"])
    def test_text_that_is_no_date(self, text):
        with pytest.raises(ConfigError, match=r"^part: "):
            steps_of((text, 1.0), 10, HOURS)

    def test_one_step(self):
        assert [steps_of(p, 1, HOURS) for p in parts()] == [(0, 0), (0, 0), (0, 1)]
        assert np.diff(steps_of((0.0, -24), 1, HOURS)).tolist() == [0]

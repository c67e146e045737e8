"""The numbers of a forecast as CSV: as many digits as its scale has."""

import csv

import pytest

from headway.cli.forecast import _csv_lines
from headway.inference.forecaster import Interval, SeriesForecast


def numbers(history, values, width=None):
    """The forecast of each line, and the low end of its interval."""
    ends = [value - (width or 0) / 2 for value in values], [v + (width or 0) / 2 for v in values]
    intervals = [] if width is None else [Interval(0.9, *ends)]
    n = len(values)
    one = SeriesForecast("", "a", ["t"] * n, values, intervals, values, ["t"] * 3, history)
    rows = list(csv.DictReader(_csv_lines([one])))
    return [tuple(row[name] for name in list(row)[3:5]) for row in rows]


@pytest.mark.parametrize(
    ("history", "values", "width", "lines"),
    [
        (
            [1e12, 1e12 + 1000, None],
            [1e12 + 123.456],
            4000.0,
            [("1000000000123.5", "999999998123.5")],
        ),
        ([1e9, 1e9 + 10], [1e9 + 1.2345678], None, [("1000000001.2346",)]),
        ([5.0, 5.0, 5.0], [4.9999982, 3e-9], None, [("5",), ("0",)]),
        ([90.0, 110.0], [97.239999, -1e-9], 20.0, [("97.24", "87.24"), ("0", "-10")]),
        ([3.0], [3.0000004], 0.02, [("3", "2.99")]),
        ([0.0, 2e-7], [1.23456789e-7], None, [("0.00000012346",)]),
        ([0.0, 0.0], [0.0], None, [("0",)]),
        ([1e20, 3e20], [2e20], None, [("2e+20",)]),
        ([1e-30, 3e-30], [2.5e-30], None, [("2.5e-30",)]),
        ([120000.0, 380000.0], [251234.5678], None, [("251235",)]),
    ],
)
def test_digits_follow_the_scale(history, values, width, lines):
    assert [row[: len(lines[0])] for row in numbers(history, values, width)] == lines

"""The length of the day as the IERS publishes it."""

from datetime import date
from pathlib import Path

import pytest

from headway.demo import earth_rotation
from headway.demo.earth_rotation import parse_day_lengths, read_day_lengths, write_day_lengths
from headway.errors import DataError, MissingExtra

HEAD = "# YR  MM  DD  HH       MJD        x        y  UT1-UTC        dX        dY   xrt  yrt   LOD"


def row(year: int, length: str) -> str:
    return f"{year}   1   2   0  45701.00 -0.1 0.09 0.38 0.0 0.0 -0.002 0.003 {length} 0.1 0.1"


def test_seconds_become_microseconds_and_other_years_are_left_out() -> None:
    lines = [HEAD, row(1983, "0.0031"), row(1984, "0.0013515"), "", row(2025, "-0.0004")]
    assert parse_day_lengths(lines) == {"1984-01-02": pytest.approx(1351.5)}


def test_a_file_without_these_years_is_refused() -> None:
    with pytest.raises(DataError) as caught:
        parse_day_lengths([HEAD, row(1983, "0.0031")])
    assert str(caught.value) == (
        "eopc04.1962-now has no days of 1984 to 2024; install a newer astropy-iers-data"
    )


def test_the_package_has_every_day() -> None:
    lengths = read_day_lengths()
    first, last = date(1984, 1, 1), date(2024, 12, 31)
    assert len(lengths) == (last - first).days + 1
    assert [min(lengths), max(lengths)] == [first.isoformat(), last.isoformat()]
    assert -2000 < min(lengths.values()) < max(lengths.values()) < 5000


def test_the_table_has_a_header(tmp_path: Path) -> None:
    paths = write_day_lengths({"1984-01-01": 1485.0, "1984-01-02": 1351.54}, tmp_path / "new")
    assert paths["days"].read_text("utf-8") == (
        "date,microseconds\n1984-01-01,1485.0\n1984-01-02,1351.5\n"
    )


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise ModuleNotFoundError(name)

    monkeypatch.setattr(earth_rotation.resources, "files", missing)
    with pytest.raises(MissingExtra) as caught:
        read_day_lengths()
    assert "the forecast demo needs the package 'astropy-iers-data'" in str(caught.value)

"""Data of the forecast demo: the length of the day, measured since 1984.

Read from the file of the IERS (series C04) in the package `astropy-iers-data`. The years are fixed;
the IERS revises some values in newer versions. `forecast_demo.py` trains on the data.
"""

from collections.abc import Iterable
from importlib import resources
from pathlib import Path

from ..errors import DataError, MissingExtra

FIRST_YEAR, LAST_YEAR = 1984, 2024  # before, days were measured ten times less precisely
FILE = "eopc04.1962-now"
COLUMN = "microseconds"
"""The length of the day above 86,400 seconds."""
_YEAR_MONTH_DAY, _LENGTH = slice(0, 3), 12  # columns of the file; lengths are in seconds


def read_day_lengths() -> dict[str, float]:
    """The length of each day above 86,400 s, in microseconds, by ISO date.

    Raises:
        MissingExtra: the package `astropy-iers-data` is not installed.
    """
    try:
        folder = resources.files("astropy_iers_data")
    except ImportError:
        raise MissingExtra("the forecast demo", "astropy-iers-data", "demo") from None
    with (folder / "data" / FILE).open(encoding="utf-8") as lines:
        return parse_day_lengths(lines)


def parse_day_lengths(lines: Iterable[str]) -> dict[str, float]:
    """The days from FIRST_YEAR to LAST_YEAR of a C04 file, whose comments begin with `#`.

    Raises:
        DataError: there are none.
    """
    lengths = {}
    for line in lines:
        fields = line.split()
        if line.startswith("#") or not fields:
            continue
        year, month, day = map(int, fields[_YEAR_MONTH_DAY])
        if FIRST_YEAR <= year <= LAST_YEAR:
            lengths[f"{year}-{month:02}-{day:02}"] = float(fields[_LENGTH]) * 1e6
    if not lengths:
        raise DataError(
            f"{FILE} has no days of {FIRST_YEAR} to {LAST_YEAR}; install a newer astropy-iers-data"
        )
    return lengths


def write_day_lengths(lengths: dict[str, float], folder: Path) -> dict[str, Path]:
    """Writes `days.csv` with the columns date and microseconds; returns its path."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = [f"date,{COLUMN}", *(f"{day},{length:.1f}" for day, length in lengths.items())]
    path = folder / "days.csv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8", newline="\n")
    return {"days": path}

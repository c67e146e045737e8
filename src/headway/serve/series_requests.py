"""Requests with series: their lists or CSV files, checked against the run before they may wait."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..data.codecs.series import NumberColumn
from ..data.formats.format import Note
from ..data.frequency import Frequency
from ..data.series import Series
from ..inference.forecaster import Forecaster
from ..inference.predictor import SequencePredictor
from ..inference.series_files import (
    Cell,
    SeriesFile,
    SeriesRow,
    corpus_like,
    list_series,
    text_series,
)
from .engine import LABELLED, SeriesItem
from .limits import InvalidRequest, Limits, as_invalid_request, check_number
from .schema import SeriesInput, Steps

INSPECTION_FIELDS = ("series", "csv", "name", "column", "at")
"""Fields of an inspection that only a model of series has."""
CSV = "csv"
SHOWN = 8


@dataclass(frozen=True)
class SeriesFound:
    """The series of a request, and what its sender should know of them."""

    items: list[SeriesItem]
    warnings: tuple[str, ...] = ()

    @property
    def rows(self) -> list[SeriesRow]:
        return [item.row for item in self.items]

    @property
    def fields(self) -> list[str]:
        return [item.field for item in self.items]


class SeriesRequests:
    """Makes series of requests."""

    def __init__(self, trained: Forecaster, limits: Limits) -> None:
        self.trained, self.limits = trained, limits

    def items(
        self, given: Sequence[SeriesInput] | None, csv: str | None, horizon: int
    ) -> SeriesFound:
        """The series of a request, which can be forecast.

        Raises:
            InvalidRequest: a limit is exceeded, or something cannot be forecast.
        """
        found = self._read(given, csv)
        for item in found.items:
            with as_invalid_request(item.field if csv is None else CSV):
                self.trained.check([item.row], [item.field], horizon)
        return self._with_warnings(found, horizon)

    def _with_warnings(self, found: SeriesFound, horizon: int | None) -> SeriesFound:
        """The series with the warnings about their forecasts too."""
        of_forecasts = self.trained.warnings(found.rows, found.fields, horizon)
        return replace(found, warnings=(*found.warnings, *of_forecasts))

    def chosen(
        self, given: Sequence[SeriesInput] | None, csv: str | None, name: str | None
    ) -> SeriesFound:
        """The one series of an inspection.

        Args:
            name: which of several; by default the first.
        """
        found = _chosen(self._read(given, csv), csv, name, "target")
        return self._with_warnings(found, None)

    def _read(self, given: Sequence[SeriesInput] | None, csv: str | None) -> SeriesFound:
        check_one_source(given, csv)
        if csv is not None:
            return self._of_text(csv)
        assert given is not None
        check_number(self.limits, given, "series")
        check_steps(self.limits, sum(map(_n_steps, given)), "series")
        found = [self._of_lists(one, f"series[{i}]") for i, one in enumerate(given)]
        warnings = {str(note): None for _, notes in found for note in notes if note.is_warning}
        return SeriesFound([item for item, _ in found], tuple(warnings))

    def _of_text(self, csv: str) -> SeriesFound:
        task = self.trained.task
        check_steps(self.limits, csv.count("\n"), CSV)
        with as_invalid_request(CSV):
            read = text_series(
                csv,
                CSV,
                self.trained.config.data,
                task.codecs,
                self.limits.steps,
                self.trained.step,
            )
        return _found(self.limits, read)

    def _of_lists(self, one: SeriesInput, field: str) -> tuple[SeriesItem, list[Note]]:
        columns = {"target": self._targets(one, field), "past": one.past, "known": one.known}
        columns["static"] = {name: [value] * _n_steps(one) for name, value in one.static.items()}
        chosen = {
            column: self._expected(codec.names, columns[column], f"{field}.{_FIELDS[column]}")  # type: ignore[attr-defined]
            for column, codec in self.trained.task.codecs.items()
        }
        for column, values in columns.items():
            if column not in chosen and values:
                raise InvalidRequest(f"this model has no {column} covariates", f"{field}.{column}")
        with as_invalid_request(field):
            row, notes = list_series(
                one.name,
                field,
                one.times,
                chosen,
                one.frequency,
                self.limits.steps,
                corpus_like(self.trained.config.data).day_first,
                self.trained.step,
            )
        return SeriesItem(field, row), notes

    def _targets(self, one: SeriesInput, field: str) -> Mapping[str, Sequence[Cell]]:
        """The columns to forecast."""
        names = self.trained.task.inputs.target.names
        if (one.values is None) == (one.columns is None):
            raise InvalidRequest(
                f"{field} needs values, or columns with the values of several", field
            )
        if one.columns is not None:
            return one.columns
        assert one.values is not None
        if len(names) > 1:
            raise InvalidRequest(
                f"this model forecasts {', '.join(names[:SHOWN])}: send columns with the values of "
                "each",
                f"{field}.values",
            )
        return {names[0]: one.values}

    def _expected(
        self, names: Sequence[str], given: Mapping[str, Sequence[Cell]], field: str
    ) -> dict[str, Sequence[Cell]]:
        """The given columns in the order of the training data, if they are those."""
        missing = [name for name in names if name not in given]
        unknown = [name for name in given if name not in names]
        if missing or unknown:
            problem = f"no {missing[0]!r}" if missing else f"{unknown[0][:40]!a} in it"
            expected = ", ".join(names[:SHOWN]) + (", ..." if len(names) > SHOWN else "")
            raise InvalidRequest(f"{field} has {problem}; expected {expected}", field)
        return {name: given[name] for name in names}


class LabelledSeriesRequests:
    """Makes series of requests for labels and values."""

    def __init__(self, trained: SequencePredictor[Any], limits: Limits) -> None:
        self.trained, self.limits = trained, limits
        self._codec = trained.task.inputs.series

    def items(self, given: Sequence[Steps] | None, csv: str | None) -> SeriesFound:
        """The series of a request, which the model can read.

        Raises:
            InvalidRequest: a limit is exceeded, or the model cannot read a series.
        """
        found = self._read(given, csv)
        for item in found.items:
            self._check(item, item.field if csv is None else CSV)
        return found

    def chosen(self, given: Steps | None, csv: str | None, name: str | None) -> SeriesFound:
        """The one series of an inspection, as `SeriesRequests.chosen`."""
        lists = None if given is None else [given]
        found = _chosen(self._read(lists, csv, "series"), csv, name, LABELLED)
        [item] = found.items
        self._check(item, item.field)
        return found

    def _read(
        self, given: Sequence[Steps] | None, csv: str | None, field: str = "series[{}]"
    ) -> SeriesFound:
        check_one_source(given, csv)
        if csv is not None:
            return self._of_text(csv)
        assert given is not None
        check_number(self.limits, given, "series")
        check_steps(self.limits, sum(map(len, given)), "series")
        items = []
        for i, steps in enumerate(given):
            name = field.format(i)
            items.append(SeriesItem(name, {LABELLED: self._of_lists(steps, name)}))
        return SeriesFound(items)

    def _of_text(self, csv: str) -> SeriesFound:
        with as_invalid_request(CSV):
            codecs = {LABELLED: self._codec}
            read = text_series(csv, CSV, self.trained.config.data, codecs, self.limits.steps)
        found = _found(self.limits, read)
        check_steps(self.limits, sum(len(row[LABELLED]) for row in found.rows), CSV)
        return found

    def _of_lists(self, steps: Steps, field: str) -> Series:
        """The series of a list with a number or a list of numbers for each step."""
        names = self._codec.names
        if not all(isinstance(column, NumberColumn) for column in self._codec.columns):
            raise InvalidRequest("this model reads categories too; send the series as csv", field)
        if not steps:
            raise InvalidRequest(f"{field} has no steps; give at least one", field)
        is_row = len(names) > 1 or isinstance(steps[0], list)
        for number, step in enumerate(steps):
            if (len(step) if isinstance(step, list) else None) != (len(names) if is_row else None):
                raise InvalidRequest(_unfit(step, f"{field}[{number}]", names, is_row), field)
        cells = np.array(steps, np.float64).reshape(len(steps), -1)  # None becomes NaN
        return Series("", names, cells, 0, Frequency("step"))

    def _check(self, item: SeriesItem, field: str) -> None:
        with as_invalid_request(field):
            self.trained.task.inputs.check(item.row[LABELLED], item.field)


def check_one_source(given: Sequence[Any] | None, csv: str | None) -> None:
    """Refuses a request with both lists and a file, or with neither."""
    if given is None and csv is None:
        raise InvalidRequest(
            "series is missing; send series, or the text of a file as csv", "series"
        )
    if given is not None and csv is not None:
        raise InvalidRequest("the request has series and csv; send one of them", "series")


def check_steps(limits: Limits, number: int, field: str) -> None:
    """Refuses more steps than a request may have."""
    if number > limits.steps:
        raise InvalidRequest(
            f"{field} has {number} steps and at most {limits.steps} are allowed; send the "
            "last ones, or several requests",
            field,
        )


def _unfit(step: Any, where: str, names: Sequence[str], is_row: bool) -> str:
    """The message for a step that does not have the columns of the training data."""
    got = "is no list"
    if isinstance(step, list):
        got = f"is a list of {len(step)}" if is_row else "is a list where others are numbers"
    columns = ", ".join(names[:SHOWN]) + (", ..." if len(names) > SHOWN else "")
    number = f"a list of {len(names)} numbers" if is_row else "a number"
    return f"{where} {got}; expected {number} for each step: {columns}"


def _found(limits: Limits, read: SeriesFile) -> SeriesFound:
    """The series of a text."""
    check_number(limits, read.rows, CSV)
    items = [SeriesItem(place, row) for place, row in zip(read.places, read.rows, strict=True)]
    return SeriesFound(items, tuple(read.warnings))


def _chosen(found: SeriesFound, csv: str | None, name: str | None, column: str) -> SeriesFound:
    """The series of a name, or the first, with the names of all.

    Args:
        column: of the data, whose name a series has.
    """
    names = tuple(row[column].name for row in found.rows)
    if name is not None and name not in names:
        known = ", ".join(filter(None, names[:SHOWN])) + (", ..." if len(names) > SHOWN else "")
        expected = f"expected one of {known}" if known else "the one there is has no name"
        raise InvalidRequest(f"name: there is no such series; {expected}", "name")
    item = found.items[names.index(name) if name is not None else 0]
    only = SeriesItem(CSV if csv is not None else "series", item.row, names)
    return replace(found, items=[only])


_FIELDS = {"target": "columns", "past": "past", "known": "known", "static": "static"}
"""The fields of `SeriesInput` by the column of the data."""


def _n_steps(one: SeriesInput) -> int:
    """The steps of the longest list of a series."""
    groups: list[Mapping[str, Any]] = [one.columns or {}, one.past, one.known]
    lengths = [len(cells) for group in groups for cells in group.values()]
    return max([len(one.values or []), *lengths])

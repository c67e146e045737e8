"""Times from text: the form is chosen for a whole column, and every value must have it.

Clocks are local: the offset of a time zone is dropped, and one that changes is refused. Which of
two orders fits a column better if both are possible, `date_order` decides.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

PARTS = ("year", "month", "day", "hour", "minute", "second")
FORMS = "2016-07-01 13:00:00, 2016-07-01T13:00, 01.07.2016 13:00, 7/1/2016, 20160701, 2016-07, 2016"
"""Examples of the forms, for messages."""

_CLOCK = (
    r"(?:[T ]+(?P<hour>\d{1,2})"
    r"(?::(?P<minute>\d\d)(?::(?P<second>\d\d)(?:[.,](?P<fraction>\d+))?)?)?"
    r"(?: ?(?P<half>[AaPp]\.?[Mm]\.?))?"
    r" ?(?P<zone>Z|UTC|GMT|[+-]\d\d(?::?\d\d)?)?)?"
)
_DATES = {
    "year first": r"(?P<year>\d{4})(?P<mark>[-/.])(?P<month>\d{1,2})(?P=mark)(?P<day>\d{1,2})",
    "day first": r"(?P<day>\d{1,2})\.(?P<month>\d{1,2})\.(?P<year>\d{4})",
    "either first": r"(?P<first>\d{1,2})(?P<mark>[-/])(?P<other>\d{1,2})(?P=mark)(?P<year>\d{4})",
    "digits": r"(?P<year>[12]\d{3})(?P<month>[01]\d)(?P<day>[0-3]\d)",
}
_DATE_FORMS = {name: re.compile(f"^{date}{_CLOCK}$", re.M | re.A) for name, date in _DATES.items()}
_MONTH_FORMS = {
    "months": re.compile(r"^(?P<year>\d{4})[-/.M ]?(?P<month>[01]?\d)$", re.M | re.A),
    "quarters": re.compile(r"^(?P<year>\d{4})[- ]?Q(?P<quarter>[1-4])$", re.M | re.I | re.A),
    "years": re.compile(r"^(?P<year>\d{4})$", re.M | re.A),
}
_NUMBERS = re.compile(r"^-?\d{1,18}(?:\.0*)?$", re.M | re.A)
_YEARS = (1500, 2199)  # of four digits that are years
_DATED = (1800, 2199)  # of numbers that are dates
_SECONDS = (631152000, 4102444800)  # 1990 to 2100


class TimeProblem(Exception):
    """A value of a column that cannot be read; `index` is its position."""

    def __init__(self, index: int, text: str) -> None:
        super().__init__(text)
        self.index = index


@dataclass(frozen=True)
class ParsedTimes:
    """The times of a column: `datetime64[s]` or integers, and how they were read.

    Attributes:
        notes: decisions that the text alone does not show.
        fraction: the position of the first time with a part of a second, which is left out.
        day_first: whether the day comes before the month; None if the form has one order alone.
        other: the times with the day first, if they fit that as well as the month first, in which
            they are read.
    """

    times: np.ndarray
    notes: tuple[str, ...] = ()
    fraction: int | None = None
    day_first: bool | None = None
    other: np.ndarray | None = None


def parse_times(texts: Sequence[str], day_first: bool | None = None) -> ParsedTimes:
    """The times of a column of text.

    Args:
        day_first: the order of day and month, if it is known; None is the one that fits.

    Raises:
        TimeProblem: a value has another form than the first, or none.
    """
    positions: dict[str, int] = {}  # of each text that differs from all before
    for i, text in enumerate(texts):
        positions.setdefault(text, i)
    distinct = [text.strip() for text in positions]
    try:
        parsed = _parse_distinct(distinct, day_first)
    except TimeProblem as problem:
        raise TimeProblem(list(positions.values())[problem.index], str(problem)) from None
    numbers = {text: i for i, text in enumerate(positions)}
    order = np.fromiter(map(numbers.__getitem__, texts), np.int64, len(texts))
    fraction = parsed.fraction
    first = None if fraction is None else list(positions.values())[fraction]
    other = None if parsed.other is None else parsed.other[order]
    return ParsedTimes(parsed.times[order], parsed.notes, first, parsed.day_first, other)


def looks_dated(text: str) -> bool:
    """Whether a text is a date with marks between its parts, so that it cannot be a number."""
    text = text.strip()
    forms = [*_DATE_FORMS.values(), *_MONTH_FORMS.values()]
    return not _is_number(text) and any(form.search(text) for form in forms)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def parse_parts(parts: Mapping[str, Sequence[str]]) -> ParsedTimes:
    """The times of columns that hold one part of the time each, named as in `PARTS`.

    Raises:
        TimeProblem: a part is no whole number, or is beyond its range.
    """
    columns = {name: _whole_numbers(texts, name) for name, texts in parts.items()}
    return ParsedTimes(_dated(columns, lambda i: " ".join(texts[i] for texts in parts.values())))


def parse_ordered_parts(columns: Sequence[Sequence[str]]) -> ParsedTimes | None:
    """The times of columns of year, month, day, hour, ... in this order, with names of any kind.

    None if a column is not of whole numbers in the range of its part.
    """
    ranges = (_YEARS, (1, 12), (1, 31), (0, 24), (0, 59), (0, 59))
    if len(columns) > len(PARTS):
        return None
    numbers = {}
    for name, texts, (least, most) in zip(PARTS, columns, ranges, strict=False):
        try:
            numbers[name] = _whole_numbers(texts, name)
        except TimeProblem:
            return None
        if not _within(numbers[name], least, most):
            return None
    return ParsedTimes(_dated(numbers, lambda i: " ".join(texts[i] for texts in columns)))


def _whole_numbers(texts: Sequence[str], name: str) -> np.ndarray:
    texts = [text.strip() for text in texts]
    for i, text in enumerate(texts):
        if not _NUMBERS.fullmatch(text):
            raise TimeProblem(i, f"{text!r} is no {name}; expected a whole number")
    return np.array([int(text.partition(".")[0]) for text in texts], np.int64)


def _parse_distinct(texts: list[str], day_first: bool | None) -> ParsedTimes:
    for i, text in enumerate(texts):
        if not text:
            raise TimeProblem(i, "the time is empty; fill it in, or remove the row")
        if "\n" in text:
            raise TimeProblem(i, f"{text!r} is no time; expected a form such as {FORMS}")
    joined = "\n".join(texts)
    if len(_NUMBERS.findall(joined)) == len(texts):
        return _numbers(texts)
    form = next((form for form in _DATE_FORMS.values() if form.fullmatch(texts[0])), None)
    if form is not None:
        return _dates(texts, _fields(form, texts, joined), day_first)
    for month_form in _MONTH_FORMS.values():
        if month_form.fullmatch(texts[0]):
            return ParsedTimes(_calendar(texts, _fields(month_form, texts, joined)))
    i = next((i for i, text in enumerate(texts) if not _NUMBERS.fullmatch(text)), 0)
    raise TimeProblem(
        i, f"{texts[i]!r} is no time; expected a whole number, or a form such as {FORMS}"
    )


def _fields(form: re.Pattern[str], texts: list[str], joined: str) -> dict[str, Sequence[str]]:
    """The groups of a form in each text, by name."""
    found = form.findall(joined)
    if len(found) != len(texts):
        i = next(i for i, text in enumerate(texts) if not form.fullmatch(text))
        raise TimeProblem(
            i,
            f"{texts[i]!r} is no time in the form of the first, {texts[0]!r}; write all times in "
            "one form",
        )
    groups = list(zip(*found, strict=True)) if form.groups > 1 else [tuple(found)]
    return {name: groups[i - 1] for name, i in form.groupindex.items()}


def _numbers(texts: list[str]) -> ParsedTimes:
    """Whole numbers: years, dates, seconds since 1970 or numbers of steps."""
    numbers = np.array([int(text.partition(".")[0]) for text in texts], np.int64)
    widths = {len(text) for text in texts}
    if widths == {4} and _within(numbers, *_YEARS):
        return ParsedTimes(
            (numbers - 1970).astype("datetime64[Y]").astype("datetime64[s]"),
            (f"times such as {texts[0]} are read as years",),
        )
    if widths == {8} and _within(numbers // 10000, *_DATED):
        fields = {"year": numbers // 10000, "month": numbers // 100 % 100, "day": numbers % 100}
        if (times := _dated_or_none(fields)) is not None:
            return ParsedTimes(times, (f"times such as {texts[0]} are read as dates",))
    if widths == {6} and _within(numbers // 100, *_DATED):
        fields = {"year": numbers // 100, "month": numbers % 100}
        if (times := _dated_or_none(fields)) is not None:
            return ParsedTimes(times, (f"times such as {texts[0]} are read as months",))
    for unit, factor in (("seconds", 1), ("milliseconds", 1000)):
        if _within(numbers // factor, *_SECONDS):
            note = f"times such as {texts[0]} are read as {unit} since 1970"
            fraction = next(iter(np.flatnonzero(numbers % factor).tolist()), None)
            return ParsedTimes((numbers // factor).astype("datetime64[s]"), (note,), fraction)
    return ParsedTimes(numbers)


def _within(numbers: np.ndarray, least: int, most: int) -> bool:
    return bool(((numbers >= least) & (numbers <= most)).all())


def _dates(
    texts: list[str], fields: dict[str, Sequence[str]], day_first: bool | None
) -> ParsedTimes:
    """Dates with or without a clock."""
    notes = []
    numbers: dict[str, np.ndarray] = {}
    for name in ("first", "other", *PARTS):
        if name in fields:
            numbers[name] = _as_numbers(fields[name])
    if any(fields["half"]):
        numbers["hour"] = _hours(texts, numbers["hour"], fields["half"])
    if zone := _zone(texts, fields):
        notes.append(f"the time zone {zone} is left out")
    fractions = (i for i, digits in enumerate(fields["fraction"]) if digits.strip("0"))
    fraction = next(fractions, None)
    if "first" not in fields:
        is_dotted = "mark" not in fields and "." in texts[0].partition(" ")[0]
        times = _dated(numbers, lambda i: texts[i])
        return ParsedTimes(times, tuple(notes), fraction, True if is_dotted else None)
    first, other = numbers.pop("first"), numbers.pop("other")
    shown = _shown_order(first, other, texts, day_first)
    month, day = (other, first) if shown else (first, other)
    times = _dated({**numbers, "month": month, "day": day}, lambda i: texts[i])
    swapped = None
    if shown is None and (first != other).any():
        swapped = _dated_or_none({**numbers, "month": other, "day": first})
    return ParsedTimes(times, tuple(notes), fraction, shown, swapped)


def _as_numbers(digits: Sequence[str]) -> np.ndarray:
    if "" in digits:
        digits = [text or "0" for text in digits]
    return np.array(digits).astype(np.int64)


def _shown_order(
    first: np.ndarray, other: np.ndarray, texts: list[str], day_first: bool | None
) -> bool | None:
    """Whether the day comes before the month; None if no number above 12 shows it.

    Args:
        day_first: the order that is known already.
    """
    is_first, is_other = first > 12, other > 12
    if day_first is not None and (wrong := is_other if day_first else is_first).any():
        i = int(wrong.argmax())
        usual = "day, month, year" if day_first else "month, day, year"
        raise TimeProblem(
            i,
            f"{texts[i]!r} has {max(first[i], other[i])} as its month: dates are read as {usual}, "
            f"as set by day_first = {str(day_first).lower()} or as in the training data; write "
            "all dates in that order, or such as 2016-07-01",
        )
    if is_first.any() and is_other.any():
        i, j = int(is_first.argmax()), int(is_other.argmax())
        raise TimeProblem(
            max(i, j),
            f"{texts[i]!r} has the day first and {texts[j]!r} the month; write all times in one "
            "form, such as 2016-07-01",
        )
    if day_first is not None:
        return day_first
    return True if is_first.any() else False if is_other.any() else None


def _hours(texts: list[str], hours: np.ndarray, halves: Sequence[str]) -> np.ndarray:
    """The hours of clocks with AM and PM."""
    half = np.array([text[:1].lower() for text in halves])
    wrong = (half == "") | (hours < 1) | (hours > 12)
    if wrong.any():
        i = int(wrong.argmax())
        raise TimeProblem(i, f"{texts[i]!r} is no time with AM or PM, as others of the column are")
    return hours % 12 + 12 * (half == "p")


def _zone(texts: list[str], fields: dict[str, Sequence[str]]) -> str | None:
    """The time zone of all times, or None."""
    zones = fields["zone"]
    other = next((i for i, zone in enumerate(zones) if zone != zones[0]), None)
    if other is not None:
        raise TimeProblem(
            other,
            f"{texts[other]!r} has another time zone than {texts[0]!r}; write all times in one, "
            "such as UTC",
        )
    return zones[0] or None


def _calendar(texts: list[str], fields: dict[str, Sequence[str]]) -> np.ndarray:
    """Months, quarters or years."""
    numbers = {name: _as_numbers(digits) for name, digits in fields.items()}
    if "quarter" in numbers:
        numbers["month"] = 3 * numbers.pop("quarter") - 2
    return _dated(numbers, lambda i: texts[i])


def _dated(parts: Mapping[str, np.ndarray], text: Callable[[int], str]) -> np.ndarray:
    """Times of the numbers of their parts."""
    times, is_wrong = _assembled(parts)
    if is_wrong.any():
        i = int(is_wrong.argmax())
        raise TimeProblem(i, f"{text(i)!r} is no time: there is no such day or hour; fix the file")
    return times


def _dated_or_none(parts: Mapping[str, np.ndarray]) -> np.ndarray | None:
    times, is_wrong = _assembled(parts)
    return None if is_wrong.any() else times


def _assembled(parts: Mapping[str, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Times, and which of them have a part beyond its range; 24:00 is the next day."""
    year = parts["year"]
    month, day = (parts.get(name, np.ones_like(year)) for name in ("month", "day"))
    hour, minute, second = (parts.get(name, np.zeros_like(year)) for name in PARTS[3:])
    is_wrong = (year < 1) | (year > 9999) | (month < 1) | (month > 12)
    months = (12 * (year - 1970) + month - 1).clip(-12 * 1970, 12 * 8030).astype("datetime64[M]")
    length = ((months + 1).astype("datetime64[D]") - months.astype("datetime64[D]")).astype(int)
    is_wrong |= (day < 1) | (day > length) | (hour < 0) | (hour > 24) | (minute < 0) | (minute > 59)
    is_wrong |= (second < 0) | (second > 59) | ((hour == 24) & (minute + second > 0))
    seconds = (day - 1) * 86400 + hour * 3600 + minute * 60 + second
    return months.astype("datetime64[s]") + seconds.astype("timedelta64[s]"), is_wrong


def time_texts(times: np.ndarray) -> list[str]:
    """Times as ISO texts, days alone if all are midnight; numbers of steps as they are."""
    if times.dtype.kind != "M":
        return [str(int(time)) for time in times]
    days = times.astype("datetime64[D]")
    if (times == days).all():
        return [str(day) for day in days]
    return [str(time).replace("T", " ") for time in times]

"""Data of the demo: dates as people write them in many languages, with their ISO form.

Babel provides names and patterns; this file adds writing habits (case, dots, ordinals, articles).
The data depend on the seed and on Babel's version only. A text never means two dates: numeric forms
start with the year or name their language ("de: 03.04.21"). Years and weekdays are Gregorian.
`demo.py` trains on the data.
"""

import hashlib
import random
import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import ConfigError, MissingExtra

if TYPE_CHECKING:
    from babel import Locale

_GERMANIC = ("en_US", "en_GB", "de", "nl", "sv", "da", "nb")
_ROMANCE = ("fr", "es", "it", "pt", "ro")
_SLAVIC_AND_BALTIC = ("pl", "cs", "sk", "ru", "uk", "bg", "sr", "lt", "lv")
_OTHERS = ("fi", "hu", "el", "tr", "id", "vi", "ja", "zh", "ko", "ar", "he", "hi", "fa", "th")
LANGUAGES = (*_GERMANIC, *_ROMANCE, *_SLAVIC_AND_BALTIC, *_OTHERS)
# Never trained on, yet learnable in part: each has relatives in LANGUAGES that share most of its
# month names (ca: es, fr, pt; nn: nb, da; af: nl, de; sl: sk, cs; et: de, fi; mk: sr, bg).
UNSEEN_LANGUAGES = ("ca", "nn", "af", "sl", "et", "mk")
# Never trained on in any language: "3-März-2021", "3. März 2021 (Mittwoch)", "2021, 3 März",
# "2021 03 03". Their parts and characters all occur in training.
UNSEEN_PATTERNS = ("hyphens", "weekday-after", "year-comma", "numeric-spaces")
NO_LANGUAGE = "und"  # the language of "2021/03/03" (BCP 47: undetermined)

FIRST_YEAR, LAST_YEAR = 1500, 2100
# Two-digit years as in POSIX: 69-99 are 1969-1999, 00-68 are 2000-2068.
TWO_DIGIT_YEARS = range(1969, 2069)
MAX_CHARACTERS = 45
MAX_HELD_OUT = 5_000  # distinct days of a held-out set; about 13,000 are reserved for each

SHOWCASE = (
    ("3. März 2021", "2021-03-03"),
    ("le 14 juillet 1789", "1789-07-14"),
    ("2021年3月3日", "2021-03-03"),
    ("Wednesday, March 3, 2021", "2021-03-03"),
    ("the 2nd of July 1998", "1998-07-02"),
    ("MIÉRCOLES, 12 DE OCTUBRE DE 1892", "1892-10-12"),
    ("28. října 1918", "1918-10-28"),
    ("12 апреля 1961 г.", "1961-04-12"),
    ("الجمعة، ٢٥ مارس ٢٠٢٢", "2022-03-25"),
    ("15 अगस्त 1947", "1947-08-15"),
    ("9. November '89", "1989-11-09"),
    ("en-US: 7/4/76", "1976-07-04"),
)

# Common forms besides the standard patterns, in CLDR's notation; {th} is the ordinal of the day.
_PHRASES: dict[str, tuple[str, ...]] = {
    "en_US": ("MMM d'{th}' y", "MMMM d'{th}', y", "EEE, MMMM d'{th}', y"),
    "en_GB": ("d'{th}' MMMM y", "'the' d'{th}' 'of' MMMM y", "EEEE d'{th}' 'of' MMMM y"),
    "de": ("'den' d. MMMM y", "'am' d. MMMM y", "EEEE, 'den' d. MMMM y"),
    "fr": ("'le' d'{th}' MMMM y", "'le' EEEE d'{th}' MMMM y"),
    "es": ("'el' d 'de' MMMM 'de' y", "d 'de' MMMM 'del' y", "d MMMM y"),
    "it": ("'il' d'{th}' MMMM y", "EEEE d'{th}' MMMM y"),
    "pt": ("'em' d 'de' MMMM 'de' y", "d MMMM y"),
    "nl": ("'op' d MMMM y",),
    "sv": ("'den' d MMMM y", "EEEE'en' 'den' d MMMM y"),
    "da": ("'den' d. MMMM y",),
    "nb": ("'den' d. MMMM y",),
    "pl": ("'dnia' d MMMM y", "d MMMM y 'r'."),
    "cs": ("'dne' d. MMMM y",),
    "sk": ("'dňa' d. MMMM y",),
    "ro": ("'pe' d MMMM y",),
    "id": ("'tanggal' d MMMM y",),
    "vi": ("'ngày' d 'tháng' M 'năm' y",),
    "ru": ("d MMMM y", "d MMMM y 'года'"),
    "uk": ("d MMMM y", "d MMMM y 'року'"),
    "bg": ("d MMMM y",),
    "sr": ("d. MMMM y. 'године'",),
    "el": ("'στις' d MMMM y",),
    "ja": ("y年MM月dd日", "y年M月d日(EEE)"),
    "zh": ("y年MM月dd日", "y年M月d号"),
    "ko": ("y년 M월 d일 (EEE)",),
}
_NUMERIC = ("y-MM-dd", "y/MM/dd", "y.MM.dd", "y/M/d", "y. M. d.", "y. MM. dd.")
# Other orders and separators, in every language where they can be written: how well a model reads
# UNSEEN_PATTERNS varies with its seed and its machine's rounding, and such texts are meant to help.
_VARIED = (
    "MMMM d y",
    "y MMMM d",
    "y: d MMMM",
    "y-MMMM-d",
    "d.MMMM.y",
    "d/MMMM/y",
    "d_MMMM_y",
    "(EEEE) d MMMM y",
    "d MMMM y, EEEE",
)
_VARIED_NUMERIC = ("y_MM_dd", "y: MM/dd")
# Babel writes dates in ASCII digits everywhere; these languages use their own as often.
_ZERO = {"ar": "٠", "fa": "۰", "hi": "०", "th": "๐", "ja": "０"}
# A bare year is Buddhist to a Thai reader and a numeric date Persian to an Iranian one, so Thai
# names its era and neither has numeric forms.
_NEEDS_ERA = "th"
_NO_NUMERIC = ("th", "fa")
# People type plain spaces, straight apostrophes and no direction marks.
_AS_TYPED = str.maketrans("\u00a0\u202f\u2019\u02bc", "  ''", "\u200e\u200f")


@dataclass(frozen=True)
class DateExample:
    """A date as written, its ISO form, and how it was written."""

    text: str
    iso: str
    language: str
    pattern: str


@dataclass(frozen=True)
class DatesData:
    """The splits. No day of a held-out set is in training, no day of a test in validation.

    `varied` is for training too: other orders and separators.
    """

    train: list[DateExample]
    varied: list[DateExample]
    valid: list[DateExample]
    test: list[DateExample]
    unseen_language: list[DateExample]
    unseen_pattern: list[DateExample]


@dataclass(frozen=True)
class _Form:
    """One way to write a day: a CLDR pattern in one language."""

    language: str
    name: str
    pattern: str
    weight: float = 1.0

    @property
    def is_numeric(self) -> bool:
        """Whether it has only digits and separators, so that a dropped dot would matter."""
        return self.language == NO_LANGUAGE or self.name.startswith("tagged")


def make_dates(
    seed: int,
    n_train: int = 30_000,
    n_varied: int = 0,
    n_valid: int = 500,
    n_test: int = 1_000,
    n_unseen: int = 500,
) -> DatesData:
    """Data drawn with the seed; the held-out sets do not depend on `n_train`.

    Args:
        n_varied: training texts in other orders and with other separators.
        n_valid: distinct days for validation.
        n_test: distinct days for the test.
        n_unseen: distinct days for each of the tests on unseen languages and unseen patterns.

    Raises:
        ConfigError: a size is negative, or a held-out set is larger than MAX_HELD_OUT.
        MissingExtra: Babel is not installed.
    """
    _check_sizes(
        n_train=n_train, n_varied=n_varied, n_valid=n_valid, n_test=n_test, n_unseen=n_unseen
    )
    usual = [_usual_forms(language) for language in LANGUAGES]
    # Year-first numbers belong to no language; they are as frequent as two languages.
    usual += [_numeric_forms()] * 2
    unseen_languages = [_usual_forms(language) for language in UNSEEN_LANGUAGES]
    unseen_patterns = [_unseen_forms(language) for language in (*LANGUAGES, NO_LANGUAGE)]
    unseen_patterns = [forms for forms in unseen_patterns if forms]
    varied_forms = [_varied_forms(language) for language in (*LANGUAGES, NO_LANGUAGE)]
    varied_forms = [forms for forms in varied_forms if forms]

    draw = _Drawer(seed)
    test = draw("test", usual, n_test)
    unseen_language = draw("test", unseen_languages, n_unseen, stream="unseen-language")
    unseen_pattern = draw("test", unseen_patterns, n_unseen, stream="unseen-pattern")
    valid = draw("valid", usual, n_valid)
    train = draw("train", usual, n_train)
    varied = draw("train", varied_forms, n_varied, stream="varied")
    return DatesData(train, varied, valid, test, unseen_language, unseen_pattern)


def write_dates(data: DatesData, folder: Path) -> dict[str, Path]:
    """Writes each split as a TSV file `source<TAB>target` with a header; returns their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    splits = {
        "train": data.train,
        "train-varied": data.varied,
        "valid": data.valid,
        "test": data.test,
        "test-unseen-language": data.unseen_language,
        "test-unseen-pattern": data.unseen_pattern,
    }
    paths = {}
    for name, examples in splits.items():
        lines = ["source\ttarget", *(f"{example.text}\t{example.iso}" for example in examples)]
        paths[name] = folder / f"{name}.tsv"
        paths[name].write_text("\n".join(lines) + "\n", encoding="utf-8", newline="\n")
    return paths


def _check_sizes(**sizes: int) -> None:
    for name, size in sizes.items():
        limit = None if name in ("n_train", "n_varied") else MAX_HELD_OUT
        if size < 0 or (limit is not None and size > limit):
            expected = "0 or more" if limit is None else f"0 to {limit}"
            raise ConfigError(f"{name}={size} dates cannot be made; expected {expected}")


class _Drawer:
    """Draws splits with one seed and records the date of every text."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.meanings: dict[str, str] = {}

    def __call__(
        self, split: str, groups: Sequence[Sequence[_Form]], size: int, stream: str = ""
    ) -> list[DateExample]:
        """`size` examples with days of `split`; draws a group of forms, then a form by weight."""
        rng = random.Random(f"{self.seed}/{stream or split}")
        weights = [[form.weight for form in group] for group in groups]
        examples: list[DateExample] = []
        seen: set[str] = set()  # texts in training, days elsewhere
        while len(examples) < size:
            day = _draw_day(rng)
            if _split_of(self.seed, day) != split:
                continue
            group = rng.randrange(len(groups))
            (form,) = rng.choices(groups[group], weights[group])
            example = _write(rng, form, day)
            if example is None:
                continue
            key = example.text if split == "train" else example.iso
            # No text means two dates; if a new version of Babel breaks that, the later example
            # is dropped.
            if key in seen or self.meanings.setdefault(example.text, example.iso) != example.iso:
                continue
            seen.add(key)
            examples.append(example)
        return examples


def _draw_day(rng: random.Random) -> date:
    """A day between FIRST_YEAR and LAST_YEAR; seven in ten are from 1950 to 2050."""
    luck = rng.random()
    if luck < 0.7:
        year = rng.randint(1950, 2050)
    elif luck < 0.9:
        year = rng.randint(1800, LAST_YEAR)
    else:
        year = rng.randint(FIRST_YEAR, LAST_YEAR)
    first = date(year, 1, 1)
    return first + timedelta(days=rng.randrange((date(year + 1, 1, 1) - first).days))


_SHOWCASE_DAYS = frozenset(iso for _, iso in SHOWCASE)


def _split_of(seed: int, day: date) -> str:
    """The split of a day: 6% validation, 8% test; days of the showcase are in none."""
    if day.isoformat() in _SHOWCASE_DAYS:
        return "showcase"
    digest = hashlib.blake2b(f"{seed}/{day.isoformat()}".encode(), digest_size=8).digest()
    luck = int.from_bytes(digest, "big") % 100
    return "valid" if luck < 6 else "test" if luck < 14 else "train"


@cache
def _locale(language: str) -> "Locale":
    try:
        from babel import Locale
    except ImportError:
        raise MissingExtra("making the dates of the demo", "Babel", "demo") from None
    # Formatting numbers needs some locale.
    return Locale.parse("en_US" if language == NO_LANGUAGE else language)


def _standard(language: str, width: str) -> str:
    return str(_locale(language).date_formats[width].pattern)


@cache
def _usual_forms(language: str) -> tuple[_Form, ...]:
    """The forms of a language in training (or, for an unseen language, in its test)."""
    long, full, medium = (_standard(language, width) for width in ("long", "full", "medium"))
    named = [("long", long), ("full", full)]
    if "MMM" in medium and language != _NEEDS_ERA:
        named.append(("medium", medium))
    named += [("abbreviated", _shorten(long)), ("full-abbreviated", _shorten(full))]
    if not long.startswith("y"):
        named.append(("padded", _refield(long, "d+", "dd")))
    if _has_case(language):
        named.append(("two-digit-year", _refield(long, "y+", "''yy")))
        if all(name.isalpha() for name in _month_names(language, "abbreviated")):
            named.append(("abbreviated-dotted", _refield(_shorten(long), "MMM", "MMM'.'")))
    named += [("phrase", pattern) for pattern in _PHRASES.get(language, ())]

    forms = {pattern: _Form(language, name, pattern) for name, pattern in reversed(named)}
    return (*reversed(forms.values()), *_tagged_forms(language))


def _tagged_forms(language: str) -> tuple[_Form, ...]:
    """Numeric forms that start with their language, because they are ambiguous without it."""
    short = _standard(language, "short")
    if language in _NO_NUMERIC or short.startswith("y"):
        return ()
    tag = f"'{language.replace('_', '-')}:' "
    return (
        _Form(language, "tagged", tag + _refield(short, "y+", "y"), weight=0.5),
        _Form(language, "tagged-two-digit-year", tag + _refield(short, "y+", "yy"), weight=0.5),
    )


def _numeric_forms() -> tuple[_Form, ...]:
    return tuple(_Form(NO_LANGUAGE, "numeric", pattern) for pattern in _NUMERIC)


def _unseen_forms(language: str) -> tuple[_Form, ...]:
    """The forms of UNSEEN_PATTERNS, for numbers and for languages with capital letters."""
    if language == NO_LANGUAGE:
        return (_Form(language, "numeric-spaces", "y MM dd"),)
    if not _has_case(language):
        return ()
    long = _standard(language, "long")
    forms = [_Form(language, "weekday-after", f"{long} (EEEE)")]
    if not long.startswith("y"):
        forms.append(_Form(language, "year-comma", "y, d MMMM"))
    if _is_one_word(language):
        forms.append(_Form(language, "hyphens", "d-MMMM-y"))
    return tuple(forms)


def _varied_forms(language: str) -> tuple[_Form, ...]:
    """The forms of `_VARIED`, for numbers and for languages with capital letters."""
    if language == NO_LANGUAGE:
        return tuple(_Form(language, "varied", pattern) for pattern in _VARIED_NUMERIC)
    if not _has_case(language):
        return ()
    # A month of two words ("tháng 3") needs its usual place, after the day and a space.
    patterns = [p for p in _VARIED if _is_one_word(language) or "d MMMM" in p]
    return tuple(_Form(language, "varied", pattern) for pattern in patterns)


def _refield(pattern: str, field: str, replacement: str | Callable[[re.Match[str]], str]) -> str:
    """A CLDR pattern with a field replaced, except in quoted words."""
    pieces = pattern.split("'")
    pieces[::2] = [re.sub(field, replacement, piece) for piece in pieces[::2]]
    return "'".join(pieces)


def _shorten(pattern: str) -> str:
    """A pattern with abbreviated instead of full names of months and weekdays."""
    return _refield(pattern, "MMMM|EEEE|cccc", lambda match: match[0][:3])


@cache
def _month_names(language: str, width: str) -> tuple[str, ...]:
    names = _locale(language).months["format"][width]
    return tuple(names[month] for month in range(1, 13))


def _has_case(language: str) -> bool:
    name = _month_names(language, "wide")[0]
    return name.upper() != name.lower()


def _is_one_word(language: str) -> bool:
    return not any(" " in name for name in _month_names(language, "wide"))


def _write(rng: random.Random, form: _Form, day: date) -> DateExample | None:
    """The day in this form, perhaps with a habit; None if the form does not fit the day."""
    text = _render(form, day)
    if text is None:
        return None
    name = form.name
    if not form.is_numeric:
        (habit,) = rng.choices(list(_HABITS), _HABIT_WEIGHTS)
        changed = _HABITS[habit](text, form.language)
        if changed != text:
            text, name = changed, f"{name}+{habit}"
        if form.language in _ZERO and rng.random() < 0.5:
            text, name = _with_digits(text, _ZERO[form.language]), f"{name}+digits"
    if len(text) > MAX_CHARACTERS:
        return None
    return DateExample(text, day.isoformat(), form.language, name)


def _render(form: _Form, day: date) -> str | None:
    locale = _locale(form.language)
    if "two-digit-year" in form.name and day.year not in TWO_DIGIT_YEARS:
        return None
    if form.name == "abbreviated-dotted":
        widths = ("abbreviated", "wide")
        short, wide = (_month_names(form.language, width)[day.month - 1] for width in widths)
        if short == wide:  # "May" is not abbreviated and takes no dot
            return None
    from babel.dates import parse_pattern

    text = parse_pattern(form.pattern).apply(day, locale)
    text = text.replace("{th}", _ordinal(form.language, day.day))
    return unicodedata.normalize("NFC", text.translate(_AS_TYPED))


def _ordinal(language: str, number: int) -> str:
    if language.startswith("en"):
        if number in (11, 12, 13):
            return "th"
        return {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return {"fr": "er", "it": "º"}.get(language, "") if number == 1 else ""


def _upper(text: str, language: str) -> str:
    if language == "tr":
        text = text.replace("i", "İ")
    if language == "el":  # Greek capitals have no accent
        decomposed = unicodedata.normalize("NFD", text.upper())
        return unicodedata.normalize("NFC", decomposed.replace("\u0301", ""))
    return text.upper()


def _lower(text: str, language: str) -> str:
    if language == "tr":
        text = text.replace("I", "ı").replace("İ", "i")
    return text.lower()


def _with_digits(text: str, zero: str) -> str:
    return re.sub("[0-9]", lambda match: chr(ord(zero) + int(match[0])), text)


_HABITS: dict[str, Callable[[str, str], str]] = {
    "plain": lambda text, language: text,
    "lower": _lower,
    "upper": _upper,
    "no-comma": lambda text, language: re.sub("[,،]", "", text),
    "no-dots": lambda text, language: text.replace(".", ""),
}
_HABIT_WEIGHTS = (0.6, 0.1, 0.1, 0.1, 0.1)

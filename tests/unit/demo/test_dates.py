"""The dates of the demo: unambiguous texts, disjoint splits, the files."""

import builtins
import re
import unicodedata
from collections.abc import Iterator
from datetime import date, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headway.demo import dates
from headway.demo.dates import (
    LANGUAGES,
    NO_LANGUAGE,
    SHOWCASE,
    UNSEEN_LANGUAGES,
    UNSEEN_PATTERNS,
    DateExample,
    DatesData,
    make_dates,
    write_dates,
)
from headway.errors import ConfigError, MissingExtra

SPLITS = ("train", "varied", "valid", "test", "unseen_language", "unseen_pattern")


@pytest.fixture(scope="module")
def data() -> DatesData:
    return make_dates(seed=1, n_train=12_000, n_varied=2_000, n_valid=200)


def every_form() -> list[Any]:
    forms = list(dates._numeric_forms())
    for language in (*LANGUAGES, *UNSEEN_LANGUAGES):
        forms += dates._usual_forms(language)
    for language in (*LANGUAGES, NO_LANGUAGE):
        forms += dates._unseen_forms(language) + dates._varied_forms(language)
    return forms


def every_text(form: Any, day: date) -> Iterator[str]:
    text = dates._render(form, day)
    if text is None:
        return
    if form.is_numeric:
        yield text
        return
    for habit in dates._HABITS.values():
        changed = habit(text, form.language)
        yield changed
        if form.language in dates._ZERO:
            yield dates._with_digits(changed, dates._ZERO[form.language])


def iso_days(examples: list[DateExample]) -> set[str]:
    return {example.iso for example in examples}


def base_names(examples: list[DateExample]) -> set[str]:
    return {example.pattern.split("+")[0] for example in examples}


def test_no_text_of_any_form_and_habit_means_two_days_of_a_year() -> None:
    forms = every_form()
    meanings: dict[str, date] = {}
    # The days that could also be months; in 2012, so that the year could be one too.
    for day in (date(2012, month, number) for month in range(1, 13) for number in range(1, 13)):
        for form in forms:
            for text in every_text(form, day):
                assert meanings.setdefault(text, day) == day, (text, form)


@settings(max_examples=5, deadline=None)
@given(st.integers(0, 2**32))
def test_no_text_means_two_dates_and_held_out_days_stay_out(seed: int) -> None:
    made = make_dates(seed, n_train=3_000, n_valid=100, n_test=200, n_unseen=100)
    meanings: dict[str, str] = {}
    for split in SPLITS:
        for example in getattr(made, split):
            assert meanings.setdefault(example.text, example.iso) == example.iso
    train, valid = iso_days(made.train), iso_days(made.valid)
    tests = iso_days(made.test) | iso_days(made.unseen_language) | iso_days(made.unseen_pattern)
    assert not train & valid
    assert not (train | valid) & tests
    assert not (train | valid) & {iso for _, iso in SHOWCASE}


def test_the_requested_sizes_have_distinct_days(data: DatesData) -> None:
    assert [len(getattr(data, split)) for split in SPLITS] == [12_000, 2_000, 200, 1_000, 500, 500]
    for split in SPLITS[2:]:
        examples = getattr(data, split)
        assert len(iso_days(examples)) == len(examples)
    assert len({example.text for example in data.train}) == len(data.train)


def test_unseen_languages_and_patterns_are_not_in_training(data: DatesData) -> None:
    for split in (data.train, data.valid, data.test):
        assert {example.language for example in split} == {*LANGUAGES, NO_LANGUAGE}
        assert not base_names(split) & set(UNSEEN_PATTERNS)
    assert {example.language for example in data.unseen_language} == set(UNSEEN_LANGUAGES)
    assert not base_names(data.unseen_language) & set(UNSEEN_PATTERNS)
    assert base_names(data.unseen_pattern) == set(UNSEEN_PATTERNS)


def shape(text: str) -> str:
    """A text with `a` for its names and zeros for its numbers."""
    text = re.sub(r"\d+", lambda number: "0000" if len(number[0]) == 4 else "0", text)
    return re.sub(r"[^\W\d_]+", "a", text)


def test_no_training_text_is_written_like_an_unseen_pattern(data: DatesData) -> None:
    unseen = {shape(example.text) for example in data.unseen_pattern}
    assert {"0-a-0000", "0000, 0 a", "0. a 0000 (a)"} <= unseen
    for name in ("hyphens", "weekday-after", "year-comma"):
        assert name in base_names(data.unseen_pattern)
    seen = {shape(example.text) for example in (*data.train, *data.varied)}
    # Without its commas or dots, and in languages that begin with the year, a text may look so.
    assert not {text for text in unseen & seen if "-" in text or "," in text or "(" in text}


def test_training_shows_every_character_of_the_tests(data: DatesData) -> None:
    def characters(examples: list[DateExample]) -> set[str]:
        return set("".join(example.text for example in examples).casefold())

    for split in SPLITS[2:]:
        assert characters(getattr(data, split)) <= characters(data.train)


def test_texts_are_short_clean_and_in_range(data: DatesData) -> None:
    for split in SPLITS:
        for example in getattr(data, split):
            assert 8 <= len(example.text) <= 45
            assert not set(example.text) & set('\t\n\r"{}\u00a0\u200f\u202f')
            assert example.text == unicodedata.normalize("NFC", example.text).strip()
            assert 1500 <= date.fromisoformat(example.iso).year <= 2100


def test_an_untagged_text_with_numbers_alone_has_its_year_first(data: DatesData) -> None:
    for example in data.train:
        if not any(character.isalpha() for character in example.text):
            assert example.language == NO_LANGUAGE
            assert example.text[:4] == example.iso[:4]
        if example.pattern.startswith("tagged"):
            assert example.text.startswith(example.language.replace("_", "-") + ": ")


def test_two_digit_years_are_those_of_the_pivot(data: DatesData) -> None:
    years = {
        int(example.iso[:4])
        for example in data.train
        if example.pattern.split("+")[0].endswith("two-digit-year")
    }
    assert min(years) >= 1969
    assert max(years) <= 2068
    form = dates._Form("de", "two-digit-year", "d. MMMM ''yy")
    written = [dates._render(form, date(year, 5, 1)) for year in (1968, 1969, 2068, 2069)]
    assert written == [None, "1. Mai '69", "1. Mai '68", None]


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_weekday_is_the_right_one(language: str) -> None:
    # 2021-03-01 was a Monday; CLDR's names start there in Babel too.
    names = dates._locale(language).days["stand-alone"]["wide"]
    (full,) = (form for form in dates._usual_forms(language) if form.name == "full")
    for n in range(7):
        text = dates._render(full, date(2021, 3, 1) + timedelta(days=n))
        assert text is not None
        expected = names[n].translate(dates._AS_TYPED)
        assert unicodedata.normalize("NFC", expected)[:-1].lower() in text.lower()


def test_years_are_gregorian_in_thai_and_persian(data: DatesData) -> None:
    for example in data.train:
        if example.language in ("th", "fa"):
            digits = "".join(
                str(unicodedata.digit(character))
                for character in example.text
                if character.isdigit()
            )
            assert example.iso[:4] in digits
        if example.language == "th":
            assert "ค.ศ." in example.text or "คศ" in example.text  # "of the common era"


@pytest.mark.parametrize(("text", "iso"), SHOWCASE)
def test_the_showcase_is_written_as_the_forms_write(text: str, iso: str) -> None:
    day = date.fromisoformat(iso)
    assert any(text in every_text(form, day) for form in every_form())


@pytest.mark.parametrize(
    ("language", "pattern", "text"),
    [
        ("en_US", "MMM d'{th}' y", "Mar 1st 2021"),
        ("fr", "'le' d'{th}' MMMM y", "le 1er mars 2021"),
        ("it", "'il' d'{th}' MMMM y", "il 1º marzo 2021"),
        ("de", "d. MMMM ''yy", "1. März '21"),
        ("ru", "d MMMM y\u202f'г'.", "1 марта 2021 г."),
    ],
)
def test_a_form_is_written(language: str, pattern: str, text: str) -> None:
    assert dates._render(dates._Form(language, "phrase", pattern), date(2021, 3, 1)) == text


def test_english_ordinals() -> None:
    written = [
        dates._ordinal("en_GB", number) for number in (1, 2, 3, 4, 11, 12, 13, 21, 22, 23, 30)
    ]
    assert written == ["st", "nd", "rd", "th", "th", "th", "th", "st", "nd", "rd", "th"]


def test_capitals_follow_the_language() -> None:
    assert dates._upper("3 Nisan 2021", "tr") == "3 NİSAN 2021"
    assert dates._lower("3 KASIM 2021", "tr") == "3 kasım 2021"
    assert dates._upper("3 Μαΐου 2021", "el") == "3 ΜΑΪΟΥ 2021"


def test_quoted_words_of_a_pattern_are_left_alone() -> None:
    assert dates._refield("d 'de' MMMM 'de' y", "d+", "dd") == "dd 'de' MMMM 'de' y"
    assert dates._shorten("EEEE, d MMMM") == "EEE, d MMM"


def test_same_seed_same_data_whatever_the_size_of_training(data: DatesData) -> None:
    again = make_dates(seed=1, n_train=50, n_varied=30, n_valid=200)
    assert again.test == data.test
    assert again.valid == data.valid
    assert again.unseen_language == data.unseen_language
    assert again.unseen_pattern == data.unseen_pattern
    assert again.train == data.train[:50]
    assert again.varied == data.varied[:30]
    assert make_dates(seed=2, n_train=50).train != again.train


def test_sizes_of_zero() -> None:
    assert make_dates(0, 0, 0, 0, 0, 0) == DatesData([], [], [], [], [], [])


def test_files_hold_the_exact_texts(data: DatesData, tmp_path: Any) -> None:
    paths = write_dates(data, tmp_path / "new" / "dates")
    assert sorted(path.name for path in paths.values()) == [
        "test-unseen-language.tsv",
        "test-unseen-pattern.tsv",
        "test.tsv",
        "train-varied.tsv",
        "train.tsv",
        "valid.tsv",
    ]
    for name, examples in [("train", data.train), ("test-unseen-pattern", data.unseen_pattern)]:
        lines = paths[name].read_bytes().decode("utf-8").split("\n")
        assert lines[0] == "source\ttarget"
        assert lines[-1] == ""
        pairs = [tuple(line.split("\t")) for line in lines[1:-1]]
        assert pairs == [(example.text, example.iso) for example in examples]


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ({"n_train": -1}, "n_train=-1 dates cannot be made; expected 0 or more"),
        ({"n_test": 5_001}, "n_test=5001 dates cannot be made; expected 0 to 5000"),
    ],
)
def test_impossible_sizes_are_refused(sizes: dict[str, int], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        make_dates(0, **sizes)
    assert str(caught.value) == message


def test_without_babel_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def refuse(name: str, *rest: Any, **named: Any) -> Any:
        if name.split(".")[0] == "babel":
            raise ImportError(name)
        return real(name, *rest, **named)

    dates._locale.cache_clear()
    dates._usual_forms.cache_clear()
    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(MissingExtra) as caught:
        make_dates(0, 1, 1, 1, 1, 1)
    assert str(caught.value) == (
        "making the dates of the demo needs the package 'Babel', which is not installed; "
        "pip install 'headway-attention[demo]'"
    )

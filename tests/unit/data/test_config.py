import pytest

from headway.data.config import (
    Corpus,
    DataConfig,
    RowSplit,
    as_corpora,
    columns_named,
    data_root,
    default_cache,
    files_of,
    format_for,
    format_of,
    reads_series,
    shares_of,
)
from headway.errors import ConfigError, DataError

PAIR = ("source", "target")


def test_the_three_forms_of_an_entry():
    parallel = Corpus(source="a.en", target="a.de")
    assert as_corpora("pairs.tsv", "data.train") == (Corpus(file="pairs.tsv"),)
    assert as_corpora(parallel, "data.train") == (parallel,)
    assert as_corpora(["x.csv", parallel], "data.train") == (Corpus(file="x.csv"), parallel)
    assert as_corpora(None, "data.valid") == ()


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ([], "data.train is an empty list; name at least one corpus"),
        (Corpus(file="a.tsv", weight=0), "data.train.weight is 0; expected a number above 0"),
        (Corpus(file="a.tsv", weight=float("nan")), "data.train.weight is nan"),
        (Corpus(source="a", target="b", format="csv"), "'csv', which needs data.train.file"),
        (Corpus(file="a.dict", separator=""), "data.train: a separator is empty"),
    ],
)
def test_an_entry_that_describes_no_corpus(entry, message):
    with pytest.raises(ConfigError) as caught:
        as_corpora(entry, "data.train")
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["valid", "test"])
def test_a_weight_is_for_training_data(name):
    heavy = Corpus(file="b.tsv", weight=2.0)
    assert DataConfig([heavy, "a.tsv"], **{name: ["a.tsv", Corpus(file="b.tsv")]})
    with pytest.raises(ValueError) as caught:
        DataConfig("a.tsv", **{name: ["a.tsv", heavy]})
    assert str(caught.value) == (
        f"{name}.weight = 2 has no meaning: a weight says how often a corpus is trained on; "
        "leave it out"
    )


@pytest.mark.parametrize(
    ("file", "form"),
    [
        ("a.tsv", "tsv"),
        ("a.TSV.gz", "tsv"),
        ("a.csv.gz", "csv"),
        ("deep.er/a.jsonl", "jsonl"),
        ("a.conll", "conll"),
        ("cmu.dict", "pronunciation"),
    ],
)
def test_format_by_extension(file, form):
    assert format_of(Corpus(file=file)) == form


def test_the_format_given_goes_before_the_extension():
    assert format_of(Corpus(file="a.csv", format="tsv")) == "tsv"


def test_formats_that_cannot_be_told():
    with pytest.raises(ConfigError, match=r"words.txt: the extension '.txt' does not tell"):
        format_of(Corpus(file="words.txt"))
    with pytest.raises(ConfigError, match="format 'lines' is for one file per column"):
        format_of(Corpus(file="a.tsv", format="lines"))


def test_files_of_each_column(tmp_path):
    for name in ("a.en", "a.de"):
        (tmp_path / name).touch()
    found = files_of(Corpus(source="a.en", target="a.de"), PAIR, tmp_path)
    assert found == [("a.en", tmp_path / "a.en"), ("a.de", tmp_path / "a.de")]


def test_a_column_without_a_file(tmp_path):
    (tmp_path / "a.en").touch()
    with pytest.raises(ConfigError, match="a corpus names no target"):
        files_of(Corpus(source="a.en"), PAIR, tmp_path)
    with pytest.raises(ConfigError, match="source = 1 is a column number, which needs file"):
        files_of(Corpus(source=1, target=2), PAIR, tmp_path)
    with pytest.raises(ConfigError, match="a corpus names no label"):
        files_of(Corpus(source="a.en"), ("source", "label"), tmp_path)


def test_a_missing_file_names_the_nearest(tmp_path):
    (tmp_path / "train.en").touch()
    with pytest.raises(DataError) as caught:
        files_of(Corpus(source="trian.en", target="x"), PAIR, tmp_path)
    assert str(caught.value) == f"no file {tmp_path}/trian.en; did you mean train.en?"


def test_a_missing_file_with_nothing_near(tmp_path):
    with pytest.raises(DataError, match=r"no file .*pairs.tsv; look in .* or set data.root"):
        files_of(Corpus(file="pairs.tsv"), PAIR, tmp_path)
    with pytest.raises(DataError, match=r"the folder .*nowhere does not exist"):
        files_of(Corpus(file="nowhere/pairs.tsv"), PAIR, tmp_path)
    with pytest.raises(DataError, match="is a folder; expected a file"):
        files_of(Corpus(file="."), PAIR, tmp_path)


def test_where_relative_names_start(tmp_path, monkeypatch):
    monkeypatch.setenv("HEADWAY_DATA", "/data")
    assert data_root("/other", tmp_path).as_posix() == "/other"
    assert data_root("sub", tmp_path) == tmp_path / "sub"
    assert data_root(None, tmp_path).as_posix() == "/data"
    monkeypatch.delenv("HEADWAY_DATA")
    assert data_root(None, tmp_path) == tmp_path


def test_the_cache_follows_the_environment(monkeypatch, tmp_path):
    monkeypatch.setenv("HEADWAY_CACHE", str(tmp_path))
    assert default_cache() == tmp_path
    monkeypatch.delenv("HEADWAY_CACHE")
    monkeypatch.setenv("HOME", "/home/someone")
    assert default_cache().as_posix() == "/home/someone/.cache/headway"


def test_no_validation_is_an_empty_list_and_no_training_data_a_mistake():
    assert as_corpora([], "data.valid") == ()
    with pytest.raises(
        ConfigError, match=r"^data\.train is an empty list; name at least one corpus"
    ):
        as_corpora([], "data.train")


@pytest.mark.parametrize(
    ("corpus", "message"),
    [
        (
            Corpus(file="a.tsv", split=RowSplit(above=0.5, below=0.5)),
            "data.train.split goes from 0.5 to 0.5, which is nothing; expected above to be less "
            "than below, such as { above = 0.1 }",
        ),
        (
            Corpus(file="a.txt", format="text", split=RowSplit(below=0.5)),
            "data.train.split selects rows, and a running text has none; use part = [0.0, 0.9]",
        ),
    ],
)
def test_a_split_that_means_nothing(corpus, message):
    with pytest.raises(ConfigError) as caught:
        as_corpora(corpus, "data.train")
    assert str(caught.value) == message


FORECAST, CLASSES = ("target",), ("series", "label")


def test_columns_that_hold_series():
    assert reads_series(FORECAST)
    assert reads_series(("target", "past", "known"))
    assert reads_series(CLASSES)
    assert not reads_series(PAIR)
    assert not reads_series(("text", "label"))


@pytest.mark.parametrize(
    ("file", "form"),
    [
        ("a.csv", "series"),
        ("a.tsv.gz", "series"),
        ("a.txt", "series"),
        ("a", "series"),
        ("a.parquet", "parquet"),
        ("a.ts.gz", "ts"),
        ("a.npz", "npz"),
    ],
)
def test_formats_of_series(file, form):
    assert format_for(Corpus(file=file), FORECAST) == form
    assert format_for(Corpus(file=file), CLASSES) == form
    assert format_for(Corpus(file=file, format="wide"), FORECAST) == "wide"


def test_a_table_of_texts_stays_one():
    assert format_for(Corpus(file="a.csv"), PAIR) == "csv"
    assert format_for(Corpus(file="a.csv", format="tsv"), FORECAST) == "series"
    assert format_for(Corpus(source="a", target="b"), PAIR) == "lines"
    assert format_for(Corpus(file="a.txt"), ("text",)) == "lines"


@pytest.mark.parametrize(
    ("corpus", "columns", "message"),
    [
        (
            Corpus(file="a.ts"),
            ("text", "label"),
            "a.ts: format 'ts' has series, which the task has no use for; expected text, label",
        ),
        (
            Corpus(file="a.csv", frequency="h"),
            PAIR,
            "a.csv: frequency is for series, which the task has no use for; leave it out",
        ),
        (
            Corpus(file="a.json", format="squad"),
            FORECAST,
            "a.json: format 'squad' has no series; expected one of series, wide, long, ragged, "
            "parquet, ucr, ts, npz",
        ),
        (
            Corpus(file="a.jsonl"),
            FORECAST,
            "a.jsonl: format 'jsonl' has no series; expected one of series, wide, long, ragged, "
            "parquet, ucr, ts, npz",
        ),
        (
            Corpus(target="a"),
            FORECAST,
            "a corpus of series needs file = ..., the file with all columns",
        ),
    ],
)
def test_formats_that_do_not_fit_the_task(corpus, columns, message):
    with pytest.raises(ConfigError) as caught:
        format_for(corpus, columns)
    assert str(caught.value) == message


def test_the_history_is_the_last_file(tmp_path):
    for name in ("a.csv", "b.csv"):
        (tmp_path / name).touch()
    found = files_of(Corpus(file="a.csv", history="b.csv"), FORECAST, tmp_path)
    assert found == [("a.csv", tmp_path / "a.csv"), ("b.csv", tmp_path / "b.csv")]


def test_only_columns_of_tasks_are_columns():
    corpus = Corpus(file="a.csv", id="a", time=["b"], target=["c"], past="d", missing="fill")
    assert columns_named(corpus) == {"target", "past"}


@pytest.mark.parametrize(
    "part",
    [
        *((0.0, 0.9), (8640, 11520), (-48, 0), (-96, -48), (0, 100), (0.0, -96), (-96, 1.0)),
        *(("2017-07-01", "2017-11-01"), (0.0, "2017-07-01"), ("2017-07-01", 1.0)),
    ],
)
def test_parts_of_series(part):
    corpus = Corpus(file="a.csv", part=part)
    assert as_corpora(corpus, "data.train") == (corpus,)


@pytest.mark.parametrize(
    ("part", "message"),
    [
        ((0.9, 0.1), "expected where it begins and ends, such as [0.0, 0.9]"),
        ((100, 10), "expected where it begins and ends, such as [0.0, 0.9]"),
        ((0, 0), "expected where it begins and ends, such as [0.0, 0.9]"),
        ((-10, -20), "expected where it begins and ends, such as [0.0, 0.9]"),
        (("2018", "2017"), "expected where it begins and ends, such as [0.0, 0.9]"),
    ],
)
def test_parts_that_are_none(part, message):
    with pytest.raises(ConfigError) as caught:
        as_corpora(Corpus(file="a.csv", part=part), "data.train")
    assert str(caught.value) == f"data.train.part is {list(part)}, which is no part; {message}"


def test_parts_of_texts_are_shares():
    assert shares_of(Corpus(file="a.tsv")) is None
    assert shares_of(Corpus(file="a.tsv", part=(0, 1))) == (0.0, 1.0)
    for part in ((0, 100), ("2017", "2018"), (-1, 0)):
        with pytest.raises(ConfigError) as caught:
            shares_of(Corpus(file="a.tsv", part=part))
        assert str(caught.value) == (
            f"a.tsv: part = {list(part)} has steps or dates, which are for forecasts; expected "
            "shares, such as [0.0, 0.9]"
        )

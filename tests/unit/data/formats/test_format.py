"""The table of formats: each row does what it declares, and a new format is one row."""

from pathlib import Path

import pytest

import headway
from headway.config import describe
from headway.data.config import Corpus, format_by_extension, format_of, is_cut, is_running_text
from headway.data.formats import FORMATS, CorpusFiles, FileFormat, Row
from headway.data.formats.lines import read_lines
from headway.data.formats.read import has_column, read
from headway.errors import ConfigError, DataError
from headway.run_config import RunConfig

PROMISED = {
    ".tsv": "tsv",
    ".tab": "tsv",
    ".csv": "csv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".conll": "conll",
    ".dict": "pronunciation",
}
"""Run files rely on these; a new format may add others."""


def test_the_formats_and_their_extensions():
    by_extension = {
        extension: name for name, form in FORMATS.items() for extension in form.extensions
    }
    assert by_extension.items() >= PROMISED.items()
    assert sum(len(form.extensions) for form in FORMATS.values()) == len(by_extension)
    for extension, name in by_extension.items():
        for ending in (extension, f"{extension}.gz", extension.upper()):
            assert format_by_extension(f"a{ending}") == name
    assert format_by_extension("a.txt") is None


def test_which_formats_are_cut_into_blocks():
    assert {name for name, form in FORMATS.items() if form.is_cut} >= {"text", "documents"}
    assert is_cut(Corpus(file="a", format="documents"))
    assert not is_cut(Corpus(file="a.tsv"))
    assert not is_cut(Corpus(source="a", target="b"))
    assert is_running_text(Corpus(file="a", format="text"))
    assert not is_running_text(Corpus(file="a", format="documents"))


def test_every_format_is_in_the_reference():
    page = describe(RunConfig)
    for name, form in FORMATS.items():
        assert f"`{name}`: {form.meaning}" in page


def test_an_unknown_format_is_refused_with_the_known_ones(tmp_path):
    expected = ", ".join(["auto", *FORMATS])
    for act in (
        lambda corpus: format_of(corpus),
        lambda corpus: format_of(corpus, single=True),
        lambda corpus: read(corpus, ("source", "target"), tmp_path),
    ):
        with pytest.raises(ConfigError) as caught:
            act(Corpus(file="a.tsv", format="xlsx"))
        assert str(caught.value) == f"a.tsv: no format 'xlsx'; expected one of {expected}"


def read_arrows(corpus: CorpusFiles):
    """`source -> target` on each line."""
    for number, line in enumerate(read_lines(corpus.path, corpus.name), 1):
        source, arrow, target = line.partition(" -> ")
        if not arrow:
            raise DataError(f"{corpus.name}:{number}: no arrow")
        yield Row((source, target), f"{corpus.name}:{number}")


@pytest.fixture
def arrows(monkeypatch):
    form = FileFormat(
        "two texts with an arrow between them",
        read_arrows,
        extensions=(".arrows",),
        header=lambda line: ("source", "target"),
    )
    monkeypatch.setitem(FORMATS, "arrows", form)


@pytest.mark.usefixtures("arrows")
def test_a_format_of_your_own_is_one_entry(tmp_path):
    (tmp_path / "pairs.arrows").write_text("a b -> x y\nc -> z\n")
    (tmp_path / "pairs.txt").write_text("a b -> x y\nc -> z\n")
    rows = [("a b", "x y"), ("c", "z")]
    for corpus in (Corpus(file="pairs.arrows"), Corpus(file="pairs.txt", format="arrows")):
        found = list(read(corpus, ("source", "target"), tmp_path))
        assert found == [Row(row, f"{corpus.file}:{i}") for i, row in enumerate(rows, 1)]
        assert has_column(corpus, "target", tmp_path)
        assert not has_column(corpus, "label", tmp_path)
    half = Corpus(file="pairs.arrows", part=(0.5, 1.0))
    assert [row.values for row in read(half, ("source", "target"), tmp_path)] == rows[1:]
    with pytest.raises(ConfigError, match=r"set format to one of tsv, .*, squad, arrows$"):
        format_of(Corpus(file="pairs.txt"))
    assert "`arrows`: two texts with an arrow between them (.arrows)" in describe(RunConfig)


@pytest.mark.usefixtures("arrows")
def test_a_format_of_your_own_is_trained_with(tmp_path: Path, monkeypatch):
    monkeypatch.setenv("HEADWAY_CACHE", str(tmp_path / "cache"))
    lines = "".join(f"{a} {b} -> {b} {a}\n" for a in "abcd" for b in "efgh")
    (tmp_path / "pairs.txt").write_text(lines)
    (tmp_path / "valid.arrows").write_text("a e -> e a\n")
    (tmp_path / "run.toml").write_text(
        '[data]\ntrain = { file = "pairs.txt", format = "arrows" }\nvalid = "valid.arrows"\n'
        '[text]\nkind = "words"\n[model]\nfamily = "recurrent"\nd_model = 8\n'
        "[train]\nsteps = 2\n"
    )
    config = headway.read_config(tmp_path / "run.toml")
    assert headway.train(config, tmp_path / "run").translate(["a e"])[0].text is not None
    log = (tmp_path / "run" / "log.jsonl").read_text()
    assert '"examples": {"train": 16, "valid": 1}' in log

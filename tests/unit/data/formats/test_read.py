"""Corpora of parallel files, streamed; each format has tests of its own beside this file."""

import pytest
from format_rows import PAIR, message_of, values

from headway.data.config import Corpus, RowSplit
from headway.data.formats.format import SeriesOptions
from headway.data.formats.read import Row, has_column, options_of, read
from headway.errors import ConfigError, DataError


class TestParallel:
    @staticmethod
    def read(tmp_path, en, de):
        (tmp_path / "a.en").write_bytes(en)
        (tmp_path / "a.de").write_bytes(de)
        return list(read(Corpus(source="a.en", target="a.de"), PAIR, tmp_path))

    def test_lines_are_partners(self, tmp_path):
        found = self.read(tmp_path, b"a\nb\n", b"x\r\ny")
        assert found == [Row(("a", "x"), "a.en:1"), Row(("b", "y"), "a.en:2")]

    def test_strange_line_ends_do_not_put_files_out_of_step(self, tmp_path):
        en = "one\u2028half\ntwo\x0bhalf\nthree\rhalf\n".encode()
        found = self.read(tmp_path, en, b"1\n2\n3\n")
        assert [row.values[1] for row in found] == ["1", "2", "3"]
        assert found[2].values[0] == "three\rhalf"

    def test_empty_lines_are_kept(self, tmp_path):
        assert values(self.read(tmp_path, b"\nb\n", b"x\n\n")) == [("", "x"), ("b", "")]

    def test_no_lines_at_all(self, tmp_path):
        assert self.read(tmp_path, b"", b"") == []

    def test_one_line_too_many(self, tmp_path):
        message = message_of(DataError, self.read, tmp_path, b"a\nb\nc\n", b"x\ny\n")
        assert message.startswith("a.de ends after line 2 while a.en goes on; ")
        message = message_of(DataError, self.read, tmp_path, b"a\n", b"x\n\n")
        assert message.startswith("a.en ends after line 1 while a.de goes on; ")
        message = message_of(DataError, self.read, tmp_path, b"", b"x\n")
        assert message.startswith("a.en is empty while a.de goes on; ")

    def test_any_number_of_columns(self, tmp_path):
        for name in "abc":
            (tmp_path / name).write_text(f"{name}1\n{name}2\n")

        class Three(Corpus):
            third = "c"

        corpus = Three(source="a", target="b")
        found = read(corpus, ("source", "target", "third"), tmp_path)
        assert values(found) == [("a1", "b1", "c1"), ("a2", "b2", "c2")]

    def test_streams(self, tmp_path):
        """The first rows come before a fault further down is met."""
        (tmp_path / "a.en").write_bytes(b"a\n" * 3 + b"\xff\n")
        (tmp_path / "a.de").write_bytes(b"x\n" * 4)
        stream = read(Corpus(source="a.en", target="a.de"), PAIR, tmp_path)
        assert [next(stream).values for _ in range(3)] == [("a", "x")] * 3
        with pytest.raises(DataError, match=r"a.en:4: not UTF-8"):
            next(stream)

    def test_a_split_is_by_the_text_of_a_column(self, tmp_path):
        (tmp_path / "a.tsv").write_text("".join(f"{i}\tx{i // 2}\n" for i in range(200)))
        by_target = [
            Corpus(file="a.tsv", split=RowSplit(start, stop, by="target"))
            for start, stop in ((0.0, 0.3), (0.3, 1.0))
        ]
        low, high = (values(read(corpus, PAIR, tmp_path)) for corpus in by_target)
        assert len(low) + len(high) == 200
        assert 30 < len(low) < 90
        assert not {target for _, target in low} & {target for _, target in high}
        first = Corpus(file="a.tsv", split=RowSplit(below=0.3))
        assert values(read(first, PAIR, tmp_path)) != low

    def test_a_split_by_a_column_that_is_not_there(self, tmp_path):
        (tmp_path / "a.tsv").write_text("a\tb\n")
        corpus = Corpus(file="a.tsv", split=RowSplit(by="text"))
        with pytest.raises(ConfigError) as caught:
            read(corpus, PAIR, tmp_path)
        expected = "split.by = 'text' is not a column; expected one of source, target"
        assert str(caught.value) == expected


class TestSeries:
    """What is the same for all formats of series."""

    LABELLED = ("series", "label")

    @pytest.fixture
    def folder(self, tmp_path):
        (tmp_path / "s.tsv").write_text("".join(f"{i % 3}\t{i // 2}\t1\n" for i in range(200)))
        (tmp_path / "w.csv").write_text("date,a,past\n1,1,1\n2,2,2\n3,3,3\n")
        return tmp_path

    def test_a_part_of_labelled_series_is_rows(self, folder):
        found = list(read(Corpus(file="s.tsv", part=(0.5, 0.6)), self.LABELLED, folder))
        assert [row.where for row in found] == [f"s.tsv:{i}" for i in range(101, 121)]
        corpus = Corpus(file="s.tsv", part=(0, 50))
        text = message_of(ConfigError, read, corpus, self.LABELLED, folder)
        assert text.startswith("s.tsv: part = [0, 50] has steps or dates, which are for forecasts")

    def test_a_part_of_a_forecast_is_left_to_the_task(self, folder):
        [row] = read(Corpus(file="w.csv", part=("2017", "2018"), target="a"), ("target",), folder)
        assert len(row.values[0]) == 3

    def test_a_split_keeps_equal_series_together(self, folder):
        low, high = (
            {row.values[0].digest(): row for row in read(corpus, self.LABELLED, folder)}
            for corpus in (
                Corpus(file="s.tsv", split=RowSplit(0.0, 0.3)),
                Corpus(file="s.tsv", split=RowSplit(0.3, 1.0)),
            )
        )
        assert len(low) + len(high) == 100
        assert 10 < len(low) < 50

    def test_covariates_are_never_found_by_the_header(self, folder):
        assert not has_column(Corpus(file="w.csv"), "past", folder)
        assert has_column(Corpus(file="w.csv", past="a"), "past", folder)

    def test_options(self):
        corpus = Corpus(file="a.csv", id="x", label="kind", value=3)
        assert options_of(corpus, self.LABELLED) == SeriesOptions(id="x", unread=(3,))
        assert options_of(corpus, ("series",)).unread == ("kind", 3)

    def test_a_list_of_columns_is_for_series(self, folder):
        corpus = Corpus(file="w.csv", source="a", target=["a", "past"])
        text = message_of(ConfigError, lambda: list(read(corpus, PAIR, folder)))
        assert text == (
            "w.csv:1: target is a list of columns, which is for series; name one column"
        )

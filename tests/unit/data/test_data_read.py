import gzip
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headway.data.corpora import Corpus
from headway.data.read import Row, read
from headway.errors import ConfigError, DataError

PAIR = ("source", "target")


@pytest.fixture
def rows(tmp_path):
    """Writes one file and reads it as a corpus."""

    def run(name, text, columns=PAIR, **settings):
        content = text.encode()
        (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith("gz") else content)
        return list(read(Corpus(file=name, **settings), columns, tmp_path))

    return run


def values(found):
    return [row.values for row in found]


def message_of(kind, run, *args, **settings):
    with pytest.raises(kind) as caught:
        run(*args, **settings)
    assert "\n" not in str(caught.value)
    return str(caught.value)


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
        assert message.startswith("a.en ends after line 0 while a.de goes on; ")

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


class TestTsv:
    def test_two_columns_without_a_header(self, rows):
        assert rows("p.tsv", "a b\tx\nc\ty\n") == [
            Row(("a b", "x"), "p.tsv:1"),
            Row(("c", "y"), "p.tsv:2"),
        ]

    def test_the_tasks_own_names_make_a_header(self, rows):
        assert rows("p.tsv", "target\tid\tsource\nx\t1\ta\n") == [Row(("a", "x"), "p.tsv:2")]

    def test_names_given_make_a_header(self, rows):
        found = rows("p.tsv", "en\tde\na\tx\n", source="de", target="en")
        assert values(found) == [("x", "a")]

    def test_numbers_given_make_no_header(self, rows):
        found = rows("p.tsv", "source\ttarget\t3\na\tx\t4\n", source=-1, target=1)
        assert values(found) == [("3", "source"), ("4", "a")]

    def test_quotes_are_text(self, rows):
        assert values(rows("p.tsv", '"a\tx"\n')) == [('"a', 'x"')]

    def test_gzipped(self, rows):
        assert values(rows("p.tsv.gz", "a\tx\n")) == [("a", "x")]

    def test_blank_lines_are_empty_rows(self, rows):
        assert rows("p.tsv", "a\tx\n\n") == [Row(("a", "x"), "p.tsv:1"), Row(("", ""), "p.tsv:2")]

    def test_faults(self, rows):
        text = message_of(DataError, rows, "p.tsv", "a\tx\nb\n")
        assert text.startswith("p.tsv:2: 1 field where 2 were expected")
        text = message_of(DataError, rows, "p.tsv", "a\tx\t1\n")
        assert text.startswith("p.tsv:1: 3 columns where 2 (source, target) were expected")
        text = message_of(DataError, rows, "p.tsv", "en\tde\n", source="fr", target="de")
        assert text == "p.tsv:1: no column 'fr' for source; the header has en, de"
        text = message_of(DataError, rows, "p.tsv", "a\tb\n", source=3, target=1)
        assert text == "p.tsv:1: no column 3 for source; there are 2, counted from 1"
        assert "no column 0" in message_of(DataError, rows, "p.tsv", "a\tb\n", source=0, target=1)
        text = message_of(ConfigError, rows, "p.tsv", "a\tb\n", source=1)
        assert text.startswith("p.tsv:1: which column is target?")


class TestCsv:
    def test_header_names_the_columns(self, rows):
        assert rows("p.csv", 'target,source\nx,"a, ""b"""\n') == [Row(('a, "b"', "x"), "p.csv:2")]

    def test_a_field_over_several_lines(self, rows):
        found = rows("p.csv", 'source,target\r\n"a\nb",x\nc,y\n')
        assert found == [Row(("a\nb", "x"), "p.csv:2"), Row(("c", "y"), "p.csv:4")]

    def test_by_number_below_the_header(self, rows):
        assert values(rows("p.csv", "en,de\na,x\n", source=2, target=1)) == [("x", "a")]

    def test_gzipped(self, rows):
        assert values(rows("p.csv.gz", "source,target\na,x\n")) == [("a", "x")]

    def test_faults(self, rows):
        text = message_of(DataError, rows, "p.csv", "en,de\na,x\n")
        assert text == "p.csv:1: no column 'source' for source; the header has en, de"
        text = message_of(DataError, rows, "p.csv", "source,target\na,x,1\n")
        assert text.startswith("p.csv:2: 3 fields where 2 were expected")
        text = message_of(DataError, rows, "p.csv", 'source,target\na,x\n"a,x\nb,y\n')
        assert text.startswith("p.csv:3: not valid CSV (unexpected end of data)")
        text = message_of(DataError, rows, "p.csv", 'source,target\n"a"b,x\n')
        assert text.startswith("p.csv:2: not valid CSV (")

    def test_blank_lines_are_empty_rows(self, rows):
        assert values(rows("p.csv", "source,target\na,x\n\n")) == [("a", "x"), ("", "")]


class TestJsonl:
    def test_named_columns(self, rows):
        text = '{"source": "a\\u2028\\n", "id": 1, "target": 2.5}\n'
        assert rows("p.jsonl", text) == [Row(("a\u2028\n", "2.5"), "p.jsonl:1")]

    def test_other_names(self, rows):
        assert values(rows("p.jsonl", '{"en": "a", "target": "x"}', source="en")) == [("a", "x")]

    def test_gzipped_with_a_blank_line(self, rows):
        found = rows("p.jsonl.gz", '{"source": "a", "target": "x"}\n\n')
        assert values(found) == [("a", "x"), ("", "")]

    @pytest.mark.parametrize(
        ("line", "expected"),
        [
            ('{"source": "a",', "p.jsonl:2: not valid JSON: Illegal trailing comma|Expecting"),
            ('{"source": "a"} x', "p.jsonl:2: not valid JSON: Extra data at position 17"),
            ('["a", "x"]', "p.jsonl:2: a list where an object of columns was expected"),
            ('{"source": "a", "de": ""}', "no column 'target'; the object has source, de"),
            ("{}", "p.jsonl:2: no column 'source'; the object has nothing"),
            ('{"source": null, "target": ""}', "column 'source' holds null; expected text"),
            ('{"source": true, "target": ""}', "column 'source' holds true or false"),
            ('{"source": "\\ud800", "target": ""}', "column 'source' holds half a character"),
            ("[" * 100_000, "p.jsonl:2: not valid JSON: nested too deeply"),
        ],
    )
    def test_faults(self, rows, line, expected):
        text = message_of(DataError, rows, "p.jsonl", '{"source":"a","target":"x"}\n' + line)
        assert any(part in text for part in expected.split("|"))
        assert text.startswith("p.jsonl:2: ")


class TestConll:
    TEXT = "-DOCSTART- -X- O\n\nEU NNP B\nrejects VBZ O\n\n\nPeter NNP B\n"

    def test_first_and_last_column(self, rows):
        assert rows("p.conll", self.TEXT) == [
            Row(("EU rejects", "B O"), "p.conll:3"),
            Row(("Peter", "B"), "p.conll:7"),
        ]

    def test_columns_by_number(self, rows):
        found = rows("p.conll", self.TEXT, source=1, target=2)
        assert values(found) == [("EU rejects", "NNP VBZ"), ("Peter", "NNP")]

    def test_one_column(self, rows):
        assert values(rows("p.conll", self.TEXT, columns=("source",)))[0] == ("EU rejects",)

    def test_tabs(self, rows):
        assert values(rows("p.conll.gz", "a\tX\r\nb\tY\r\n")) == [("a b", "X Y")]

    def test_faults(self, rows):
        text = message_of(DataError, rows, "p.conll", "a X\nb\n")
        assert text.startswith("p.conll:2: 1 field where 2 were expected")
        text = message_of(DataError, rows, "p.conll", "New York\tX\n")
        assert text.startswith("p.conll:1: the field 'New York' is not one word")
        text = message_of(DataError, rows, "p.conll", "\na\n")
        assert text == "p.conll:2: 1 column where source, target were expected"
        text = message_of(ConfigError, rows, "p.conll", "a X\n", source="word", target=2)
        assert text.startswith("p.conll:1: which column is source?")


class TestPronunciation:
    def test_two_spaces_or_a_tab(self, rows):
        found = rows("p.dict", ";;; note\nABLE  EY B AH L\nACE\tEY  S\n")
        assert found == [
            Row(("ABLE", "EY B AH L"), "p.dict:2"),
            Row(("ACE", "EY S"), "p.dict:3"),
        ]

    def test_two_separators_of_ones_own(self, rows):
        found = rows("p.dict.gz", "ice cream;AY-S-K\n", separator=";", inner="-")
        assert values(found) == [("ice cream", "AY S K")]

    def test_the_other_way_round(self, rows):
        assert values(rows("p.dict", "ACE  EY S\n", source=2, target=1)) == [("EY S", "ACE")]

    def test_a_word_without_symbols_is_an_empty_value(self, rows):
        assert values(rows("p.dict", "ACE\t\n\n")) == [("ACE", ""), ("", "")]

    def test_faults(self, rows):
        text = message_of(DataError, rows, "p.dict", "ACE  EY S\nABLE EY B\n")
        assert text.startswith("p.dict:2: expected a tab or two spaces between word and symbols")
        text = message_of(DataError, rows, "p.dict", "ACE  EY S\n", separator="|")
        assert text.startswith("p.dict:1: expected '|' between")


PLAIN = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\n\r\t\ufeff"), min_size=1
).filter(str.strip)


@settings(max_examples=40)
@given(pairs=st.lists(st.tuples(PLAIN, PLAIN), min_size=1))
def test_every_table_gives_the_same_rows(pairs, tmp_path_factory):
    folder = tmp_path_factory.getbasetemp()
    table = [("source", "target"), *pairs]
    quoted = [[f'"{v.replace(chr(34), chr(34) * 2)}"' for v in row] for row in table]
    files = {
        "t.tsv": "".join(f"{a}\t{b}\n" for a, b in table),
        "t.csv": "".join(f"{a},{b}\n" for a, b in quoted),
        "t.jsonl": "".join(json.dumps({"source": a, "target": b}) + "\n" for a, b in pairs),
    }
    for name, text in files.items():
        (folder / name).write_bytes(text.encode())
        assert values(read(Corpus(file=name), PAIR, folder)) == pairs

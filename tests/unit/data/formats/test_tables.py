"""TSV, CSV and JSONL: headers, columns by name and number, and what is said of bad lines."""

import json

import pytest
from format_rows import PAIR, message_of, values
from hypothesis import given, settings
from hypothesis import strategies as st

from headway.data.config import Corpus
from headway.data.formats import FORMATS, Row
from headway.data.formats.read import read
from headway.errors import ConfigError, DataError


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
        assert text == (
            "p.tsv:1: no column 'fr'; the header has en, de; say which, such as source = \"en\""
        )
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
        assert text == (
            "p.csv:1: no column 'source'; the header has en, de; say which, such as source = \"en\""
        )
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
            (r'{"a\nb": 1, "c": 2}', r"no column 'source'; the object has a\nb, c"),
            ('{"source": null, "target": ""}', "column 'source' holds null; expected text"),
            ('{"source": true, "target": ""}', "column 'source' holds true or false"),
            ('{"source": "\\ud800", "target": ""}', "column 'source' holds half a character"),
            ("[" * 100_000, "p.jsonl:2: not valid JSON: nested more than 64 deep"),
            ("9" * 5000, "p.jsonl:2: not valid JSON: a number of hundreds of digits"),
        ],
    )
    def test_faults(self, rows, line, expected):
        text = message_of(DataError, rows, "p.jsonl", '{"source":"a","target":"x"}\n' + line)
        assert any(part in text for part in expected.split("|"))
        assert text.startswith("p.jsonl:2: ")


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


@pytest.mark.parametrize(
    ("name", "line", "names"),
    [
        ("tsv", "a\tb c", ["a", "b c"]),
        ("csv", 'a,"b, c"', ["a", "b, c"]),
        ("csv", "", []),
        ("jsonl", '{"a": 1, "b c": 2}', ["a", "b c"]),
        ("jsonl", '{"a": 1', []),
        ("jsonl", "[1]", []),
        ("jsonl", "", []),
    ],
)
def test_the_names_of_columns(name, line, names):
    assert list(FORMATS[name].header(line)) == names

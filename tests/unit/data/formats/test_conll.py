"""CoNLL columns: sentences of words and tags."""

from format_rows import message_of, values

from headway.data.formats import Row
from headway.errors import ConfigError, DataError

TEXT = "-DOCSTART- -X- O\n\nEU NNP B\nrejects VBZ O\n\n\nPeter NNP B\n"


def test_first_and_last_column(rows):
    assert rows("p.conll", TEXT) == [
        Row(("EU rejects", "B O"), "p.conll:3"),
        Row(("Peter", "B"), "p.conll:7"),
    ]


def test_columns_by_number(rows):
    found = rows("p.conll", TEXT, source=1, target=2)
    assert values(found) == [("EU rejects", "NNP VBZ"), ("Peter", "NNP")]


def test_one_column(rows):
    assert values(rows("p.conll", TEXT, columns=("source",)))[0] == ("EU rejects",)


def test_tabs(rows):
    assert values(rows("p.conll.gz", "a\tX\r\nb\tY\r\n")) == [("a b", "X Y")]


def test_faults(rows):
    text = message_of(DataError, rows, "p.conll", "a X\nb\n")
    assert text.startswith("p.conll:2: 1 field where 2 were expected")
    text = message_of(DataError, rows, "p.conll", "New York\tX\n")
    assert text.startswith("p.conll:1: the field 'New York' is not one word")
    text = message_of(DataError, rows, "p.conll", "\na\n")
    assert text == "p.conll:2: 1 column where source, target were expected"
    text = message_of(ConfigError, rows, "p.conll", "a X\n", source="word", target=2)
    assert text.startswith("p.conll:1: which column is source?")

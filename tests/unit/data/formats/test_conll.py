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


def test_a_line_without_its_tag_is_named_wherever_it_is(rows):
    for faulty in ("a X\nb Y\n\nc\nd Z\n", "-DOCSTART- -X- O\na X\n\nc\n\nd Z\n"):
        text = message_of(DataError, rows, "p.conll", faulty)
        number = 1 + faulty.split("\n").index("c")
        first = 1 + faulty.split("\n").index("a X")
        assert text == (
            f"p.conll:{number}: 1 field where 2 were expected (as in line {first}); "
            "is a tag missing?"
        )
    text = message_of(DataError, rows, "p.conll", "a\nb Y\n")
    assert text == "p.conll:1: 1 column where source, target were expected"
    text = message_of(DataError, rows, "p.conll", "a X\n\nNew York Y\n")
    assert text == (
        "p.conll:3: 3 fields where 2 were expected (as in line 1); is a separator missing or "
        "inside the word?"
    )


def test_faults(rows):
    text = message_of(DataError, rows, "p.conll", "a X\nb\n")
    assert text.startswith("p.conll:2: 1 field where 2 were expected")
    text = message_of(DataError, rows, "p.conll", "New York\tX\n")
    assert text.startswith("p.conll:1: the field 'New York' is not one word")
    text = message_of(DataError, rows, "p.conll", "\na\n")
    assert text == "p.conll:2: 1 column where source, target were expected"
    text = message_of(ConfigError, rows, "p.conll", "a X\n", source="word", target=2)
    assert text.startswith("p.conll:1: which column is source?")

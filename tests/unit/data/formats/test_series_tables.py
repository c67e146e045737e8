"""Text tables of series: the form that the first lines show, and the forms by name."""

import pytest
from format_rows import message_of

from headway.errors import ConfigError, DataError

TARGET = ("target",)


def shapes(found):
    return [row.values[0].values.shape for row in found]


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("w.csv", "date,a,b\n2020-01-01,1,2\n2020-01-02,1,2\n", [(2, 2)]),
        ("w.txt", "1,2\n3,4\n5,6\n", [(3, 2)]),
        ("w.tsv", "date\t1\t2\n2020-01-01\t1\t2\n2020-01-02\t1\t2\n", [(2, 2)]),
        ("w", "day,1\n2020-01-01,1\n2020-01-02,1\n", [(2, 1)]),
        ("l.csv.gz", "unique_id,ds,y\na,1,1\nb,1,2\nb,2,3\n", [(1, 1), (2, 1)]),
        ("r.csv", '"V1","V2","V3"\n"H1","1","2"\n"H2","3",\n', [(2, 1), (1, 1)]),
        ("r.csv", "T1,1,2,3\nT2,4,5,\n", [(3, 1), (2, 1)]),
    ],
)
def test_the_form_of_a_forecast(rows, name, text, expected):
    assert shapes(rows(name, text, TARGET)) == expected


def test_an_id_makes_a_table_long(rows):
    text = "shop,day,y\na,1,1\na,2,1\nb,1,2\n"
    assert shapes(rows("l.csv", text, TARGET, id="shop", time="day")) == [(2, 1), (1, 1)]


@pytest.mark.parametrize(
    ("text", "settings", "labels"),
    [
        ("1\t0.5\t0.6\n2\t0.7\t0.8\n", {}, ["1", "2"]),
        ("yes,0.5,0.6\nno,0.7,0.8\n", {}, ["yes", "no"]),
        ("label,t1,t2\nyes,0.5,0.6\n", {}, ["yes"]),
        ("unique_id,x,label\na,1,p\na,2,p\nb,1,q\n", {}, ["p", "q"]),
        ("case,x,kind\n1,1,p\n1,2,p\n", {"id": "case", "label": "kind"}, ["p"]),
    ],
)
def test_the_form_of_labelled_series(rows, text, settings, labels):
    found = rows("t.csv", text, ("series", "label"), **settings)
    assert [row.values[1] for row in found] == labels


def test_forms_by_name(rows):
    text = "unique_id,ds,y\n1,1,1\n1,2,2\n"
    assert shapes(rows("w.csv", text, TARGET, format="wide")) == [(2, 2)]
    assert shapes(rows("w.csv", text, TARGET, format="long")) == [(2, 1)]
    assert shapes(rows("w.csv", text, TARGET, format="csv")) == [(2, 1)]
    text = message_of(ConfigError, rows, "w.csv", "a,b\n1,2\n", TARGET, format="long")
    assert text.startswith("w.csv:1: which column names the series?")


def test_tables_that_cannot_be_told(rows):
    text = message_of(ConfigError, rows, "t.csv", "a,b\n1,2\n", ("series", "label"))
    assert text.startswith("t.csv: which column names the series? The header has a, b; say it")
    text = message_of(DataError, rows, "t.csv", "\n", TARGET)
    assert text == "t.csv is empty; expected a header line and rows of values"

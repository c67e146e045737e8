"""Which field of a line is which column."""

import pytest

from headway.data.formats.columns import check_width, is_header, pick
from headway.errors import ConfigError, DataError

OPEN = {"source": None, "target": None}


def test_a_first_line_with_the_names_is_a_header():
    assert is_header(OPEN, ["target", "id", "source"])
    assert not is_header(OPEN, ["source", "id"])
    assert is_header({"source": "en", "target": 2}, ["a", "b"])  # a name asks for one
    assert not is_header({"source": 1, "target": 2}, ["source", "target"])


def test_columns_by_order_name_and_number():
    assert pick(OPEN, None, 2, "f:1") == [0, 1]
    assert pick(OPEN, ["target", "id", "source"], 3, "f:1") == [2, 0]
    assert pick({"source": "en", "target": -1}, ["de", "en", "fr"], 3, "f:1") == [1, 2]
    assert pick({"source": 2, "target": 1}, None, 2, "f:1") == [1, 0]


@pytest.mark.parametrize(
    ("columns", "header", "kind", "said"),
    [
        (
            OPEN,
            None,
            DataError,
            "f:1: 3 columns where 2 (source, target) were expected; say which, ",
        ),
        (
            OPEN,
            ["a", "Source", "c"],
            DataError,
            "f:1: no column 'source'; the header has a, Source, c; say which, such as "
            'source = "Source"',
        ),
        (
            OPEN,
            ["a;b"],
            DataError,
            "f:1: no column 'source'; the header is one column, 'a;b'; put commas (.csv) or tabs "
            "(.tsv) between columns",
        ),
        (
            {"source": 4},
            None,
            DataError,
            "f:1: no column 4 for source; there are 3, counted from 1",
        ),
        ({"source": -4}, None, DataError, "f:1: no column -4 for source; there are 3"),
        ({"source": 0}, None, DataError, "f:1: no column 0 for source; there are 3"),
        ({"source": "en"}, None, ConfigError, "f:1: which column is source? Columns of this file"),
    ],
)
def test_columns_that_are_not_there(columns, header, kind, said):
    with pytest.raises(kind) as caught:
        pick(columns, header, 3, "f:1")
    assert str(caught.value).startswith(said)


def test_lines_of_another_width():
    check_width(["a", "b"], 2, "f:2")
    with pytest.raises(DataError, match=r"^f:2: 1 field where 2 were expected"):
        check_width(["a"], 2, "f:2")

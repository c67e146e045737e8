"""Tables whose rows are imported on first use."""

import subprocess
import sys

import pytest

from headway.lazy_table import LazyTable
from headway.models import FAMILIES


def table():
    return LazyTable("json", {"encode": ".encoder:JSONEncoder", "decode": ".decoder:JSONDecoder"})


def test_rows_are_what_the_modules_hold():
    import json

    assert table()["encode"] is json.JSONEncoder
    assert dict(table()) == {"encode": json.JSONEncoder, "decode": json.JSONDecoder}


def test_names_are_known_and_unknown_ones_raise():
    assert list(table()) == ["encode", "decode"]
    assert len(table()) == 2
    assert "encode" in table()
    assert "other" not in table()
    with pytest.raises(KeyError):
        table()["other"]


def test_rows_can_be_set_and_removed():
    rows = table()
    rows["mine"] = rows["encode"]
    assert rows["mine"] is rows["encode"]
    del rows["mine"]
    del rows["encode"]
    assert list(rows) == ["decode"]
    before = dict(table())
    rows.clear()
    rows.update(before)
    assert dict(rows) == before


def test_families_have_the_names_of_the_table():
    assert {name: family.name for name, family in FAMILIES.items()} == {n: n for n in FAMILIES}


def test_one_family_loads_no_other():
    code = (
        "import sys; from headway.models import FAMILIES; FAMILIES['transformer']; "
        "print('headway.models.recurrent' in sys.modules, 'headway.models.counting' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False False\n"

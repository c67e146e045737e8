"""The order of day and month that the training data show, in the settings of a run."""

import pytest

from headway.data.config import Corpus, DataConfig
from headway.data.kept_form import with_kept_form
from headway.errors import DataError

TARGET = ("target",)
SHOWN = ["28/04/2024", "29/04/2024", "30/04/2024"]
UNCLEAR = ["01/05/2024", "02/05/2024", "03/05/2024"]
ISO = ["2024-05-01", "2024-05-02", "2024-05-03"]


@pytest.fixture
def write(tmp_path):
    def run(name, days):
        lines = ["date,y,note", *(f"{day},{i},x" for i, day in enumerate(days))]
        (tmp_path / name).write_text("\n".join(lines) + "\n")
        return name

    return run


def test_every_set_gets_the_order_of_the_training_data(tmp_path, write):
    data = DataConfig(write("a.csv", SHOWN), [write("b.csv", UNCLEAR)], write("c.csv", ISO))
    kept = with_kept_form(data, TARGET, tmp_path)
    assert kept.lines == ("columns: time: date; target: y; not read: note",)
    assert kept.data == DataConfig(
        [Corpus("a.csv", day_first=True)],
        [Corpus("b.csv", day_first=True)],
        [Corpus("c.csv", day_first=True)],
    )


def test_a_setting_stays(tmp_path, write):
    data = DataConfig(write("a.csv", SHOWN), Corpus(write("b.csv", UNCLEAR), day_first=False))
    assert with_kept_form(data, TARGET, tmp_path).data.valid == [Corpus("b.csv", day_first=False)]


def test_other_sets_show_the_order_if_the_training_data_do_not(tmp_path, write):
    data = DataConfig(write("a.csv", UNCLEAR), write("b.csv", ISO), write("c.csv", SHOWN))
    kept = with_kept_form(data, TARGET, tmp_path)
    assert kept.data.train == [Corpus("a.csv", day_first=True)]
    assert len(kept.lines) == 1


def test_a_guess_is_kept_and_warned_of(tmp_path, write):
    kept = with_kept_form(DataConfig(write("a.csv", UNCLEAR), []), TARGET, tmp_path)
    assert kept.data == DataConfig([Corpus("a.csv", day_first=False)], [])
    assert kept.lines[1].startswith("warning: times such as 01/05/2024 are read as month, day, ye")


def test_times_of_one_form_change_nothing(tmp_path, write):
    data = DataConfig(write("a.csv", ISO))
    assert with_kept_form(data, TARGET, tmp_path).data is data
    wrong = DataConfig(Corpus(write("a.csv", SHOWN), day_first=False))
    with pytest.raises(DataError, match=r"a.csv:2: '28/04/2024' has 28 as its month"):
        with_kept_form(wrong, TARGET, tmp_path)

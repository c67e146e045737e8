import json
import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from headway.data import prepare as preparing
from headway.data.codecs.series import NumberColumn, SeriesCodec
from headway.data.codecs.text import TextCodec
from headway.data.config import Corpus, RowSplit
from headway.data.formats import Note
from headway.data.formats.read import read
from headway.data.leakage import LeakCheck
from headway.data.prepare import prepare
from headway.errors import DataError

PARALLEL = Corpus(source="a.en", target="a.de")


@pytest.fixture
def root(tmp_path):
    (tmp_path / "a.en").write_text("a b\n\na a a\nb\n")
    (tmp_path / "a.de").write_text("x\ny\ny y\n \n")
    return tmp_path


@pytest.fixture
def codecs(word_tokenizer):
    return {
        "source": TextCodec(word_tokenizer("a b")),
        "target": TextCodec(word_tokenizer("x y")),
    }


@pytest.fixture
def run(root, codecs):
    def start(corpora=(PARALLEL,), **settings):
        return prepare(corpora, codecs, root / "stores", root=root, **settings)

    return start


def examples(prepared):
    store = prepared.store
    return [(store["source"][i].tolist(), store["target"][i].tolist()) for i in range(len(store))]


def test_rows_become_numbers_with_end_marks(run):
    assert examples(run()) == [([4, 5, 2], [4, 2]), ([4, 4, 4, 2], [5, 5, 2])]


def test_what_is_dropped_is_counted_and_placed(run):
    prepared = run(max_length=3)
    assert examples(prepared) == [([4, 5, 2], [4, 2])]
    assert prepared.report() == [
        "1 example prepared",
        "dropped 1: empty source (a.en:2)",
        "dropped 1: source longer than max_length = 3 (a.en:3)",
        "dropped 1: empty target (a.en:4)",
    ]


def test_only_the_first_places_are_shown(root, run):
    (root / "p.tsv").write_text("a\tx\n" + "\tx\n" * 5)
    (dropped,) = run([Corpus(file="p.tsv")]).dropped
    assert str(dropped) == "dropped 5: empty source (p.tsv:2, p.tsv:3, p.tsv:4, ...)"


def test_nothing_is_lost_between_chunks(root, run, monkeypatch):
    (root / "p.tsv").write_text("".join(f"{'a ' * (i % 7)}b\tx\n" for i in range(50)))
    monkeypatch.setattr(preparing, "CHUNK_ROWS", 7)
    monkeypatch.setattr(preparing, "CHUNK_AMOUNT", 40)
    prepared = run([Corpus(file="p.tsv")])
    assert [len(source) for source, _ in examples(prepared)] == [i % 7 + 2 for i in range(50)]


def test_corpora_stand_one_behind_the_other(root, run):
    (root / "p.tsv").write_text("b\tx\nb\ty\n\tx\n")
    prepared = run([Corpus(file="p.tsv"), PARALLEL])
    assert prepared.sizes == (2, 2)
    assert examples(prepared)[0] == ([5, 2], [4, 2])
    assert examples(prepared)[2] == ([4, 5, 2], [4, 2])


def test_found_again_with_the_same_report(run):
    first = run(max_length=3)
    again = run(max_length=3)
    assert (first.reused, again.reused) == (False, True)
    assert again.key == first.key
    assert again.sizes == first.sizes
    assert again.report() == ["1 example found", *first.report()[1:]]


def test_the_weight_and_the_time_of_writing_do_not_matter(root, run):
    run()
    os.utime(root / "a.en", (0, 0))
    assert run([Corpus(source="a.en", target="a.de", weight=2.0)]).reused


def test_any_change_of_input_builds_anew(root, run, codecs, word_tokenizer):
    keys = {run().key, run(max_length=9).key}
    (root / "a.de").write_text("x\ny\ny x\n \n")
    keys.add(run().key)
    codecs["target"] = TextCodec(word_tokenizer("y x"))
    prepared = run()
    keys.add(prepared.key)
    assert len(keys) == 4
    assert not prepared.reused
    assert examples(prepared)[0] == ([4, 5, 2], [5, 2])


def test_files_in_the_other_order_are_other_data(root, run):
    (root / "p.tsv").write_text("a\tx\n")
    (root / "q.tsv").write_text("b\tx\n")
    one = run([Corpus(file="p.tsv"), Corpus(file="q.tsv")])
    other = run([Corpus(file="q.tsv"), Corpus(file="p.tsv")])
    assert one.key != other.key


def test_a_damaged_store_is_built_anew(run):
    path = run().store.path
    (path / "source.data").write_bytes(b"")
    mended = run()
    assert not mended.reused
    assert len(examples(mended)) == 2


def test_nothing_to_use(root, run):
    (root / "p.tsv").write_text("\tx\n")
    with pytest.raises(DataError) as caught:
        run([Corpus(file="p.tsv")])
    assert str(caught.value) == (
        f"nothing to use in {root}/p.tsv: dropped 1: empty source (p.tsv:1)"
    )
    (root / "p.tsv").write_text("")
    with pytest.raises(DataError, match=r"nothing to use in .*: the files are empty"):
        run([Corpus(file="p.tsv")])
    assert [name for name in os.listdir(root / "stores") if not name.endswith(".lock")] == []


def test_a_fault_in_the_data_leaves_no_store(root, run):
    (root / "a.de").write_text("x\n")
    with pytest.raises(DataError, match=r"a.de ends after line 1 while a.en goes on"):
        run()
    assert [name for name in os.listdir(root / "stores") if not name.endswith(".lock")] == []


def test_a_file_that_changes_meanwhile(root, run, monkeypatch):
    def read_and_change(*given):
        yield from read(*given)
        (root / "a.en").write_text("a\n")

    monkeypatch.setattr(preparing, "read", read_and_change)
    with pytest.raises(DataError, match=r"a.en changed while it was being read"):
        run()
    assert [name for name in os.listdir(root / "stores") if not name.endswith(".lock")] == []


class TestLeaks:
    @pytest.fixture
    def check(self, root, codecs):
        def start(text="a b\tx\n"):
            (root / "held.tsv").write_text(text)
            return LeakCheck({"test": [Corpus(file="held.tsv")]}, codecs, root)

        return start

    def test_rides_on_preparing_and_is_remembered(self, run, check, monkeypatch):
        found = run(leak_check=check()).leaks
        assert (found.rows, found.pairs, found.first) == (4, {"test": 1}, "a.en:1")
        monkeypatch.setattr(preparing, "read", None)
        again = run(leak_check=check())
        assert again.reused
        assert again.leaks == found
        assert again.report()[-1] == str(found)

    def test_other_held_out_data_cost_a_pass_but_no_new_store(self, run, check):
        run()
        prepared = run(leak_check=check("a b\ty\n"))
        assert prepared.reused
        assert prepared.leaks.pairs == {"test": 0}
        assert prepared.leaks.sources == {"test": 1}

    @pytest.mark.parametrize("damage", ["cut", "changed", "pipe"])
    def test_a_damaged_memory_is_mended(self, root, run, check, damage):
        found = run(leak_check=check()).leaks
        (file,) = (root / "stores").glob("*.leaks-*.json")
        text = file.read_text()
        file.unlink()
        if damage == "pipe":
            os.mkfifo(file)
        else:
            file.write_text("{" if damage == "cut" else text.replace('"rows": 4', '"rows": 5'))
        assert run(leak_check=check()).leaks == found
        assert json.loads(file.read_text())["rows"] == 4


@pytest.mark.parametrize("make", [os.mkfifo, Path.touch, lambda path: path.symlink_to(path.name)])
def test_a_store_that_is_no_folder_is_built_anew(run, make):
    path = run().store.path
    shutil.rmtree(path)
    make(path)
    assert run().was_damaged
    assert path.is_dir()


def test_a_pipe_in_place_of_a_file_of_the_store(run):
    path = run().store.path
    (path / "meta.json").unlink()
    os.mkfifo(path / "meta.json")
    assert run().was_damaged
    lock = path.with_name(f"{path.name}.lock")
    lock.unlink()
    os.mkfifo(lock)
    with pytest.raises(DataError, match=r"\.lock is a named pipe; give a file$"):
        run()


@pytest.mark.parametrize("name", ["source.data", "source.offsets", "target.data", "meta.json"])
def test_one_flipped_bit_is_noticed_and_the_store_built_anew(run, name):
    first = run()
    values = [first.store["source"][i].tolist() for i in range(len(first.store))]
    file = first.store.path / name
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)
    again = run()
    assert (again.reused, again.was_damaged) == (False, True)
    assert [again.store["source"][i].tolist() for i in range(len(again.store))] == values
    assert "the stored data were damaged, or of an older headway; prepared again" in again.report()
    assert run().reused


@pytest.mark.parametrize("content", [b"", b"[]", b"{}", b"[" * 100_000, b'{"format": 1}', b"\xff"])
def test_any_damage_of_the_description_is_repaired(run, content):
    (run().store.path / "meta.json").write_bytes(content)
    assert run().was_damaged
    assert run().reused


def test_numbers_in_the_description_are_part_of_the_check(run):
    file = run().store.path / "meta.json"
    meta = json.loads(file.read_text())
    meta["notes"]["sizes"] = [1]
    file.write_text(json.dumps(meta))
    assert run().was_damaged


def test_a_split_has_a_store_of_its_own(root, run):
    (root / "n.en").write_text("".join(f"{'a ' * (i + 1)}\n" for i in range(40)))
    (root / "n.de").write_text("x\n" * 40)
    corpus = Corpus(source="n.en", target="n.de")
    splits = [None, RowSplit(below=0.5), RowSplit(above=0.5), RowSplit(below=0.5, seed=2)]
    stores = [run([replace(corpus, split=split)]) for split in splits]
    assert len({prepared.key for prepared in stores}) == 4
    whole, low, high, _ = (len(prepared.store) for prepared in stores)
    assert whole == low + high


def test_a_sample_is_spread_over_the_rows(root, run):
    (root / "n.en").write_text("a\n" * 60 + "b\n" * 40)
    (root / "n.de").write_text("x\n" * 100)
    prepared = run([Corpus(source="n.en", target="n.de")])
    assert prepared.sample(1.0, 5) is prepared.store
    assert prepared.sample(0.5, 1000) is prepared.store
    sample = prepared.sample(0.1, 5)
    rows = [sample["source"][i].tolist() for i in range(len(sample))]
    assert len(rows) == 10
    assert rows == [prepared.store["source"][10 * i].tolist() for i in range(10)]
    assert len(prepared.sample(0.001, 20)) == 20


class TestNotes:
    """What readers of series found is summed over the rows, kept with the store and reported."""

    @pytest.fixture
    def noted(self, tmp_path):
        def start(text, corpora=1):
            for number in range(corpora):
                (tmp_path / f"{number}.csv").write_text("date,a\n" + text)
            codec = SeriesCodec([NumberColumn("a")])
            chosen = [Corpus(file=f"{number}.csv") for number in range(corpora)]
            return prepare(chosen, {"target": codec}, tmp_path / "stores", root=tmp_path)

        return start

    DAYS = "".join(
        f"2024-01-{day:02d},{'' if day in (3, 5, 6, 8) else day}\n" for day in range(1, 11)
    )

    def test_they_are_counted_and_placed(self, noted):
        lines = [
            "frequency D, inferred from the times",
            "4 missing values in column 'a' (0.csv:4, 0.csv:6, 0.csv:7, ...)",
        ]
        first = noted(self.DAYS)
        assert first.report() == ["1 example prepared"]
        assert list(map(str, first.new_notes(()))) == lines
        again = noted(self.DAYS)
        assert again.reused
        assert list(map(str, again.new_notes(again.noted[:1]))) == lines[1:]
        assert [note.is_warning for note in again.noted] == [False, True]

    def test_those_of_several_files_are_summed(self, noted):
        assert str(noted(self.DAYS, corpora=2).noted[-1]) == (
            "8 missing values in column 'a' (0.csv:4, 0.csv:6, 0.csv:7, ...)"
        )

    def test_few_places_are_all_shown(self, noted):
        text = "".join(f"2024-01-{day:02d},{'' if day == 2 else day}\n" for day in range(1, 5))
        assert str(noted(text).noted[-1]) == "1 missing value in column 'a' (0.csv:3)"

    def test_nothing_to_note(self, noted):
        text = "".join(f"2024-01-{day:02d},{day}\n" for day in range(1, 5))
        assert noted(text).noted == (Note("frequency D, inferred from the times"),)


def test_a_note_is_a_line():
    note = Note("values missing", 1234, ("a:1", "a:2"))
    assert str(note) == "1,234 values missing (a:1, a:2, ...)"
    assert str(Note("values missing", 2, ("a:1", "a:2"))) == "2 values missing (a:1, a:2)"
    assert str(Note("frequency h")) == "frequency h"

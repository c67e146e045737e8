import errno
import importlib.util
import multiprocessing
import os
import signal
import sys
import time
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headway.data import store as stores
from headway.data.store import (
    ArrayColumn,
    ArrayStore,
    Column,
    Store,
    StoreWriter,
    building,
    integers,
)
from headway.errors import DataError

COLUMNS = (Column("ids", "uint16"), Column("values", "float32", (2,)))


def ids(*numbers):
    return np.array(numbers, np.int64)


def build(path, numbers, name="ids", dtype="uint16"):
    with StoreWriter(path, [Column(name, dtype)]) as writer:
        writer.append({name: [ids(*row) for row in numbers]})


def test_several_columns_come_back(tmp_path):
    vectors = [np.arange(6.0).reshape(3, 2), np.zeros((0, 2)), np.ones((1, 2))]
    with StoreWriter(tmp_path / "s", COLUMNS) as writer:
        writer.append({"ids": [ids(5, 65_535)], "values": vectors[:1]})
        writer.append({"ids": [], "values": []})
        writer.append({"ids": [ids(), ids(7)], "values": vectors[1:]})
        writer.notes = {"made": "ä"}
    store = Store(tmp_path / "s")
    assert len(store) == 3
    assert store.columns == ("ids", "values")
    assert store.notes == {"made": "ä"}
    assert [store["ids"][i].tolist() for i in range(3)] == [[5, 65_535], [], [7]]
    assert store["ids"][0].dtype == np.uint16
    for i, expected in enumerate(vectors):
        np.testing.assert_array_equal(store["values"][i], expected)
    assert store.lengths("ids").tolist() == [2, 0, 1]
    assert store.lengths("values", 1, 3).tolist() == [0, 1]


def test_files_are_flat_and_little_endian(tmp_path):
    build(tmp_path / "s", [[1, 258], [], [3]])
    assert (tmp_path / "s/ids.data").read_bytes() == b"\x01\0\x02\x01\x03\0"
    assert (tmp_path / "s/ids.offsets").read_bytes() == b"".join(
        n.to_bytes(8, "little") for n in (0, 2, 2, 3)
    )


def test_an_empty_store(tmp_path):
    build(tmp_path / "s", [])
    store = Store(tmp_path / "s")
    assert len(store) == 0
    assert store.lengths("ids").tolist() == []
    flat, lengths = store["ids"].take(np.array([], np.int64))
    assert len(flat) == len(lengths) == 0


def test_out_of_range(tmp_path):
    build(tmp_path / "s", [[1]])
    column = Store(tmp_path / "s")["ids"]
    for index in (1, -1):
        with pytest.raises(IndexError):
            column[index]


@pytest.mark.parametrize(
    ("size", "dtype"), [(1, "uint16"), (65_536, "uint16"), (65_537, "int32"), (10**6, "int32")]
)
def test_integers_by_range(size, dtype):
    assert integers("x", size).dtype == dtype


@pytest.mark.parametrize("number", [-1, 65_536])
def test_what_does_not_fit_is_refused_and_leaves_nothing(tmp_path, number):
    with pytest.raises(ValueError, match="does not fit uint16"):
        build(tmp_path / "s", [[number]])
    assert os.listdir(tmp_path) == []


def test_uneven_columns_are_refused(tmp_path):
    with (
        pytest.raises(ValueError, match="as many arrays"),
        StoreWriter(tmp_path / "s", COLUMNS) as writer,
    ):
        writer.append({"ids": [ids(1)], "values": []})


@settings(max_examples=25)
@given(
    rows=st.lists(st.lists(st.integers(0, 99), max_size=5), min_size=1, max_size=30),
    data=st.data(),
)
def test_take_is_what_indexing_gives(rows, data, tmp_path_factory):
    path = tmp_path_factory.mktemp("take") / "s"
    build(path, rows)
    column = Store(path)["ids"]
    chosen = data.draw(st.lists(st.integers(0, len(rows) - 1)))
    flat, lengths = column.take(np.array(chosen, np.int64))
    assert lengths.tolist() == [len(rows[i]) for i in chosen]
    assert flat.tolist() == [number for i in chosen for number in rows[i]]


def test_pages_given_back_can_be_read_again(tmp_path, monkeypatch):
    monkeypatch.setattr(stores, "RELEASE_BYTES", 0)
    build(tmp_path / "s", [[i, i + 1] for i in range(1000)])
    column = Store(tmp_path / "s")["ids"]
    view = column[3]
    for i in range(0, 1000, 7):
        assert column[i].tolist() == [i, i + 1]
    assert view.tolist() == [3, 4]


class TestDamage:
    def refused(self, path):
        with pytest.raises(DataError) as caught:
            Store(path)
        assert "\n" not in str(caught.value)
        return str(caught.value)

    def test_a_short_file(self, tmp_path):
        build(tmp_path / "s", [[1, 2]])
        (tmp_path / "s/ids.data").write_bytes(b"\0\0")
        assert "ids.data has 2 bytes, expected 4: the store is damaged" in self.refused(
            tmp_path / "s"
        )

    def test_a_missing_file(self, tmp_path):
        build(tmp_path / "s", [[1]])
        (tmp_path / "s/ids.offsets").unlink()
        assert "ids.offsets has 0 bytes, expected 16" in self.refused(tmp_path / "s")

    def test_no_store(self, tmp_path):
        assert "is no prepared store" in self.refused(tmp_path)
        (tmp_path / "meta.json").write_text("[1")
        assert "is no prepared store" in self.refused(tmp_path)

    def test_another_format(self, tmp_path):
        (tmp_path / "meta.json").write_text('{"format": 99}')
        assert "has store format 99, this headway reads 1" in self.refused(tmp_path)


def test_an_interrupted_block_leaves_nothing(tmp_path):
    def rows():
        yield ids(1)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), StoreWriter(tmp_path / "s", COLUMNS[:1]) as writer:
        writer.append({"ids": list(rows())})
    assert os.listdir(tmp_path) == []


def test_a_full_disk_is_said_in_words_and_leaves_nothing(tmp_path, monkeypatch):
    def full(handle):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(DataError) as caught:
        build(tmp_path / "s", [[1]])
    assert str(caught.value) == (
        f"cannot write prepared data to {tmp_path}: No space left on device; "
        "free some space or set HEADWAY_CACHE to another folder"
    )
    assert os.listdir(tmp_path) == []


def test_a_folder_that_cannot_be_made(tmp_path):
    (tmp_path / "file").touch()
    with (
        pytest.raises(DataError, match="cannot write prepared data to"),
        building(tmp_path / "file/s"),
    ):
        pass


def _build_forever(path):
    with building(path), StoreWriter(path, COLUMNS[:1]) as writer:
        while True:
            writer.append({"ids": [np.arange(1000)]})


def _build_slowly(path, done):
    with building(path):
        if not path.exists():
            build(path, [[1, 2, 3]])
            time.sleep(0.2)
            done.put("built")
        else:
            done.put("found")


FORK = multiprocessing.get_context("fork")


def test_a_killed_build_leaves_no_store_and_is_swept_by_the_next(tmp_path):
    killed, other = tmp_path / "killed", tmp_path / "other"
    process = FORK.Process(target=_build_forever, args=(killed,))
    process.start()
    left = tmp_path / "killed.tmp"
    deadline = time.monotonic() + 60
    while not (left / "ids.data").exists() and time.monotonic() < deadline:
        time.sleep(0.01)

    with building(other):
        assert left.exists(), "a build under way is not stale"
    os.kill(process.pid, signal.SIGKILL)
    process.join()
    assert left.exists()
    assert not killed.exists()

    with building(other):
        assert not left.exists()
    with building(killed):
        build(killed, [[1]])
    assert len(Store(killed)) == 1


def test_what_a_killed_build_left_is_swept_by_the_same_build(tmp_path):
    (tmp_path / "s.tmp").mkdir()
    (tmp_path / "s.tmp/ids.data").touch()
    with building(tmp_path / "s"):
        build(tmp_path / "s", [[1]])
    assert len(Store(tmp_path / "s")) == 1


def test_two_builders_at_once_both_end_well(tmp_path):
    done = FORK.Queue()
    builders = [FORK.Process(target=_build_slowly, args=(tmp_path / "s", done)) for _ in "ab"]
    for builder in builders:
        builder.start()
    assert sorted(done.get(timeout=300) for _ in builders) == ["built", "found"]
    for builder in builders:
        builder.join()
        assert builder.exitcode == 0
    assert Store(tmp_path / "s")["ids"][0].tolist() == [1, 2, 3]


def test_without_what_only_posix_has(tmp_path, monkeypatch):
    """No fcntl, no madvise, no open folders: as on Windows, whose lock is refused once."""
    refusals = [PermissionError(errno.EACCES, "locked")]

    def locking(handle, mode, n_bytes):
        if refusals:
            raise refusals.pop()

    windows = ModuleType("msvcrt")
    windows.LK_NBLCK, windows.locking = 2, locking
    monkeypatch.setitem(sys.modules, "msvcrt", windows)
    monkeypatch.setitem(sys.modules, "fcntl", None)
    monkeypatch.delattr("mmap.MADV_DONTNEED")
    spec = importlib.util.spec_from_file_location("headway.data.store_elsewhere", stores.__file__)
    elsewhere = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "headway.data.store_elsewhere", elsewhere)
    with monkeypatch.context() as patch:
        patch.setattr(sys, "platform", "win32")
        spec.loader.exec_module(elsewhere)
    monkeypatch.setattr(elsewhere, "RELEASE_BYTES", 0)
    monkeypatch.setattr(
        elsewhere, "os", SimpleNamespace(**{**vars(os), "name": "nt", "open": None})
    )

    with elsewhere.building(tmp_path / "s"):
        assert not refusals
        with elsewhere.StoreWriter(tmp_path / "s", [elsewhere.integers("ids", 9)]) as writer:
            writer.append({"ids": [ids(1, 2), ids(3)]})
    store = elsewhere.Store(tmp_path / "s")
    assert [store["ids"][i].tolist() for i in (1, 0, 1)] == [[3], [1, 2], [3]]


def test_some_examples_of_a_store(tmp_path):
    rows = [[1], [2, 3], [8, 9], [4, 5, 6], [7]]
    with StoreWriter(tmp_path / "store", [integers("a", 10)]) as writer:
        writer.append({"a": [np.array(row, int) for row in rows]})
    store = Store(tmp_path / "store").select(np.array([1, 3, 4]))
    column = store["a"]
    assert len(store) == len(column) == 3
    assert [column[i].tolist() for i in range(3)] == [[2, 3], [4, 5, 6], [7]]
    assert store.lengths("a").tolist() == [2, 3, 1]
    assert store.lengths("a", 1, 2).tolist() == [3]
    assert column.last_values().tolist() == [3, 6, 7]
    assert column.joined(1, 3).tolist() == [4, 5, 6, 7]
    values, lengths = column.take(np.array([2, 0]))
    assert (values.tolist(), lengths.tolist()) == ([7, 2, 3], [1, 2])
    with pytest.raises(IndexError, match="example 3 of 3"):
        column[3]


class TestRows:
    """Rows of all values of a column, by which windows are read; on disk and in memory."""

    VALUES = (np.arange(8.0).reshape(4, 2), np.zeros((0, 2)), 10 + np.arange(6.0).reshape(3, 2))

    @pytest.fixture(params=["disk", "memory"])
    def column(self, request, tmp_path):
        column = Column("values", "float32", (2,))
        if request.param == "memory":
            return ArrayColumn(column, self.VALUES)
        with StoreWriter(tmp_path / "s", [column]) as writer:
            writer.append({"values": list(self.VALUES)})
        return Store(tmp_path / "s")["values"]

    def test_bounds_of_examples(self, column):
        starts, ends = column.bounds(np.array([2, 0, 1, 0]))
        assert starts.tolist() == [4, 0, 4, 0]
        assert ends.tolist() == [7, 4, 4, 4]

    def test_whole_rows(self, column):
        found = column.rows_at(np.array([[0, 1], [6, 4]]))
        assert found.tolist() == [[[0, 1], [2, 3]], [[14, 15], [10, 11]]]
        found[:] = -1  # a copy
        assert column[0].tolist() == self.VALUES[0].tolist()

    def test_one_number_of_each_row(self, column):
        found = column.rows_at(np.array([[0, 1], [6, 4]]), np.array([1, 0]))
        assert found.tolist() == [[[1], [3]], [[14], [10]]]
        found[:] = -1
        assert column[0].tolist() == self.VALUES[0].tolist()

    def test_examples_and_those_taken(self, column):
        assert [column[i].tolist() for i in range(3)] == [v.tolist() for v in self.VALUES]
        values, lengths = column.take(np.array([2, 1, 2]))
        assert values.tolist() == [*self.VALUES[2].tolist()] * 2
        assert lengths.tolist() == [3, 0, 3]


def test_a_store_in_memory():
    columns = {
        "values": ArrayColumn(
            Column("values", "float32", (1,)), [np.ones((3, 1)), np.ones((1, 1))]
        ),
        "ids": ArrayColumn(Column("ids", "uint16"), [ids(1, 2), ids()]),
    }
    store = ArrayStore(columns, 2)
    assert (len(store), store.columns) == (2, ("values", "ids"))
    assert store.lengths("values").tolist() == [3, 1]
    assert store.lengths("ids").tolist() == [2, 0]
    assert store["ids"][0].tolist() == [1, 2]


def test_an_empty_store_in_memory():
    store = ArrayStore({"values": ArrayColumn(Column("values", "float32", (2,)), [])}, 0)
    assert store.lengths("values").tolist() == []
    assert store["values"].take(np.empty(0, int))[0].shape == (0, 2)

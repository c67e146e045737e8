"""The endless stream of micro-batches: order, epochs, cursors, and batches made on demand."""

from itertools import islice

import numpy as np
import pytest
import torch

from headway.training.batch_stream import BatchStream

EPOCHS = [[[0, 1], [2], [3]], [[3, 2], [1, 0]], [[0], [1], [2, 3]]]  # rows of their batches


class ListedBatches:
    """Batches from a fixed list."""

    def __init__(self, rows):
        self.rows = rows

    def epoch(self, epoch):
        return iter([np.array(indices) for indices in self.rows])

    def from_cursor(self, epoch, batch):
        return islice(self.epoch(epoch), batch, None)


class Echo:
    """A task whose batches contain the inputs they were made from."""

    def __init__(self):
        self.made = []

    def batch(self, store, indices, draw):
        self.made.append((store, indices.tolist(), draw))
        return {"rows": torch.from_numpy(indices)}


@pytest.fixture
def task():
    return Echo()


@pytest.fixture
def stream(task):
    def epoch(number):
        return f"store {number}", ListedBatches(EPOCHS[number])

    return BatchStream(task, epoch, seed=7, device=torch.device("cpu"))


def positions(stream, epoch, batch, n):
    return [(reached, number) for reached, number, _ in islice(stream.after(epoch, batch), n)]


def test_epochs_follow_each_other(stream):
    expected = [(0, 1), (0, 2), (0, 3), (1, 1), (1, 2), (2, 1)]
    assert positions(stream, 0, 0, 6) == expected


def test_the_stream_continues_from_any_position(stream):
    cursors = [(0, 0), *positions(stream, 0, 0, 8)]
    for i, cursor in enumerate(cursors[:-2]):
        assert positions(stream, *cursor, n=2) == cursors[i + 1 : i + 3]


def test_after_the_last_batch_of_an_epoch_comes_the_next_epoch(stream):
    assert positions(stream, 0, 3, 1) == [(1, 1)]


def test_a_batch_is_made_only_when_it_is_asked_for(stream, task):
    makers = [make for _, _, make in islice(stream.after(0, 2), 3)]
    assert task.made == []
    assert makers[2]()["rows"].tolist() == [1, 0]
    assert makers[0]()["rows"].tolist() == [3]
    # Each from the store of its epoch, with the seed and the epoch to draw from.
    assert task.made == [("store 1", [1, 0], (7, 1)), ("store 0", [3], (7, 0))]


def test_the_number_of_batches_is_that_of_the_first_epoch(stream):
    assert stream.n_batches() == 3


def test_tensors_are_moved_to_the_device(task):
    def epoch(number):
        return None, ListedBatches([[0]])

    stream = BatchStream(task, epoch, 1, torch.device("meta"))
    _, _, make = next(stream.after(0, 0))
    assert make()["rows"].device.type == "meta"

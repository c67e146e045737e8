import numpy as np
import pytest
import torch

from headway.data.collate import collate, pad, source_batch
from headway.data.store import Column, Store, StoreWriter


def test_pad_to_the_longest():
    found, valid = pad([np.array([5, 6], np.uint16), np.array([], np.uint16), np.array([7])])
    assert found.tolist() == [[5, 6], [0, 0], [7, 0]]
    assert valid.tolist() == [[True, True], [False, False], [True, False]]
    assert found.dtype == np.int64


def test_pad_nothing():
    found, valid = pad([])
    assert found.shape == valid.shape == (0, 0)


@pytest.fixture
def store(tmp_path):
    columns = [Column("source", "uint16"), Column("target", "int32")]
    with StoreWriter(tmp_path / "s", columns) as writer:
        writer.append(
            {
                "source": [np.array([9, 2]), np.array([65_535, 8, 2]), np.array([7, 2])],
                "target": [np.array([70_000, 5, 2]), np.array([2]), np.array([6, 2])],
            }
        )
    return Store(tmp_path / "s")


def test_a_batch(store):
    batch = collate(store, np.array([1, 0]), bos=1)
    expected = {
        "src": [[65_535, 8, 2], [9, 2, 0]],
        "src_valid": [[True, True, True], [True, True, False]],
        "tgt_in": [[1, 0, 0], [1, 70_000, 5]],
        "tgt_out": [[2, 0, 0], [70_000, 5, 2]],
        "tgt_valid": [[True, False, False], [True, True, True]],
    }
    assert {name: tensor.tolist() for name, tensor in batch.items()} == expected
    for name, tensor in batch.items():
        assert tensor.dtype == (torch.bool if name.endswith("valid") else torch.int64)


def test_segments_are_padded_like_texts():
    texts = [np.array([1, 4, 2, 5, 2], "uint16"), np.array([1, 2, 2], "uint16")]
    segments = [np.array([0, 0, 0, 1, 1], "uint8"), np.array([0, 0, 1], "uint8")]
    batch = source_batch(texts, segments)
    assert batch["segment"].tolist() == [[0, 0, 0, 1, 1], [0, 0, 1, 0, 0]]
    assert batch["segment"].dtype == torch.int64
    assert batch["segment"].shape == batch["src"].shape == batch["src_valid"].shape
    assert "segment" not in source_batch(texts)


def test_a_batch_of_one_is_not_padded(store):
    batch = collate(store, np.array([2]), bos=1)
    assert batch["src"].tolist() == [[7, 2]]
    assert batch["tgt_in"].tolist() == [[1, 6]]
    assert batch["tgt_out"].tolist() == [[6, 2]]
    assert bool(batch["src_valid"].all() and batch["tgt_valid"].all())

"""Tables of weights by hand: each transform undone, each row accounted for."""

import pytest
import torch

from headway.interop.hugging_face.weight_map import (
    OffsetPositions,
    Packed,
    Same,
    Transposed,
    Unsqueezed,
    WeightMap,
    WeightRow,
    format_names,
    matrix,
    norm,
    packed,
    reads,
    stack,
    writes,
)

MATRIX = torch.arange(12.0).reshape(6, 2)


@pytest.mark.parametrize(
    ("transform", "shapes"),
    [
        (Same(), [(6, 2)]),
        (Transposed(), [(2, 6)]),
        (Packed(3), [(2, 2)] * 3),
        (OffsetPositions(2), [(8, 2)]),
    ],
)
def test_a_transform_is_undone(transform, shapes):
    given = transform.to_hf(MATRIX)
    assert [tuple(part.shape) for part in given] == shapes
    assert torch.equal(transform.from_hf(given), MATRIX)


def test_a_vector_as_a_matrix_of_one_row():
    vector = torch.arange(3.0)
    (row,) = Unsqueezed().to_hf(vector)
    assert row.tolist() == [[0.0, 1.0, 2.0]]
    assert torch.equal(Unsqueezed().from_hf([row]), vector)


def test_reserved_rows_come_first_and_are_zero():
    (table,) = OffsetPositions(2).to_hf(MATRIX)
    assert table[:2].abs().sum() == 0
    assert torch.equal(table[2:], MATRIX)


def test_queries_keys_and_values_are_packed_in_this_order():
    q, k, v = (torch.full((1, 2), value) for value in (1.0, 2.0, 3.0))
    table = WeightMap(packed(("q", "k", "v"), "qkv", bias=False))
    found = table.from_hf({"q.weight": q, "k.weight": k, "v.weight": v})
    assert found["qkv.weight"].tolist() == [[1.0, 1.0], [2.0, 2.0], [3.0, 3.0]]


def test_rows_of_a_stack():
    rows = list(stack("model.layers", "encoder", 2, (*reads("fc1", "inner"), *norm("ln", "norm"))))
    assert [(row.theirs, row.ours) for row in rows[:2]] == [
        (("model.layers.0.fc1.weight",), "encoder.0.inner.weight"),
        (("model.layers.0.fc1.bias",), "encoder.0.inner.bias"),
    ]
    assert rows[-1].theirs == ("model.layers.1.ln.bias",)


def test_channels_stand_in_the_order_of_the_library():
    """Sines first: channels 0, 2, 1, 3 of ours, wherever the residual stream lies."""
    order = torch.tensor([0, 2, 1, 3])
    rows = [matrix("words", "embedding"), *writes("out", "outer"), *reads("in", "inner")]
    ours = {
        "embedding": torch.arange(4.0)[None],
        "outer.weight": torch.arange(4.0)[:, None],
        "outer.bias": torch.arange(4.0),
        "inner.weight": torch.arange(4.0)[None],
        "inner.bias": torch.arange(3.0),
    }
    table = WeightMap(rows, order)
    theirs = table.to_hf(ours)
    assert theirs["words"].tolist() == [[0, 2, 1, 3]]
    assert theirs["out.weight"].squeeze(1).tolist() == [0, 2, 1, 3]
    assert theirs["out.bias"].tolist() == [0, 2, 1, 3]
    assert theirs["in.weight"].tolist() == [[0, 2, 1, 3]]
    assert theirs["in.bias"].tolist() == [0, 1, 2]
    back = table.from_hf(theirs)
    assert all(torch.equal(back[name], tensor) for name, tensor in ours.items())


def test_what_is_implied_may_be_absent_and_must_be_equal_if_not():
    row = WeightRow(("positions",), "positions.weight", is_implied=True, is_written=False)
    table, ours = WeightMap([row]), {"positions.weight": MATRIX}
    assert table.to_hf(ours) == {}
    assert not table.mismatch(ours, {})
    assert not table.mismatch(ours, {"positions": MATRIX + 1e-4})
    assert table.mismatch(ours, {"positions": MATRIX + 1}).wrong_values == ["positions"]


def test_names_that_differ_by_a_layer_are_one():
    names = ["h.0.ln.bias", "h.10.ln.bias", "h.2.fc.0.weight", "end"]
    assert format_names(names) == "h.{0,10}.ln.bias, h.2.fc.0.weight, end"

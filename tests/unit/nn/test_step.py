"""The seam: buffers that grow, rows that move, forks that are independent, States used once."""

import pytest
import torch

from headway.nn.step import Fixed, Growing, State, select


def numbered(B, N, H, t, E, start=0):
    return torch.arange(start, start + B * N * H * t * E, dtype=torch.float32).view(B, N, H, t, E)


def grown(lengths, capacity=4, B=2):
    like = torch.zeros(1)
    cache = Growing.empty(like, B, 1, 3, capacity)
    entries = [numbered(B, 1, 1, t, 3, 100 * i) for i, t in enumerate(lengths)]
    for entry in entries:
        cache.append(entry)
    return cache, torch.cat(entries, dim=3)


def test_select_by_hand():
    value = torch.tensor([[10, 11], [20, 21]])
    assert select(value, torch.tensor([[1, 1, 0], [0, 1, 1]])).tolist() == [
        [11, 11, 10],
        [20, 21, 21],
    ]


def test_growing_returns_all_entries_in_order():
    cache = Growing.empty(torch.zeros(1), 2, 1, 3, capacity=4)
    first, second = numbered(2, 1, 1, 3, 3), numbered(2, 1, 1, 1, 3, 50)
    assert torch.equal(cache.append(first), first)
    assert torch.equal(cache.append(second), torch.cat([first, second], dim=3))
    assert cache.length == 4


def test_growing_doubles_and_no_more():
    cache = Growing.empty(torch.zeros(1), 1, 1, 2, capacity=4)
    capacities = []
    for i in range(17):
        cache.append(torch.full((1, 1, 1, 1, 2), float(i)))
        capacities.append(cache.buffer.size(3))
    assert capacities == [4] * 4 + [8] * 4 + [16] * 8 + [32]
    whole = cache.append(torch.full((1, 1, 1, 1, 2), 17.0))
    assert whole[0, 0, 0, :, 0].tolist() == [float(i) for i in range(18)]


def test_growing_takes_more_than_double_at_once():
    cache, expected = grown([2, 30], capacity=4)
    assert cache.length == 32
    assert torch.equal(cache.buffer[:, :, :, :32], expected)


def test_growing_within_capacity_does_not_copy_the_past():
    cache, _ = grown([2], capacity=8)
    place = cache.buffer.data_ptr()
    cache.append(numbered(2, 1, 1, 3, 3))
    assert cache.buffer.data_ptr() == place


def test_reorder_to_another_number_of_hypotheses():
    cache, expected = grown([3])
    wide = cache.reorder(torch.tensor([[0, 0, 0], [0, 0, 0]]))
    assert wide.length == 3
    content = wide.append(numbered(2, 3, 1, 1, 3, 900))
    assert content.shape == (2, 3, 1, 4, 3)
    for n in range(3):
        assert torch.equal(content[:, n, :, :3], expected[:, 0])
    narrow = wide.reorder(torch.tensor([[2], [1]]))
    row = narrow.append(numbered(2, 1, 1, 1, 3))[:, 0, :, :4]
    assert torch.equal(row, torch.stack([content[0, 2], content[1, 1]]))


def test_keep_rows_of_a_growing_cache():
    cache, expected = grown([3], B=4)
    kept = cache.keep(torch.tensor([3, 1]))
    content = kept.append(numbered(2, 1, 1, 1, 3))
    assert torch.equal(content[:, :, :, :3], expected[[3, 1]])


def test_fork_of_a_growing_cache_is_independent():
    cache, expected = grown([2], capacity=8)
    fork = cache.fork()
    cache.append(torch.full((2, 1, 1, 1, 3), -1.0))
    content = fork.append(torch.full((2, 1, 1, 1, 3), -2.0))
    assert torch.equal(content[:, :, :, :2], expected)
    assert (content[:, :, :, 2] == -2).all()
    assert (cache.buffer[:, :, :, 2] == -1).all()


def test_fixed():
    value = torch.arange(6.0).view(3, 2, 1)
    cache = Fixed(value)
    assert cache.reorder(torch.tensor([[1], [0], [1]])).value.flatten().tolist() == [1, 2, 5]
    assert cache.keep(torch.tensor([2, 0])).value.flatten().tolist() == [4, 5, 0, 1]
    fork = cache.fork()
    value.zero_()
    assert fork.value.flatten().tolist() == [0, 1, 2, 3, 4, 5]


def a_state():
    memory = {"keys": torch.tensor([[1.0], [2.0], [3.0]])}
    return State(memory, {"hidden": Fixed(torch.arange(6.0).view(3, 2))})


def test_reorder_touches_the_cache_only():
    state = a_state()
    memory = state.memory["keys"]
    moved = state.reorder(torch.tensor([[1, 1, 0]] * 3))
    assert moved.memory["keys"] is memory
    assert moved.cache["hidden"].value.tolist() == [[1, 1, 0], [3, 3, 2], [5, 5, 4]]


def test_keep_touches_both():
    kept = a_state().keep(torch.tensor([2, 0]))
    assert kept.memory["keys"].tolist() == [[3.0], [1.0]]
    assert kept.cache["hidden"].value.tolist() == [[4, 5], [0, 1]]


def test_keep_of_nobody():
    kept = a_state().keep(torch.tensor([], dtype=torch.long))
    assert kept.memory["keys"].shape == (0, 1)


@pytest.mark.parametrize(
    "consume",
    [
        lambda state: state.reorder(torch.zeros(3, 1, dtype=torch.long)),
        lambda state: state.keep(torch.tensor([0])),
        lambda state: state.successor({}),
    ],
    ids=["reorder", "keep", "step"],
)
@pytest.mark.parametrize(
    "use",
    [
        lambda state: state.memory,
        lambda state: state.cache,
        lambda state: state.fork(),
        lambda state: state.reorder(torch.zeros(3, 1, dtype=torch.long)),
        lambda state: state.keep(torch.tensor([0])),
        lambda state: state.successor({}),
    ],
    ids=["memory", "cache", "fork", "reorder", "keep", "successor"],
)
def test_a_consumed_state_raises(consume, use):
    state = a_state()
    consume(state)
    with pytest.raises(RuntimeError, match=r"consumed by step, reorder or keep; fork\(\) it first"):
        use(state)


def test_a_fork_outlives_its_original():
    state = a_state()
    fork = state.fork()
    state.keep(torch.tensor([0]))
    assert fork.cache["hidden"].value.shape == (3, 2)
    assert fork.reorder(torch.zeros(3, 1, dtype=torch.long)).cache["hidden"].value.shape == (3, 1)

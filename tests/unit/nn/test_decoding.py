"""The seam: slots that stay, rows that move, forks that are independent, States used once."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from headway.nn.decoding import DecoderState, KVCache, RecurrentCache, select

WIDTHS = [((1, 2), (2, 3)), ((1, 2), (2, 3))]  # two layers: one head of 2, two heads of 3


class Follower:
    """A Past beside the plain thing: for each hypothesis the list of what was written."""

    def __init__(self, B, capacity=4):
        self.past = KVCache(WIDTHS, B, torch.zeros(1), capacity)
        self.written = [[[]] for _ in range(B)]  # [sentence][hypothesis] -> numbers
        self.next = 0.0

    def write(self, t=1):
        B, N = len(self.written), len(self.written[0])
        numbers = torch.arange(self.next, self.next + B * N * t).view(B, N, t)
        self.next += B * N * t
        mask = self.past.allocate(N, t).mask  # (B, 1, N*t, K)
        flat = numbers.view(B, 1, N * t, 1)
        for layer in range(2):
            keys, values = self.past.write(
                layer, flat.expand(-1, 1, -1, 2) + layer, flat.expand(-1, 2, -1, 3) + layer
            )
            assert keys.shape[:2] == (B, 1)
            assert values.shape[:2] == (B, 2)
        assert mask.shape == (B, 1, N * t, keys.size(2))
        for b in range(B):
            for n in range(N):
                for j in range(t):
                    self.written[b][n].append(numbers[b, n, j].item())
                    seen = keys[b, 0, mask[b, 0, n * t + j], 0] - 1
                    assert sorted(seen.tolist()) == sorted(self.written[b][n])
                    assert torch.equal(keys[b, 0, :, 0], values[b, 1, :, 2])
        self.check_places(keys)

    def reorder(self, parents):
        self.past = self.past.reorder(torch.tensor(parents))
        self.written = [
            [list(row[p]) for p in chosen]
            for row, chosen in zip(self.written, parents, strict=True)
        ]

    def keep(self, rows):
        self.past = self.past.keep(torch.tensor(rows))
        self.written = [self.written[row] for row in rows]

    def check_places(self, keys):
        """Each slot that is seen stands where its number stands in what was written."""
        for b, places in enumerate(self.past.positions.tolist()):
            for slot, place in enumerate(places):
                number = keys[b, 0, slot, 0].item() - 1
                where = {row.index(number) for row in self.written[b] if number in row}
                assert where == ({place} if place >= 0 else set())


def test_select_by_hand():
    value = torch.tensor([[10, 11], [20, 21]])
    assert select(value, torch.tensor([[1, 1, 0], [0, 1, 1]])).tolist() == [
        [11, 11, 10],
        [20, 21, 21],
    ]


def test_every_hypothesis_sees_its_own_past():
    follower = Follower(B=2)
    follower.write()
    follower.reorder([[0, 0, 0], [0, 0, 0]])
    follower.write()
    follower.reorder([[2, 2, 0], [1, 0, 1]])
    follower.write(t=3)
    follower.reorder([[1], [2]])
    follower.write()
    assert follower.past.length == 6


def test_a_past_whose_sentences_leave():
    follower = Follower(B=4)
    follower.write(t=2)
    follower.reorder([[0, 0]] * 4)
    follower.keep([3, 1])
    follower.write()
    follower.keep([1])
    follower.write()


@given(st.data())
def test_any_walk_of_a_beam(data):
    """Slots are dropped and buffers doubled on the way; what is seen stays right."""
    draw = data.draw
    follower = Follower(B=3)
    for _ in range(draw(st.integers(1, 14))):
        follower.write(draw(st.sampled_from([1, 1, 1, 2])))
        before, after = len(follower.written[0]), draw(st.integers(1, 4))
        place = st.integers(0, before - 1)
        choice = st.lists(place, min_size=after, max_size=after)
        follower.reorder([draw(choice) for _ in follower.written])
        if len(follower.written) > 1 and draw(st.integers(0, 5)) == 0:
            follower.keep(list(range(1, len(follower.written))))
    follower.write()


def capacity(past):
    return past.buffers[0][0].size(2)


def test_buffers_double_when_everything_is_seen():
    follower, capacities = Follower(B=1, capacity=32), []
    for _ in range(70):
        follower.write()
        capacities.append(capacity(follower.past))
    assert capacities == [32] * 32 + [64] * 32 + [128] * 6


def test_slots_of_a_beam_with_one_ancestor_are_dropped():
    """All hypotheses descend from the first one each time: only its slots are remembered."""
    follower = Follower(B=2, capacity=32)
    follower.write()
    for _ in range(25):
        follower.reorder([[0] * 8] * 2)
        follower.write()
    assert follower.past.length == 26
    assert follower.past.visible.size(2) < 60  # of 201 that were written
    follower.reorder([[0] * 8] * 2)
    follower.keep([1])
    assert follower.past.visible.size(2) == 26
    assert capacity(follower.past) == 52
    follower.write()


def test_a_step_within_capacity_does_not_copy_the_past():
    past = KVCache(WIDTHS, 2, torch.zeros(1), capacity=8)
    past = past.reorder(torch.zeros(2, 2, dtype=torch.long))
    place = past.buffers[1][1].data_ptr()
    for _ in range(4):
        past.allocate(2, 1)
        past = past.reorder(torch.tensor([[1, 0], [0, 0]]))
    assert past.buffers[1][1].data_ptr() == place


def test_a_fork_of_a_past_is_independent():
    past = KVCache(WIDTHS, 1, torch.zeros(1), capacity=8)

    def write(to, number):
        to.allocate(1, 1)
        return to.write(0, torch.full((1, 1, 1, 2), number), torch.full((1, 2, 1, 3), number))[0]

    write(past, 1.0)
    fork = past.fork()
    assert write(past, 2.0)[0, 0, :, 0].tolist() == [1.0, 2.0]
    assert write(fork, 3.0)[0, 0, :, 0].tolist() == [1.0, 3.0]
    assert past.buffers[0][0][0, 0, :2, 0].tolist() == [1.0, 2.0]


def test_what_is_held_is_seen_by_every_hypothesis_and_first_of_all():
    """Two texts, one of them padded; then a beam of two that is thinned out."""
    past = KVCache(WIDTHS, 2, torch.zeros(1), capacity=4)
    valid = torch.tensor([[True] * 5, [True, True, False, False, False]])
    mask = past.prefill(valid)
    assert torch.equal(mask.mask, valid[:, None, None])
    numbers = torch.arange(10.0).view(2, 1, 5, 1)
    past.write(0, numbers.expand(2, 1, 5, 2), numbers.expand(2, 2, 5, 3))
    past.allocate(1, 1)
    past = past.reorder(torch.zeros(2, 2, dtype=torch.long))
    past.allocate(2, 1)
    assert past.visible.int().tolist() == [
        [[1, 1, 1, 1, 1, 1, 1, 0], [1, 1, 1, 1, 1, 1, 0, 1]],
        [[1, 1, 0, 0, 0, 1, 1, 0], [1, 1, 0, 0, 0, 1, 0, 1]],
    ]
    assert past.positions.tolist() == [[0, 1, 2, 3, 4, 5, 6, 6], [0, 1, -1, -1, -1, 2, 3, 3]]
    past = past.reorder(torch.tensor([[1], [0]])).keep(torch.tensor([1]))
    assert past.positions.tolist() == [[0, 1, 2, 3]]
    assert past.buffers[0][0][0, 0, :2, 0].tolist() == [5.0, 6.0]


def test_fixed():
    value = torch.arange(6.0).view(3, 2, 1)
    cache = RecurrentCache(value)
    assert cache.reorder(torch.tensor([[1], [0], [1]])).value.flatten().tolist() == [1, 2, 5]
    assert cache.keep(torch.tensor([2, 0])).value.flatten().tolist() == [4, 5, 0, 1]
    fork = cache.fork()
    value.zero_()
    assert fork.value.flatten().tolist() == [0, 1, 2, 3, 4, 5]


def a_state():
    memory = {"keys": torch.tensor([[1.0], [2.0], [3.0]])}
    return DecoderState(memory, {"hidden": RecurrentCache(torch.arange(6.0).view(3, 2))})


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

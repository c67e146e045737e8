"""Length: limits per sentence, normalisation, and the bound of the safe stop."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from headway.search import SearchConfig, length_limits, length_minimums
from headway.search.length import best_attainable, length_score


def test_limits_follow_each_source_and_the_maximum():
    valid = torch.arange(40)[None] < torch.tensor([0, 1, 7, 40])[:, None]
    config = SearchConfig(max_length=50, max_ratio=1.5, max_extra=3)
    assert length_limits({"src_valid": valid}, config).tolist() == [3, 4, 13, 50]


def test_a_limit_is_at_least_one():
    config = SearchConfig(max_ratio=0.0, max_extra=0)
    assert length_limits({"src_valid": torch.ones(1, 4, dtype=torch.bool)}, config).tolist() == [1]


def test_a_large_ratio_does_not_overflow():
    config = SearchConfig(max_ratio=1e30, min_ratio=1e30, max_length=50)
    batch = {"src_valid": torch.ones(1, 4, dtype=torch.bool)}
    assert length_limits(batch, config).tolist() == [50]
    assert length_minimums(batch, config).tolist() == [50]


def test_minimums_follow_each_source_and_keep_to_the_limits():
    valid = torch.arange(40)[None] < torch.tensor([0, 1, 7, 10, 40])[:, None]
    batch = {"src_valid": valid}
    config = SearchConfig(min_length=3, min_ratio=1.1, max_ratio=1.0, max_extra=2, max_length=30)
    # The limits are 2, 3, 9, 12 and 30; the ratio asks for 0, 2, 8, 11 and 44.
    assert length_minimums(batch, config).tolist() == [2, 3, 8, 11, 30]
    limits = torch.tensor([9, 1, 9, 9, 99])
    assert length_minimums(batch, config, limits).tolist() == [3, 1, 8, 9, 44]
    assert length_minimums(batch, SearchConfig()).tolist() == [0] * 5


@given(st.integers(0, 300), st.integers(0, 200), st.integers(0, 400))
def test_a_minimum_is_the_least_that_satisfies_both(n_source, hundredths, min_length):
    config = SearchConfig(min_ratio=hundredths / 100, min_length=min_length)
    batch, limits = {"src_valid": torch.ones(1, n_source, dtype=torch.bool)}, torch.tensor([500])
    [minimum] = length_minimums(batch, config, limits).tolist()
    assert minimum == min(max(min_length, -(-n_source * hundredths // 100)), 500)


def test_a_minimum_without_a_source():
    batch, limits = {"rows": torch.zeros(2)}, torch.tensor([4, 9])
    assert length_minimums(batch, SearchConfig(min_length=5), limits).tolist() == [4, 5]
    with pytest.raises(ValueError) as caught:
        length_minimums(batch, SearchConfig(min_ratio=0.5), limits)
    assert str(caught.value) == (
        "no source length in the batch, which has ['rows']; "
        "pass 'src_valid' (B, S), or leave min_ratio at 0"
    )


def test_no_source_to_measure():
    with pytest.raises(ValueError) as caught:
        length_limits({"b": torch.zeros(1), "a": torch.zeros(1)}, SearchConfig())
    assert str(caught.value) == (
        "no source length in the batch, which has ['a', 'b']; "
        "pass 'src_valid' (B, S), or pass limits= with one length per sentence"
    )


def test_score():
    log_prob = torch.tensor([-4.0])
    assert length_score(log_prob, 4, 1.0).item() == -1.0
    assert length_score(log_prob, 4, 0.5).item() == -2.0
    assert length_score(log_prob, 4, 0.0).item() == -4.0
    assert length_score(torch.zeros(1), 0, 1.0).item() == 0.0


@given(
    st.floats(-50, 0),
    st.floats(-50, 0),
    st.integers(0, 10),
    st.integers(1, 10),
    st.integers(0, 10),
    st.floats(-2, 2),
)
def test_no_continuation_beats_the_bound(log_prob, loss, length, more, room, alpha):
    ended = length + more  # |y| of some finished continuation, within the limit
    limits = torch.tensor([ended + room])
    bound = best_attainable(torch.tensor([[log_prob]]), length, limits, alpha).item()
    score = length_score(torch.tensor([log_prob + loss]), ended, alpha).item()
    assert score <= bound + 1e-4 * (1 + abs(bound))


def test_the_bound_is_reached():
    limits = torch.tensor([8, 4])
    live = torch.tensor([[-4.0], [-4.0]])
    assert best_attainable(live, 1, limits, 1.0).tolist() == [[-0.5], [-1.0]]
    assert best_attainable(live, 1, limits, 0.0).tolist() == [[-4.0], [-4.0]]
    assert best_attainable(live, 1, limits, -1.0).tolist() == [[-8.0], [-8.0]]

"""Learning rates by hand."""

import math

import pytest

from headway.errors import ConfigError
from headway.run_config import read_config
from headway.training.schedule import SCHEDULES, learning_rate

NAMES = list(SCHEDULES)


@pytest.mark.parametrize("name", NAMES)
def test_the_warm_up_is_a_line_to_the_peak(name):
    rates = [learning_rate(name, 1.0, step, 4, 100) for step in range(1, 5)]
    assert rates == pytest.approx([0.25, 0.5, 0.75, 1.0])


@pytest.mark.parametrize("name", NAMES)
def test_without_warm_up_the_first_update_is_at_or_just_below_the_peak(name):
    assert 0.98 <= learning_rate(name, 1.0, 1, 0, 100) <= 1.0


def test_each_kind_after_the_warm_up():
    at = {name: [learning_rate(name, 2.0, s, 10, 110) for s in (40, 60, 110)] for name in NAMES}
    assert at["constant"] == [2.0, 2.0, 2.0]
    assert at["inverse_sqrt"] == pytest.approx([1.0, 2 / math.sqrt(6), 2 / math.sqrt(11)])
    assert at["linear"] == pytest.approx([1.4, 1.0, 0.0])
    assert at["wsd"] == [2.0, 2.0, 0.0]
    assert at["cosine"] == pytest.approx([1 + math.cos(0.3 * math.pi), 1.0, 0.0], abs=1e-12)


def test_inverse_square_root_is_the_papers():
    """d^-0.5 min(step^-0.5, step warmup^-1.5), with the peak 1 / sqrt(d warmup)."""
    d, warmup = 512, 4000
    peak = 1 / math.sqrt(d * warmup)
    for step in (1, 100, 4000, 4001, 100_000):
        paper = d**-0.5 * min(step**-0.5, step * warmup**-1.5)
        assert learning_rate("inverse_sqrt", peak, step, warmup, 10**6) == pytest.approx(paper)


def test_warm_up_then_level_then_down_over_the_last_tenth():
    """Hu et al. 2024: warm-up to 4, constant to 90, linear to zero at 100."""
    rates = {step: learning_rate("wsd", 2.0, step, 4, 100) for step in (2, 4, 5, 50, 90)}
    assert rates == {2: 1.0, 4: 2.0, 5: 2.0, 50: 2.0, 90: 2.0}
    falling = [learning_rate("wsd", 2.0, step, 4, 100) for step in range(91, 101)]
    assert falling == pytest.approx([1.8, 1.6, 1.4, 1.2, 1.0, 0.8, 0.6, 0.4, 0.2, 0.0])
    # A warm-up that ends within the last tenth: down from there.
    late = [learning_rate("wsd", 1.0, step, 96, 100) for step in (95, 96, 98, 100)]
    assert late == pytest.approx([95 / 96, 1.0, 0.5, 0.0])
    assert [learning_rate("wsd", 1.0, step, 0, 2) for step in (1, 2)] == [1.0, 0.0]


def test_an_unknown_schedule_is_refused_from_the_first_update():
    for step in (1, 50):
        with pytest.raises(ConfigError) as caught:
            learning_rate("cosin", 1.0, step, 10, 100)
        assert str(caught.value) == f"no schedule 'cosin'; expected one of {', '.join(SCHEDULES)}"


def test_a_schedule_of_your_own_is_one_entry(tmp_path, monkeypatch):
    (tmp_path / "run.toml").write_text('[data]\ntrain = "pairs.tsv"\n')
    with pytest.raises(ConfigError) as caught:
        read_config(tmp_path / "run.toml", ["train.schedule=halves"])
    names = ", ".join(f'"{name}"' for name in SCHEDULES)
    assert str(caught.value) == (
        f'command line: train.schedule = "halves": expected one of {names}'
    )
    monkeypatch.setitem(SCHEDULES, "halves", lambda step, warmup, total: 0.5)
    train = read_config(tmp_path / "run.toml", ["train.schedule=halves"]).train
    assert learning_rate(train.schedule, 3.0, 7, 2, 10) == 1.5


@pytest.mark.parametrize("name", ["linear", "cosine", "wsd"])
def test_beyond_the_end_it_stays_at_zero(name):
    assert learning_rate(name, 1.0, 150, 10, 100) == pytest.approx(0.0, abs=1e-12)
    assert learning_rate(name, 1.0, 5, 5, 5) == 1.0  # nothing but warm-up

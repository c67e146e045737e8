"""Naive and seasonal forecasts, by hand."""

import pytest
import torch
from forecast_batches import to_values, windows_batch

from headway.models import FAMILIES, Vectors, VocabularySizes

# Two columns: the steps of a clock of 3, and a count.
WINDOW = torch.tensor([[[1, 10], [2, 11], [3, 12], [1, 13], [2, 14]] + [[0, 0]] * 4]).float()
SIZES = VocabularySizes(0, 4 * 2, False, vectors=Vectors(2, (5,)))


def forecast(name, batch, sizes=SIZES, **given):
    family = FAMILIES[name]
    config = family.config(**given).resolve(1, sizes)
    assert family.count is not None
    model = family.count(config, sizes, [batch])
    built = family.build(config, sizes)
    built.load_state_dict(model.state_dict())
    assert torch.equal(built.logits(batch), model.logits(batch))
    return to_values(model.logits(batch), batch)


def near(values):
    return pytest.approx(torch.tensor(values).float(), abs=1e-5)


def test_naive_repeats_the_last_value():
    assert forecast("naive", windows_batch(WINDOW, 4))[0] == near([[2, 14]] * 4)


def test_seasonal_repeats_the_last_season():
    batch = windows_batch(WINDOW, 4)
    expected = [[3, 12], [1, 13], [2, 14], [3, 12]]
    assert forecast("seasonal", batch, season=3)[0] == near(expected)
    assert forecast("seasonal", batch, season=5)[0] == near(WINDOW[0, :4].tolist())


@pytest.mark.parametrize("season", [0, 1])
def test_a_season_of_one_step_is_naive(season):
    batch = windows_batch(WINDOW, 4)
    assert torch.equal(forecast("seasonal", batch, season=season), forecast("naive", batch))


def test_a_season_that_is_not_in_the_batch_is_refused():
    with pytest.raises(ValueError, match="season = 6 is longer than the look-back"):
        forecast("seasonal", windows_batch(WINDOW, 4), season=6)


def test_a_season_longer_than_the_history_is_in_the_batch():
    batch = windows_batch(WINDOW, 4)
    season = torch.tensor([[9, 8], [1, 10], [2, 11], [3, 12], [1, 13], [2, 14]]).float()
    batch["last_season"] = (season[None] - batch["location"]) / batch["scale"]  # (1, 6, 2)
    batch["last_season_valid"] = torch.ones(1, 6, 2, dtype=torch.bool)
    batch["last_season_valid"][0, 1, 0] = False  # the last value in its place
    sizes = VocabularySizes(0, 8, False, vectors=Vectors(2, (5,), season=6))
    found = forecast("seasonal", batch, sizes)[0]
    assert found == near([[9, 8], [2, 10], [2, 11], [3, 12]])


def test_the_season_is_that_of_the_data_unless_it_is_set():
    sizes = VocabularySizes(0, 8, False, vectors=Vectors(2, (5,), season=3))
    config = FAMILIES["seasonal"].config
    assert config().resolve(1, sizes).season == 3
    assert config(season=2).resolve(1, sizes).season == 2
    batch = windows_batch(WINDOW, 4)
    found = forecast("seasonal", batch, sizes)
    assert torch.equal(found, forecast("seasonal", batch, season=3))


def test_before_a_short_history_seasonal_repeats_its_last_value():
    batch = windows_batch(WINDOW, 4)
    batch["src_valid"][0, :3] = False
    expected = [[2, 14], [1, 13], [2, 14], [2, 14]]
    assert forecast("seasonal", batch, season=3)[0] == near(expected)


@pytest.mark.parametrize("name", ["naive", "seasonal"])
def test_covariates_and_their_future_do_not_matter(name):
    covariates = torch.arange(9.0)[None, :, None]
    batch = windows_batch(WINDOW, 4, covariates, future=4)
    assert batch["src"].shape == (1, 9, 3)
    sizes = VocabularySizes(0, 4 * 2, False, vectors=Vectors(3, (9,), future=4))
    found = forecast(name, batch, sizes)
    assert found == near(forecast(name, windows_batch(WINDOW, 4)).tolist())


def test_one_step_of_history_is_enough():
    window = torch.tensor([[[7.0], [0.0], [0.0]]])
    sizes = VocabularySizes(0, 2, False, vectors=Vectors(1, (1,)))
    for name in ("naive", "seasonal"):
        assert forecast(name, windows_batch(window, 2), sizes)[0] == near([[7], [7]])


def test_they_can_forecast_and_nothing_else():
    for name in ("naive", "seasonal", "ridge"):
        assert FAMILIES[name].abilities == {"forecast"}
        assert FAMILIES[name].learns == "counting"

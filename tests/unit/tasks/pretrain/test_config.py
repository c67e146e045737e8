"""The settings of the objectives: shares, bounds between them, and the table by name."""

import pytest

from headway.tasks.pretrain.config import CONFIGS


@pytest.mark.parametrize(
    ("objective", "settings", "message"),
    [
        ("masked", {"masked": 0.8, "random": 0.3}, "are together more than 1"),
        ("bart", {"permute": False, "infill": 0.0}, "with nothing damaged has nothing to restore"),
        (
            "unilm",
            {"bidirectional": 0.0, "left_to_right": 0.0, "sequence": 0.0},
            "are all 0; raise one of them",
        ),
    ],
)
def test_settings_that_make_no_sense(objective, settings, message):
    with pytest.raises(ValueError, match=message):
        CONFIGS[objective](**settings)


def test_the_message_names_both_shares_and_their_values():
    with pytest.raises(ValueError, match=r"^masked=0.8 and random=0.3 are together more than 1; "):
        CONFIGS["masked"](masked=0.8, random=0.3)
    assert CONFIGS["masked"](masked=0.8, random=0.2).random == 0.2  # exactly 1 is allowed


@pytest.mark.parametrize("objective", CONFIGS)
def test_settings_carry_the_name_of_their_objective(objective):
    assert CONFIGS[objective]().objective == objective


def test_unilm_shares_are_relative_and_in_the_order_of_the_patterns():
    assert CONFIGS["unilm"]().shares == pytest.approx((1 / 3, 1 / 3, 1 / 3))
    config = CONFIGS["unilm"](bidirectional=6.0, left_to_right=0.0, sequence=2.0)
    assert config.shares == (0.75, 0.0, 0.25)


@pytest.mark.parametrize("name", ["delete", "mask", "infill"])
def test_one_sort_of_noise_is_enough_for_bart(name):
    settings = {"permute": False, "delete": 0.0, "mask": 0.0, "infill": 0.0, name: 0.1}
    assert getattr(CONFIGS["bart"](**settings), name) == 0.1


def test_unilm_checks_the_shares_of_masked_words_too():
    with pytest.raises(ValueError, match="are together more than 1"):
        CONFIGS["unilm"](masked=0.8, random=0.3)

"""Settings that do not go together are refused when they are made."""

import re

import pytest

from headway.config import parse
from headway.errors import ConfigError
from headway.text import TokenizerConfig


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"kind": "unigram", "dropout": 0.1},
            "dropout=0.1 needs kind='bpe', not kind='unigram'; leave dropout out",
        ),
        (
            {"min_count": 2},
            "min_count=2 needs kind='words' or 'characters', not kind='bpe'; leave min_count out",
        ),
        (
            {"kind": "bytes", "size": 260},
            "size=260 has no meaning with kind='bytes', which always has all 256 bytes; "
            "leave size out",
        ),
    ],
)
def test_refused(settings, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        TokenizerConfig(**settings)


@pytest.mark.parametrize("settings", [{"dropout": 1.0}, {"min_count": 0}, {"size": 0}])
def test_out_of_bounds_in_a_run_file(settings):
    (name,) = settings
    with pytest.raises(ConfigError, match=f"{name} = .*: expected "):
        parse({"kind": "words", **settings}, TokenizerConfig, "run.toml")


def test_legal_pairs():
    assert TokenizerConfig(dropout=0.1).dropout == 0.1
    assert TokenizerConfig(kind="words", min_count=3, size=10).min_count == 3
    assert TokenizerConfig(kind="characters", min_count=3).size is None

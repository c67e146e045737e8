"""Exit codes and the texts that name the package."""

import importlib.metadata
import pickle

import numpy as np
import pytest
import torch

from headway import errors


@pytest.mark.parametrize(
    ("error", "code"),
    [(errors.ConfigError, 2), (errors.DataError, 1), (errors.RunError, 1)],
)
def test_exit_codes(error, code):
    assert error("x").exit_code == code
    assert issubclass(error, errors.HeadwayError)


def test_a_missing_extra_says_how_to_install_it():
    error = errors.MissingExtra("a bag of words", "sklearn", "bag")
    assert str(error) == (
        "a bag of words needs the package 'sklearn', which is not installed; "
        "pip install 'headway-attention[bag]'"
    )
    assert error.exit_code == 1


def test_a_source_tree_that_is_not_installed_has_no_version(monkeypatch):
    def absent(name):
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "version", absent)
    assert errors.own_version() == "unknown"


def test_the_version_is_that_of_the_distribution(monkeypatch):
    monkeypatch.setattr(importlib.metadata, "version", {errors.DISTRIBUTION: "1.2"}.__getitem__)
    assert errors.own_version() == "1.2"


def test_whatever_a_message_quotes_it_stays_one_readable_line():
    error = errors.DataError("a\x1b[2J\t\x85\u2028\u202eb: no\nnext é")
    assert str(error) == "a\\x1b[2J\\t\\x85\\u2028\\u202eb: no\nnext é"
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


def test_a_long_line_keeps_its_beginning_and_its_remedy():
    text = str(errors.RunError("the key " + "k" * 10_000 + " is unknown; leave it out"))
    assert text.startswith("the key kkk")
    assert text.endswith("kkk is unknown; leave it out")
    assert " ... " in text
    assert len(text) == errors.LONGEST_LINE


def too_much():
    """PyTorch's own error: no machine has a petabyte."""
    return torch.empty(1 << 50, dtype=torch.uint8)


@pytest.mark.parametrize("work", [too_much, lambda: bytearray(1 << 50), lambda: np.empty(1 << 50)])
def test_a_lack_of_memory_names_the_batch_and_the_remedy(work):
    with (
        pytest.raises(errors.RunError) as caught,
        errors.batch_in_memory("an update", 64, 250, "lower train.batch_tokens"),
    ):
        work()
    assert str(caught.value) == (
        "out of memory in an update with 64 examples of up to 250 tokens; lower train.batch_tokens"
    )


def test_other_errors_stay_as_they_are():
    with (
        pytest.raises(RuntimeError, match="shapes"),
        errors.batch_in_memory("an update", 1, 1, ""),
    ):
        raise RuntimeError("shapes differ")
    assert not errors.is_out_of_memory(ValueError("out of memory"))
    assert errors.is_out_of_memory(torch.OutOfMemoryError("CUDA out of memory. Tried ..."))

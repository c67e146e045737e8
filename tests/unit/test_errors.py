"""Exit codes and the texts that name the package."""

import importlib.metadata
import pickle

import pytest

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

"""Values: scaling and back, files, what is said of what is no number."""

import math
import statistics

import numpy as np
import pytest

from headway.data.codecs.text import TextConfig, fit_codec
from headway.data.codecs.values import ValueCodec
from headway.data.config import Corpus
from headway.data.prepare import prepare
from headway.errors import DataError, RunError


def test_what_was_learned_from_has_mean_0_and_deviation_1():
    texts = ["1", " 2.5", "-4e0", "8 ", "x", ""]
    codec = ValueCodec.fit(texts)
    values = [1, 2.5, -4, 8]
    assert codec.mean == pytest.approx(statistics.fmean(values))
    assert codec.deviation == pytest.approx(statistics.pstdev(values))
    scaled = np.concatenate(codec.encode_batch(texts))  # what is no number gives nothing
    assert scaled.dtype == np.float32
    assert scaled.mean() == pytest.approx(0, abs=1e-6)
    assert scaled.std() == pytest.approx(1)


def test_large_values_that_differ_little_keep_their_differences():
    values = [1e9, 1e9 + 1, 1e9 + 2]
    codec = ValueCodec.fit(map(repr, values))
    assert codec.deviation == pytest.approx(math.sqrt(2 / 3))
    scaled = np.concatenate(codec.encode_batch([repr(value) for value in values]))
    back = [codec.unscale(float(value)) for value in scaled]
    assert back == pytest.approx(values, abs=1e-5)


def test_back_to_text():
    codec = ValueCodec(2.0, 0.5)
    assert codec.decode(codec.encode_batch(["3.25"])[0]) == "3.25"
    assert codec.clean(" 3.250 ") == codec.clean("3.25")
    assert codec.clean(" x ") == "x"


def test_what_is_saved_is_loaded(tmp_path):
    codec = ValueCodec(0.1 + 0.2, 1 / 3)
    codec.save(tmp_path / "value.json")
    loaded = ValueCodec.load(tmp_path / "value.json")
    assert (loaded.mean, loaded.deviation) == (codec.mean, codec.deviation)
    assert loaded.fingerprint() == codec.fingerprint() != ValueCodec(0.3, 1 / 3).fingerprint()


@pytest.mark.parametrize("content", ["[]", '{"mean": 1}', '{"mean": 1, "deviation": 0}', "{"])
def test_a_damaged_file_is_an_error(content, tmp_path):
    (tmp_path / "value.json").write_text(content, "utf-8")
    with pytest.raises(RunError, match=r"value\.json .*restore it from a copy"):
        ValueCodec.load(tmp_path / "value.json")


def test_complaints():
    codec = ValueCodec(0.0, 1.0)
    assert codec.complaint("1e3") is None
    assert codec.complaint(" ") == "the value is empty; give a number, or leave the line out"
    for text in ("3,5", "five", "inf", "nan", "1_000"):
        message = f"the value {text!r} is no number; expected one such as 3.5"
        assert codec.complaint(text) == message
        assert len(codec.encode_batch([text])[0]) == 0


def test_numbers_that_are_too_large_are_named_and_not_learned_from():
    codec = ValueCodec.fit(["1", "1e300", "3", "-2e300"])
    assert (codec.mean, codec.deviation) == (2.0, 1.0)
    assert len(codec.encode_batch(["1e300"])[0]) == 0
    assert codec.complaint(" 1e300 ") == (
        "the value 1e300 is too large; numbers may be at most 1e+30: correct it, or use a larger "
        "unit"
    )
    assert codec.complaint("-1e30") is None


def test_values_that_are_all_the_same():
    with pytest.raises(DataError, match="all training examples have the value 3, and there is"):
        ValueCodec.fit(["3", "3.0"])


def test_a_bad_number_is_named_with_its_place(tmp_path):
    (tmp_path / "a.tsv").write_text("a\t1\nb\t2\nc\ttwo\n", "utf-8")
    codecs = {"text": fit_codec(["a b c"], TextConfig(kind="words")), "value": ValueCodec(0, 1)}
    with pytest.raises(DataError, match=r"^a\.tsv:3: the value 'two' is no number; expected one"):
        prepare([Corpus(file="a.tsv")], codecs, tmp_path / "stores", root=tmp_path)

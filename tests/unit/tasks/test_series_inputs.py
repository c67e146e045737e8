"""Series as inputs: facts of the training data, batches with padding and marks, files."""

import numpy as np
import pytest
import torch
from forecast_runs import NAN, series

from headway.data.codecs.text import TextConfig
from headway.errors import DataError, RunError
from headway.tasks.series_inputs import SeriesFacts, SeriesInputs


def fit(*examples):
    rows = [(series(values), "label") for values in examples]
    return SeriesInputs.fit(lambda: iter(rows), TextConfig())


def test_facts_and_sizes_of_series_of_several_lengths():
    inputs = fit([1.0, 2.0, 3.0], [4.0, 5.0], [6.0, 7.0, 8.0, 9.0])
    assert inputs.facts == SeriesFacts(2, 3, 4, has_gaps=False)
    assert (inputs.vectors.features, inputs.vectors.size, inputs.vectors.future) == (1, (0,), 0)


def test_series_of_one_length_have_a_fixed_size_and_a_patch():
    inputs = fit(np.arange(64.0), np.arange(64.0) ** 2)
    assert (inputs.vectors.size, inputs.vectors.patch) == ((64,), 4)


def test_a_batch_is_standardised_and_padded_at_the_end():
    inputs = fit([0.0, 2.0], [2.0, 0.0, 2.0, 0.0])  # mean 1, deviation 1
    batch = inputs.tensors(inputs.encode([series([2.0]), series([0.0, 2.0])]))
    assert batch["src"][..., 0].tolist() == [[1.0, 0.0], [-1.0, 1.0]]
    assert batch["src_valid"].tolist() == [[True, False], [True, True]]


def test_a_gap_is_filled_by_the_value_before_and_marked():
    inputs = fit([0.0, NAN, 2.0], [0.0, 2.0, NAN])
    batch = inputs.tensors(inputs.encode([series([2.0, NAN])]))
    assert torch.equal(batch["src"][0, :, 0], torch.ones(2))
    assert batch["src"][0, :, 1].tolist() == [0.0, 1.0]


def test_inputs_are_saved_and_loaded(tmp_path):
    inputs = fit([0.0, 2.0], [2.0, 0.0, NAN])
    inputs.save(tmp_path)
    again = SeriesInputs.load(tmp_path)
    assert again.facts == inputs.facts
    assert again.series.fingerprint() == inputs.series.fingerprint()


def test_training_data_without_values_are_refused():
    with pytest.raises(DataError, match="no series with values"):
        fit([NAN, NAN])


@pytest.mark.parametrize("content", ["", "[]", '{"shortest": 3, "usual": 2, "longest": 1}'])
def test_damaged_facts_are_refused(tmp_path, content):
    (tmp_path / "steps.json").write_text(content)
    with pytest.raises(RunError, match=r"steps\.json"):
        SeriesFacts.load(tmp_path / "steps.json")


def test_what_only_series_have():
    inputs = fit(np.array([["1.5", "sun"], ["2.5", "rain"]], object))
    assert inputs.numbers == ("a",)
    assert inputs.public_info() == {"series": inputs.describe()}
    assert inputs.as_series(np.ones((3, 2))).columns == ("a", "b")

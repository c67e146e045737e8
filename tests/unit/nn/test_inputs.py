"""Vectors as sequences: patches, masks, grids, the stem, and what padding must not change."""

import pytest
import torch
from torch.nn.functional import conv1d, gelu

from headway.errors import DataError
from headway.nn.inputs import VectorInput, VectorInputConfig, usual_patch, windows
from headway.nn.positions import sinusoidal

D = 8
CLOSE = {"rtol": 1e-5, "atol": 1e-6}
CONFIGS = {
    "steps": VectorInputConfig(),
    "patches": VectorInputConfig(patch=4),
    "overlap": VectorInputConfig(patch=4, stride=2),
    "odd overlap": VectorInputConfig(patch=5, stride=3),
    "stem": VectorInputConfig(stem="convolution"),
    "stem stride": VectorInputConfig(stem="convolution", stride=2),
    "stem wide stride": VectorInputConfig(stem="convolution", stride=5),
    "class": VectorInputConfig(patch=3, class_vector=True),
}
each = pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)


def make(config, features=3, size=(0,), base=None, seed=0):
    torch.manual_seed(seed)
    module = VectorInput(features, size, D, config, base)
    for parameter in module.parameters():
        torch.nn.init.normal_(parameter, std=0.4)  # biases too: zeros would hide a leak
    return module


def whole(steps):
    return torch.ones(steps.shape[:-1], dtype=torch.bool)


def test_patches_by_hand():
    module = make(VectorInputConfig(patch=2), features=2)
    steps = torch.arange(10.0).view(1, 5, 2)
    x, valid = module(steps, whole(steps))
    rows = torch.tensor([[[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 0, 0]]]).float()
    torch.testing.assert_close(x, module.projection.linear(rows))
    assert valid.tolist() == [[True, True, True]]


def test_overlapping_patches_start_at_every_multiple_of_the_stride():
    module = make(VectorInputConfig(patch=3, stride=2), features=1)
    steps = torch.tensor([[[1.0], [2.0], [3.0], [4.0]]])
    x, valid = module(steps, whole(steps))
    rows = torch.tensor([[[1.0, 2, 3], [3, 4, 0]]])
    torch.testing.assert_close(x, module.projection.linear(rows))
    assert valid.tolist() == [[True, True]]


def test_a_patch_is_valid_if_any_of_its_steps_is_and_reads_the_others_as_zeros():
    module = make(VectorInputConfig(patch=2), features=1)
    steps = torch.tensor([[[1.0], [torch.nan], [torch.inf], [4.0], [9.0], [9.0], [7.0], [8.0]]])
    valid = torch.tensor([[True, False, False, True, False, False, True, True]])
    x, mask = module(steps, valid)
    rows = torch.tensor([[[1.0, 0], [0, 4], [0, 0], [7, 8]]])
    torch.testing.assert_close(x, module.projection.linear(rows))
    assert mask.tolist() == [[True, True, False, True]]


def test_windows_list_steps_before_features():
    x = torch.arange(6.0).view(1, 3, 2)
    assert windows(x, 2, 1).tolist() == [[[0, 1, 2, 3], [2, 3, 4, 5]]]
    grid = torch.arange(8.0).view(1, 2, 4, 1)
    assert windows(grid, 2, 2).tolist() == [[[[0, 1, 4, 5], [2, 3, 6, 7]]]]


@each
@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 7, 8, 12])
def test_padding_changes_nothing(config, n):
    module, steps = make(config), torch.randn(2, n, 3)
    x, valid = module(steps, whole(steps))
    assert valid.all()
    assert x.size(1) == config.n_patches(n) + config.class_vector
    for more in (1, 2, 3, 9):
        wider = torch.cat([steps, torch.full((2, more, 3), 50.0)], dim=1)
        mask = torch.arange(n + more).expand(2, -1) < n
        found, found_valid = module(wider, mask)
        torch.testing.assert_close(found[:, : x.size(1)], x, **CLOSE)
        assert found_valid[:, : x.size(1)].all()
        assert not found_valid[:, x.size(1) :].any()


@each
@pytest.mark.parametrize("n", [(1, 1), (3, 5), (8, 8), (7, 4)])
def test_padding_a_grid_changes_nothing(config, n):
    """Patches are compared where both grids have them."""
    module = make(config, size=(0, 0), base=100.0)
    steps = torch.randn(2, *n, 3)
    x, valid = module(steps, whole(steps))
    assert valid.all()
    rows, columns = module.grid(*n)
    assert x.size(1) == rows * columns + config.class_vector
    wider, mask = torch.full((2, n[0] + 3, n[1] + 5, 3), 50.0), torch.zeros(2, n[0] + 3, n[1] + 5)
    wider[:, : n[0], : n[1]], mask[:, : n[0], : n[1]] = steps, 1
    found, found_valid = module(wider, mask.bool())
    first = int(config.class_vector)
    grid = found[:, first:].unflatten(1, module.grid(n[0] + 3, n[1] + 5))[:, :rows, :columns]
    torch.testing.assert_close(grid.flatten(1, 2), x[:, first:], **CLOSE)
    assert found_valid.sum(1).tolist() == [x.size(1)] * 2


@each
def test_a_batch_is_its_rows(config):
    module, steps = make(config), torch.randn(3, 11, 3)
    valid = torch.rand(3, 11) > 0.3
    x, mask = module(steps, valid)
    for i in range(3):
        one, one_mask = module(steps[i : i + 1], valid[i : i + 1])
        torch.testing.assert_close(one[0], x[i], **CLOSE)
        assert torch.equal(one_mask[0], mask[i])


def test_no_step_at_all_is_one_invalid_patch():
    for config in CONFIGS.values():
        module, first = make(config), int(config.class_vector)
        for n in (0, 4):
            x, valid = module(torch.randn(2, n, 3), torch.zeros(2, n, dtype=torch.bool))
            assert x.isfinite().all()
            assert x.size(1) >= first + 1
            assert not valid[:, first:].any()


def test_the_stem_is_two_convolutions():
    module = make(VectorInputConfig(stem="convolution", stride=2))
    stem, steps = module.projection, torch.randn(1, 6, 3)
    inner = gelu(conv1d(steps.mT, stem.first.weight, stem.first.bias, padding=1))
    expected = gelu(conv1d(inner, stem.second.weight, stem.second.bias, 2, padding=1)).mT
    torch.testing.assert_close(module(steps, whole(steps))[0], expected)


def test_the_class_vector_is_first_and_always_valid():
    module = make(VectorInputConfig(class_vector=True))
    x, valid = module(torch.randn(2, 3, 3), torch.zeros(2, 3, dtype=torch.bool))
    assert torch.equal(x[:, 0], module.class_vector.expand(2, -1))
    assert valid.tolist() == [[True, False, False, False]] * 2


def test_codes_of_a_grid_are_half_of_the_row_and_half_of_the_column():
    plain = make(VectorInputConfig(patch=2), features=1, size=(0, 0))
    module = make(VectorInputConfig(patch=2), features=1, size=(0, 0), base=100.0)
    steps = torch.randn(1, 4, 6, 1)
    codes = sinusoidal(torch.arange(3), D // 2, 100.0)
    found = (module(steps, whole(steps))[0] - plain(steps, whole(steps))[0]).view(2, 3, D)
    for row in range(2):
        for column in range(3):
            expected = torch.cat([codes[row], codes[column]])
            torch.testing.assert_close(found[row, column], expected)


def test_inputs_of_a_fixed_size_are_padded_to_it():
    config = VectorInputConfig(patch=4, class_vector=True)
    module = make(config, size=(10,))
    assert (module.length, module.grid(3)) == (4, (3,))
    steps = torch.randn(1, 3, 3)
    x, valid = module(steps, whole(steps))
    assert x.shape == (1, 4, D)
    assert valid.tolist() == [[True, True, False, False]]
    assert make(config, size=(0,)).length == 0
    assert make(VectorInputConfig(patch=3), size=(8, 8)).length == 9


def test_a_grid_larger_than_the_model_reads_is_refused():
    module = make(VectorInputConfig(), size=(4, 6))
    steps = torch.randn(1, 4, 7, 3)
    with pytest.raises(DataError, match=r"^a grid of 4 x 7 is larger than the 4 x 6 that this"):
        module(steps, whole(steps))


def test_spans_name_the_steps_of_each_patch():
    assert VectorInputConfig().spans(3) == [(0, 0), (1, 1), (2, 2)]
    assert VectorInputConfig(patch=4, stride=2).spans(7) == [(0, 3), (2, 5), (4, 6), (6, 6)]
    assert VectorInputConfig(stem="convolution", stride=3).spans(7) == [(0, 2), (3, 5), (6, 6)]
    for config in CONFIGS.values():
        assert len(config.spans(11)) == config.n_patches(11)


def test_settings_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match=r"^stride = 5 is larger than patch = 4, so that steps"):
        VectorInputConfig(patch=4, stride=5)
    with pytest.raises(ValueError, match=r'^patch = 2 has no meaning with stem = "convolution", '):
        VectorInputConfig(patch=2, stem="convolution")


def test_vectors_of_variance_1_keep_it():
    torch.manual_seed(0)
    module = VectorInput(4, (0,), 256, VectorInputConfig(patch=8))
    steps = torch.randn(64, 80, 4)
    x, _ = module(steps, whole(steps))
    assert x.std().item() == pytest.approx(1.0, rel=0.05)


@pytest.mark.parametrize(
    ("size", "patch"), [((512,), 16), ((60,), 10), ((5,), 1), ((0,), 1), ((28, 28), 1)]
)
def test_default_patch_is_a_sixth_of_the_length_of_all_inputs(size, patch):
    assert usual_patch(size) == patch


def test_given_patch_and_stride_are_kept():
    resolved = VectorInputConfig(patch=8, stride=4).resolve(16)
    assert (resolved.patch, resolved.stride) == (8, 4)

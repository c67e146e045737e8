"""What every family promises, the output layer, and how embeddings are shared."""

from dataclasses import fields, is_dataclass

import numpy as np
import pytest
import torch
from torch.nn.functional import cross_entropy

from headway.models import FAMILIES, VocabularySizes
from headway.models.family import OutputLayer

SHARED = VocabularySizes(11, 11, True, head="words")
APART = VocabularySizes(11, 7, False, head="words")
SMALL = {
    "transformer": {
        "d_model": 8,
        "d_ff": 8,
        "n_heads": 2,
        "encoder_layers": 1,
        "decoder_layers": 1,
    },
    "recurrent": {"d_model": 8},
    "convolutional": {"d_model": 8, "encoder_layers": 1, "decoder_layers": 1},
    "decoder": {"d_model": 8, "d_ff": 8, "n_heads": 2, "layers": 1},
    "recurrent_decoder": {"d_model": 8, "layers": 2},
    "encoder": {"d_model": 8, "d_ff": 8, "n_heads": 2, "layers": 1},
    "recurrent_encoder": {"d_model": 8},
    "unilm": {"d_model": 8, "d_ff": 8, "n_heads": 2, "layers": 1},
}
names = pytest.mark.parametrize("name", list(FAMILIES))
by_gradient = pytest.mark.parametrize(
    "name", [name for name, family in FAMILIES.items() if family.learns == "gradient"]
)
WRITERS = [name for name, family in FAMILIES.items() if "step" in family.abilities]
writers_by_gradient = pytest.mark.parametrize(
    "name", [name for name in WRITERS if FAMILIES[name].learns == "gradient"]
)
writers_by_counting = pytest.mark.parametrize(
    "name", [name for name in WRITERS if FAMILIES[name].learns == "counting"]
)
with_source = pytest.mark.parametrize(
    "name", [name for name in WRITERS if FAMILIES[name].source == "needed"]
)


def build(name, vocabularies, **given):
    family = FAMILIES[name]
    config = family.config(**{**SMALL.get(name, {}), **given}).resolve(100, vocabularies)
    return family.build(config, vocabularies)


@names
def test_a_family_is_known_by_its_name(name):
    family = FAMILIES[name]
    assert family.name == family.config().family == name
    assert is_dataclass(family.config)
    assert {"step", "score"} <= family.abilities or family.abilities & {"classify", "forecast"}
    assert (family.count is None) == (family.learns == "gradient")


@names
def test_resolved_settings_leave_nothing_open_and_stay_as_they_are(name):
    resolved = FAMILIES[name].config().resolve(1000, SHARED)
    values = {field.name: getattr(resolved, field.name) for field in fields(resolved)}
    assert values.pop("input", None) is None  # the source is tokens
    assert None not in values.values()
    assert "auto" not in values.values()
    assert resolved.resolve(10**9, SHARED) == resolved


@with_source
def test_shared_vocabularies_share_all_and_separate_ones_the_target(name):
    together, apart = build(name, SHARED), build(name, APART)
    assert together.source_embedding is together.target_embedding is together.output.weight
    assert apart.target_embedding is apart.output.weight
    assert apart.source_embedding.shape == (11, 8)
    assert apart.output.weight.shape == (7, 8)


@with_source
def test_sharing_nothing(name):
    model = build(name, SHARED, share="none")
    matrices = {model.source_embedding, model.target_embedding, model.output.weight}
    assert len(matrices) == 3
    saved = sum(p.numel() for p in model.parameters())
    assert saved == sum(p.numel() for p in build(name, SHARED).parameters()) + 2 * 11 * 8


@with_source
def test_sharing_all_needs_one_vocabulary(name):
    with pytest.raises(ValueError, match=r'model\.share = "all" needs one vocabulary'):
        build(name, APART, share="all")


@by_gradient
def test_the_seed_decides_the_weights(name):
    weights = []
    for seed in (1, 1, 2):
        torch.manual_seed(seed)
        weights.append([p.detach() for p in build(name, SHARED).parameters()])
    assert all(torch.equal(a, b) for a, b in zip(weights[0], weights[1], strict=True))
    assert not all(torch.equal(a, b) for a, b in zip(weights[0], weights[2], strict=True))


@writers_by_gradient
def test_every_parameter_gets_a_gradient(name):
    """One that does not would be dead weight, and would stop several processes."""
    model = build(name, SHARED if name == "unilm" else APART, dropout=0.0)
    src, tgt = torch.tensor([[4, 5, 2]]), torch.tensor([[1, 4, 5]])
    batch = {"src": src, "src_valid": torch.ones_like(src, dtype=torch.bool), "tgt_in": tgt}
    model.output.cross_entropy(model(batch)[0], tgt[0]).backward()
    without = [name for name, p in model.named_parameters() if p.grad is None or not p.grad.any()]
    # Shifting all scores of a query by the same amount changes no softmax: keys need no bias,
    # but the packed projections have one, whose other parts do get gradients.
    assert without == []


@names
def test_a_family_that_counts_says_how_and_no_other_does(name):
    family = FAMILIES[name]
    assert (family.count is not None) == (family.learns == "counting")


@writers_by_counting
def test_all_that_was_counted_is_in_buffers_that_load_whatever_their_shapes(name):
    family = FAMILIES[name]
    config = family.config().resolve(2, SHARED)
    counted = family.count(config, SHARED, [np.array([4, 5, 4, 5, 6, 2]), np.array([7, 4, 2])])
    assert list(counted.parameters()) == []
    loaded = family.build(config, SHARED)
    loaded.load_state_dict(counted.state_dict())
    inputs, targets = torch.tensor([[1, 4, 5, 9]]), torch.tensor([[4, 5, 6, 2]])
    assert torch.equal(loaded.log_probs(inputs, targets), counted.log_probs(inputs, targets))
    assert (loaded.log_probs(inputs, targets) < 0).all()


@pytest.mark.parametrize("bias", [True, False])
def test_output_layer(bias):
    torch.manual_seed(0)
    output = OutputLayer(torch.nn.Parameter(torch.randn(9, 4)), bias)
    if bias:
        torch.nn.init.normal_(output.bias)
    hidden, targets = torch.randn(5, 4), torch.tensor([0, 8, 3, 3, 1])
    logits = output(hidden)
    assert logits.shape == (5, 9)
    torch.testing.assert_close(
        output.cross_entropy(hidden, targets, 0.1),
        cross_entropy(logits, targets, reduction="sum", label_smoothing=0.1),
    )
    expected = logits.log_softmax(-1)[torch.arange(5), targets]
    torch.testing.assert_close(output.log_probs(hidden, targets), expected)
    assert (output.bias is not None) is bias

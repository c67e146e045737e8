"""Embeddings of tokens, which matrices are one, and the settings that vectors refuse."""

import tomllib
from types import SimpleNamespace

import pytest
import torch

from headway import config as configs
from headway.errors import ConfigError
from headway.models import FAMILIES, VocabularySizes
from headway.models.embeddings import embed, make_embeddings, read_source, resolve_share
from headway.models.family import Vectors
from headway.nn.inputs import VectorInput, VectorInputConfig

SERIES = VocabularySizes(0, 3, shared=False, vectors=Vectors(2, (6,)))
ABLE = sorted(name for name in FAMILIES if "vectors" in FAMILIES[name].abilities)
HEADED = ("encoder", "transformer")
TOKENS = VocabularySizes(9, 9, shared=True)


def sharing(share, d_model):
    return SimpleNamespace(share=share, d_model=d_model, input=VectorInputConfig())


def test_embeddings_have_unit_variance_once_scaled():
    torch.manual_seed(0)
    for weight in make_embeddings(sharing("none", 64), VocabularySizes(2000, 2000, False)):
        assert (weight * 64**0.5).std().item() == pytest.approx(1.0, rel=0.02)


@pytest.mark.parametrize(
    ("share", "matrices"), [("all", 1), ("target", 2), ("inputs", 2), ("none", 3)]
)
def test_embeddings_are_shared_as_asked(share, matrices):
    source, target, output = make_embeddings(sharing(share, 4), VocabularySizes(9, 9, True))
    assert len({id(source), id(target), id(output)}) == matrices
    assert (output is target) == (share in ("all", "target"))
    assert (source is target) == (share in ("all", "inputs"))


def test_two_vocabularies_cannot_share_one_matrix():
    for share in ("all", "inputs"):
        with pytest.raises(ValueError, match=f'"{share}" needs one vocabulary for source and'):
            make_embeddings(sharing(share, 4), VocabularySizes(9, 8, False))


def test_a_source_of_vectors_shares_nothing():
    source, target, output = make_embeddings(sharing("target", 4), SERIES)
    assert isinstance(source, VectorInput)
    assert target is output
    for share in ("all", "inputs"):
        message = f'model.share = "{share}" shares the embeddings of the source, which is vectors; '
        with pytest.raises(ValueError, match=message):
            make_embeddings(sharing(share, 4), SERIES)


def test_a_target_of_vectors_shares_nothing():
    sizes = VocabularySizes(9, 5, shared=False, target_features=3)
    assert resolve_share("auto", sizes) == "none"
    _, target, output = make_embeddings(sharing("none", 4), sizes)
    assert (target.in_features, target.out_features, output.shape) == (3, 4, (5, 4))
    with pytest.raises(ValueError, match=r'"target" shares the embeddings of the target, which is'):
        make_embeddings(sharing("target", 4), sizes)


def test_tokens_are_looked_up_and_scaled_and_vectors_are_projected():
    weight = torch.nn.Parameter(torch.arange(6.0).view(3, 2))
    assert embed(torch.tensor([[2, 0]]), weight, 2.0).tolist() == [[[8, 10], [0, 2]]]
    linear = torch.nn.Linear(3, 2)
    x = torch.randn(1, 4, 3)
    assert torch.equal(embed(x, linear, 2.0), linear(x))


def test_the_mask_of_a_source_is_that_of_its_patches():
    source = VectorInput(2, (0,), 4, VectorInputConfig(patch=2))
    valid = torch.tensor([[True] * 5, [True] * 2 + [False] * 3])
    batch = {"src": torch.randn(2, 5, 2), "src_valid": valid}
    x, mask = read_source(batch, source, 1.0)
    assert x.shape == (2, 3, 4)
    assert mask.tolist() == [[True, True, True], [True, False, False]]
    tokens = {"src": torch.tensor([[1, 2]]), "src_valid": torch.tensor([[True, False]])}
    assert read_source(tokens, torch.nn.Parameter(torch.zeros(3, 4)), 1.0)[1] is tokens["src_valid"]


@pytest.mark.parametrize("name", ABLE)
def test_tokens_refuse_settings_of_vectors(name):
    config = FAMILIES[name].config(input=VectorInputConfig(patch=4))
    with pytest.raises(
        ValueError, match=r"^model\.input is for vectors, and this task reads tokens"
    ):
        config.resolve(9, TOKENS)
    assert FAMILIES[name].config().resolve(9, TOKENS).input is None


@pytest.mark.parametrize("name", ABLE)
def test_the_table_is_read_and_written(name):
    config = FAMILIES[name].config
    tables = {"family": name, "input": {"patch": 4, "stride": 2, "class_vector": True}}
    parsed = configs.parse(tables, config, "run.toml")
    assert parsed.input == VectorInputConfig(patch=4, stride=2, class_vector=True)
    resolved = parsed.resolve(9, SERIES)
    again = configs.parse(tomllib.loads(configs.to_toml(resolved)), config, "run.toml")
    assert again == resolved
    assert "input" not in configs.to_dict(config().resolve(9, TOKENS))
    message = r"^run.toml: input: stride = 5 is larger than patch = 4, so that steps between"
    with pytest.raises(ConfigError, match=message):
        configs.parse({"family": name, "input": {"patch": 4, "stride": 5}}, config, "run.toml")


@pytest.mark.parametrize("name", ABLE)
def test_vectors_get_the_usual_settings(name):
    family = FAMILIES[name]
    usual = family.config().resolve(9, SERIES).input
    assert usual == VectorInputConfig(patch=1, stride=1)
    given = family.config(input=VectorInputConfig(patch=4)).resolve(9, SERIES)
    assert given.input == VectorInputConfig(patch=4, stride=4)


NUMBERED = [
    *((name, positions) for name in HEADED for positions in ("learned", "rotary", "relative")),
    ("convolutional", "learned"),
]


@pytest.mark.parametrize(("name", "positions"), NUMBERED)
def test_numbered_positions_need_grids_of_one_width(name, positions):
    family = FAMILIES[name]
    for size in ((4, 0), (0, 0)):
        sizes = VocabularySizes(0, 3, shared=False, vectors=Vectors(1, size))
        with pytest.raises(ValueError, match=f'"{positions}" numbers the patches of a grid'):
            family.build(family.config(positions=positions).resolve(9, sizes), sizes)
    sizes = VocabularySizes(0, 3, shared=False, vectors=Vectors(1, (0, 4)))
    assert family.build(family.config(positions=positions).resolve(9, sizes), sizes)

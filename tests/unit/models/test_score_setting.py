"""`model.score` in run files: a name, or a table for a score with settings."""

from dataclasses import dataclass

import pytest
import torch

from headway.config import to_toml
from headway.errors import ConfigError
from headway.models import FAMILIES, VocabularySizes
from headway.nn.scores import SCORES, Dot, LowRankSettings, ScoreSpec
from headway.run_config import read_config

SMALL = ("task=language", "model.d_model=8", "model.d_ff=8", "model.n_heads=2", "model.layers=2")
SIZES = VocabularySizes(11, 11, shared=True)


def build(config):
    torch.manual_seed(0)
    return FAMILIES[config.family].build(config.resolve(1, SIZES), SIZES).eval()


def test_settings_of_a_score_in_the_run_file(tmp_path):
    def read(*overrides):
        return read_config(tmp_path / "run.toml", overrides)

    (tmp_path / "run.toml").write_text('[data]\ntrain = "pairs.tsv"\n')
    assert read().model.score == "scaled_dot"
    assert read("model.score=low_rank").model.score == "low_rank"
    config = read('model.score={name="low_rank",rank=3}')
    assert config.model.score == LowRankSettings(rank=3)
    assert read("model.score.name=low_rank", "model.score.rank=3") == config
    (tmp_path / "again.toml").write_text(to_toml(config))
    assert read_config(tmp_path / "again.toml") == config
    names = ", ".join(f'"{name}"' for name in SCORES)
    for override, message in {
        "model.score=low_rnk": f'model.score = "low_rnk": expected one of {names} or a table; '
        'did you mean "low_rank"?',
        'model.score={name="low_rank",rank=0}': "model.score.rank = 0: expected a whole number of "
        "at least 1",
        'model.score={name="dot"}': 'model.score.name = "dot": expected ',
        'model.score={name="low_rank",ranks=2}': "unknown key model.score.ranks; did you mean "
        "model.score.rank?",
    }.items():
        with pytest.raises(ConfigError) as caught:
            read(override)
        assert str(caught.value).startswith(f"command line: {message}")


@dataclass(frozen=True)
class HalvedSettings:
    name: str = "halved"
    factor: float = 0.5


class Halved(Dot):
    """Keys of another width, and a setting."""

    def __init__(self, factor):
        super().__init__()
        self.factor = factor

    def prepare(self, keys):
        return self.factor * keys[..., ::2]

    def prepared_width(self, width):
        return (width + 1) // 2

    def score(self, query, prepared):
        return query[..., ::2] @ prepared.mT

    def as_product(self, query):
        return query[..., ::2], 1.0


def test_a_score_of_your_own_is_one_entry(tmp_path, monkeypatch):
    make = lambda context: Halved(context.settings.factor)  # noqa: E731
    monkeypatch.setitem(SCORES, "halved", ScoreSpec("", make, settings=HalvedSettings))
    (tmp_path / "run.toml").write_text('[data]\ntrain = "pairs.tsv"\n')
    overrides = ["model.score.name=halved", "model.score.factor=2", *SMALL]
    config = read_config(tmp_path / "run.toml", overrides)
    model = build(config.model)
    tokens = torch.tensor([[1, 4, 5, 6]])
    whole = model.output(model({"tgt_in": tokens}))
    state = model.start({"tgt_in": tokens})
    for t in range(4):
        logits, state = model.step(tokens[:, None, t : t + 1], state)
        torch.testing.assert_close(logits[:, 0], whole[:, t])

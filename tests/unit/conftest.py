"""Small trained runs to export: pre-norm, post-norm, and ones that other libraries do not have."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from export_sources import SOURCES
from html_reader import Reader

from headway import api
from headway.data.codecs.text import TextConfig
from headway.data.config import DataConfig
from headway.models.recurrent import RecurrentConfig
from headway.models.transformer import TransformerConfig
from headway.search import SearchConfig
from headway.training.config import TrainConfig

PRE = TransformerConfig(d_model=16, d_ff=16, n_heads=2, encoder_layers=1, decoder_layers=2)
# How long each is trained: searches are compared on the first two.
MODELS = {
    "pre": (PRE, 80),
    "post": (replace(PRE, residual="post"), 80),
    "recurrent": (RecurrentConfig(d_model=16), 1),
    "rotary": (replace(PRE, positions="rotary", gated=True), 1),
    "values": (replace(PRE, d_value=5), 1),
}


@pytest.fixture(scope="session")
def exportable(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a run for each of `MODELS`."""
    folder = tmp_path_factory.mktemp("exportable")
    rows = [(source, " ".join(reversed(source.split()))) for source in SOURCES]
    (folder / "pairs.tsv").write_text("".join(f"{s}\t{t}\n" for s, t in rows), encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HEADWAY_CACHE", str(folder / "cache"))
        for name, (model, steps) in MODELS.items():
            config = api.RunConfig(
                data=DataConfig(
                    train="pairs.tsv", test="pairs.tsv", root=str(folder), max_length=12
                ),
                text=TextConfig(kind="words"),
                model=model,
                train=TrainConfig(steps=steps, lr=1e-2, batch_tokens=128),
                search=SearchConfig(beam=3, max_length=10),
            )
            api.train(config, folder / name)
    return folder


@pytest.fixture(scope="module")
def folder(exportable: Path) -> Iterator[Path]:
    """The same, while the cache is there too; test files with runs of their own have another."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HEADWAY_CACHE", str(exportable / "cache"))
        yield exportable


@pytest.fixture
def read() -> type[Reader]:
    """Reads HTML and insists that every tag is closed."""
    return Reader

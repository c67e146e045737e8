"""Properties that were promised for Multi30k; HEADWAY_DATA names the folder with its files."""

import os
from pathlib import Path

import pytest

from headway.data.batching import Batches
from headway.data.codecs.text import TextConfig
from headway.data.config import Corpus
from headway.data.formats.read import read
from headway.data.prepare import prepare
from headway.tasks.translate import Translate

pytestmark = pytest.mark.data

CORPUS = Corpus(source="train.lc.norm.tok.en.gz", target="train.lc.norm.tok.de.gz")


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    root = Path(os.environ["HEADWAY_DATA"])
    task = Translate().fit_codecs(
        lambda: (row.values for row in read(CORPUS, Translate.columns, root)), TextConfig(size=4000)
    )
    where = tmp_path_factory.mktemp("stores")
    return prepare([CORPUS], task.codecs, where, root=root, max_length=256).store


@pytest.mark.parametrize("budget", [1024, 2048, 4096])
def test_padding_is_at_most_a_tenth(store, budget):
    lengths = {name: store.lengths(name) for name in Translate.columns}
    padded = dict.fromkeys(Translate.columns, 0)
    seen = 0
    for indices in Batches(store, ("target", "source"), budget, seed=1).epoch(0):
        seen += len(indices)
        for name in padded:
            padded[name] += len(indices) * int(lengths[name][indices].max())
    assert seen == len(store) == 29_000
    for name, cells in padded.items():
        assert 1 - int(lengths[name].sum()) / cells <= 0.10, name

"""A task with a small vocabulary, a prepared store, and a model that copies its source."""

import pytest
import torch

from headway.data.codecs.text import TextConfig
from headway.data.config import Corpus
from headway.data.prepare import prepare
from headway.nn.decoding import DecoderState, RecurrentCache
from headway.tasks.translate import Translate

LINES = [("a b", "b a"), ("a", "a"), ("b b a", "a b b"), ("c a b c", "c b a c")]


@pytest.fixture
def task():
    return Translate().fit_codecs(lambda: iter(LINES), TextConfig(kind="words"))


@pytest.fixture
def store(task, tmp_path):
    text = "".join(f"{source}\t{target}\n" for source, target in LINES)
    (tmp_path / "pairs.tsv").write_text(text, "utf-8")
    corpora = (Corpus(file="pairs.tsv"),)
    return prepare(corpora, task.codecs, tmp_path / "stores", root=tmp_path).store


class Copier(torch.nn.Module):
    """Writes its source word by word, END included."""

    def __init__(self, size):
        super().__init__()
        self.size = size
        self.anchor = torch.nn.Parameter(torch.zeros(1))
        self.batches = []

    def start(self, batch, prefix=None):
        self.batches.append(tuple(batch["src"].shape))
        rows = batch["src"].size(0)
        position = torch.zeros(rows, 1, dtype=torch.long)
        return DecoderState({"src": batch["src"]}, {"position": RecurrentCache(position)})

    def step(self, tokens, state):
        position, src = state.cache["position"].value, state.memory["src"]
        word = src.gather(1, position.clamp(max=src.size(1) - 1))  # (B, N)
        logits = 20.0 * torch.nn.functional.one_hot(word, self.size).float()
        return logits, state.successor({"position": RecurrentCache(position + 1)})


@pytest.fixture
def copier(task):
    return Copier(task.vocabularies.target)

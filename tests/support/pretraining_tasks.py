"""Pre-training tasks with their stores and models: five small documents, cut into blocks."""

import numpy as np
import torch

from headway import tasks
from headway.data.codecs.text import TextConfig
from headway.data.config import Corpus, DataConfig
from headway.data.prepare import prepare
from headway.models import FAMILIES
from headway.models.encoder import EncoderConfig
from headway.models.transformer import TransformerConfig
from headway.models.unilm import UnilmModelConfig
from headway.search import SearchConfig
from headway.tasks import OBJECTIVES
from headway.tasks.pretrain.config import CONFIGS

# No word occurs twice, so that each word identifies its document and its position.
DOCUMENTS = [
    "\n".join(
        " ".join(f"D{d}S{s}W{w}" for w in range(3 + (d + s) % 4)) + " ." for s in range(8 + d)
    )
    for d in range(5)
]
TRAINABLE = [name for name in OBJECTIVES if name != "none"]
BLOCK = 20
ENCODER = EncoderConfig(d_model=8, d_ff=8, n_heads=2, layers=1, dropout=0.0, segments=2)
TRANSFORMER = TransformerConfig(
    d_model=8, d_ff=8, n_heads=2, encoder_layers=1, decoder_layers=1, dropout=0.0
)
UNILM = UnilmModelConfig(d_model=8, d_ff=8, n_heads=2, layers=1, dropout=0.0)
GREEDY = SearchConfig(beam=1)


def make_task(objective, **settings):
    """A task whose vocabulary are the words of the documents."""
    task = tasks.make_task("pretrain", CONFIGS[objective](**settings))
    text = TextConfig(kind="words", begin=task.starts_with_bos)
    return task.fit_codecs(lambda: iter([(document,) for document in DOCUMENTS]), text)


def make_store(task, folder, documents=DOCUMENTS, file_format="documents", epoch=None):
    """The prepared passages of documents, as stored or as an epoch sees them."""
    (folder / "a.txt").write_text("\n\n".join(documents), "utf-8")
    corpora = (Corpus(file="a.txt", format=file_format),)
    prepared = prepare(
        corpora,
        task.codecs,
        folder / "stores",
        root=folder,
        block=task.block(DataConfig(train="a.txt", block=BLOCK)),
        sentences=True,
    )
    return prepared.store if epoch is None else prepared.at(1, epoch)[0]


def make_model(task):
    """An untrained model of the family that fits the objective."""
    torch.manual_seed(0)
    config = {"encoder": ENCODER, "transformer": TRANSFORMER, "unilm": UNILM}[task.family]
    resolved = config.resolve(100, task.vocabularies)
    return FAMILIES[config.family].build(resolved, task.vocabularies)


def rows_of(batch, name="src"):
    """The ids of each row without padding."""
    valid = batch["tgt_valid" if name == "tgt_out" else "src_valid"]
    return [ids[keep].tolist() for ids, keep in zip(batch[name], valid, strict=True)]


def whole_batch(task, store, draw=None):
    """All passages of a store in one batch."""
    return task.batch(store, np.arange(len(store)), draw)

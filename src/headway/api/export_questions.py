"""What is asked of a run and of its export, to hold the two against each other.

The first examples of the run's test set; where that cannot be read, made-up sequences.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ..data.codecs import TextCodec
from ..data.collate import pair_batch, source_batch, text_batch
from ..data.corpora import as_corpora
from ..data.read import read
from ..errors import HeadwayError
from .pretrained import Pretrained
from .purposes import purpose_of
from .trained import Trained

SENTENCES = 20  # compared with the run
MARKS = 2  # that may be put around a sequence
TEST, MADE_UP = "the test set", "made-up sequences"

Example = tuple[np.ndarray, ...]
"""One encoded sequence for each column of the task."""


@dataclass(frozen=True)
class Question:
    """What is asked of the run and of its export.

    Attributes:
        kind: the class that finds the model's own.
        batch: for the run; `inputs`: the same as the library takes it.
        valid: the places that count.
        read: texts, or pairs of them, with the tokens that their tokenizer has to give.
    """

    kind: str
    batch: dict[str, Tensor]
    inputs: dict[str, Tensor]
    valid: Tensor
    read: list[tuple[tuple[str, ...], list[int]]]
    origin: str


def question_of(trained: Trained) -> Question:
    """The one for a run that can be exported."""
    if (purpose := purpose_of(trained.task)) is not None:
        return _of_told(trained, TELLERS[purpose.form])
    ask = {"transformer": _of_pairs, "decoder": _of_texts, "encoder": _of_reading}
    return ask[trained.config.model.family](trained)


def _of_pairs(trained: Trained) -> Question:
    found, texts, origin = examples(trained)
    task = trained.task
    if isinstance(trained, Pretrained):  # damaged or not, what goes in is what comes out
        sources = [task.codec.single(ids) for (ids,) in found]
        targets = [task.target.single(ids) for (ids,) in found]
    else:
        sources, targets = ([*column] for column in zip(*found, strict=True))
    batch = pair_batch(sources, targets, task.target.bos)
    inputs = {
        "input_ids": batch["src"],
        "attention_mask": batch["src_valid"].long(),
        "decoder_input_ids": batch["tgt_in"],
    }
    kind, valid = "AutoModelForSeq2SeqLM", batch["tgt_valid"]
    return Question(kind, batch, inputs, valid, _singles(texts, sources), origin)


def _of_texts(trained: Trained) -> Question:
    found, texts, origin = examples(trained)
    bos = trained.task.codec.bos
    batch = text_batch([text for (text,) in found], bos)
    inputs = {"input_ids": batch["tgt_in"], "attention_mask": batch["tgt_valid"].long()}
    # A language model goes on with a text, behind the begin mark.
    begun = [np.array([bos, *ids[:-1]]) for (ids,) in found]
    kind, valid = "AutoModelForCausalLM", batch["tgt_valid"]
    return Question(kind, batch, inputs, valid, _singles(texts, begun), origin)


READERS = {
    "none": "AutoModel",
    "masked": "AutoModelForMaskedLM",
    "masked_next": "AutoModelForPreTraining",
}
"""By the head of a model that was pre-trained."""
TELLERS: dict[str, str] = {
    "texts": "AutoModelForSequenceClassification",
    "tokens": "AutoModelForTokenClassification",
    "spans": "AutoModelForQuestionAnswering",
}
"""By what a model that was trained further tells something of."""


def _of_reading(trained: Trained) -> Question:
    found, texts, origin = examples(trained)
    task = trained.task
    rows = [task.codec.single(ids) for (ids,) in found]
    batch, inputs = _read_alike(trained, rows, None)
    kind = READERS[task.vocabularies.head]
    return Question(kind, batch, inputs, batch["src_valid"], _singles(texts, rows), origin)


def _of_told(trained: Trained, kind: str) -> Question:
    """Of a run that tells something of a text, or of two that are read as one."""
    task: Any = trained.task
    codec: TextCodec = task.codec
    n_texts = len(task.columns) - 1  # the last column is what is told
    given = [tuple(row[:n_texts]) for row in _test_rows(trained)]
    pieces: list[list[Any]]
    pieces = [[codec.tokenizer.encode(text) for text in texts] for texts in given]
    if not given:
        draw = _draws(trained)
        pieces = [[draw(codec) for _ in range(n_texts)] for _ in range(SENTENCES)]
    rows, segments = zip(
        *(_framed(codec, parts, trained.max_length) for parts in pieces), strict=True
    )
    batch, inputs = _read_alike(trained, rows, segments if n_texts > 1 else None)
    read = [
        (texts, row.tolist())
        for texts, row, parts in zip(given, rows, pieces, strict=False)
        if len(row) == len(_framed(codec, parts)[0])  # those that were not cut off
    ]
    return Question(kind, batch, inputs, batch["src_valid"], read, TEST if given else MADE_UP)


def _framed(
    codec: TextCodec, parts: Sequence[Any], max_length: int | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """One text or two with their marks, and the segments of the tokens."""
    if len(parts) > 1:
        return codec.pair(parts[0], parts[1], max_length)
    ids = codec.single(parts[0][: None if max_length is None else max_length - codec.marks])
    return ids, np.zeros(len(ids), np.uint8)


def _read_alike(
    trained: Trained, rows: Sequence[np.ndarray], segments: Sequence[np.ndarray] | None
) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """Encoded texts that are only read, as a batch of ours and as the library takes them."""
    batch = source_batch(rows, segments)
    inputs = {"input_ids": batch["src"], "attention_mask": batch["src_valid"].long()}
    if trained.config.model.segments > 1:
        if segments is None:  # as if the second half were another text
            half = torch.tensor([len(row) // 2 for row in rows])[:, None]
            batch["segment"] = (torch.arange(batch["src"].size(1)) >= half).long()
        inputs["token_type_ids"] = batch["segment"].long()
    return batch, inputs


def _singles(
    texts: Sequence[str], rows: Sequence[np.ndarray]
) -> list[tuple[tuple[str, ...], list[int]]]:
    return [((text,), ids.tolist()) for text, ids in zip(texts, rows, strict=False)]


def examples(trained: Trained) -> tuple[list[Example], list[str], str]:
    """Encoded examples of a task whose columns are texts, the texts of the first columns if any,
    and where they are from."""
    task, limit = trained.task, trained.config.data.max_length - MARKS
    rows = _test_rows(trained)
    if rows:
        columns = zip(*rows, strict=True)
        encoded = [
            codec.encode_batch(list(texts))
            for codec, texts in zip(task.codecs.values(), columns, strict=True)
        ]
        short = [
            (row[0], example)
            for row, example in zip(rows, zip(*encoded, strict=True), strict=True)
            if max(map(len, example)) <= limit
        ]
        if short:
            return [example for _, example in short], [text for text, _ in short], TEST
    draw = _draws(trained)
    codecs = [task.codecs[name] for name in task.columns]
    drawn = [tuple(codec.single(draw(codec)) for codec in codecs) for _ in range(SENTENCES)]
    return drawn, [], MADE_UP


def _test_rows(trained: Trained) -> list[Sequence[str]]:
    data = trained.config.data
    try:
        corpora = as_corpora(data.test, "data.test")
        rows = (
            row.values
            for corpus in corpora
            for row in read(corpus, trained.task.columns, Path(data.root or "."))
        )
        return list(islice(rows, SENTENCES))
    except (HeadwayError, OSError):
        return []  # the run may have come here without its data


def _draws(trained: Trained) -> Callable[[TextCodec], np.ndarray]:
    """Draws random sequences of ordinary tokens, of lengths from none to 20, always the same."""
    rng = np.random.default_rng(0)
    longest = min(20, trained.config.data.max_length - MARKS)

    def sequence(codec: TextCodec) -> np.ndarray:
        tokenizer = codec.tokenizer
        ordinary = np.setdiff1d(np.arange(tokenizer.size), list(tokenizer.specials.values()))
        length = int(rng.integers(longest + 1)) if len(ordinary) else 0
        return ordinary[rng.integers(max(len(ordinary), 1), size=length)]

    return sequence

"""The proof that another library computes with an export what the run computes.

The export is loaded with the library it is for, and both are put to the same sequences.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ..data.collate import pair_batch, source_batch, text_batch
from ..data.corpora import as_corpora
from ..data.read import read
from ..errors import HeadwayError, RunError
from .peers import load_ctranslate2, load_hugging_face
from .pretrained import Pretrained
from .trained import Trained
from .translator import Translator

SENTENCES = 20  # compared with the run
MARKS = 2  # that may be put around a sequence
LOGITS, LOG_PROBS = 1e-4, 1e-3  # what rounding may differ by

Example = tuple[np.ndarray, ...]
"""One encoded sequence for each column of the task."""


@dataclass(frozen=True)
class Check:
    """A comparison of the run with its export.

    Attributes:
        difference: the largest one found.
        what: the numbers that were compared.
        sentences: how many examples.
        origin: where those are from.
    """

    difference: float
    what: str
    sentences: int
    origin: str


@dataclass(frozen=True)
class Question:
    """What is asked of the run and of its export.

    Attributes:
        kind: the class that finds the model's own.
        batch: for the run; `inputs`: the same as the library takes it.
        valid: the places that count.
        read: texts, with the tokens that their tokenizer has to give.
    """

    kind: str
    batch: dict[str, Tensor]
    inputs: dict[str, Tensor]
    valid: Tensor
    read: list[tuple[str, list[int]]]
    origin: str


@torch.inference_mode()
def check_hugging_face(trained: Trained, folder: Path) -> Check | None:
    """All that comes out, and the tokens of texts; None without the library."""
    family = trained.config.model.family
    ask = {"transformer": _of_pairs, "decoder": _of_texts, "encoder": _of_reading}[family]
    question = ask(trained)
    loaded = load_hugging_face(folder, question.kind)
    if loaded is None:
        return None
    theirs, tokenizer = loaded
    for text, expected in question.read:
        _compare_tokens(text, tokenizer(text)["input_ids"], expected)
    model, batch = trained.only_model("an export"), trained.to_device(question.batch)
    if family == "encoder":
        found = theirs(**question.inputs, output_hidden_states=True)
        what, pairs = _readings(model, batch, found, question.valid)
    else:
        expected = model.output(model(batch)).cpu()[question.valid]
        found = theirs(**question.inputs)
        what, pairs = "logits", [(expected, found.logits[question.valid])]
    n_examples = len(question.valid)
    difference = max(float((ours - other).abs().max()) for ours, other in pairs)
    check = Check(difference, what, n_examples, question.origin)
    # Rounding grows with the numbers themselves.
    largest = max(float(ours.abs().max()) for ours, _ in pairs)
    _require(check, LOGITS * max(1.0, largest), "transformers")
    return check


def _compare_tokens(text: str, found: list[int], expected: list[int]) -> None:
    if found != expected:
        raise RunError(
            f"the exported tokenizer reads {text!r} as {found}, and headway as {expected}; nothing "
            "was exported: please report this with the version of transformers"
        )


def _of_pairs(trained: Trained) -> Question:
    examples, texts, origin = _examples(trained)
    task = trained.task
    if isinstance(trained, Pretrained):  # damaged or not, what goes in is what comes out
        sources = [task.codec.single(ids) for (ids,) in examples]
        targets = [task.target.single(ids) for (ids,) in examples]
    else:
        sources, targets = ([*column] for column in zip(*examples, strict=True))
    batch = pair_batch(sources, targets, task.target.bos)
    inputs = {
        "input_ids": batch["src"],
        "attention_mask": batch["src_valid"].long(),
        "decoder_input_ids": batch["tgt_in"],
    }
    read = [(text, ids.tolist()) for text, ids in zip(texts, sources, strict=False)]
    return Question("AutoModelForSeq2SeqLM", batch, inputs, batch["tgt_valid"], read, origin)


def _of_texts(trained: Trained) -> Question:
    examples, texts, origin = _examples(trained)
    bos = trained.task.codec.bos
    batch = text_batch([text for (text,) in examples], bos)
    inputs = {"input_ids": batch["tgt_in"], "attention_mask": batch["tgt_valid"].long()}
    # A language model goes on with a text, behind the begin mark.
    read = [
        (text, [bos, *ids[:-1].tolist()]) for text, (ids,) in zip(texts, examples, strict=False)
    ]
    return Question("AutoModelForCausalLM", batch, inputs, batch["tgt_valid"], read, origin)


READERS = {
    "none": "AutoModel",
    "masked": "AutoModelForMaskedLM",
    "masked_next": "AutoModelForPreTraining",
}
"""By the head of a model that reads."""


def _of_reading(trained: Trained) -> Question:
    examples, texts, origin = _examples(trained)
    task = trained.task
    rows = [task.codec.single(ids) for (ids,) in examples]
    batch = source_batch(rows)
    inputs = {"input_ids": batch["src"], "attention_mask": batch["src_valid"].long()}
    if trained.config.model.segments > 1:  # as if the second half were another text
        half = torch.tensor([len(row) // 2 for row in rows])[:, None]
        batch["segment"] = (torch.arange(batch["src"].size(1)) >= half).long()
        inputs["token_type_ids"] = batch["segment"]
    read = [(text, ids.tolist()) for text, ids in zip(texts, rows, strict=False)]
    kind = READERS[task.vocabularies.head]
    return Question(kind, batch, inputs, batch["src_valid"], read, origin)


def _readings(
    model: Any, batch: dict[str, Tensor], found: Any, valid: Tensor
) -> tuple[str, list[tuple[Tensor, Tensor]]]:
    """What is compared of a model that reads, and both sides of it."""
    states, _ = model(batch)
    pairs = [(states.cpu()[valid], found.hidden_states[-1][valid])]
    words = found.get("prediction_logits", found.get("logits"))
    if words is None:
        return "states", pairs
    pairs.append((model.token_logits(batch).cpu()[valid], words[valid]))
    if "seq_relationship_logits" in found:
        pairs.append((model.logits(batch).cpu(), found["seq_relationship_logits"]))
    return "states and logits", pairs


@torch.inference_mode()
def check_ctranslate2(translator: Translator, folder: Path, quantization: str) -> Check:
    """The log probabilities of given outputs; of quantised weights they are only reported."""
    theirs = load_ctranslate2(folder, threads=torch.get_num_threads())
    pairs, _, origin = _examples(translator)
    source, target = (codec.tokenizer.pieces for codec in translator.task.codecs.values())
    found = theirs.score_batch(
        [[source[i] for i in src] for src, _ in pairs],
        [[target[i] for i in tgt[:-1]] for _, tgt in pairs],  # the engine adds the end mark
        max_input_length=0,
    )
    scores = np.concatenate([result.log_probs for result in found])
    expected = translator.forced([source for source, _ in pairs], [target for _, target in pairs])
    difference = float(np.abs(scores - np.concatenate(expected)).max())
    check = Check(difference, "log probabilities", len(pairs), origin)
    if quantization == "float32":
        _require(check, LOG_PROBS, "ctranslate2")
    return check


def _require(check: Check, tolerance: float, package: str) -> None:
    if not check.difference <= tolerance:  # NaN is no agreement either
        raise RunError(
            f"the export computes something else than the run: the largest difference of "
            f"{check.what} is {check.difference:.2g} and rounding explains {tolerance:.2g}; "
            f"nothing was exported: please report this with the version of {package}"
        )


def _examples(trained: Trained) -> tuple[list[Example], list[str], str]:
    """Encoded examples to compare on, the texts of their first columns if any, and their origin.

    The first of the run's test set; where that cannot be read, made-up sequences.
    """
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
            return [example for _, example in short], [text for text, _ in short], "the test set"
    return _made_up(trained), [], "made-up sequences"


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


def _made_up(trained: Trained) -> list[Example]:
    """Random sequences of ordinary tokens, of lengths from none to 20, always the same."""
    rng = np.random.default_rng(0)
    longest = min(20, trained.config.data.max_length - MARKS)

    def sequence(column: str) -> np.ndarray:
        codec = trained.task.codecs[column]
        tokenizer = codec.tokenizer
        ordinary = np.setdiff1d(np.arange(tokenizer.size), list(tokenizer.specials.values()))
        length = int(rng.integers(longest + 1)) if len(ordinary) else 0
        drawn = ordinary[rng.integers(max(len(ordinary), 1), size=length)]
        return codec.single(drawn)

    return [tuple(sequence(name) for name in trained.task.columns) for _ in range(SENTENCES)]

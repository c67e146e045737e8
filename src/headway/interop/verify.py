"""Checks that another library computes with an export what the run computes.

The export is loaded with the library it is for, and both models get the same sequences: of the test
set, or random ones if the run came without its data.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ..data.codecs.text import TextCodec
from ..data.collate import pair_batch, source_batch, text_batch
from ..data.config import as_corpora
from ..data.formats.read import read
from ..errors import HeadwayError, RunError
from ..inference.base import TrainedModel
from ..inference.masked_lm import Pretrained
from ..inference.translator import Translator
from .hugging_face.task_heads import TaskHead, task_head_of
from .libraries import load_ctranslate2, load_hugging_face

SENTENCES = 20  # compared with the run
MARKS = 2  # special tokens that may be put around a sequence
TEST, MADE_UP = "the test set", "made-up sequences"

Example = tuple[np.ndarray, ...]
"""One encoded sequence for each column of the task."""


@dataclass(frozen=True)
class ProbeBatch:
    """The input on which a run and its export are compared.

    Attributes:
        auto_class: the transformers class that finds the model's own.
        batch: for the run.
        inputs: the same for the library's model.
        valid: which positions are no padding.
        tokenized: texts, or pairs of texts, and the ids that the exported tokenizer must give.
        origin: where the sequences are from.
    """

    auto_class: str
    batch: dict[str, Tensor]
    inputs: dict[str, Tensor]
    valid: Tensor
    tokenized: list[tuple[tuple[str, ...], list[int]]]
    origin: str


def make_probe_batch(trained: TrainedModel) -> ProbeBatch:
    """The probe for a run that can be exported."""
    if (task_head := task_head_of(trained.task)) is not None:
        return _fine_tuned_batch(trained, FINE_TUNED_CLASSES[task_head.form])
    makers = {"transformer": _seq2seq_batch, "decoder": _language_batch, "encoder": _encoder_batch}
    return makers[trained.config.model.family](trained)


def _seq2seq_batch(trained: TrainedModel) -> ProbeBatch:
    encoded, texts, origin = examples(trained)
    task = trained.task
    if isinstance(trained, Pretrained):  # for a denoiser, source and target are one text
        sources = [task.codec.single(ids) for (ids,) in encoded]
        targets = [task.target.single(ids) for (ids,) in encoded]
    else:
        sources, targets = ([*column] for column in zip(*encoded, strict=True))
    batch = pair_batch(sources, targets, task.target.bos)
    inputs = {
        "input_ids": batch["src"],
        "attention_mask": batch["src_valid"].long(),
        "decoder_input_ids": batch["tgt_in"],
    }
    tokenized = _tokenized(texts, sources)
    return ProbeBatch("AutoModelForSeq2SeqLM", batch, inputs, batch["tgt_valid"], tokenized, origin)


def _language_batch(trained: TrainedModel) -> ProbeBatch:
    encoded, texts, origin = examples(trained)
    bos = trained.task.codec.bos
    batch = text_batch([ids for (ids,) in encoded], bos)
    inputs = {"input_ids": batch["tgt_in"], "attention_mask": batch["tgt_valid"].long()}
    # The exported tokenizer makes prompts: the begin token first, no end token.
    prompts = [np.array([bos, *ids[:-1]]) for (ids,) in encoded]
    tokenized = _tokenized(texts, prompts)
    return ProbeBatch("AutoModelForCausalLM", batch, inputs, batch["tgt_valid"], tokenized, origin)


PRETRAINED_CLASSES = {
    "none": "AutoModel",
    "masked": "AutoModelForMaskedLM",
    "masked_next": "AutoModelForPreTraining",
}
"""Classes of pre-trained encoders, by their head."""
FINE_TUNED_CLASSES: dict[str, str] = {
    "texts": "AutoModelForSequenceClassification",
    "tokens": "AutoModelForTokenClassification",
    "spans": "AutoModelForQuestionAnswering",
}
"""Classes of fine-tuned encoders, by the form of their head."""


def _encoder_batch(trained: TrainedModel) -> ProbeBatch:
    encoded, texts, origin = examples(trained)
    task = trained.task
    rows = [task.codec.single(ids) for (ids,) in encoded]
    batch, inputs = _encoder_inputs(trained, rows, None)
    auto_class, tokenized = PRETRAINED_CLASSES[task.vocabularies.head], _tokenized(texts, rows)
    return ProbeBatch(auto_class, batch, inputs, batch["src_valid"], tokenized, origin)


def _fine_tuned_batch(trained: TrainedModel, auto_class: str) -> ProbeBatch:
    """A batch of texts, or of pairs that are read as one sequence."""
    task: Any = trained.task
    codec: TextCodec = task.codec
    n_texts = len(task.columns) - 1  # the last column is the target
    test_texts = [tuple(row[:n_texts]) for row in _test_rows(trained)]
    encoded: list[list[Any]]
    encoded = [[codec.tokenizer.encode(text) for text in texts] for texts in test_texts]
    if not encoded:
        draw = _random_sequences(trained)
        encoded = [[draw(codec) for _ in range(n_texts)] for _ in range(SENTENCES)]
    rows, segments = zip(
        *(_framed(codec, parts, trained.max_length) for parts in encoded), strict=True
    )
    batch, inputs = _encoder_inputs(trained, rows, segments if n_texts > 1 else None)
    tokenized = [
        (texts, row.tolist())
        for texts, row, parts in zip(test_texts, rows, encoded, strict=False)
        if len(row) == len(_framed(codec, parts)[0])  # not truncated
    ]
    origin = TEST if test_texts else MADE_UP
    return ProbeBatch(auto_class, batch, inputs, batch["src_valid"], tokenized, origin)


def _framed(
    codec: TextCodec, parts: Sequence[Any], max_length: int | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """One text or two with their special tokens, and the segment of each token."""
    if len(parts) > 1:
        return codec.pair(parts[0], parts[1], max_length)
    ids = codec.single(parts[0][: None if max_length is None else max_length - codec.marks])
    return ids, np.zeros(len(ids), np.uint8)


def _encoder_inputs(
    trained: TrainedModel, rows: Sequence[np.ndarray], segments: Sequence[np.ndarray] | None
) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """Encoded texts as a batch of ours and as inputs of the library's encoder."""
    batch = source_batch(rows, segments)
    inputs = {"input_ids": batch["src"], "attention_mask": batch["src_valid"].long()}
    if trained.config.model.segments > 1:
        if segments is None:  # the second half counts as another text, so that both are compared
            half = torch.tensor([len(row) // 2 for row in rows])[:, None]
            batch["segment"] = (torch.arange(batch["src"].size(1)) >= half).long()
        inputs["token_type_ids"] = batch["segment"].long()
    return batch, inputs


def _tokenized(
    texts: Sequence[str], rows: Sequence[np.ndarray]
) -> list[tuple[tuple[str, ...], list[int]]]:
    return [((text,), ids.tolist()) for text, ids in zip(texts, rows, strict=False)]


def examples(trained: TrainedModel) -> tuple[list[Example], list[str], str]:
    """Encoded examples of a task whose columns are texts.

    Returns:
        The examples, the texts of the first column (none if made up), and the origin.
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
            return [example for _, example in short], [text for text, _ in short], TEST
    draw = _random_sequences(trained)
    codecs = [task.codecs[name] for name in task.columns]
    drawn = [tuple(codec.single(draw(codec)) for codec in codecs) for _ in range(SENTENCES)]
    return drawn, [], MADE_UP


def _test_rows(trained: TrainedModel) -> list[Sequence[str]]:
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


def _random_sequences(trained: TrainedModel) -> Callable[[TextCodec], np.ndarray]:
    """A function that draws 0 to 20 ordinary tokens; the seed is fixed."""
    rng = np.random.default_rng(0)
    longest = min(20, trained.config.data.max_length - MARKS)

    def sequence(codec: TextCodec) -> np.ndarray:
        tokenizer = codec.tokenizer
        ordinary = np.setdiff1d(np.arange(tokenizer.size), list(tokenizer.specials.values()))
        length = int(rng.integers(longest + 1)) if len(ordinary) else 0
        return ordinary[rng.integers(max(len(ordinary), 1), size=length)]

    return sequence


LOGITS, LOG_PROBS = 1e-4, 1e-3  # differences that rounding explains

Compared = list[tuple[Tensor, Tensor]]
"""Outputs of the run, each with that of its export."""


@dataclass(frozen=True)
class Check:
    """A comparison of the run with its export.

    Attributes:
        difference: the largest absolute one.
        what: the outputs that were compared.
        sentences: number of examples.
        origin: where they are from.
    """

    difference: float
    what: str
    sentences: int
    origin: str


@torch.inference_mode()
def check_hugging_face(trained: TrainedModel, folder: Path) -> Check | None:
    """Compares all outputs, and the tokens of texts; None if transformers is not installed.

    Raises:
        RunError: they differ by more than rounding.
    """
    probe = make_probe_batch(trained)
    loaded = load_hugging_face(folder, probe.auto_class)
    if loaded is None:
        return None
    theirs, tokenizer = loaded
    for texts, expected in probe.tokenized:
        _compare_tokens(texts, tokenizer(*texts)["input_ids"], expected)
    what, pairs = _outputs(trained, probe, theirs)
    difference = max(float((ours - other).abs().max()) for ours, other in pairs)
    check = Check(difference, what, len(probe.valid), probe.origin)
    # Rounding grows with the numbers themselves.
    largest = max(float(ours.abs().max()) for ours, _ in pairs)
    _require(check, LOGITS * max(1.0, largest), "transformers")
    return check


def _outputs(trained: TrainedModel, probe: ProbeBatch, theirs: Any) -> tuple[str, Compared]:
    """The name of the compared outputs, and the outputs of both models."""
    model, batch = trained.single_model("an export"), trained.to_device(probe.batch)
    valid, task_head = probe.valid, task_head_of(trained.task)
    if task_head is not None:
        return _fine_tuned_outputs(model, batch, theirs(**probe.inputs), valid, task_head)
    if trained.config.model.family == "encoder":
        outputs = theirs(**probe.inputs, output_hidden_states=True)
        return _encoder_outputs(model, batch, outputs, valid)
    expected = model.output(model(batch)).cpu()[valid]
    return "logits", [(expected, theirs(**probe.inputs).logits[valid])]


def _compare_tokens(texts: tuple[str, ...], ids: list[int], expected: list[int]) -> None:
    if ids != expected:
        quoted = " and ".join(map(repr, texts))
        raise RunError(
            f"the exported tokenizer reads {quoted} as {ids}, and headway as {expected}; nothing "
            "was exported: please report this with the version of transformers"
        )


def _fine_tuned_outputs(
    model: Any, batch: dict[str, Tensor], theirs: Any, valid: Tensor, task_head: TaskHead
) -> tuple[str, Compared]:
    if task_head.form == "texts":
        # An export gives plain values, the run standardised ones.
        expected = model.logits(batch).cpu() * task_head.deviation + task_head.mean
        return "values" if task_head.task == "regress" else "logits", [(expected, theirs.logits)]
    expected = model.token_logits(batch).cpu()[valid]
    if task_head.form == "tokens":
        return "logits", [(expected, theirs.logits[valid])]
    ends = torch.stack([theirs.start_logits, theirs.end_logits], dim=-1)  # (B, S, 2)
    return "logits", [(expected, ends[valid])]


def _encoder_outputs(
    model: Any, batch: dict[str, Tensor], theirs: Any, valid: Tensor
) -> tuple[str, Compared]:
    states, _ = model(batch)
    pairs = [(states.cpu()[valid], theirs.hidden_states[-1][valid])]
    token_logits = theirs.get("prediction_logits", theirs.get("logits"))
    if token_logits is None:
        return "states", pairs
    pairs.append((model.token_logits(batch).cpu()[valid], token_logits[valid]))
    if "seq_relationship_logits" in theirs:
        pairs.append((model.logits(batch).cpu(), theirs["seq_relationship_logits"]))
    return "states and logits", pairs


@torch.inference_mode()
def check_ctranslate2(translator: Translator, folder: Path, quantization: str) -> Check:
    """Compares the log probabilities of reference outputs.

    Raises:
        RunError: unquantised weights differ by more than rounding.
    """
    theirs = load_ctranslate2(folder, threads=torch.get_num_threads())
    pairs, _, origin = examples(translator)
    source, target = (codec.tokenizer.pieces for codec in translator.task.codecs.values())
    results = theirs.score_batch(
        [[source[i] for i in src] for src, _ in pairs],
        [[target[i] for i in tgt[:-1]] for _, tgt in pairs],  # the engine adds the end token
        max_input_length=0,
    )
    scores = np.concatenate([result.log_probs for result in results])
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

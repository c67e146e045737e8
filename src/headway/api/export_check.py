"""The proof that another library computes with an export what the run computes.

The export is loaded with the library it is for, and both are put to the same sequences.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ..errors import RunError
from ..runs.hugging_face import Purpose
from .export_questions import Question, examples, question_of
from .peers import load_ctranslate2, load_hugging_face
from .purposes import purpose_of
from .trained import Trained
from .translator import Translator

LOGITS, LOG_PROBS = 1e-4, 1e-3  # what rounding may differ by

Compared = list[tuple[Tensor, Tensor]]
"""Numbers of the run, each with those of its export."""


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


@torch.inference_mode()
def check_hugging_face(trained: Trained, folder: Path) -> Check | None:
    """All that comes out, and the tokens of texts; None without the library."""
    question = question_of(trained)
    loaded = load_hugging_face(folder, question.kind)
    if loaded is None:
        return None
    theirs, tokenizer = loaded
    for texts, expected in question.read:
        _compare_tokens(texts, tokenizer(*texts)["input_ids"], expected)
    what, pairs = _compared(trained, question, theirs)
    difference = max(float((ours - other).abs().max()) for ours, other in pairs)
    check = Check(difference, what, len(question.valid), question.origin)
    # Rounding grows with the numbers themselves.
    largest = max(float(ours.abs().max()) for ours, _ in pairs)
    _require(check, LOGITS * max(1.0, largest), "transformers")
    return check


def _compared(trained: Trained, question: Question, theirs: Any) -> tuple[str, Compared]:
    """What is compared, and both sides of it."""
    model, batch = trained.only_model("an export"), trained.to_device(question.batch)
    valid, purpose = question.valid, purpose_of(trained.task)
    if purpose is not None:
        return _told(model, batch, theirs(**question.inputs), valid, purpose)
    if trained.config.model.family == "encoder":
        found = theirs(**question.inputs, output_hidden_states=True)
        return _readings(model, batch, found, valid)
    expected = model.output(model(batch)).cpu()[valid]
    return "logits", [(expected, theirs(**question.inputs).logits[valid])]


def _compare_tokens(texts: tuple[str, ...], found: list[int], expected: list[int]) -> None:
    if found != expected:
        shown = " and ".join(map(repr, texts))
        raise RunError(
            f"the exported tokenizer reads {shown} as {found}, and headway as {expected}; nothing "
            "was exported: please report this with the version of transformers"
        )


def _told(
    model: Any, batch: dict[str, Tensor], found: Any, valid: Tensor, purpose: Purpose
) -> tuple[str, Compared]:
    """The same of a model that was trained further."""
    if purpose.form == "texts":
        # Values come out of the export as they are.
        expected = model.logits(batch).cpu() * purpose.deviation + purpose.mean
        return "values" if purpose.task == "regress" else "logits", [(expected, found.logits)]
    expected = model.token_logits(batch).cpu()[valid]
    if purpose.form == "tokens":
        return "logits", [(expected, found.logits[valid])]
    ends = torch.stack([found.start_logits, found.end_logits], dim=-1)  # (B, S, 2)
    return "logits", [(expected, ends[valid])]


def _readings(
    model: Any, batch: dict[str, Tensor], found: Any, valid: Tensor
) -> tuple[str, Compared]:
    """The same of a model that was pre-trained to read."""
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
    pairs, _, origin = examples(translator)
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
